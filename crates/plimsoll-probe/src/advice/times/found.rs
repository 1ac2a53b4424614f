//! Proxies and servers on this machine, from the configuration files that their command lines name.

use plimsoll_model::component::ComponentKind;

use crate::collectors::discovery::PROCESSES_MAX;
use crate::collectors::integration::integration;
use crate::collectors::timeouts::ServerTimeouts;
use crate::files::Files;
use crate::parse::process;

/// Programs of each kind whose files are read.
const SERVERS_MAX: usize = 512;
/// Of one program, and addresses of one of these: all pairs are compared.
const SERVERS_PER_PROGRAM_MAX: usize = 128;
const LISTENS_MAX: usize = 16;

/// All of them; the collectors report what cannot be read.
pub(super) fn servers(files: &mut Files) -> Vec<ServerTimeouts> {
    let mut servers = Vec::new();
    let pids = files.numbers_in("proc").unwrap_or_default();
    for pid in pids.into_iter().take(PROCESSES_MAX) {
        let comm = files.read(&format!("proc/{pid}/comm"));
        let comm = comm.map_or(String::new(), |comm| comm.trim_end().to_owned());
        let kind = ComponentKind::of_process(&comm);
        let Some(timeouts) = kind.and_then(|kind| integration(kind).timeouts()) else {
            continue;
        };
        if is_worker(files, pid, &comm) {
            continue;
        }
        let line = files.command_line(pid);
        let words: Vec<&str> = line
            .split(['\0', ' '])
            .filter(|word| !word.is_empty())
            .collect();
        let before = servers.len();
        servers.extend(timeouts(files, pid, &words));
        servers.truncate((before + SERVERS_PER_PROGRAM_MAX).min(SERVERS_MAX));
        for server in &mut servers[before..] {
            server.listens.truncate(LISTENS_MAX);
        }
        if servers.len() >= SERVERS_MAX {
            break;
        }
    }
    servers
}

/// Whether a process is a child of one of the same name, with the same files.
fn is_worker(files: &mut Files, pid: u32, comm: &str) -> bool {
    let stat = files.read(&format!("proc/{pid}/stat")).ok();
    let parent = stat.and_then(process::stat).map(|stat| stat.parent);
    parent.is_some_and(|parent| {
        let above = files.read(&format!("proc/{parent}/comm"));
        above.is_ok_and(|above| above.trim_end() == comm)
    })
}
