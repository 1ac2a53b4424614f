//! Rights of this user, and access to what the components of a service tell about themselves.

use super::{Area, Condition, Health};
use crate::files::Files;

/// Numbers of capabilities (`linux/capability.h`).
const SYS_PTRACE: u32 = 19;
const SYS_NICE: u32 = 23;
/// Beginnings of notes that report what works.
const FOUND: [&str; 4] = [
    "found and watched",
    "found, watched once",
    "watched, because",
    "no component with readable metrics",
];

/// What this user may do.
pub(super) fn rights(files: &mut Files) -> Vec<Condition> {
    let Some(effective) = capabilities(files) else {
        return Vec::new();
    };
    let has = |number: u32| effective & (1 << number) != 0;
    let answer = |is_held: bool| if is_held { "yes" } else { "no" };
    let may_trace = has(SYS_PTRACE);
    let trace = Condition::new(
        Area::Service,
        "reading processes of other users (CAP_SYS_PTRACE)",
        answer(may_trace),
        "yes",
    );
    let has_priority = has(SYS_NICE);
    let priority = Condition::new(
        Area::Generator,
        "real-time priority (CAP_SYS_NICE)",
        answer(has_priority),
        "yes",
    );
    vec![
        trace
            .because(
                "without it neither the process behind a port of another user nor what its threads wait for is known, unless \
                 Plimsoll runs as that user",
            )
            .unless(may_trace, Health::Weak, [setcap()]),
        priority
            .because(
                "without it a service that fills the CPU makes a generator on the same machine late, and trials void; a \
                 generator on a machine of its own does not need it",
            )
            .unless(has_priority, Health::Weak, [setcap()]),
    ]
}

fn setcap() -> String {
    "sudo setcap cap_sys_ptrace,cap_sys_nice+ep \"$(command -v plimsoll)\"".to_owned()
}

/// The effective capabilities of this process.
fn capabilities(files: &mut Files) -> Option<u64> {
    let status = files.read("proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Statistics of components that cannot be read, by the notes of the probe, which name the remedy.
pub(super) fn components(notes: &[String]) -> Vec<Condition> {
    let missing = notes
        .iter()
        .filter(|note| !FOUND.iter().any(|start| note.starts_with(start)));
    missing
        .map(|note| {
            let (name, why) = note.split_once(": ").unwrap_or((note, note));
            Condition::new(Area::Service, name, "not read", "read")
                .because(why)
                .unless(false, Health::Weak, quoted(why))
        })
        .collect()
}

/// What stands between backticks, in order: what is to be typed.
fn quoted(text: &str) -> Vec<String> {
    let pieces = text.split('`').skip(1).step_by(2);
    pieces
        .filter(|piece| piece.contains(' '))
        .map(str::to_owned)
        .collect()
}
