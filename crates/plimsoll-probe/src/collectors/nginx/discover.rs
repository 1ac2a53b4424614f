//! Discovers nginx: its status page and its logs.

mod logs;

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use super::access_log::directives;
use super::configuration::{self, StatusPage};
use super::tree::{Directive, NginxTree, main_file};
use crate::collectors::discovery::{
    COMPONENTS_PER_PROCESS_MAX, DiscoveredComponent, ExaminedProcess, PROCESSES_MAX,
};
use crate::collectors::{ComponentMetadata, FileSetting};
use crate::files::Files;
use crate::parse::process;

/// nginx, by the configuration of its master process: its status pages, and its logs.
pub(super) fn find(process: &mut ExaminedProcess<'_>) {
    let (pid, words, auto) = (process.pid, process.words, process.auto);
    let (files, found) = (&mut *process.files, &mut *process.found);
    // Workers and helpers have the master's configuration.
    if words.first() == Some(&"nginx:") && words.get(1) != Some(&"master") {
        return;
    }
    let main = main_file(words);
    let Some(tree) = NginxTree::of_process(files, pid, words) else {
        files.announce(
            &format!("nginx {main}"),
            &format!(
                "nginx (pid {pid}): its configuration {main} cannot be read; run as root, or name its status page \
                by `watch: {{ nginx: URL }}`"
            ),
        );
        return;
    };
    let read = configuration::read(&tree.directives);
    let access_logs = directives::access_logs(&tree.directives);
    let settings = settings_of(files, pid, &read);
    let text = tree.files.first().map_or("", |(_, text)| text.as_str());
    found.extend(logs::error_log((files, pid), text, main, &settings));
    found.extend(logs::access_logs((files, pid), access_logs, main, auto));
    if read.pages.is_empty() && auto {
        files.announce(
            &format!("nginx without status {main}"),
            &format!(
                "nginx (pid {pid}) has no status page: add to `http {{ … }}` in {main} `server {{ listen \
                 127.0.0.1:8999; location = /nginx_status {{ stub_status; }} }}` and reload it by `nginx -s reload`"
            ),
        );
    }
    for page in read.pages.into_iter().take(COMPONENTS_PER_PROCESS_MAX) {
        found.extend(place_of(&page).map(|place| {
            DiscoveredComponent::new(
                ComponentKind::Nginx,
                place,
                ComponentMetadata {
                    settings: settings.clone(),
                    ..ComponentMetadata::default()
                },
                main.to_owned(),
            )
        }));
    }
}

pub(super) fn settings_of(
    files: &mut Files,
    master: u32,
    read: &configuration::NginxConfig<'_>,
) -> Vec<FileSetting> {
    let written = |name, written: Option<&Directive>| {
        let written = written?;
        let value = written.value().parse().ok()?;
        Some(FileSetting::number(name, value, written.place.as_str()))
    };
    let connections = written("worker_connections", read.worker_connections);
    // 512 is nginx's default.
    let connections =
        connections.unwrap_or_else(|| FileSetting::number("worker_connections", 512.0, ""));
    let workers = written("worker_processes", read.worker_processes).or_else(|| {
        // `auto`: as many as there are.
        let pids = files.numbers_in("proc").ok()?;
        let mut count = 0_u32;
        for pid in pids.into_iter().take(PROCESSES_MAX) {
            let stat = files
                .read(&format!("proc/{pid}/stat"))
                .ok()
                .and_then(process::stat);
            count +=
                u32::from(stat.is_some_and(|stat| stat.parent == master && stat.comm == "nginx"));
        }
        (count > 0).then(|| FileSetting::number("worker_processes", f64::from(count), ""))
    });
    std::iter::once(connections).chain(workers).collect()
}

/// The address of a page from this machine.
pub(super) fn place_of(page: &StatusPage) -> Option<ComponentAddress> {
    let path = page.path.clone();
    let Some(listen) = page
        .listen
        .iter()
        .find(|listen| !listen.starts_with("unix:"))
    else {
        let host = "127.0.0.1".to_owned();
        return page.listen.is_empty().then_some(ComponentAddress::Page {
            host,
            port: 80,
            path,
        });
    };
    let (host, port) = match listen.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => match listen.parse() {
            Ok(port) => ("*", port),
            Err(_) => (listen.as_str(), 80),
        },
    };
    let host = match host.trim_start_matches('[').trim_end_matches(']') {
        "*" | "0.0.0.0" | "" => "127.0.0.1",
        "::" => "::1",
        host => host,
    };
    Some(ComponentAddress::Page {
        host: host.to_owned(),
        port,
        path,
    })
}
