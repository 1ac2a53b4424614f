//! Metrics of MariaDB and MySQL, as lines of text: a word that identifies the line, then its values, separated by
//! tabs; and the packets of their protocol.

use std::collections::BTreeMap;

/// A setting, and the file that sets it, where visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MysqlVariable {
    /// Its name.
    pub(crate) name: String,
    /// Its value.
    pub(crate) value: String,
    /// File; empty where it is not known.
    pub(crate) file: String,
}

/// A statement and how many sessions it concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// Its text.
    pub(crate) text: String,
    /// Sessions.
    pub(crate) sessions: u64,
}

/// One sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Status {
    /// Counters and levels by name.
    pub(crate) figures: BTreeMap<String, u64>,
    /// Bytes of `InnoDB`'s tables.
    pub(crate) size: Option<u64>,
    /// Settings.
    pub(crate) settings: Vec<MysqlVariable>,
    /// Statements in execution.
    pub(crate) running: Vec<Statement>,
    /// Statements of transactions that block others; empty where they are idle.
    pub(crate) blockers: Vec<Statement>,
    /// Whether sessions of other accounts are visible.
    pub(crate) sees_all: bool,
}

/// Parses lines; `None` when the uptime is not among them.
pub(crate) fn status(text: &str) -> Option<Status> {
    let mut read = Status {
        sees_all: true,
        ..Status::default()
    };
    for line in text.lines() {
        let values: Vec<&str> = line.split('\t').collect();
        let owned = |index: usize| values.get(index).copied().unwrap_or_default().to_owned();
        let number = |index: usize| owned(index).parse::<u64>();
        match values[0] {
            "status" => {
                if let Ok(figure) = number(2) {
                    read.figures.insert(owned(1).to_ascii_lowercase(), figure);
                }
            }
            "setting" => read.settings.push(MysqlVariable {
                name: owned(1).to_ascii_lowercase(),
                value: owned(2),
                file: owned(3),
            }),
            "running" => read.running.push(Statement {
                text: owned(1),
                sessions: number(2).unwrap_or(0),
            }),
            "blocker" => read.blockers.push(Statement {
                text: owned(1),
                sessions: number(2).unwrap_or(0),
            }),
            "size" => read.size = number(1).ok(),
            "lacking" => read.sees_all = false,
            _ => {}
        }
    }
    read.figures.contains_key("uptime").then_some(read)
}

/// Where a configuration file puts the server's socket.
pub(crate) fn socket_of(text: &str) -> Option<&str> {
    let mut is_servers = false;
    text.lines().map(str::trim).find_map(|line| {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            is_servers = ["mysqld", "mariadbd", "mariadb", "server"].contains(&section);
        }
        let (name, value) = line.split_once('=')?;
        (is_servers && name.trim() == "socket").then(|| value.trim())
    })
}

/// The server's greeting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Greeting {
    /// Its version, such as `10.11.6-MariaDB`.
    pub(crate) version: String,
    /// The challenge.
    pub(crate) challenge: Vec<u8>,
    /// The way of proof that it proposes.
    pub(crate) plugin: String,
}

/// Parses it (protocol 10); `None` when it is something else.
pub(crate) fn greeting(packet: &[u8]) -> Option<Greeting> {
    let rest = packet.strip_prefix(&[10])?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    let version = String::from_utf8_lossy(&rest[..end]).into_owned();
    // Number of the session, 4 bytes; first part of the challenge, 8, and a zero.
    let rest = rest.get(end + 5..)?;
    let mut challenge = rest.get(..8)?.to_vec();
    // Capabilities, character set, state, capabilities: 7 bytes; length of the challenge; 10 reserved bytes.
    let len = usize::from(*rest.get(16)?);
    let rest = rest.get(27..)?;
    let second_len = len.saturating_sub(8).max(13).min(rest.len());
    let (second, rest) = rest.split_at(second_len);
    challenge.extend(second.strip_suffix(&[0]).unwrap_or(second));
    let plugin = rest.split(|&byte| byte == 0).next().unwrap_or_default();
    Some(Greeting {
        version,
        challenge,
        plugin: String::from_utf8_lossy(plugin).into_owned(),
    })
}

/// An error: its number and its text.
pub(crate) fn error(packet: &[u8]) -> Option<(String, String)> {
    let rest = packet.strip_prefix(&[0xff])?;
    let (code, rest) = rest.split_at_checked(2)?;
    let code = u16::from_le_bytes([code[0], code[1]]);
    // The SQLSTATE follows a `#` once the session is established.
    let text = match rest.strip_prefix(b"#") {
        Some(rest) => rest.get(5..).unwrap_or_default(),
        None => rest,
    };
    Some((
        code.to_string(),
        crate::collectors::postgres::parse::plain(text),
    ))
}

/// The values of a row; `None` when it is truncated.
pub(crate) fn row(packet: &[u8]) -> Option<Vec<String>> {
    let (mut values, mut rest) = (Vec::new(), packet);
    while let Some((&first, after)) = rest.split_first() {
        let (len, after) = match first {
            // NULL.
            0xfb => (0, after),
            0xfc => number(after, 2)?,
            0xfd => number(after, 3)?,
            0xfe => number(after, 8)?,
            0xff => return None,
            len => (usize::from(len), after),
        };
        let (value, after) = after.split_at_checked(len)?;
        values.push(crate::collectors::postgres::parse::plain(value));
        rest = after;
    }
    Some(values)
}

/// A little-endian number of this many bytes, and the rest.
fn number(bytes: &[u8], count: usize) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_at_checked(count)?;
    let folded = number.iter().rev().try_fold(0_usize, |sum, &byte| {
        Some(sum.checked_mul(256)? + usize::from(byte))
    })?;
    Some((folded, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_read_as_far_as_they_are_understood() {
        let text = "status\tUptime\t12\nstatus\tSsl_cipher\t\nsetting\tMAX_CONNECTIONS\t151\t/etc/my.cnf\n\
            running\tSELECT 1\t3\nblocker\t\t2\nlacking\tPROCESS\nnews\n\n";
        let read = status(text).unwrap();
        assert_eq!(read.figures, BTreeMap::from([("uptime".to_owned(), 12)]));
        assert_eq!(read.settings[0].name, "max_connections");
        assert_eq!(
            (read.running[0].sessions, read.blockers[0].sessions),
            (3, 2)
        );
        assert!(!read.sees_all);
        assert_eq!(status("running\tx\t1"), None);
    }

    #[test]
    fn the_servers_socket_is_not_the_clients() {
        let text = "[client]\nsocket=/a\n[mariadbd]\n# socket = /b\nsocket = /c\n";
        assert_eq!(socket_of(text), Some("/c"));
        assert_eq!(socket_of("socket=/a"), None);
    }

    #[test]
    fn packets_are_read() {
        let mut packet = b"\x0a10.11.6-MariaDB\0\x01\0\0\0abcdefgh\0".to_vec();
        packet.extend(b"\xff\xff\x2d\x02\0\xff\x81\x15".iter().chain(&[0; 10]));
        packet.extend(b"ijklmnopqrst\0mysql_native_password\0");
        let right = Greeting {
            version: "10.11.6-MariaDB".to_owned(),
            challenge: b"abcdefghijklmnopqrst".to_vec(),
            plugin: "mysql_native_password".to_owned(),
        };
        assert_eq!(greeting(&packet), Some(right));
        let refused = error(b"\xff\x10\x04Too many connections");
        assert_eq!(
            refused,
            Some(("1040".to_owned(), "Too many connections".to_owned()))
        );
        let denied = error(b"\xff\x15\x04#28000Access denied");
        assert_eq!(
            denied,
            Some(("1045".to_owned(), "Access denied".to_owned()))
        );
        assert_eq!(
            row(b"\x01a\xfb\xfc\x02\0bc"),
            Some(vec!["a".to_owned(), String::new(), "bc".to_owned()])
        );
        assert_eq!(row(b"\x05a"), None);
        assert_eq!(row(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (greeting(&bytes), error(&bytes), row(&bytes));
            let _ = status(&String::from_utf8_lossy(&bytes));
        }
    }
}
