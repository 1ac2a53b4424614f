//! gunicorn's time-outs, for advice.

use super::parse::{self, GunicornOptions};
use crate::collectors::discovery::text_named;
use crate::collectors::timeouts::{Ends, Limit, ServerTimeouts};
use crate::files::Files;

/// Time-outs of a gunicorn, which runs in a folder of its own, in which its files are named.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> ServerTimeouts {
    let options = parse::command_line(words);
    let file = options.file.clone();
    let file = file.unwrap_or_else(|| "gunicorn.conf.py".to_owned());
    let text = text_named(files, pid, &file);
    let read = text
        .map(|text| parse::configuration(&text))
        .unwrap_or_default();
    server(&file, &options.or(read))
}

/// The time-outs of a gunicorn, from its command line and its `file`.
fn server(file: &str, options: &GunicornOptions) -> ServerTimeouts {
    let limit = |word, setting: Option<(u64, usize)>, default: u64| {
        let (value, line) = setting.unwrap_or((default, 0));
        let place = if line > 0 {
            format!("{file}:{line}")
        } else {
            String::new()
        };
        Limit {
            word,
            seconds: value as f64,
            place,
        }
    };
    let bind = options.bind.as_deref().unwrap_or("127.0.0.1:8000");
    // With threads, a worker sends heartbeats during a request, so that the time-out does not end it.
    let is_plain = options.class.as_deref().is_none_or(|class| class == "sync")
        && options.threads.is_none_or(|(threads, _)| threads < 2);
    let ends = limit("timeout", options.timeout, 30);
    let ends = if !is_plain {
        Ends::Unknown
    } else if ends.seconds > 0.0 {
        Ends::After(ends)
    } else {
        Ends::Never("timeout", file.to_owned())
    };
    ServerTimeouts {
        program: "gunicorn",
        listens: bind.split(',').map(str::to_owned).collect(),
        ends,
        // The sync class closes the connection after each response, with `Connection: close`.
        keeps: (!is_plain).then(|| limit("keepalive", options.keepalive, 2)),
        ..ServerTimeouts::default()
    }
}
