//! The mask of a client's frames (RFC 6455, 5.3): applying it twice removes it.

/// Masks or unmasks `bytes`, eight at a time.
#[inline]
pub fn apply(bytes: &mut [u8], key: [u8; 4]) {
    let [a, b, c, d] = key;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(key.iter().cycle()) {
        *byte ^= key;
    }
}

/// The key for the bytes after the first `len` of the same frame.
#[inline]
pub fn after(mut key: [u8; 4], len: usize) -> [u8; 4] {
    key.rotate_left(len % 4);
    key
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_example_of_the_standard_is_unmasked() {
        // RFC 6455, 5.7: a masked "Hello".
        let mut bytes = [0x7f, 0x9f, 0x4d, 0x51, 0x58];
        apply(&mut bytes, [0x37, 0xfa, 0x21, 0x3d]);
        assert_eq!(&bytes, b"Hello");
    }

    proptest! {
        #[test]
        fn words_do_what_bytes_would(
            bytes in prop::collection::vec(any::<u8>(), 0..70),
            key in any::<[u8; 4]>(),
            cut in 0_usize..70,
        ) {
            let bytewise: Vec<u8> = bytes.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key).collect();
            let mut words = bytes.clone();
            let cut = cut.min(words.len());
            let (first, second) = words.split_at_mut(cut);
            apply(first, key);
            apply(second, after(key, cut));
            prop_assert_eq!(words, bytewise);
        }
    }
}
