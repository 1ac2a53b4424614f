//! `/proc/PID/stat`, `status`, `limits`, `smaps_rollup`, `cgroup`.

use super::{number_at, value_of};

/// Values of `/proc/PID/stat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// Name, at most 15 bytes.
    pub(crate) comm: String,
    /// State letter: R, S, D, Z, …
    pub(crate) state: char,
    /// Parent.
    pub(crate) parent: u32,
    /// Process group.
    pub(crate) group: u32,
    /// Session.
    pub(crate) session: u32,
    /// Major faults since its start.
    pub(crate) major_faults: u64,
    /// CPU time in user mode, clock ticks.
    pub(crate) user_ticks: u64,
    /// CPU time in system mode, clock ticks.
    pub(crate) system_ticks: u64,
    /// Threads.
    pub(crate) threads: u64,
    /// Start, clock ticks since boot; with the pid it names a process for ever.
    pub(crate) start_ticks: u64,
    /// Resident memory, pages.
    pub(crate) resident_pages: u64,
}

/// Parses `/proc/PID/stat`; `None` when it is not such a line.
pub(crate) fn stat(text: &str) -> Option<ProcessStat> {
    // The name may contain spaces and parentheses: it ends at the last parenthesis.
    let open = text.find('(')?;
    let close = text.rfind(')')?;
    let comm = text.get(open + 1..close)?;
    let words: Vec<&str> = text.get(close + 1..)?.split_whitespace().collect();
    Some(ProcessStat {
        comm: comm.to_owned(),
        state: words.first()?.chars().next()?,
        parent: words.get(1)?.parse().ok()?,
        group: id_at(&words, 2),
        session: id_at(&words, 3),
        major_faults: number_at(&words, 9),
        user_ticks: number_at(&words, 11),
        system_ticks: number_at(&words, 12),
        threads: number_at(&words, 17),
        start_ticks: number_at(&words, 19),
        resident_pages: number_at(&words, 21),
    })
}

/// Whether the process of a line of `/proc/PID/stat` starts a program at this moment: it has memory, and the kernel has not
/// written yet where program, arguments and environment are in it. They are hidden, not zero, where they may not be read.
pub(crate) fn is_starting(text: &str) -> bool {
    let Some((_, values)) = text.rsplit_once(')') else {
        return false;
    };
    let words: Vec<&str> = values.split_whitespace().collect();
    let (size, code, environment_end) = (words.get(20), words.get(23), words.get(48));
    size.is_some_and(|size| *size != "0")
        && code == Some(&"0")
        && environment_end == Some(&"0")
        && words.first() != Some(&"Z")
}

/// The id at a position of a line, 0 without one: kernel threads have none, and some containers show -1.
fn id_at(words: &[&str], index: usize) -> u32 {
    let word = words.get(index);
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// The numbers of a line of `/proc/PID/status` after its name, such as `Uid:`.
pub(crate) fn numbers(text: &str, name: &str) -> Vec<u32> {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let words = line.unwrap_or_default().split_whitespace();
    words.map_while(|word| word.parse().ok()).collect()
}

/// Voluntary and involuntary context switches of `/proc/PID/status`: of one thread.
pub(crate) fn switches(text: &str) -> (u64, u64) {
    (
        value_of(text, "voluntary_ctxt_switches:").unwrap_or(0),
        value_of(text, "nonvoluntary_ctxt_switches:").unwrap_or(0),
    )
}

/// Soft and hard limit of open files of `/proc/PID/limits`; `u64::MAX` for unlimited.
pub(crate) fn files_limit(text: &str) -> Option<(u64, u64)> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    let mut words = line.split_whitespace().map(|word| match word {
        "unlimited" => Some(u64::MAX),
        word => word.parse().ok(),
    });
    Some((words.next()??, words.next()??))
}

/// Proportional set size of `/proc/PID/smaps_rollup`, bytes.
pub(crate) fn pss(text: &str) -> Option<u64> {
    value_of(text, "Pss:").map(|kib| kib.saturating_mul(1024))
}
