//! PHP-FPM: its status page, and the settings that locate that page.

use std::collections::BTreeMap;

/// Metrics by name; `None` when it is something else.
pub(crate) fn status(text: &str) -> Option<BTreeMap<&str, &str>> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    let figures: BTreeMap<&str, &str> = pairs
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect();
    figures.contains_key("accepted conn").then_some(figures)
}

/// A word of a pool, and the line where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PhpFpmDirective {
    /// Its value.
    pub(crate) value: String,
    /// The line, from 1.
    pub(crate) line: u32,
}

/// A pool of processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PhpFpmPool {
    /// Its name.
    pub(crate) name: String,
    /// Its words.
    pub(crate) words: BTreeMap<String, PhpFpmDirective>,
}

/// Settings of one file: pools, and the patterns of further files.
pub(crate) fn configuration(text: &str) -> (Vec<PhpFpmPool>, Vec<String>) {
    let (mut pools, mut files) = (Vec::<PhpFpmPool>::new(), Vec::new());
    let mut is_pool = false;
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split(';').next().unwrap_or_default().trim();
        if let Some(name) = content.strip_prefix('[') {
            let name = name.trim_end_matches(']');
            is_pool = name != "global";
            if is_pool {
                pools.push(PhpFpmPool {
                    name: name.to_owned(),
                    ..PhpFpmPool::default()
                });
            }
            continue;
        }
        let Some((word, value)) = content.split_once('=') else {
            continue;
        };
        let (word, value) = (
            word.trim().to_owned(),
            value.trim().trim_matches('"').to_owned(),
        );
        if word == "include" {
            files.push(value);
        } else if let Some(pool) = pools.last_mut().filter(|_| is_pool) {
            pool.words.insert(word, PhpFpmDirective { value, line });
        }
    }
    (pools, files)
}

/// The request for a page, in records of FastCGI.
pub(crate) fn request(path: &str) -> Vec<u8> {
    let mut parameters = Vec::new();
    let (script, query) = path.split_once('?').unwrap_or((path, ""));
    for (name, value) in [
        ("SCRIPT_NAME", script),
        ("SCRIPT_FILENAME", script),
        ("REQUEST_URI", path),
        ("QUERY_STRING", query),
        ("REQUEST_METHOD", "GET"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("REMOTE_ADDR", "127.0.0.1"),
    ] {
        for text in [name, value] {
            let len = u32::try_from(text.len()).unwrap_or(0);
            // Longer lengths take four bytes, marked by the highest bit.
            match u8::try_from(len) {
                Ok(len) if len < 128 => parameters.push(len),
                _ => parameters.extend((len | 1 << 31).to_be_bytes()),
            }
        }
        parameters.extend(name.bytes().chain(value.bytes()));
    }
    // Begin as a responder that closes the connection; parameters and their end; no body.
    [
        record(1, &[0, 1, 0, 0, 0, 0, 0, 0]),
        record(4, &parameters),
        record(4, &[]),
        record(5, &[]),
    ]
    .concat()
}

fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let len = u16::try_from(content.len())
        .unwrap_or(u16::MAX)
        .to_be_bytes();
    [&[1, kind, 0, 1, len[0], len[1], 0, 0][..], content].concat()
}

/// Standard output of the records of a response; `None` before their end, or when they are invalid.
pub(crate) fn answer(bytes: &[u8]) -> Option<String> {
    let (mut stdout, mut rest) = (Vec::new(), bytes);
    loop {
        let (head, after) = rest.split_at_checked(8)?;
        let len = usize::from(u16::from_be_bytes([head[4], head[5]]));
        let (content, after) = after.split_at_checked(len)?;
        let (_, after) = after.split_at_checked(usize::from(head[6]))?;
        match (head[0], head[1]) {
            (1, 6) => stdout.extend(content),
            (1, 3) => return Some(String::from_utf8_lossy(&stdout).into_owned()),
            (1, _) => {}
            _ => return None,
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pools_and_their_words_are_read() {
        let text = "[global]\npid = /x\ninclude=/etc/php/pool.d/*.conf\n[www]\n; listen = a\nlisten = /run/a.sock ; here\n\
            pm.max_children = 5\n[api]\npm.status_path = \"/s\"\n";
        let (pools, files) = configuration(text);
        assert_eq!(files, ["/etc/php/pool.d/*.conf"]);
        assert_eq!(pools[0].words["listen"].value, "/run/a.sock");
        assert_eq!(pools[0].words["pm.max_children"].line, 7);
        assert_eq!(
            (
                pools[1].name.as_str(),
                pools[1].words["pm.status_path"].value.as_str()
            ),
            ("api", "/s")
        );
    }

    #[test]
    fn an_answer_is_taken_from_its_records() {
        let whole = [
            record(6, b"accepted"),
            record(6, b" conn: 1"),
            record(7, b"note"),
            record(3, &[0; 8]),
        ]
        .concat();
        assert_eq!(answer(&whole).as_deref(), Some("accepted conn: 1"));
        assert_eq!(answer(&whole[..whole.len() - 1]), None);
        assert_eq!(
            status("pool: www\naccepted conn:  12\n").unwrap()["accepted conn"],
            "12"
        );
        assert_eq!(status("File not found."), None);
        let asked = request(&format!("/{}", "s".repeat(300)));
        assert_eq!(&asked[..8], &[1, 1, 0, 1, 0, 8, 0, 0]);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = answer(&bytes);
            let text = String::from_utf8_lossy(&bytes);
            let _ = (status(&text), configuration(&text));
        }
    }
}
