//! Connection poolers and application servers on this machine: where their metrics are, from their files.

use std::path::Path;

use plimsoll_model::component::{Component, ComponentAddress, ComponentKind};

use super::{DiscoveredComponent, address_of, engines, option, text_beside, text_for, texts_for};
use crate::collectors::{ComponentMetadata, FileSetting};
use crate::files::Files;
use crate::parse::{apache, gunicorn, pgbouncer, process};

/// Whether a process of this name belongs here.
pub(super) fn knows(comm: &str) -> bool {
    ["pgbouncer", "apache2", "httpd"].contains(&comm)
        || comm.starts_with("gunicorn")
        || engines::knows(comm)
        || is_exporter(comm)
}

/// Exporters, which expose metrics of other programs: names are truncated to 15 bytes.
fn is_exporter(comm: &str) -> bool {
    comm.contains("_exporte") || comm.starts_with("prometheus-")
}

/// Examines one of these.
pub(super) fn find(
    files: &mut Files,
    (pid, comm): (u32, &str),
    words: &[&str],
    auto: bool,
    found: &mut Vec<DiscoveredComponent>,
) {
    let candidate = match comm {
        "pgbouncer" => pooler(files, pid, words, auto),
        "apache2" | "httpd" => web(files, pid, words, auto),
        _ if comm.starts_with("gunicorn") => python(files, pid, words),
        _ if engines::knows(comm) => engines::find(files, (pid, comm), words, auto),
        _ => {
            if auto {
                exporter(files, pid, comm, words);
            }
            None
        }
    };
    // Workers were started by the same command line.
    if let Some(candidate) = candidate.filter(|candidate| {
        !found
            .iter()
            .any(|known| known.component == candidate.component)
    }) {
        found.push(candidate);
    }
}

pub(super) fn found(
    kind: ComponentKind,
    place: ComponentAddress,
    known: ComponentMetadata,
    source: String,
) -> DiscoveredComponent {
    DiscoveredComponent {
        component: Component {
            kind,
            place,
            login: None,
        },
        known,
        source,
    }
}

/// pgbouncer, by the configuration that its command line names.
fn pooler(files: &mut Files, pid: u32, words: &[&str], auto: bool) -> Option<DiscoveredComponent> {
    let is_ini = |word: &&&str| Path::new(word).extension().is_some_and(|end| end == "ini");
    let main = words.iter().find(is_ini)?;
    let Some(text) = text_for(files, pid, main) else {
        if auto {
            files.announce(
                &format!("pgbouncer {main}"),
                &format!(
                    "pgbouncer (pid {pid}): its configuration {main} cannot be read; run as root, or name it by `watch: {{ \
                     pgbouncer: pgbouncer://eye:PASSWORD@127.0.0.1:6432 }}`"
                ),
            );
        }
        return None;
    };
    let read = pgbouncer::configuration(&text);
    let word_value = |name: &str| read.words.get(name).map(|(value, _)| value.as_str());
    let port = word_value("listen_port").unwrap_or("6432");
    let host = word_value("listen_addr")
        .unwrap_or_default()
        .split(',')
        .next()
        .unwrap_or_default();
    let place = match word_value("unix_socket_dir").filter(|folder| folder.starts_with('/')) {
        Some(folder) if host.is_empty() => {
            ComponentAddress::Socket(format!("{folder}/.s.PGSQL.{port}").into())
        }
        _ => address_of(&format!("{}:{port}", host.trim()))?,
    };
    let numbers = ["default_pool_size", "reserve_pool_size", "max_client_conn"];
    let of_all = numbers.into_iter().filter_map(|name| {
        let (value, line) = read.words.get(name)?;
        Some(FileSetting {
            name,
            of: String::new(),
            value: value.parse().ok()?,
            file: format!("{main}:{line}"),
        })
    });
    let own = read
        .pool_sizes
        .iter()
        .map(|(database, (size, line))| FileSetting {
            name: "pool_size",
            of: database.clone(),
            value: *size as f64,
            file: format!("{main}:{line}"),
        });
    let known = ComponentMetadata {
        settings: of_all.chain(own).collect(),
        pid: Some(pid),
        ..ComponentMetadata::default()
    };
    Some(found(
        ComponentKind::Pgbouncer,
        place,
        known,
        (*main).to_owned(),
    ))
}

/// Apache, by its configuration and what that includes.
fn web(files: &mut Files, pid: u32, words: &[&str], auto: bool) -> Option<DiscoveredComponent> {
    let debian = ("/etc/apache2", "/etc/apache2/apache2.conf");
    let own = ("/etc/httpd", "conf/httpd.conf");
    let (root, main) = if words.first().is_some_and(|word| word.ends_with("httpd")) {
        own
    } else {
        debian
    };
    let root = option(words, "-d").unwrap_or(root);
    let whole = |path: &str| {
        if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("{root}/{path}")
        }
    };
    let main = whole(option(words, "-f").unwrap_or(main));
    let Some(text) = text_for(files, pid, &main) else {
        if auto {
            files.announce(
                &format!("apache {main}"),
                &format!(
                    "Apache (pid {pid}): its configuration {main} cannot be read; run as root, or name its page by `watch: {{ \
                     apache: http://127.0.0.1/server-status }}`"
                ),
            );
        }
        return None;
    };
    let read = apache::configuration(&main, &text, &mut |pattern| {
        texts_for(files, pid, &whole(pattern))
    });
    let Some(path) = read.pages.first() else {
        if auto {
            files.announce(
                &format!("apache without status {main}"),
                &format!("Apache (pid {pid}) has no status page: `a2enmod status && systemctl reload apache2`"),
            );
        }
        return None;
    };
    let listen = read.listen.first().map_or("80", String::as_str);
    let listen = if listen.contains(':') {
        listen.to_owned()
    } else {
        format!("127.0.0.1:{listen}")
    };
    let ComponentAddress::Tcp { host, port } = address_of(&listen)? else {
        return None;
    };
    let settings = read.workers_max.iter().filter_map(|written| {
        Some(FileSetting {
            name: "MaxRequestWorkers",
            of: String::new(),
            value: written.value.parse().ok()?,
            file: format!("{}:{}", written.file, written.line),
        })
    });
    let known = ComponentMetadata {
        settings: settings.collect(),
        pid: Some(pid),
        ..ComponentMetadata::default()
    };
    let path = path.clone();
    Some(found(
        ComponentKind::Apache,
        ComponentAddress::Page { host, port, path },
        known,
        main,
    ))
}

/// gunicorn, by the command line of its first process.
fn python(files: &mut Files, pid: u32, words: &[&str]) -> Option<DiscoveredComponent> {
    let parent = files
        .read(&format!("proc/{pid}/stat"))
        .ok()
        .and_then(process::stat)?
        .parent;
    let above = files
        .read(&format!("proc/{parent}/comm"))
        .unwrap_or_default();
    if above.starts_with("gunicorn") {
        return None;
    }
    let options = gunicorn::command_line(words);
    // It runs in a folder of its own, in which its files are named.
    let file = options
        .file
        .clone()
        .unwrap_or_else(|| "gunicorn.conf.py".to_owned());
    let text = if file.starts_with('/') {
        text_for(files, pid, &file)
    } else {
        text_beside(files, pid, &file)
    };
    let written = text
        .map(|text| gunicorn::configuration(&text))
        .unwrap_or_default();
    let options = options.or(written);
    let bind = options.bind.as_deref().unwrap_or("127.0.0.1:8000");
    let bind = bind.split(',').next().unwrap_or(bind);
    let place = match bind.strip_prefix("unix:") {
        Some(path) => ComponentAddress::Socket(path.into()),
        None if bind.contains(':') => address_of(bind)?,
        None => address_of(&format!("{bind}:8000"))?,
    };
    let setting = |name, entry: Option<(u64, usize)>| {
        let (value, line) = entry?;
        Some(FileSetting {
            name,
            of: String::new(),
            value: value as f64,
            file: if line > 0 {
                format!("{file}:{line}")
            } else {
                String::new()
            },
        })
    };
    let workers = setting("workers", options.workers);
    // Asynchronous worker classes have no threads that could be used up.
    let has_threads = options
        .class
        .as_deref()
        .is_none_or(|class| ["sync", "gthread"].contains(&class));
    let threads = if has_threads {
        setting("threads", options.threads)
    } else {
        setting("threads", Some((CONNECTIONS, 0)))
    };
    let known = ComponentMetadata {
        settings: workers.into_iter().chain(threads).collect(),
        pid: Some(pid),
        ..ComponentMetadata::default()
    };
    let source = format!("the command line of pid {pid}");
    Some(found(ComponentKind::Gunicorn, place, known, source))
}

/// Default of `worker_connections` for asynchronous worker classes.
const CONNECTIONS: u64 = 1000;

/// An exporter of another program's metrics: the user must choose the series.
fn exporter(files: &mut Files, pid: u32, comm: &str, words: &[&str]) {
    let listens = words.iter().find_map(|word| {
        word.trim_start_matches('-')
            .strip_prefix("web.listen-address=")
    });
    let port = match (listens, comm) {
        (Some(listens), _) => listens.rsplit(':').next().unwrap_or("9100"),
        (None, "node_exporter" | "prometheus-node") => "9100",
        (None, _) => "PORT",
    };
    files.announce(
        &format!("exporter {pid}"),
        &format!(
            "{comm} (pid {pid}) exposes metrics; to watch some of them, choose series: `watch: {{ auto: true, \
             prometheus: {{ url: http://127.0.0.1:{port}/metrics, series: [NAME, …] }} }}`"
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::super::admission::Admission;
    use super::super::discover;
    use super::*;

    #[test]
    fn servers_are_found_by_what_their_files_say() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join("proc").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("7/comm", "pgbouncer\n");
        put(
            "7/cmdline",
            "/usr/sbin/pgbouncer\0/etc/pgbouncer/pgbouncer.ini\0",
        );
        let ini = "[databases]\nshop = host=db pool_size=5\n[pgbouncer]\nlisten_addr = *\nlisten_port = 6433\ndefault_pool_size = 20\n";
        put("7/root/etc/pgbouncer/pgbouncer.ini", ini);
        for (pid, parent) in [(8, 1), (9, 8)] {
            put(&format!("{pid}/comm"), "gunicorn\n");
            put(
                &format!("{pid}/stat"),
                &format!("{pid} (gunicorn) S {parent} 0"),
            );
            put(
                &format!("{pid}/cmdline"),
                "python3\0/usr/bin/gunicorn\0--workers=3\0app:app\0",
            );
            put(
                &format!("{pid}/cwd/gunicorn.conf.py"),
                "bind = '127.0.0.1:8001'\nthreads = 2\n",
            );
        }
        put("10/comm", "apache2\n");
        put("10/cmdline", "/usr/sbin/apache2\0-k\0start\0");
        put(
            "10/root/etc/apache2/apache2.conf",
            "IncludeOptional mods-enabled/*.conf\nListen 8080\n",
        );
        let status = "<Location /server-status>\nSetHandler server-status\n</Location>\nMaxRequestWorkers 150\n";
        put("10/root/etc/apache2/mods-enabled/status.conf", status);
        put("11/comm", "prometheus-node\n");
        put("11/cmdline", "/usr/bin/prometheus-node-exporter\0");
        let mut files = Files::new(root.path().to_owned());
        let mut found =
            discover(&mut files, Vec::new(), true, &mut |_, _, _| Admission::Now).watched;
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let shown: Vec<String> = found
            .iter()
            .map(|(component, _)| component.to_string())
            .collect();
        assert_eq!(
            shown,
            [
                "pgbouncer at 127.0.0.1:6433",
                "Apache at http://127.0.0.1:8080/server-status",
                "gunicorn at 127.0.0.1:8001",
            ]
        );
        let settings = found.iter().flat_map(|(_, known)| &known.settings);
        let settings: Vec<_> = settings
            .map(|setting| {
                (
                    setting.name,
                    setting.value.to_string(),
                    setting.file.as_str(),
                )
            })
            .collect();
        let right = [
            (
                "default_pool_size",
                "20".to_owned(),
                "/etc/pgbouncer/pgbouncer.ini:6",
            ),
            (
                "pool_size",
                "5".to_owned(),
                "/etc/pgbouncer/pgbouncer.ini:2",
            ),
            (
                "MaxRequestWorkers",
                "150".to_owned(),
                "/etc/apache2/mods-enabled/status.conf:4",
            ),
            ("workers", "3".to_owned(), ""),
            ("threads", "2".to_owned(), "gunicorn.conf.py:2"),
        ];
        assert_eq!(settings, right);
        let notes = files.notes().join("\n");
        assert!(
            notes.contains("url: http://127.0.0.1:9100/metrics, series: [NAME, …]"),
            "{notes}"
        );
    }
}
