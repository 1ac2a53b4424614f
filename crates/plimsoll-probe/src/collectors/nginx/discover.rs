//! Discovers nginx: its status page and its logs.

mod logs;

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use super::access_log::directives;
use super::configuration::{self, NginxValue, StatusPage};
use crate::collectors::discovery::{
    COMPONENTS_PER_PROCESS_MAX, DiscoveredComponent, PROCESSES_MAX, option, text_for, texts_for,
};
use crate::collectors::{ComponentMetadata, FileSetting};
use crate::files::Files;
use crate::parse::process;

/// nginx, by the configuration of its master process: its status pages, and its logs.
pub(crate) fn find(
    files: &mut Files,
    pid: u32,
    words: &[&str],
    auto: bool,
    found: &mut Vec<DiscoveredComponent>,
) {
    // Workers and helpers have the master's configuration.
    if words.first() == Some(&"nginx:") && words.get(1) != Some(&"master") {
        return;
    }
    let main = option(words, "-c").unwrap_or("/etc/nginx/nginx.conf");
    let Some(text) = text_for(files, pid, main) else {
        files.announce(
            &format!("nginx {main}"),
            &format!(
                "nginx (pid {pid}): its configuration {main} cannot be read; run as root, or name its status page \
                by `watch: {{ nginx: URL }}`"
            ),
        );
        return;
    };
    let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut included = |pattern: &str| {
        let whole = if pattern.starts_with('/') {
            pattern.to_owned()
        } else {
            format!("{folder}/{pattern}")
        };
        texts_for(files, pid, &whole)
    };
    let read = configuration::read(main, &text, &mut included);
    let access_logs = directives::access_logs(main, &text, &mut included);
    let settings = settings_of(files, pid, &read);
    found.extend(logs::error_log((files, pid), &text, main, &settings));
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
    read: &configuration::NginxConfig,
) -> Vec<FileSetting> {
    let written = |name, written: Option<&NginxValue>| {
        let written = written?;
        Some(FileSetting {
            name,
            of: String::new(),
            value: written.value.parse().ok()?,
            file: format!("{}:{}", written.file, written.line),
        })
    };
    let connections = written("worker_connections", read.worker_connections.as_ref());
    // 512 is nginx's default.
    let connections = connections.unwrap_or(FileSetting {
        name: "worker_connections",
        of: String::new(),
        value: 512.0,
        file: String::new(),
    });
    let workers = written("worker_processes", read.worker_processes.as_ref()).or_else(|| {
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
        (count > 0).then(|| FileSetting {
            name: "worker_processes",
            of: String::new(),
            value: f64::from(count),
            file: String::new(),
        })
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
