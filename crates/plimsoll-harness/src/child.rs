//! Runs a client pinned to a core and measures its CPU time and memory.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use rustix::param::clock_ticks_per_second;

use crate::clock::{Stopwatch, pause};
use crate::step::line;

/// How often the memory of the client is read; its high-water mark only grows, so the last reading counts.
pub const POLL: Duration = Duration::from_millis(100);

/// Cost of a client.
pub struct Weighed {
    /// Its standard output; bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// User and system time of the whole process tree.
    pub cpu: Duration,
    /// Largest resident set of the client, in bytes.
    pub rss: u64,
    /// From its start to its end.
    pub wall: Duration,
}

/// `taskset -c CORE PROGRAM…`; the program replaces taskset, so the process is the client itself.
pub fn pinned(core: usize, words: &[String]) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &core.to_string()]).args(words);
    command
}

/// Runs the client to its end, which must be success or one of these exit codes. Every `poll` it samples the client and
/// calls `meanwhile` with its process id and the time since its start.
///
/// # Errors
///
/// If the client cannot run, or ends otherwise.
pub fn weigh(
    mut command: Command,
    accepted: &[i32],
    poll: Duration,
    mut meanwhile: impl FnMut(u32, Duration),
) -> Result<Weighed> {
    let text = line(&command);
    let before = children_cpu()?;
    let stopwatch = Stopwatch::start();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {text}"))?;
    let mut out = child.stdout.take().expect("stdout is piped");
    let mut err = child.stderr.take().expect("stderr is piped");
    let stdout = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        out.read_to_end(&mut bytes)
            .map(|_| String::from_utf8_lossy(&bytes).into_owned())
    });
    let stderr = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        err.read_to_end(&mut bytes)
            .map(|_| String::from_utf8_lossy(&bytes).into_owned())
    });
    let mut rss = 0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        rss = resident_max(child.id()).unwrap_or(rss);
        meanwhile(child.id(), stopwatch.elapsed());
        pause(poll);
    };
    let wall = stopwatch.elapsed();
    let stdout = stdout.join().expect("the reader does not panic")?;
    let stderr = stderr.join().expect("the reader does not panic")?;
    ensure!(
        status.success() || status.code().is_some_and(|code| accepted.contains(&code)),
        "`{text}` ended with {status}: {}",
        complaint(&stderr)
    );
    Ok(Weighed {
        stdout,
        cpu: children_cpu()?.saturating_sub(before),
        rss,
        wall,
    })
}

/// A program's error message, without clap's last line about its help.
fn complaint(stderr: &str) -> &str {
    let error = stderr.lines().find(|line| line.starts_with("error"));
    error
        .or_else(|| stderr.lines().last())
        .unwrap_or("no output")
}

/// CPU time of all children waited for so far, and of theirs.
fn children_cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = [usage.user_time(), usage.system_time()].map(|time| {
        let micros = time.tv_sec() * 1_000_000 + time.tv_usec();
        u64::try_from(micros).expect("CPU time is not negative")
    });
    Ok(Duration::from_micros(micros.iter().sum()))
}

/// CPU time of a running process so far, and of its children that it has waited for; exact to a tick of the clock.
pub fn cpu(pid: u32) -> Option<Duration> {
    cpu_of(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Fields 14 to 17 of /proc/PID/stat (proc(5)); the name before them may hold anything.
fn cpu_of(stat: &str) -> Option<Duration> {
    let (_, rest) = stat.rsplit_once(')')?;
    let ticks = rest.split_whitespace().skip(11).take(4);
    let ticks: Vec<u64> = ticks.map_while(|tick| tick.parse().ok()).collect();
    let total: u64 = (ticks.len() == 4).then(|| ticks.iter().sum())?;
    Some(Duration::from_secs_f64(
        total as f64 / clock_ticks_per_second() as f64,
    ))
}

/// The largest resident set of a process so far, in bytes.
fn resident_max(pid: u32) -> Option<u64> {
    memory(pid, "VmHWM:")
}

/// The resident set of a process now, in bytes.
pub fn resident(pid: u32) -> Option<u64> {
    memory(pid, "VmRSS:")
}

fn memory(pid: u32, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell that counts charges its CPU time to us; one that waits does not.
    #[test]
    fn charges_what_a_child_burns() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        // It ends when its memory has been read once more after its work: it may be done before the second reading.
        let folder = tempfile::tempdir().unwrap();
        let [worked, read] = ["worked", "read"].map(|name| folder.path().join(name));
        let busy = format!(
            "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; : >{}; until [ -e {} ]; do :; done; echo done",
            worked.display(),
            read.display()
        );
        let mut has_worked = false;
        let meanwhile = |_, _| {
            if has_worked {
                std::fs::write(&read, "").unwrap();
            }
            has_worked = worked.exists();
        };
        let weighed = weigh(shell(&busy), &[], POLL, meanwhile).unwrap();
        assert_eq!(weighed.stdout, "done\n");
        assert!(weighed.cpu > Duration::from_millis(20), "{:?}", weighed.cpu);
        assert!(weighed.rss > 100_000, "{}", weighed.rss);
        assert!(weighed.wall >= weighed.cpu / 2);
        let error = weigh(shell("echo no >&2; exit 3"), &[], POLL, |_, _| ())
            .err()
            .unwrap();
        assert!(error.to_string().ends_with("exit status: 3: no"), "{error}");
        assert!(weigh(shell("exit 3"), &[3], POLL, |_, _| ()).is_ok());
        assert_eq!(
            complaint("error: no such flag\n\nFor more, try --help.\n"),
            "error: no such flag"
        );
    }

    #[test]
    fn reads_the_cpu_time_of_a_running_process() {
        let stat = "7 (a) b) R 1 2 3 4 5 6 7 8 9 10 100 20 3 1 20 0 1 0 55 0 0";
        let seconds = 124.0 / clock_ticks_per_second() as f64;
        assert_eq!(cpu_of(stat), Some(Duration::from_secs_f64(seconds)));
        assert_eq!(cpu_of("7 (a) R 1 2"), None);
        assert!(cpu(std::process::id()).is_some());
    }
}
