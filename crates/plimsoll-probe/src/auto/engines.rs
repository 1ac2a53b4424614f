//! JVMs, uWSGI, Varnish and Go programs on this machine: where their metrics are.

use std::collections::BTreeSet;

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use super::servers::found;
use super::{DiscoveredComponent, address_of, text_beside, text_for};
use crate::collectors::{ComponentMetadata, FileSetting};
use crate::files::Files;
use crate::parse::uwsgi::{UwsgiOptions, command_line, configuration};

/// Ini files of one uWSGI that are read.
const FILES_MAX: usize = 16;
/// Users whose JVMs are searched for counters at most.
const USERS_MAX: usize = 256;
/// Go programs reported with a remedy at most.
const GO_MAX: usize = 4;
/// The end of the header of the note that Go's linker writes into the first page of a program: kind 4 (build id),
/// owner `Go`.
const GO_NOTE_OWNER: &[u8] = b"\x04\0\0\0Go\0\0";
const GO_NOTE_REACH: u64 = 4096;

/// Whether a process of this name belongs here.
pub(super) fn knows(comm: &str) -> bool {
    ["java", "mongod", "varnishd"].contains(&comm) || comm.starts_with("uwsgi")
}

/// Examines one of these.
pub(super) fn find(
    files: &mut Files,
    (pid, comm): (u32, &str),
    words: &[&str],
    auto: bool,
) -> Option<DiscoveredComponent> {
    match comm {
        "java" => jvm(files, pid, auto),
        "mongod" => Some(mongod(files, pid, words)),
        "varnishd" => {
            if auto {
                varnish(files, pid, words);
            }
            None
        }
        _ => uwsgi(files, pid, words, auto),
    }
}

/// A JVM, by the file of its counters: `/tmp/hsperfdata_USER/PID`, with the number that it has in its own namespace.
fn jvm(files: &mut Files, pid: u32, auto: bool) -> Option<DiscoveredComponent> {
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
    let known = ComponentMetadata {
        settings: Vec::new(),
        pid: Some(pid),
        ..ComponentMetadata::default()
    };
    let place = ComponentAddress::File(path.into());
    Some(found(
        ComponentKind::Jvm,
        place,
        known,
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

/// MongoDB, by its command line or the file that this names: of it, only the line of its port is read.
fn mongod(files: &mut Files, pid: u32, words: &[&str]) -> DiscoveredComponent {
    let argument = |names: &[&str]| {
        words.iter().enumerate().find_map(|(at, word)| {
            let (name, value) = word.split_once('=').unwrap_or((*word, ""));
            let value = if value.is_empty() {
                words.get(at + 1).copied()?
            } else {
                value
            };
            names.contains(&name).then(|| value.to_owned())
        })
    };
    let file = argument(&["--config", "-f"]);
    let port = argument(&["--port"]).or_else(|| {
        let text = text_for(files, pid, file.as_deref()?)?;
        let port = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("port:"))?;
        Some(port.trim().to_owned())
    });
    let place = ComponentAddress::Tcp {
        host: "127.0.0.1".to_owned(),
        port: port.and_then(|port| port.parse().ok()).unwrap_or(27017),
    };
    let known = ComponentMetadata {
        settings: Vec::new(),
        pid: Some(pid),
        ..ComponentMetadata::default()
    };
    let source = file.unwrap_or_else(|| format!("the command line of pid {pid}"));
    found(ComponentKind::Mongo, place, known, source)
}

/// uWSGI, by its command line and the ini files that this names.
fn uwsgi(files: &mut Files, pid: u32, words: &[&str], auto: bool) -> Option<DiscoveredComponent> {
    let mut options = command_line(words);
    let mut written: Vec<FileSetting> = Vec::new();
    let named = options.files.clone();
    for file in named.iter().take(FILES_MAX) {
        // A section of a file may follow `:`.
        let file = file.split(':').next().unwrap_or(file);
        let text = if file.starts_with('/') {
            text_for(files, pid, file)
        } else {
            text_beside(files, pid, file)
        };
        let Some(text) = text else {
            continue;
        };
        let read = configuration(&text);
        written.extend(settings(&read, file));
        options = options.or(read);
    }
    // Placeholders are not resolved here.
    let stats = options.stats.filter(|stats| !stats.contains(['%', '$']));
    let place = stats.as_deref().and_then(|stats| {
        let socket = stats.strip_prefix("unix:").unwrap_or(stats);
        if socket.starts_with('/') {
            Some(ComponentAddress::Socket(socket.into()))
        } else {
            address_of(stats)
        }
    });
    let Some(place) = place else {
        if auto {
            let main = named.last().map_or("its ini file", String::as_str);
            files.announce(
                &format!("uwsgi {main}"),
                &format!(
                    "uWSGI (pid {pid}) has no stats address in its configuration: add `stats = 127.0.0.1:1717` to \
                     `[uwsgi]` in {main}, and restart it; or name the address: `watch: {{ auto: true, uwsgi: \
                     127.0.0.1:1717 }}`"
                ),
            );
        }
        return None;
    };
    let known = ComponentMetadata {
        settings: written,
        pid: Some(pid),
        ..ComponentMetadata::default()
    };
    let source = named.into_iter().next();
    let source = source.unwrap_or_else(|| format!("the command line of pid {pid}"));
    Some(found(ComponentKind::Uwsgi, place, known, source))
}

fn settings(options: &UwsgiOptions, file: &str) -> Vec<FileSetting> {
    let both = [
        ("processes", options.processes),
        ("threads", options.threads),
    ];
    let settings = both.into_iter().filter_map(|(name, setting)| {
        let (value, line) = setting?;
        Some(FileSetting {
            name,
            of: String::new(),
            value: value as f64,
            file: format!("{file}:{line}"),
        })
    });
    settings.collect()
}

/// Varnish, whose counters only a command reports; discovered commands are never executed.
fn varnish(files: &mut Files, pid: u32, words: &[&str]) {
    let name = super::option(words, "-n").map_or(String::new(), |name| format!(" -n {name}"));
    // It has two processes of the same command line.
    files.announce(
        &format!("varnish{name}"),
        &format!(
            "Varnish (pid {pid}) runs here; its counters are read by a command, and Plimsoll executes only commands \
             that are configured: `watch: {{ auto: true, varnish: 'varnishstat -j -t 0{name}' }}`"
        ),
    );
}

/// Reports how a Go program could be scraped.
pub(super) fn go(files: &mut Files, pid: u32, comm: &str) {
    let announced: BTreeSet<&str> = files
        .notes()
        .iter()
        .filter_map(|note| note.split(" is a program in Go").next())
        .filter(|name| !name.contains(' '))
        .collect();
    if announced.len() >= GO_MAX || announced.contains(comm) || comm.contains(' ') {
        return;
    }
    if is_go(files, pid) {
        files.announce(
            &format!("go {comm}"),
            &format!(
                "{comm} is a program in Go (pid {pid}); to watch its garbage collector and scheduler: `watch: {{ \
                 auto: true, go: http://127.0.0.1:PORT/debug/vars }}` if it imports `expvar`, or its `/metrics`"
            ),
        );
    }
}

/// Whether a program was built by Go's linker.
fn is_go(files: &mut Files, pid: u32) -> bool {
    let head = files.memory_of(&format!("proc/{pid}/exe"), 0, GO_NOTE_REACH);
    head.is_ok_and(|head| {
        let mut pieces = head.windows(GO_NOTE_OWNER.len());
        head.starts_with(b"\x7fELF") && pieces.any(|bytes| bytes == GO_NOTE_OWNER)
    })
}

#[cfg(test)]
mod tests {
    use super::super::admission::Admission;
    use super::super::discover;
    use super::*;

    #[test]
    #[expect(
        clippy::too_many_lines,
        reason = "one machine with all that is looked for"
    )]
    fn what_tells_of_itself_is_found_and_of_the_rest_it_is_said_how() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &[u8]| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        for (pid, inner) in [(7, 7), (8, 3), (9, 9)] {
            put(&format!("proc/{pid}/comm"), b"java\n");
            put(
                &format!("proc/{pid}/status"),
                format!("Name:\tjava\nNSpid:\t{pid}\t{inner}\n").as_bytes(),
            );
        }
        put("tmp/hsperfdata_shop/7", b"");
        // The file of an earlier process with this pid.
        put("tmp/hsperfdata_shop/8", b"");
        put("proc/8/root/tmp/hsperfdata_root/3", b"");
        for pid in [10, 11] {
            put(&format!("proc/{pid}/comm"), b"uwsgi\n");
            put(
                &format!("proc/{pid}/cmdline"),
                b"/usr/bin/uwsgi\0--ini\0/etc/uwsgi/shop.ini\0--need-app\0",
            );
        }
        put(
            "proc/10/root/etc/uwsgi/shop.ini",
            b"[uwsgi]\nprocesses = 2\nstats = /run/uwsgi/stats.sock\n",
        );
        put(
            "etc/uwsgi/shop.ini",
            b"[uwsgi]\nstats = /run/uwsgi/stats.sock\n",
        );
        let named: [(&str, &[u8]); 5] = [
            ("12/comm", b"uwsgi\n"),
            ("12/cmdline", b"uwsgi\0--http=:80\0"),
            ("13/comm", b"varnishd\n"),
            ("13/cmdline", b"varnishd\0-n\0shop\0"),
            ("14/comm", b"caddy\n"),
        ];
        for (path, text) in named {
            put(&format!("proc/{path}"), text);
        }
        let mut program = b"\x7fELF\x02".to_vec();
        program.extend([0; 600]);
        program.extend(b"\x04\0\0\0S\0\0\0\x04\0\0\0Go\0\0build");
        put("proc/14/exe", &program);
        put("proc/15/comm", b"cat\n");
        put("proc/16/comm", b"mongod\n");
        put(
            "proc/16/cmdline",
            b"/usr/bin/mongod\0--config\0/etc/mongod.conf\0",
        );
        put("proc/16/root/etc/mongod.conf", b"net:\n  port: 27018\n");
        put("proc/15/exe", &program[..600]);
        let mut files = Files::new(root.path().to_owned());
        let found = discover(&mut files, Vec::new(), true, &mut |_, _, _| Admission::Now).watched;
        let mut shown: Vec<String> = found
            .iter()
            .map(|(component, _)| component.to_string())
            .collect();
        shown.sort();
        assert_eq!(
            shown,
            [
                "MongoDB at 127.0.0.1:27018",
                "the JVM at /proc/8/root/tmp/hsperfdata_root/3",
                "the JVM at /tmp/hsperfdata_shop/7",
                "uWSGI at /run/uwsgi/stats.sock",
            ]
        );
        let notes = files.notes().join("\n");
        for expected in [
            "a JVM (pid 9) runs here but exposes no counters",
            "uWSGI (pid 12) has no stats address",
            "varnish: 'varnishstat -j -t 0 -n shop'",
            "caddy is a program in Go (pid 14)",
        ] {
            assert!(notes.contains(expected), "`{expected}` is not in {notes}");
        }
        assert!(!notes.contains("cat is"), "{notes}");
    }
}
