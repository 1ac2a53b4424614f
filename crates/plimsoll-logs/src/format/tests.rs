//! Lines as the documents of servers show them, and random ones.

mod configured;
mod packed;
mod round_trip;
mod vendors;

use crate::{LogEntry, LogReader};

use super::*;

/// 2026-11-22T01:43:45Z.
const AT: i64 = 1_795_311_825_000;

fn reader(format: &str) -> LogReader {
    LogReader::new(Format::parse(format).unwrap())
}

/// Reads a line by a format as the library finds it: by the name, with the variant of these lines.
fn read<'a>(format: &str, line: &'a str) -> LogEntry<'a> {
    let wanted = Format::parse(format).unwrap();
    let detected = crate::detect(&[line.as_bytes()], Some(&wanted)).unwrap();
    let mut reader = LogReader::new(detected.format);
    match reader.read(line.as_bytes()) {
        Ok(Some(entry)) => entry,
        other => panic!("{format}: {line}: {other:?}"),
    }
}

/// Address, method, path and status.
fn line_of(entry: &LogEntry<'_>) -> String {
    format!(
        "{} {} {} {}",
        entry.address.as_deref().unwrap_or("?"),
        entry.method,
        entry.path,
        entry.status
    )
}

fn error(format: &str, line: &str) -> String {
    match reader(format).read(line.as_bytes()) {
        Err(error) => error.to_string(),
        other => panic!("{format}: {line}: {other:?}"),
    }
}

#[test]
fn every_name_is_a_format() {
    for (name, about) in Format::described() {
        let format = Format::parse(name).unwrap();
        assert_eq!(format.name(), name);
        assert!(!about.is_empty());
        if let Layout::Patterns(patterns, _) = &format.layout {
            assert!(!patterns.is_empty(), "{name}");
        }
    }
    let error = Format::parse("ngnix").unwrap_err().to_string();
    assert!(
        error.contains("`ngnix`") && error.contains("valid: nginx, "),
        "{error}"
    );
}
