//! The status page of Apache's HTTP server in its form for programs (`?auto`), and its configuration.

use std::collections::BTreeMap;

/// Values by name; `None` when it is another page.
pub(crate) fn status(text: &str) -> Option<BTreeMap<&str, &str>> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let values: BTreeMap<&str, &str> = lines
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect();
    (values.contains_key("BusyWorkers") && values.contains_key("IdleWorkers")).then_some(values)
}

/// A directive of the configuration, and its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApacheDirective {
    /// Its arguments.
    pub(crate) value: String,
    /// File.
    pub(crate) file: String,
    /// Line.
    pub(crate) line: usize,
}

/// The relevant settings of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApacheConfig {
    /// `MaxRequestWorkers`; the last one applies.
    pub(crate) workers_max: Option<ApacheDirective>,
    /// Where it listens, in the order of the files.
    pub(crate) listen: Vec<String>,
    /// Paths of the status page.
    pub(crate) pages: Vec<String>,
}

/// How deep files may include files.
const DEPTH_MAX: u32 = 8;
/// Files read at most, includes counted.
const FILES_MAX: usize = 256;

/// Parses a configuration and its includes: `include` returns names and texts of the files that match a pattern.
pub(crate) fn configuration(
    file: &str,
    text: &str,
    include: &mut impl FnMut(&str) -> Vec<(String, String)>,
) -> ApacheConfig {
    let mut read = ApacheConfig::default();
    let mut files = 0;
    let mut include = |pattern: &str| {
        let mut found = if files < FILES_MAX {
            include(pattern)
        } else {
            Vec::new()
        };
        found.truncate(FILES_MAX - files);
        files += found.len();
        found
    };
    read_into(&mut read, file, text, &mut include, DEPTH_MAX);
    read
}

fn read_into(
    read: &mut ApacheConfig,
    file: &str,
    text: &str,
    include: &mut impl FnMut(&str) -> Vec<(String, String)>,
    depth: u32,
) {
    let mut location = None;
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        let Some(word) = words.next().map(str::to_ascii_lowercase) else {
            continue;
        };
        let value = words
            .next()
            .unwrap_or_default()
            .trim_end_matches('>')
            .trim_matches('"');
        match word.as_str() {
            "maxrequestworkers" | "maxclients" => {
                read.workers_max = Some(ApacheDirective {
                    value: value.to_owned(),
                    file: file.to_owned(),
                    line: index + 1,
                });
            }
            "listen" => read.listen.push(value.to_owned()),
            "<location" => location = Some(value.to_owned()),
            "</location>" => location = None,
            "sethandler" if value == "server-status" => read.pages.extend(location.clone()),
            "include" | "includeoptional" if depth > 0 => {
                for (file, text) in include(value) {
                    read_into(read, &file, &text, include, depth - 1);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Of Apache 2.4, shortened.
    const PAGE: &str = "127.0.0.1\nServerVersion: Apache/2.4.57 (Debian)\nServerMPM: event\n\
        RestartTime: Monday, 23-Nov-2026 02:00:00 UTC\nTotal Accesses: 912\nTotal kBytes: 77\nBusyWorkers: 3\n\
        IdleWorkers: 47\nScoreboard: ___WW_R....\n";

    #[test]
    fn the_status_page_is_read() {
        let read = status(PAGE).unwrap();
        assert_eq!((read["BusyWorkers"], read["Total Accesses"]), ("3", "912"));
        assert_eq!(read["RestartTime"], "Monday, 23-Nov-2026 02:00:00 UTC");
        assert_eq!(status("<html>BusyWorkers: 1"), None);
    }

    #[test]
    fn a_configuration_is_read_with_what_it_includes() {
        let main =
            "# Listen 1\nListen 127.0.0.1:8080\nIncludeOptional mods/*.conf\nMaxRequestWorkers 4\n";
        let mods = "<Location \"/server-status\">\n  SetHandler server-status\n</Location>\nMaxClients 150\nInclude x\n";
        let read = configuration("/etc/a", main, &mut |pattern| {
            let found = pattern == "mods/*.conf";
            found
                .then(|| ("/etc/m".to_owned(), mods.to_owned()))
                .into_iter()
                .collect()
        });
        let right = ApacheDirective {
            value: "4".to_owned(),
            file: "/etc/a".to_owned(),
            line: 4,
        };
        assert_eq!(read.workers_max, Some(right));
        assert_eq!(
            (read.listen.as_slice(), read.pages.as_slice()),
            (
                &["127.0.0.1:8080".to_owned()][..],
                &["/server-status".to_owned()][..]
            )
        );
        // A file that includes itself is read only a few times.
        let endless = configuration("/a", "Include /a\nListen 1\n", &mut |_| {
            vec![("/a".to_owned(), "Include /a\nListen 1\n".to_owned())]
        });
        assert_eq!(endless.listen.len(), 9);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,200}") {
            let _ = status(&text);
            let _ = configuration("", &text, &mut |_| Vec::new());
        }
    }
}
