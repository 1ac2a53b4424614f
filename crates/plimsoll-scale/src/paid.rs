//! Replicas that are paid for a whole period are removed towards its end.

/// Share of a paid period at its end in which a replica may be removed.
const END_SHARE: u32 = 10;
/// The shortest such end, s.
const END_MIN_S: u32 = 30;

/// How long before the end of a paid period a replica may be removed, s.
pub(crate) fn end_s(paid_s: u32) -> u32 {
    (paid_s / END_SHARE).max(END_MIN_S).min(paid_s)
}

/// Time until the end of the paid period of a replica of this age, s.
pub(crate) fn left_s(age_s: u32, paid_s: u32) -> u32 {
    paid_s - age_s % paid_s.max(1)
}

/// Replicas that may be removed now.
pub(crate) fn removable(ages_s: &[u32], paid_s: u32) -> u32 {
    let end = end_s(paid_s);
    let count = ages_s
        .iter()
        .filter(|age| left_s(**age, paid_s) <= end)
        .count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Time until the first replica may be removed, s; `None` without replicas.
pub(crate) fn next_s(ages_s: &[u32], paid_s: u32) -> Option<u32> {
    let end = end_s(paid_s);
    let waits = ages_s
        .iter()
        .map(|age| left_s(*age, paid_s).saturating_sub(end));
    waits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_goes_in_the_last_tenth_of_its_period() {
        assert_eq!(removable(&[0, 3239, 3240, 3599, 3600, 7100], 3600), 3);
        assert_eq!(next_s(&[100, 2000], 3600), Some(1240));
        assert_eq!(next_s(&[3300], 3600), Some(0));
        assert_eq!(next_s(&[], 3600), None);
        // A minute: half of it.
        assert_eq!((end_s(60), removable(&[29, 30, 90], 60)), (30, 2));
    }
}
