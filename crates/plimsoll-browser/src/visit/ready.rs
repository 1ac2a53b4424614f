//! When a page is ready: the load event has ended, and half a second without requests, long tasks and larger paints begins.

/// How long a page must be quiet to have been ready at the beginning of that time, µs.
pub(crate) const QUIET_US: u64 = 500_000;

/// A time in which the page was busy, µs since its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Busy {
    pub(crate) from_us: u64,
    pub(crate) to_us: u64,
}

/// The moment, if the page was observed for long enough. What began later than [`QUIET_US`] after it does not count.
pub(crate) fn ready_us(load_us: u64, busy: &[Busy]) -> u64 {
    let mut busy = busy.to_vec();
    busy.sort_unstable();
    let mut ready = load_us;
    for it in busy {
        if it.from_us >= ready + QUIET_US {
            break;
        }
        ready = ready.max(it.to_us);
    }
    ready
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(load: u64, busy: &[(u64, u64)]) -> u64 {
        let busy: Vec<Busy> = busy
            .iter()
            .map(|(from, to)| Busy {
                from_us: from * 1000,
                to_us: to * 1000,
            })
            .collect();
        ready_us(load * 1000, &busy) / 1000
    }

    #[test]
    fn a_page_without_scripts_is_ready_at_its_load_event() {
        assert_eq!(ms(120, &[]), 120);
        assert_eq!(ms(120, &[(0, 40), (45, 110)]), 120);
    }

    #[test]
    fn what_begins_within_half_a_second_counts_and_delays() {
        assert_eq!(ms(120, &[(0, 100), (619, 700)]), 700);
        // Not the one that begins when the page was quiet for half a second.
        assert_eq!(ms(120, &[(0, 100), (620, 700)]), 120);
        // Each end begins a new half second, in whatever order they were recorded.
        assert_eq!(ms(120, &[(1190, 1500), (619, 700)]), 1500);
    }

    #[test]
    fn a_short_task_within_a_long_request_changes_nothing() {
        assert_eq!(ms(100, &[(50, 900), (200, 260)]), 900);
    }
}
