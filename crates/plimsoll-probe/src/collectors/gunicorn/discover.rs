//! Discovers gunicorn.

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use super::parse;
use crate::collectors::discovery::{DiscoveredComponent, address_of, text_named};
use crate::collectors::{ComponentMetadata, FileSetting};
use crate::files::Files;
use crate::program::is_worker;

/// Default of `worker_connections` for asynchronous worker classes.
const CONNECTIONS: u64 = 1000;

/// gunicorn, by the command line of its first process.
pub(crate) fn find(files: &mut Files, pid: u32, words: &[&str]) -> Option<DiscoveredComponent> {
    if is_worker(files, pid, ComponentKind::Gunicorn)? {
        return None;
    }
    let options = parse::command_line(words);
    // It runs in a folder of its own, in which its files are named.
    let file = options
        .file
        .clone()
        .unwrap_or_else(|| "gunicorn.conf.py".to_owned());
    let options = options.or(written_in(files, pid, &file));
    let bind = options.bind.as_deref().unwrap_or("127.0.0.1:8000");
    let bind = bind.split(',').next().unwrap_or(bind);
    let place = match bind.strip_prefix("unix:") {
        Some(path) => ComponentAddress::Socket(path.into()),
        None if bind.contains(':') => address_of(bind)?,
        None => address_of(&format!("{bind}:8000"))?,
    };
    let setting = |name, entry: Option<(u64, usize)>| {
        let (value, line) = entry?;
        let written = (line > 0).then(|| format!("{file}:{line}"));
        Some(FileSetting::number(
            name,
            value as f64,
            written.unwrap_or_default(),
        ))
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
        settings: [
            workers,
            threads,
            setting("max_requests", options.max_requests),
            setting("backlog", options.backlog),
        ]
        .into_iter()
        .flatten()
        .collect(),
        pid: Some(pid),
        ..ComponentMetadata::default()
    };
    let source = format!("the command line of pid {pid}");
    Some(DiscoveredComponent::new(
        ComponentKind::Gunicorn,
        place,
        known,
        source,
    ))
}

/// The settings of its configuration file.
fn written_in(files: &mut Files, pid: u32, file: &str) -> parse::GunicornOptions {
    let text = text_named(files, pid, file);
    text.map(|text| parse::configuration(&text))
        .unwrap_or_default()
}
