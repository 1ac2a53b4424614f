//! Logs of proxies on this machine.

use plimsoll_model::part::{Part, PartKind, PartPlace};

use super::Found;
use crate::eyes::{Known, Setting};
use crate::files::Files;

/// Where Debian's nginx writes when its configuration does not say.
const NGINX: &str = "/var/log/nginx/error.log";

/// The first file that nginx' configuration names for errors.
pub(super) fn nginx(
    files: &mut Files,
    text: &str,
    source: &str,
    settings: &[Setting],
) -> Option<Found> {
    let named = text
        .lines()
        .flat_map(|line| line.split(';'))
        .filter_map(|words| {
            let mut words = words.split_whitespace();
            (words.next()? == "error_log").then(|| words.next())?
        });
    let named: Vec<&str> = named.collect();
    let path = match named.iter().find(|path| path.starts_with('/')) {
        Some(path) => (*path).to_owned(),
        None if named.is_empty() => NGINX.to_owned(),
        None => return None,
    };
    files.path(&path).is_file().then(|| Found {
        part: Part {
            kind: PartKind::NginxLog,
            place: PartPlace::File(path.into()),
            login: None,
        },
        known: Known {
            settings: settings.to_vec(),
            pid: None,
        },
        source: source.to_owned(),
    })
}
