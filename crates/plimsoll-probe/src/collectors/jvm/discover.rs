//! Discovers JVMs.

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use crate::collectors::discovery::DiscoveredComponent;
use crate::files::Files;

/// Users whose JVMs are searched for counters at most.
const USERS_MAX: usize = 256;

/// A JVM, by the file of its counters: `/tmp/hsperfdata_USER/PID`, with the number that it has in its own namespace.
pub(crate) fn find(files: &mut Files, pid: u32, auto: bool) -> Option<DiscoveredComponent> {
    let status = files
        .read(&format!("proc/{pid}/status"))
        .unwrap_or_default();
    let inner = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))
        .and_then(|numbers| numbers.split_whitespace().next_back()?.parse().ok())
        .unwrap_or(pid);
    let path = counters_of(files, pid, inner);
    let Some(path) = path else {
        if auto {
            files.announce(
                &format!("jvm {pid}"),
                &format!(
                    "a JVM (pid {pid}) runs here but exposes no counters: start it without `-XX:-UsePerfData` and \
                     `-XX:+PerfDisableSharedMem`; if it runs in a container, run as root"
                ),
            );
        }
        return None;
    };
    let place = ComponentAddress::File(path.into());
    Some(DiscoveredComponent::of_process(
        ComponentKind::Jvm,
        place,
        pid,
        format!("its counters, pid {pid}"),
    ))
}

/// The counters file of a JVM in its temporary directory.
fn counters_of(files: &mut Files, pid: u32, inner: u32) -> Option<String> {
    let mut users = files.names_of(pid, "/tmp").ok()?;
    users.retain(|name| name.starts_with("hsperfdata_"));
    let paths = users.into_iter().take(USERS_MAX);
    paths
        .map(|user| format!("/tmp/{user}/{inner}"))
        .find(|path| files.is_file_of(pid, path))
}
