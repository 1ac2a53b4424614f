//! `load: { replay: … }`: replays recorded requests in order, with their gaps.
//!
//! The file has a column `at`, seconds from any start, and a column `path`. Each second is a phase in which its
//! requests are spread evenly: most logs have a resolution of one second, and seconds keep their places.

use plimsoll_model::journey::{
    AtEnd, Feed, FeedOrder, Journey, RequestBody, RequestStep, Step, StepInfo, TextPiece,
    TextTemplate,
};
use plimsoll_model::plan::Load;
use plimsoll_model::schedule::{LoadPhase, Spacing};

use super::data::{DATA_LEN_MAX, csv_rows};
use super::load::LOAD;
use super::scope::{PlanScope, VisibleSlots, index};
use crate::document::{DocumentNode, DocumentReader, MapFields};

/// Name of the journey, and of its data set.
const NAME: &str = "replay";
const DATA: &str = "request";
/// Maximum length of a recording, seconds: a day.
const SECONDS_MAX: f64 = 86_400.0;
const HOUR_S: f64 = 3600.0;

/// The only journey of a replay, and its load if that is valid.
pub(crate) fn replay(
    scope: &mut PlanScope<'_>,
    plan: &MapFields<'_>,
    load: &DocumentNode,
) -> (Journey, Option<Load>) {
    let reader = scope.reader;
    let others = ["journeys", "once", "steps", "process", "iterations", "data"];
    for (key, _) in plan.among(&others) {
        let message = format!("`{}` and a replay are mutually exclusive", key.text);
        let valid = "a replay, or a load of users, rate, sessions or phases";
        reader.report_at(key.span.start, message, valid, None);
    }
    let requests = requests(reader, load);
    let rows = requests.as_ref().map(|(paths, _)| paths.clone());
    let rows = rows.unwrap_or_default();
    let feed = index(scope.feeds.len());
    scope.feeds.push(Feed {
        name: DATA.to_owned(),
        path: None,
        columns: vec!["path".to_owned()],
        rows: rows.len() as u64,
        order: FeedOrder::Unique,
        at_end: AtEnd::Stop,
        each_iteration: false,
    });
    scope
        .rows
        .push(rows.into_iter().map(|path| vec![path]).collect());
    let headers = plan
        .get("headers")
        .map(|node| scope.headers(node, &VisibleSlots::default()));
    let id = scope.count_step(StepInfo {
        label: "replayed".to_owned(),
        ..StepInfo::default()
    });
    let prefix = scope.base.as_ref().map_or("", |base| base.prefix());
    let mut pieces = vec![TextPiece::Column(feed, 0)];
    if !prefix.is_empty() {
        pieces.insert(0, TextPiece::Literal(prefix.to_owned()));
    }
    let step = RequestStep {
        id,
        method: "GET".to_owned(),
        url: TextTemplate { pieces },
        headers: Vec::new(),
        body: RequestBody::Empty,
        follow: 0,
        timeout: None,
        captures: Vec::new(),
        expectations: Vec::new(),
    };
    let connections = plan
        .get("connections")
        .and_then(|node| reader.count32(node, 1..=6));
    let journey = Journey {
        name: NAME.to_owned(),
        weight: 1.0,
        steps: vec![Step::Request(Box::new(step))],
        iterations: Some(1),
        cookies: false,
        headers: headers.unwrap_or_default(),
        connections: connections.unwrap_or(1),
        ..Journey::default()
    };
    let load = requests.map(|(_, phases)| Load::Sessions {
        phases,
        spacing: Spacing::Even,
        mixes: Vec::new(),
    });
    (journey, load)
}

/// Paths in the order of their times, and the phases in which they are requested.
fn requests(
    reader: &DocumentReader<'_>,
    load: &DocumentNode,
) -> Option<(Vec<String>, Vec<LoadPhase>)> {
    let fields = reader.fields(load, &LOAD)?;
    reader.only(&fields, "replay", &["speed", "window"], &LOAD);
    let speed = match fields.get("speed") {
        Some(node) => speed(reader, node),
        None => Some(1.0),
    };
    let of_hour = match fields.get("window") {
        Some(node) => reader.one_of(node, &[("all", false), ("busiest hour", true)]),
        None => Some(false),
    };
    let (_, source) = reader.exactly_one(&fields, &["replay"])?;
    let mut rows = rows(reader, &fields, source)?;
    let (speed, of_hour) = (speed?, of_hour?);
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    if of_hour {
        rows = busiest_hour(rows);
    }
    let (first, last) = (rows.first()?.0, rows.last()?.0);
    if last - first >= SECONDS_MAX {
        let message = "the recording is longer than a day";
        reader.report(source, message, "at most a day, or window: busiest hour");
        return None;
    }
    let moments: Vec<f64> = rows.iter().map(|(at, _)| at - first).collect();
    let paths = rows.into_iter().map(|(_, path)| path).collect();
    Some((paths, phases(&moments, speed)))
}

/// `3x`
fn speed(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<f64> {
    const VALID: &str = "0.01x to 1000x, such as 3x";
    let text = reader.text(node, VALID)?;
    let number = text.trim().strip_suffix('x').unwrap_or_default();
    let number: Option<f64> = number.parse().ok();
    let speed = number.filter(|speed| (0.01..=1000.0).contains(speed));
    if speed.is_none() {
        reader.report(node, format!("`{text}` is not a valid speed"), VALID);
    }
    speed
}

/// Times and paths in the order of the file.
fn rows(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    source: &DocumentNode,
) -> Option<Vec<(f64, String)>> {
    const VALID: &str = "a CSV file with the columns at (seconds) and path, as `import log --replay --rows` writes it";
    let path = reader.word(source, "a file name")?;
    let content = reader.file(source, &path, DATA_LEN_MAX)?;
    let table = csv_rows(reader, fields, source, &path, &content)?;
    let column = |name: &str| {
        let place = table.columns.iter().position(|column| column == name);
        if place.is_none() {
            reader.report(source, format!("`{path}` has no column `{name}`"), VALID);
        }
        place
    };
    let (at, of_path) = (column("at"), column("path"));
    let (at, of_path) = (at?, of_path?);
    let mut rows = Vec::with_capacity(table.rows.len());
    for (place, mut row) in table.rows.into_iter().enumerate() {
        let moment: Option<f64> = row[at].trim().parse().ok();
        let moment = moment.filter(|moment| moment.is_finite());
        let is_path = row[of_path].starts_with('/');
        let (Some(moment), true) = (moment, is_path) else {
            let what = if is_path { at } else { of_path };
            let message = format!(
                "row {} of `{path}`, after the line of column names, has the invalid value `{}` in the column {}",
                place + 1,
                row[what],
                if is_path { "at" } else { "path" }
            );
            reader.report(
                source,
                message,
                "seconds such as 12.5, and a path that starts with /",
            );
            return None;
        };
        rows.push((moment, std::mem::take(&mut row[of_path])));
    }
    if rows.is_empty() {
        reader.report(source, format!("`{path}` has no rows"), "at least one row");
        return None;
    }
    Some(rows)
}

/// The rows of the hour with the most requests; it starts at one of them.
fn busiest_hour(rows: Vec<(f64, String)>) -> Vec<(f64, String)> {
    let (mut best, mut end) = ((0, 0), 0);
    for start in 0..rows.len() {
        while end < rows.len() && rows[end].0 < rows[start].0 + HOUR_S {
            end += 1;
        }
        if end - start > best.1 - best.0 {
            best = (start, end);
        }
    }
    rows.into_iter().take(best.1).skip(best.0).collect()
}

/// One phase per second; adjacent seconds with equal counts are merged.
fn phases(moments: &[f64], speed: f64) -> Vec<LoadPhase> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    let mut next = 0;
    let mut second = 0.0;
    while next < moments.len() {
        second += 1.0;
        let end = next + moments[next..].partition_point(|moment| *moment < second);
        let count = u32::try_from(end - next).unwrap_or(u32::MAX);
        next = end;
        match runs.last_mut() {
            Some((last, length)) if *last == count => *length += 1,
            _ => runs.push((count, 1)),
        }
    }
    let phase = |&(count, length): &(u32, u32)| {
        let lasting = std::time::Duration::from_secs(u64::from(length)).div_f64(speed);
        LoadPhase::constant(f64::from(count) * speed, lasting)
    };
    runs.iter().map(phase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_keep_their_places() {
        let phases = phases(&[0.0, 0.5, 1.2, 1.9, 4.0], 2.0);
        let half = std::time::Duration::from_millis(500);
        let expected = [
            LoadPhase::constant(4.0, 2 * half),
            LoadPhase::constant(0.0, 2 * half),
            LoadPhase::constant(2.0, half),
        ];
        assert_eq!(phases, expected);
    }

    #[test]
    fn the_busiest_hour_holds_the_most() {
        let row = |at: f64| (at, format!("/{at}"));
        let rows = [0.0, 3000.0, 5000.0, 6000.0, 6599.0, 9000.0].map(row);
        let hour = busiest_hour(rows.to_vec());
        assert_eq!(hour, [3000.0, 5000.0, 6000.0, 6599.0].map(row));
    }
}
