//! Puma's time-out of idle connections, for advice.

use super::settings::{FILE, listens};
use crate::collectors::discovery::text_beside;
use crate::collectors::timeouts::{Limit, ServerTimeouts};
use crate::files::Files;

/// The setting that ends an idle connection, and its value before and since a version.
const KEEPS: &str = "persistent_timeout";
const LONGER_SINCE: u32 = 7;
const SHORT_S: f64 = 20.0;
const LONG_S: f64 = 65.0;

/// Time-outs of a Puma, by its title and its file: it has none for a request.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ServerTimeouts> {
    if words.first() != Some(&"puma") {
        return Vec::new();
    }
    let text = text_beside(files, pid, FILE).unwrap_or_default();
    vec![ServerTimeouts {
        program: "Puma",
        listens: listens(words),
        keeps: keeps(&text, words.get(1).copied()),
        ..ServerTimeouts::default()
    }]
}

/// How long an idle connection stays open: as written, or as its version has it.
fn keeps(text: &str, version: Option<&str>) -> Option<Limit> {
    let written = text.lines().enumerate().filter_map(|(index, line)| {
        let rest = line.trim().strip_prefix(KEEPS)?;
        let value = rest.split('#').next()?.trim_matches(['(', ')', ' ']);
        Some((index + 1, value))
    });
    // A number that the file computes is not known.
    if let Some((line, value)) = written.last() {
        return Some(Limit {
            word: KEEPS,
            seconds: f64::from(value.parse::<u32>().ok()?),
            place: format!("{FILE}:{line}"),
        });
    }
    let major: u32 = version?.split('.').next()?.parse().ok()?;
    Some(Limit {
        word: KEEPS,
        seconds: if major < LONGER_SINCE {
            SHORT_S
        } else {
            LONG_S
        },
        place: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_connections_end_as_written_or_by_the_version() {
        for (text, version, seconds) in [
            ("threads 5\n", "5.6.5", Some(20.0)),
            ("", "7.0.4", Some(65.0)),
            ("", "cluster", None),
            (
                "persistent_timeout 75 # behind nginx\n",
                "5.6.5",
                Some(75.0),
            ),
            ("persistent_timeout(90)\n", "6.0.2", Some(90.0)),
            ("persistent_timeout ENV['IDLE'].to_i\n", "6.0.2", None),
            ("# persistent_timeout 1\n", "6.0.2", Some(20.0)),
        ] {
            let found = keeps(text, Some(version)).map(|limit| limit.seconds);
            assert_eq!(found, seconds, "{text}{version}");
        }
        let written = keeps("a\npersistent_timeout 75\n", None).unwrap();
        assert_eq!(written.place, "config/puma.rb:2");
    }
}
