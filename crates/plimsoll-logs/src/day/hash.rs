//! Hashes of texts for tables and samples.

use twox_hash::XxHash3_64;

/// A well mixed hash of bytes.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// A well mixed hash of two hashes, in this order.
pub(super) fn join(first: u64, second: u64) -> u64 {
    // The finisher of SplitMix64 over both.
    let mut mixed = first
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(second);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Whether a hash belongs to a sample of one in 2^`bits`. Tables use the lowest and the highest bits, so that these are
/// others.
pub(super) fn is_sampled(hash: u64, bits: u32) -> bool {
    (hash >> 24) & ((1 << bits) - 1) == 0
}
