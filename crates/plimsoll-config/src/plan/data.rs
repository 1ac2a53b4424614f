//! Rows that users take: CSV, JSON, or written in the plan.

use std::path::PathBuf;

use plimsoll_model::journey::{AtEnd, Feed, FeedOrder};
use serde_json::Value;

use super::desk::{Desk, Fields};
use super::journeys::check_name;
use super::names::Scene;
use super::tree::{Kind, Node};
use super::words::DATA;

/// Longest file of data, bytes.
pub(crate) const DATA_LEN_MAX: u64 = 256 << 20;
/// Faulty rows shown of one file.
const ROWS_SHOWN: usize = 3;

/// A table of texts.
pub(crate) struct Rows {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// Reads everything below `data:`.
pub(crate) fn data(scene: &mut Scene<'_>, node: &Node) {
    let desk = scene.desk;
    for (key, node) in desk.entries(node, "data by name").unwrap_or_default() {
        check_name(desk, key);
        // A feed that cannot be read keeps its name, so that its uses are not told as faults again.
        let (feed, rows) =
            feed(desk, &key.text, node).unwrap_or_else(|| (empty(&key.text), Vec::new()));
        scene.feeds.push(feed);
        scene.rows.push(rows);
    }
}

fn empty(name: &str) -> Feed {
    Feed {
        name: name.to_owned(),
        path: None,
        columns: Vec::new(),
        rows: 0,
        order: FeedOrder::default(),
        at_end: AtEnd::default(),
        each_iteration: false,
    }
}

fn feed(desk: &Desk<'_>, name: &str, node: &Node) -> Option<(Feed, Vec<Vec<String>>)> {
    let fields = desk.fields(node, &DATA)?;
    let mut feed = empty(name);
    let orders = [
        ("in order", FeedOrder::InOrder),
        ("random", FeedOrder::Random),
        ("unique", FeedOrder::Unique),
    ];
    if let Some(node) = fields.get("pick") {
        feed.order = desk.one_of(node, &orders).unwrap_or_default();
    }
    let ends = [
        ("stop", AtEnd::Stop),
        ("recycle", AtEnd::Recycle),
        ("error", AtEnd::Error),
    ];
    if let Some((key, node)) = fields.entry("at_end") {
        feed.at_end = desk.one_of(node, &ends).unwrap_or_default();
        if feed.order != FeedOrder::Unique {
            let fault = "only rows that are picked `unique` come to an end";
            desk.note(key.span.start, fault, "pick: unique, or no at_end", None);
        }
    }
    if let Some(node) = fields.get("each") {
        feed.each_iteration = desk
            .one_of(node, &[("user", false), ("iteration", true)])
            .unwrap_or_default();
    }
    let kinds = ["csv", "json", "rows"];
    let Some((key, source)) = desk.exactly_one(&fields, &kinds) else {
        for (key, source) in fields.among(&kinds) {
            rows(desk, &fields, &key.text, source);
        }
        return None;
    };
    if let Some((delimiter, _)) = fields.entry("delimiter")
        && key.text != "csv"
    {
        desk.note(
            delimiter.span.start,
            "`delimiter` means nothing here",
            "with csv only",
            None,
        );
    }
    let (path, rows) = rows(desk, &fields, &key.text, source)?;
    feed.path = path;
    if rows.rows.is_empty() {
        desk.fault(
            source,
            format!("there are no rows in `{name}`"),
            "one row at least",
        );
    }
    feed.columns = rows.columns;
    feed.rows = rows.rows.len() as u64;
    Some((feed, rows.rows))
}

/// The rows that a feed says, and the file that they are from.
fn rows(
    desk: &Desk<'_>,
    fields: &Fields<'_>,
    kind: &str,
    source: &Node,
) -> Option<(Option<PathBuf>, Rows)> {
    if kind == "rows" {
        return Some((None, written(desk, source)?));
    }
    let path = desk.word(source, "the name of a file")?;
    let content = desk.file(source, &path, DATA_LEN_MAX)?;
    let rows = if kind == "csv" {
        csv_rows(desk, fields, source, &path, &content)?
    } else {
        json_rows(desk, source, &path, &content)?
    };
    Some((Some(PathBuf::from(path)), rows))
}

pub(crate) fn csv_rows(
    desk: &Desk<'_>,
    fields: &Fields<'_>,
    node: &Node,
    path: &str,
    content: &[u8],
) -> Option<Rows> {
    let delimiter = match fields.get("delimiter") {
        Some(node) => match desk.text(node, "one character")?.as_str() {
            "tab" => b'\t',
            text if text.len() == 1 => text.as_bytes()[0],
            text => {
                desk.fault(
                    node,
                    format!("`{text}` is not one character"),
                    "one character of ASCII, or tab",
                );
                return None;
            }
        },
        None => b',',
    };
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .from_reader(content);
    let columns: Vec<String> = match reader.headers() {
        Ok(names) => names.iter().map(|name| name.trim().to_owned()).collect(),
        Err(error) => {
            desk.fault(node, format!("`{path}`: {error}"), "a CSV file in UTF-8");
            return None;
        }
    };
    check_columns(desk, node, path, &columns)?;
    let mut rows = Vec::new();
    let mut faults = Vec::new();
    let mut count = 0;
    for record in reader.records() {
        match record {
            Ok(record) => rows.push(record.iter().map(str::to_owned).collect()),
            Err(error) => {
                count += 1;
                if faults.len() < ROWS_SHOWN {
                    faults.push(csv_fault(&error));
                }
            }
        }
    }
    if count > 0 {
        let fault = format!("`{path}` has {count} faulty rows: {}", faults.join("; "));
        desk.fault(node, fault, format!("{} values in each row", columns.len()));
        return None;
    }
    Some(Rows { columns, rows })
}

fn csv_fault(error: &csv::Error) -> String {
    let line = error.position().map_or(0, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            format!("line {line} has {len} values, the first line {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => format!("line {line} is not UTF-8"),
        _ => format!("line {line}: {error}"),
    }
}

fn check_columns(desk: &Desk<'_>, node: &Node, path: &str, columns: &[String]) -> Option<()> {
    if columns.iter().all(String::is_empty) {
        desk.fault(
            node,
            format!("`{path}` is empty"),
            "a first line that names the columns",
        );
        return None;
    }
    for (place, column) in columns.iter().enumerate() {
        if columns[..place].contains(column) {
            desk.fault(
                node,
                format!("`{path}` has the column `{column}` twice"),
                "each column once",
            );
            return None;
        }
    }
    Some(())
}

/// A list of objects, or one object a line.
fn json_rows(desk: &Desk<'_>, node: &Node, path: &str, content: &[u8]) -> Option<Rows> {
    let fault = |reason: String| {
        let valid = "a list of objects, or one object a line";
        desk.fault(node, format!("`{path}`: {reason}"), valid);
    };
    let is_list = content.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    let values: Result<Vec<Value>, _> = if is_list {
        serde_json::from_slice(content)
    } else {
        serde_json::Deserializer::from_slice(content)
            .into_iter()
            .collect()
    };
    let values = match values {
        Ok(values) => values,
        Err(error) => {
            fault(error.to_string());
            return None;
        }
    };
    let mut table = Table::default();
    for (place, value) in values.into_iter().enumerate() {
        let Value::Object(object) = value else {
            fault(format!("value {} is not an object", place + 1));
            return None;
        };
        table.begin();
        for (name, value) in object {
            let text = match value {
                Value::String(text) => text,
                Value::Null => String::new(),
                other => other.to_string(),
            };
            table.put(&name, text);
        }
    }
    Some(table.finish())
}

/// Rows written in the plan.
fn written(desk: &Desk<'_>, node: &Node) -> Option<Rows> {
    let mut table = Table::default();
    for item in desk.list(node, "rows, such as { name: ada }") {
        table.begin();
        if let Kind::Map(entries) = &item.kind {
            for (key, value) in entries {
                table.put(&key.text, desk.text(value, "a single value")?);
            }
        } else {
            table.put(
                "value",
                desk.text(item, "a single value, or names and values")?,
            );
        }
    }
    Some(table.finish())
}

/// Rows whose columns become known one after another; what a row does not have is empty.
#[derive(Default)]
struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn begin(&mut self) {
        self.rows.push(vec![String::new(); self.columns.len()]);
    }

    fn put(&mut self, column: &str, value: String) {
        let place = self
            .columns
            .iter()
            .position(|have| have == column)
            .unwrap_or_else(|| {
                self.columns.push(column.to_owned());
                self.columns.len() - 1
            });
        if let Some(row) = self.rows.last_mut() {
            row.resize(self.columns.len(), String::new());
            row[place] = value;
        }
    }

    fn finish(mut self) -> Rows {
        let width = self.columns.len();
        self.rows
            .iter_mut()
            .for_each(|row| row.resize(width, String::new()));
        Rows {
            columns: self.columns,
            rows: self.rows,
        }
    }
}
