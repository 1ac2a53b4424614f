//! PostgreSQL's statistics views, as lines of text: a word that identifies the line, then its values, separated by
//! tabs.

use std::collections::BTreeMap;

/// A setting, and the file and line that sets it, where visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PostgresSetting {
    /// Its name.
    pub(crate) name: String,
    /// Its value, in its own unit.
    pub(crate) value: String,
    /// File and line; empty where they are not known.
    pub(crate) file: String,
}

/// Sessions of clients that are in the same situation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sessions {
    /// State; empty where not visible.
    pub(crate) state: String,
    /// Wait event type; empty where they do not wait.
    pub(crate) kind: String,
    /// Wait event.
    pub(crate) event: String,
    /// How many they are.
    pub(crate) count: u64,
}

/// A statement in execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunningStatement {
    /// Its text.
    pub(crate) text: String,
    /// Sessions that carry it out.
    pub(crate) sessions: u64,
    /// Of these, sessions that wait for a lock.
    pub(crate) waiting: u64,
}

/// A session that blocks others, and waits for no lock itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blocker {
    /// Its state.
    pub(crate) state: String,
    /// The current or the last statement.
    pub(crate) text: String,
    /// Sessions that wait for it.
    pub(crate) blocked: u64,
}

/// A table, as it was read from its first row to its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableScans {
    /// Schema and name.
    pub(crate) name: String,
    /// Times it was read.
    pub(crate) scans: u64,
    /// Rows read by these.
    pub(crate) rows: u64,
}

/// One sample of the views.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Statistics {
    /// Start time of the server.
    pub(crate) started: String,
    /// Whether sessions of other roles are visible.
    pub(crate) sees_all: bool,
    /// Clients' sessions, without the collector's own.
    pub(crate) sessions: Vec<Sessions>,
    /// How long the oldest transaction that does nothing has done so, s.
    pub(crate) idle_s: f64,
    /// Locks that are waited for.
    pub(crate) locks_waited: u64,
    /// Statements in execution.
    pub(crate) running: Vec<RunningStatement>,
    /// The blocking sessions.
    pub(crate) blockers: Vec<Blocker>,
    /// Tables that are read whole most.
    pub(crate) tables: Vec<TableScans>,
    /// Totals over all databases, by name.
    pub(crate) totals: BTreeMap<String, u64>,
    /// Bytes of the databases that may be entered.
    pub(crate) size: Option<u64>,
    /// Settings.
    pub(crate) settings: Vec<PostgresSetting>,
}

/// Parses lines; `None` when the server's start is not among them.
pub(crate) fn statistics(text: &str) -> Option<Statistics> {
    let mut read = Statistics::default();
    for line in text.lines() {
        let values: Vec<&str> = line.split('\t').collect();
        let value = |index: usize| values.get(index).copied().unwrap_or_default();
        let owned = |index: usize| value(index).to_owned();
        let number = |index: usize| value(index).parse::<u64>().unwrap_or(0);
        match value(0) {
            "start" => value(1).clone_into(&mut read.started),
            "access" => read.sees_all = value(1) == "t",
            "session" => read.sessions.push(Sessions {
                state: owned(1),
                kind: owned(2),
                event: owned(3),
                count: number(4),
            }),
            "idle" => read.idle_s = value(1).parse().unwrap_or(0.0),
            "size" => read.size = value(1).parse().ok(),
            "locks" => read.locks_waited = number(1),
            "running" => read.running.push(RunningStatement {
                text: owned(1),
                sessions: number(2),
                waiting: number(3),
            }),
            "blocker" => read.blockers.push(Blocker {
                state: owned(1),
                text: owned(2),
                blocked: number(3),
            }),
            "table" => read.tables.push(TableScans {
                name: owned(1),
                scans: number(2),
                rows: number(3),
            }),
            "total" => {
                // A total that is not reported is absent.
                if let Ok(total) = value(2).parse() {
                    read.totals.insert(owned(1), total);
                }
            }
            "setting" => read.settings.push(PostgresSetting {
                name: owned(1),
                value: owned(2),
                file: owned(3),
            }),
            _ => {}
        }
    }
    (!read.started.is_empty()).then_some(read)
}

/// The values of a row, each without line breaks and tabs; `None` when the row is truncated.
pub(crate) fn row(body: &[u8]) -> Option<Vec<String>> {
    let (count, mut rest) = body.split_at_checked(2)?;
    let count = u16::from_be_bytes([count[0], count[1]]);
    let mut values = Vec::new();
    for _ in 0..count {
        let (len, after) = rest.split_at_checked(4)?;
        let len = i32::from_be_bytes([len[0], len[1], len[2], len[3]]);
        // A negative length means NULL.
        let (value, after) = after.split_at_checked(usize::try_from(len).unwrap_or(0))?;
        values.push(plain(value));
        rest = after;
    }
    Some(values)
}

/// The names of a table's columns; `None` when the description is truncated.
pub(crate) fn columns(body: &[u8]) -> Option<Vec<String>> {
    let (count, mut rest) = body.split_at_checked(2)?;
    let count = u16::from_be_bytes([count[0], count[1]]);
    let mut names = Vec::new();
    for _ in 0..count {
        let end = rest.iter().position(|&byte| byte == 0)?;
        names.push(plain(&rest[..end]));
        // Table, column, type, its size and modifier, and how values are written.
        rest = rest.get(end + 19..)?;
    }
    Some(names)
}

/// A value as text of one line without tabs.
pub(crate) fn plain(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    let kept = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_read_as_far_as_they_are_understood() {
        let text = "start\t17.5\naccess\tt\nsession\tactive\tLock\ttransactionid\t4\nsession\n\
            idle\t6.5\nlocks\t4\nrunning\tUPDATE t\t4\t3\nblocker\tidle in transaction\tUPDATE t\t3\n\
            table\tpublic.t\t2\t900\ntotal\thit\t12\ntotal\twal\t\nsetting\twork_mem\t4096\t/x:3\nnews\t1\n";
        let read = statistics(text).unwrap();
        assert!(read.sees_all);
        assert_eq!(read.sessions[0].count, 4);
        assert_eq!((read.idle_s, read.locks_waited), (6.5, 4));
        assert_eq!(read.running[0].waiting, 3);
        assert_eq!(read.blockers[0].blocked, 3);
        assert_eq!(read.tables[0].rows, 900);
        assert_eq!(read.totals, BTreeMap::from([("hit".to_owned(), 12)]));
        assert_eq!(read.settings[0].file, "/x:3");
        assert_eq!(statistics("session\tactive"), None);
    }

    #[test]
    fn rows_are_read() {
        let body = b"\0\x02\0\0\0\x03a\tb\xff\xff\xff\xff";
        assert_eq!(row(body), Some(vec!["a b".to_owned(), String::new()]));
        assert_eq!(row(&body[..8]), None);
        let described = [&b"\0\x02database\0"[..], &[0; 18], b"user\0", &[7; 18]].concat();
        assert_eq!(
            columns(&described),
            Some(vec!["database".to_owned(), "user".to_owned()])
        );
        assert_eq!(columns(&described[..40]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (row(&bytes), columns(&bytes));
            let _ = statistics(&String::from_utf8_lossy(&bytes));
        }
    }
}
