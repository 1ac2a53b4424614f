//! Replays the requests of a log, in their order and with their gaps.
//!
//! A request is sent when it began, also if its line tells when it ended.
//! Most logs have timestamps in seconds, so the requests of a second are spread evenly over it; seconds keep their
//! places. Each arrival takes the next row of a list of paths.

use std::fmt::Write as _;

use jiff::Timestamp;
use plimsoll_logs::LogEntry;

use super::LogError;
use super::rows::WaitingRows;
use super::tally::LogTally;
use super::write;
use crate::heuristics;
use crate::yaml::{self, YamlEntry, YamlNode};
use crate::{Imported, counted};

/// Longest part of a log that is replayed, seconds.
const SECONDS_MAX: i64 = 86_400;
/// Most rows in the plan itself.
pub(crate) const ROWS_INLINE_MAX: usize = 20_000;

/// Options of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Speed-up factor; above 0.
    pub speed: f64,
    /// File of the rows, as the plan names it; `None` writes them into the plan.
    pub rows: Option<String>,
}

impl Replay {
    /// A moment in readable form, UTC.
    pub(super) fn moment(ms: i64) -> String {
        Timestamp::from_millisecond(ms).map_or_else(
            |_| format!("{ms} ms"),
            |moment| moment.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        )
    }
}

/// Takes the requests of a log a second time, for a replay.
#[derive(Debug)]
pub struct ReplayRows {
    replay: Replay,
    target: String,
    notes: Vec<String>,
    from_ms: i64,
    to_ms: i64,
    /// Whether the window is the whole log: what is outside was left out for another reason.
    is_whole: bool,
    /// Parameters left out because they are secret.
    secrets: u64,
    /// Requests of each second.
    seconds: Vec<u32>,
    waiting: WaitingRows,
    rows: Vec<String>,
    count: u64,
    left_out: u64,
    overflow: u64,
}

impl ReplayRows {
    /// Replays the log of `tally`, within its window.
    ///
    /// # Errors
    /// When the log has no page that could be replayed.
    pub fn new(tally: &LogTally, replay: Replay) -> Result<Self, LogError> {
        let nothing = |reason: &str| LogError::NothingUsable {
            lines: tally.read,
            reason: reason.to_owned(),
        };
        let (from_ms, to_ms) = tally
            .window()
            .ok_or_else(|| nothing("no page has a successful response"))?;
        if to_ms - from_ms > SECONDS_MAX * 1000 {
            return Err(nothing(
                "the log is longer than a day: use its busiest hour with --window busiest-hour, or cut the file",
            ));
        }
        let mut notes: Vec<String> = tally.order.note().into_iter().collect();
        Ok(Self {
            target: tally.target(&mut notes),
            replay,
            waiting: WaitingRows::new(tally.order.disorder_ms()),
            notes,
            from_ms,
            to_ms,
            is_whole: !tally.options.busiest_hour,
            secrets: 0,
            seconds: Vec::new(),
            rows: Vec::new(),
            count: 0,
            left_out: 0,
            overflow: 0,
        })
    }

    /// Takes a request; appends to `out` the rows that are complete where rows have a file of their own.
    pub fn take(&mut self, entry: &LogEntry<'_>, out: &mut String) {
        let began_ms = entry.began_ms();
        let is_inside = (self.from_ms..=self.to_ms).contains(&began_ms);
        let second = usize::try_from((began_ms - self.from_ms).div_euclid(1000));
        let (true, Ok(second)) = (is_inside, second) else {
            self.left_out += u64::from(self.is_whole);
            return;
        };
        let is_replayable = matches!(entry.method.as_ref(), "GET" | "HEAD");
        let is_good = (200..400).contains(&entry.status);
        if !is_replayable || !is_good || entry.path.contains(char::is_control) {
            self.left_out += 1;
            return;
        }
        let (path, secrets) = without_secrets(&entry.path);
        if self.replay.rows.is_none() && self.count >= ROWS_INLINE_MAX as u64 {
            self.overflow += 1;
            return;
        }
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, 0);
        }
        self.seconds[second] += 1;
        self.count += 1;
        self.secrets += secrets;
        let mut sink = RowSink {
            from_ms: self.from_ms,
            file: self.replay.rows.is_some().then_some(out),
            rows: &mut self.rows,
        };
        self.waiting
            .push(began_ms, path, |began_ms, path| sink.write(began_ms, path));
    }

    /// The first line of a file of rows.
    pub fn head() -> &'static str {
        "at,path\n"
    }

    /// Makes the plan, and appends the last rows to `out`.
    ///
    /// # Errors
    /// When no request could be replayed, or there are too many for the plan.
    pub fn finish(mut self, out: &mut String) -> Result<Imported, LogError> {
        let mut sink = RowSink {
            from_ms: self.from_ms,
            file: self.replay.rows.is_some().then_some(out),
            rows: &mut self.rows,
        };
        self.waiting
            .end(|began_ms, path| sink.write(began_ms, path));
        if self.waiting.late > 0 {
            self.notes.push(format!(
                "{} of the rows come after one that began later: the log is further out of order than fits into memory",
                self.waiting.late
            ));
        }
        let unusable = |reason: String| LogError::NothingUsable {
            lines: self.count + self.left_out + self.overflow,
            reason,
        };
        if self.overflow > 0 {
            return Err(unusable(format!(
                "{} requests do not fit into the plan (at most {ROWS_INLINE_MAX}): write them to a file with --rows FILE.csv",
                self.count + self.overflow
            )));
        }
        if self.count == 0 {
            return Err(unusable(
                "none has both a safe method and a successful response".to_owned(),
            ));
        }
        if self.left_out > 0 {
            self.notes.push(format!(
                "left out {} with unsafe methods or without a successful response",
                counted(self.left_out, "request")
            ));
        }
        if self.secrets > 0 {
            self.notes.push(format!(
                "left out {} with a name that marks a secret",
                counted(self.secrets, "query parameter")
            ));
        }
        let mut top = vec![format!(
            "Replay of {} of a log, from {} to {}, at {}x the recorded speed.",
            counted(self.count, "request"),
            Replay::moment(self.from_ms),
            Replay::moment(self.to_ms),
            self.replay.speed
        )];
        top.extend(self.notes.iter().cloned());
        let entries = self.entries();
        Ok(Imported {
            plan: yaml::document(&top, &entries),
            notes: self.notes,
            losses: Vec::new(),
            files: Vec::new(),
        })
    }

    fn entries(&self) -> Vec<YamlEntry> {
        let target = YamlEntry::new("target", YamlNode::text(&self.target));
        if let Some(file) = &self.replay.rows {
            let load = YamlNode::map([
                ("replay", YamlNode::text(file)),
                ("speed", YamlNode::text(format!("{}x", self.replay.speed))),
            ]);
            let note = "Alternative: `window: busiest hour`. The file has the columns at (seconds) and path.";
            return vec![
                target,
                YamlEntry::new("load", load).with_notes([note.to_owned()]),
            ];
        }
        let step = YamlNode::map([
            ("get", YamlNode::text("{{ request.path }}")),
            ("label", YamlNode::text("replayed")),
        ]);
        let journey = YamlNode::map([
            ("iterations", YamlNode::plain(1)),
            ("cookies", YamlNode::plain(false)),
            ("steps", YamlNode::list([step])),
        ]);
        let row = |path: &String| YamlNode::map([("path", YamlNode::text(path))]);
        let rows = YamlNode::list(self.rows.iter().map(row));
        let feed = YamlNode::map([
            ("pick", YamlNode::text("unique")),
            ("at_end", YamlNode::text("stop")),
            ("rows", rows),
        ]);
        let load = YamlNode::map([
            ("spacing", YamlNode::text("even")),
            ("phases", YamlNode::list(self.phases())),
        ]);
        let note = "Each second of the log is a phase: gaps stay where they were.".to_owned();
        vec![
            target,
            YamlEntry::new("journeys", YamlNode::map([("replay", journey)])),
            YamlEntry::new("data", YamlNode::map([("request", feed)])),
            YamlEntry::new("load", load).with_notes([note]),
        ]
    }

    /// Consecutive seconds with equal counts are one phase.
    fn phases(&self) -> Vec<YamlNode> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for &count in &self.seconds {
            match runs.last_mut() {
                Some((last, length)) if *last == count => *length += 1,
                _ => runs.push((count, 1)),
            }
        }
        let phase = |&(count, length): &(u32, u32)| {
            let rate = f64::from(count) * self.replay.speed;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a day in nanoseconds at most, above 0"
            )]
            let lasting_ns = (f64::from(length) * 1e9 / self.replay.speed).round() as u64;
            let lasting = if lasting_ns.is_multiple_of(1_000_000_000) {
                format!("{}s", lasting_ns / 1_000_000_000)
            } else if lasting_ns.is_multiple_of(1_000_000) {
                format!("{}ms", lasting_ns / 1_000_000)
            } else {
                format!("{lasting_ns}ns")
            };
            YamlNode::map([
                ("rate", YamlNode::plain(write::rate(rate))),
                ("for", YamlNode::plain(lasting)),
            ])
        };
        runs.iter().map(phase).collect()
    }
}

/// Where rows go: into a file, or into the plan.
struct RowSink<'a> {
    from_ms: i64,
    file: Option<&'a mut String>,
    rows: &'a mut Vec<String>,
}

impl RowSink<'_> {
    fn write(&mut self, began_ms: i64, path: &str) {
        let Some(file) = &mut self.file else {
            self.rows.push(path.to_owned());
            return;
        };
        let at_ms = began_ms - self.from_ms;
        let path = path.replace('"', "\"\"");
        // Writing into a text cannot fail.
        let _ = writeln!(file, "{}.{:03},\"{path}\"", at_ms / 1000, at_ms % 1000);
    }
}

/// The path without secret parameters, and how many they are.
fn without_secrets(path: &str) -> (String, u64) {
    let (start, query) = path.split_once('?').unwrap_or((path, ""));
    let start = heuristics::path_without_secrets(start);
    let pairs = query.split('&');
    let mut secrets = 0;
    let kept: Vec<&str> = pairs
        .filter(|pair| {
            let is_secret = heuristics::parameter_is_secret(pair);
            secrets += u64::from(is_secret);
            !is_secret
        })
        .collect();
    let query = kept.join("&");
    let path = if query.is_empty() {
        start.into_owned()
    } else {
        format!("{start}?{query}")
    };
    (path, secrets)
}
