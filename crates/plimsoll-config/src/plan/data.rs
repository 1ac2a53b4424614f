//! Reads data sets: CSV, JSON, or inline rows.

use std::path::PathBuf;

use plimsoll_model::byte_order_mark;
use plimsoll_model::journey::{AtEnd, Feed, FeedOrder};
use serde_json::Value;

use super::journeys::check_name;
use super::scope::PlanScope;
use crate::document::Shape::{Free, ListOf, Text};
use crate::document::{
    DocumentNode, DocumentReader, MapFields, NodeKind, SettingsMap as _, one_of, settings,
};

/// Maximum size of a data file, bytes.
pub(crate) const DATA_LEN_MAX: u64 = 256 << 20;
/// Invalid rows reported per file.
const ROWS_SHOWN: usize = 3;

settings! {
    /// Data set whose rows users take; one of csv, json, rows.
    struct DataSettings, DATA "data" {
        /// CSV file; its first line has the names of the columns.
        "csv": Text;
        /// JSON file with a list of objects, or one object per line.
        "json": Text;
        /// Inline rows: maps; scalars form the column `value`.
        "rows": ListOf(&Free);
        /// Order in which rows are taken. `unique` never takes a row twice.
        order: FeedOrder = FeedOrder::InOrder, "pick": one_of![
            "in order" => FeedOrder::InOrder,
            "random" => FeedOrder::Random,
            "unique" => FeedOrder::Unique,
        ];
        /// For `pick: unique`, when the rows run out: the user leaves, rows are reused, or the run ends. Default: the
        /// user leaves.
        at_end: AtEnd = AtEnd::Stop, "at_end": one_of![
            "stop" => AtEnd::Stop,
            "recycle" => AtEnd::Recycle,
            "error" => AtEnd::Error,
        ];
        /// Whether a user keeps one row, or takes a new one for each iteration. Default: the user keeps it.
        each_iteration: bool = false, "each": one_of!["user" => false, "iteration" => true];
        /// Column separator of a CSV file. Default: a comma.
        "delimiter": Text;
    }
}

/// A table of texts.
pub(crate) struct Rows {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// Reads everything below `data:`.
pub(crate) fn data(scope: &mut PlanScope<'_>, node: &DocumentNode) {
    let reader = scope.reader;
    for (key, node) in reader
        .entries(node, "data sets by name")
        .unwrap_or_default()
    {
        check_name(reader, key);
        // An invalid data set keeps its name, so that its uses are not reported, too.
        let (feed, rows) =
            feed(reader, &key.text, node).unwrap_or_else(|| (empty(&key.text), Vec::new()));
        scope.feeds.push(feed);
        scope.rows.push(rows);
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

fn feed(
    reader: &DocumentReader<'_>,
    name: &str,
    node: &DocumentNode,
) -> Option<(Feed, Vec<Vec<String>>)> {
    let fields = reader.fields(node, &DATA)?;
    let settings = DataSettings::read(reader, &fields);
    let mut feed = Feed {
        order: settings.order,
        at_end: settings.at_end,
        each_iteration: settings.each_iteration,
        ..empty(name)
    };
    if let Some((key, _)) = fields.entry("at_end")
        && feed.order != FeedOrder::Unique
    {
        let message = "`at_end` is only allowed with `pick: unique`";
        reader.report_at(
            key.span.start,
            message,
            "`pick: unique`, or no `at_end`",
            None,
        );
    }
    let kinds = ["csv", "json", "rows"];
    let Some((key, source)) = reader.exactly_one(&fields, &kinds) else {
        for (key, source) in fields.among(&kinds) {
            rows(reader, &fields, &key.text, source);
        }
        return None;
    };
    if let Some((delimiter, _)) = fields.entry("delimiter")
        && key.text != "csv"
    {
        reader.report_at(
            delimiter.span.start,
            "`delimiter` is only allowed with `csv`",
            "only with `csv`",
            None,
        );
    }
    let (path, rows) = rows(reader, &fields, &key.text, source)?;
    feed.path = path;
    if rows.rows.is_empty() {
        reader.report(source, format!("`{name}` has no rows"), "at least one row");
    }
    feed.columns = rows.columns;
    feed.rows = rows.rows.len() as u64;
    Some((feed, rows.rows))
}

/// The rows of a data set, and the file that they come from.
fn rows(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    kind: &str,
    source: &DocumentNode,
) -> Option<(Option<PathBuf>, Rows)> {
    if kind == "rows" {
        return Some((None, written(reader, source)?));
    }
    let path = reader.word(source, "a file name")?;
    let content = reader.file(source, &path, DATA_LEN_MAX)?;
    let rows = if kind == "csv" {
        csv_rows(reader, fields, source, &path, &content)?
    } else {
        json_rows(reader, source, &path, &content)?
    };
    Some((Some(PathBuf::from(path)), rows))
}

pub(crate) fn csv_rows(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    node: &DocumentNode,
    path: &str,
    content: &[u8],
) -> Option<Rows> {
    let delimiter = match fields.get("delimiter") {
        Some(node) => match reader.text(node, "one character")?.as_str() {
            "tab" => b'\t',
            text if text.len() == 1 => text.as_bytes()[0],
            text => {
                reader.report(
                    node,
                    format!("`{text}` is not one character"),
                    "one ASCII character, or tab",
                );
                return None;
            }
        },
        None => b',',
    };
    let mut csv_reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .from_reader(byte_order_mark::skip(content));
    let columns: Vec<String> = match csv_reader.headers() {
        Ok(names) => names.iter().map(|name| name.trim().to_owned()).collect(),
        Err(error) => {
            reader.report(node, format!("`{path}`: {error}"), "a CSV file in UTF-8");
            return None;
        }
    };
    check_columns(reader, node, path, &columns)?;
    let mut rows = Vec::new();
    let mut errors = Vec::new();
    let mut count = 0;
    for record in csv_reader.records() {
        match record {
            Ok(record) => rows.push(record.iter().map(str::to_owned).collect()),
            Err(error) => {
                count += 1;
                if errors.len() < ROWS_SHOWN {
                    errors.push(describe_csv_error(&error));
                }
            }
        }
    }
    if count > 0 {
        let rows = if count == 1 { "row" } else { "rows" };
        let message = format!("`{path}` has {count} invalid {rows}: {}", errors.join("; "));
        let valid = format!("{} in each row", values(columns.len()));
        reader.report(node, message, valid);
        return None;
    }
    Some(Rows { columns, rows })
}

fn describe_csv_error(error: &csv::Error) -> String {
    let line = error.position().map_or(0, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            let found = usize::try_from(*len).map_or_else(|_| len.to_string(), values);
            format!("line {line} has {found}, the first line has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => format!("line {line} is not UTF-8"),
        _ => format!("line {line}: {error}"),
    }
}

fn values(count: usize) -> String {
    format!("{count} value{}", if count == 1 { "" } else { "s" })
}

fn check_columns(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    path: &str,
    columns: &[String],
) -> Option<()> {
    if columns.iter().all(String::is_empty) {
        reader.report(
            node,
            format!("`{path}` is empty"),
            "a first line with the names of the columns",
        );
        return None;
    }
    for (place, column) in columns.iter().enumerate() {
        if columns[..place].contains(column) {
            reader.report(
                node,
                format!("`{path}` has two columns `{column}`"),
                "each column once",
            );
            return None;
        }
    }
    Some(())
}

/// A list of objects, or one object per line.
fn json_rows(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    path: &str,
    content: &[u8],
) -> Option<Rows> {
    let report = |reason: String| {
        let valid = "a list of objects, or one object per line";
        reader.report(node, format!("`{path}`: {reason}"), valid);
    };
    let content = byte_order_mark::skip(content);
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
            report(error.to_string());
            return None;
        }
    };
    let mut table = RowTable::default();
    for (place, value) in values.into_iter().enumerate() {
        let Value::Object(object) = value else {
            report(format!("value {} is not an object", place + 1));
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

/// Inline rows.
fn written(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Rows> {
    let mut table = RowTable::default();
    for item in reader.list(node, "rows, such as { name: ada }") {
        table.begin();
        if let NodeKind::Map(entries) = &item.kind {
            for (key, value) in entries {
                table.put(&key.text, reader.text(value, "a scalar")?);
            }
        } else {
            table.put("value", reader.text(item, "a scalar, or names and values")?);
        }
    }
    Some(table.finish())
}

/// Builds a table whose columns appear row by row; missing values are empty.
#[derive(Default)]
struct RowTable {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl RowTable {
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
