//! CPU time of a browser: of all its processes, ended ones included.
//!
//! A process hands its CPU time on to the one that waits for it, and [`crate::guard`] waits for those whose parent ended
//! first. So the sum over the descendants of the guard, with what each of them took over, never loses any.

use std::path::Path;

/// Processes of a browser that are read at most.
const PROCESSES_MAX: usize = 1000;
/// Position of `utime` in `/proc/PID/stat`, counted behind the name; `stime`, `cutime` and `cstime` follow.
const UTIME_AT: usize = 11;

/// CPU time of a process and its descendants so far, s; `None` when it is gone.
pub fn cpu_s(process: u32) -> Option<f64> {
    of_tree(
        Path::new("/proc"),
        process,
        rustix::param::clock_ticks_per_second(),
    )
}

fn of_tree(proc: &Path, process: u32, ticks_per_second: u64) -> Option<f64> {
    let mut ticks = ticks_of(&proc.join(process.to_string()))?;
    let mut found = vec![process];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        next += 1;
        for child in children(&proc.join(parent.to_string())) {
            if found.len() < PROCESSES_MAX && !found.contains(&child) {
                found.push(child);
                ticks += ticks_of(&proc.join(child.to_string())).unwrap_or(0);
            }
        }
    }
    Some(ticks as f64 / ticks_per_second.max(1) as f64)
}

/// Children of all threads of a process.
fn children(process: &Path) -> Vec<u32> {
    let threads = std::fs::read_dir(process.join("task"));
    let threads = threads.into_iter().flatten().flatten();
    let mut children = Vec::new();
    for thread in threads {
        let text = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.extend(
            text.split_whitespace()
                .filter_map(|id| id.parse::<u32>().ok()),
        );
    }
    children
}

/// Its CPU time and that of the children it waited for, ticks.
fn ticks_of(process: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(process.join("stat")).ok()?;
    // The name is in parentheses, and may contain any.
    let (_, fields) = text.rsplit_once(')')?;
    let fields = fields.split_whitespace().skip(UTIME_AT).take(4);
    fields.map(|ticks| ticks.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_count_with_what_they_took_over() {
        let proc = tempfile::tempdir().unwrap();
        let process = |id: u32, name: &str, ticks: &str, children: &[&str]| {
            let folder = proc.path().join(id.to_string());
            for (thread, children) in children.iter().enumerate() {
                let task = folder.join("task").join((id as usize + thread).to_string());
                std::fs::create_dir_all(&task).unwrap();
                std::fs::write(task.join("children"), children).unwrap();
            }
            let stat = format!("{id} ({name}) S 1 1 1 0 -1 4194304 1 2 3 4 {ticks} 20 0 1 0 9");
            std::fs::write(folder.join("stat"), stat).unwrap();
        };
        process(10, "guard", "1 2 3 4", &["11 "]);
        process(11, "chromium) S 9", "10 20 30 40", &["12 ", "13 14 "]);
        process(12, "zygote", "100 0 0 0", &[""]);
        process(13, "gpu", "0 200 0 0", &[""]);
        // 14 has ended meanwhile.
        assert_eq!(of_tree(proc.path(), 10, 100), Some(4.1));
        assert_eq!(of_tree(proc.path(), 9, 100), None);
    }

    #[test]
    fn this_process_uses_cpu() {
        assert!(cpu_s(std::process::id()).is_some());
    }
}
