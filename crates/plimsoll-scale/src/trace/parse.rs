//! A trace as a table of text.

use plimsoll_config::scale::{ScheduleMoment, moment};
use plimsoll_config::units;

use super::{RATE_MAX, ScaleTrace, TRACE_S_MAX, TraceError};

const TIMES: [&str; 6] = ["second", "seconds", "time", "at", "t", "s"];
const TIMES_TEXT: &str = "second, time or at";
const RATES: [&str; 6] = [
    "rate",
    "rps",
    "offered",
    "load",
    "requests_per_second",
    "req/s",
];
const RATES_TEXT: &str = "rate, rps, offered, load or requests_per_second";
const SUPPLIES: [&str; 4] = ["replicas", "supply", "instances", "ready"];
const SEPARATORS: [char; 3] = [',', ';', '\t'];

const TIME_VALID: &str = "seconds such as 90, a duration such as 5m, a time of the day such as 09:30, or a date such as 2026-12-01T09:00:00Z";
const RATE_VALID: &str = "a number per second from 0 to 10000000";
const SUPPLY_VALID: &str = "a whole number";
/// From this number of seconds on, it counts from 1970.
const EPOCH_FROM: i64 = 1_000_000_000;
/// Longest value that an error repeats, characters.
const SHOWN_MAX: usize = 40;

/// Places of the columns.
struct Columns {
    time: usize,
    rate: usize,
    supply: Option<usize>,
}

/// A row that was read.
struct Row {
    /// Seconds, from any beginning.
    at_s: i64,
    rate: f64,
    supply: Option<u32>,
}

/// How times are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TimeKind {
    /// Seconds or durations.
    Span,
    Clock,
    Date,
}

pub(super) fn parse(text: &str) -> Result<ScaleTrace, TraceError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = (1..).zip(text.lines());
    let mut lines = lines
        .map(|(line, text)| (line, text.trim()))
        .filter(|(_, text)| !text.is_empty() && !text.starts_with('#'))
        .peekable();
    let (line, first) = *lines.peek().ok_or(TraceError::Empty)?;
    let columns = match columns(line, first)? {
        Some(columns) => {
            lines.next();
            columns
        }
        None => Columns {
            time: 0,
            rate: 1,
            supply: (cells(first).count() > 2).then_some(2),
        },
    };
    let mut rows: Vec<Row> = Vec::new();
    let mut kind = TimeKind::Span;
    for (line, text) in lines {
        let (row, of_row) = read_row(line, text, &columns)?;
        if let Some(last) = rows.last()
            && (row.at_s <= last.at_s || of_row != kind)
        {
            return Err(TraceError::Order { line });
        }
        kind = of_row;
        rows.push(row);
        if rows.len() > TRACE_S_MAX as usize {
            return Err(TraceError::TooLong);
        }
    }
    filled(&rows, kind)
}

fn cells(text: &str) -> impl Iterator<Item = &str> {
    text.split(SEPARATORS)
        .map(|cell| cell.trim().trim_matches('"'))
}

/// The columns that a line names; `None` where it begins with a value.
fn columns(line: usize, text: &str) -> Result<Option<Columns>, TraceError> {
    let names: Vec<String> = cells(text).map(str::to_lowercase).collect();
    if names.first().is_some_and(|first| time(first).is_some()) {
        return Ok(None);
    }
    let place = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
    let missing = |column, valid| TraceError::Column {
        line,
        column,
        valid,
    };
    Ok(Some(Columns {
        time: place(&TIMES).ok_or_else(|| missing("of times", TIMES_TEXT))?,
        rate: place(&RATES).ok_or_else(|| missing("of rates", RATES_TEXT))?,
        supply: place(&SUPPLIES),
    }))
}

fn read_row(line: usize, text: &str, columns: &Columns) -> Result<(Row, TimeKind), TraceError> {
    let cells: Vec<&str> = cells(text).collect();
    let cell = |at: usize| cells.get(at).copied().unwrap_or("");
    let wrong = |at: usize, what, valid| TraceError::Value {
        line,
        value: cell(at).chars().take(SHOWN_MAX).collect(),
        what,
        valid,
    };
    let (at_s, kind) =
        time(cell(columns.time)).ok_or_else(|| wrong(columns.time, "a time", TIME_VALID))?;
    let rate = cell(columns.rate)
        .trim_end_matches("/s")
        .trim()
        .parse::<f64>()
        .ok();
    let rate = rate
        .filter(|rate| (0.0..=RATE_MAX).contains(rate))
        .ok_or_else(|| wrong(columns.rate, "a rate", RATE_VALID))?;
    let supply = columns.supply.map(|at| {
        cell(at)
            .parse()
            .map_err(|_| wrong(at, "a number of replicas", SUPPLY_VALID))
    });
    let row = Row {
        at_s,
        rate,
        supply: supply.transpose()?,
    };
    Ok((row, kind))
}

/// A time, and how it is written.
fn time(text: &str) -> Option<(i64, TimeKind)> {
    if let Ok(seconds) = text.parse::<f64>() {
        return whole(seconds).map(|seconds| (seconds, TimeKind::Span));
    }
    if let Some(moment) = moment(text) {
        return Some(match moment {
            ScheduleMoment::Date(second) => (second, TimeKind::Date),
            ScheduleMoment::Daily(second) => (second.into(), TimeKind::Clock),
        });
    }
    let span = units::duration(text).ok()?;
    i64::try_from(span.as_secs())
        .ok()
        .map(|second| (second, TimeKind::Span))
}

/// Whole seconds of a number that may be one since 1970.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is checked before"
)]
fn whole(seconds: f64) -> Option<i64> {
    (0.0..=1e11).contains(&seconds).then_some(seconds as i64)
}

/// Each row holds until the next; the last as long as the one before it, or a second.
fn filled(rows: &[Row], kind: TimeKind) -> Result<ScaleTrace, TraceError> {
    let (first, last) = rows.first().zip(rows.last()).ok_or(TraceError::Empty)?;
    let tail = match rows {
        [.., before, last] => last.at_s - before.at_s,
        _ => 1,
    };
    let len = last.at_s - first.at_s + tail;
    if len > i64::from(TRACE_S_MAX) {
        return Err(TraceError::TooLong);
    }
    let ends = rows
        .iter()
        .skip(1)
        .map(|row| row.at_s)
        .chain([last.at_s + tail]);
    let mut rates = Vec::new();
    let mut supply = Vec::new();
    for (row, end) in rows.iter().zip(ends) {
        let count = usize::try_from(end - row.at_s).unwrap_or(0);
        rates.extend(std::iter::repeat_n(row.rate, count));
        supply.extend(std::iter::repeat_n(row.supply, count));
    }
    let is_date = kind == TimeKind::Date || first.at_s >= EPOCH_FROM;
    let of_day = u32::try_from(first.at_s.rem_euclid(86_400)).unwrap_or(0);
    let trace = ScaleTrace::of_rates(rates)?;
    Ok(ScaleTrace {
        supply: supply.into_iter().collect(),
        began_unix_s: is_date.then_some(first.at_s),
        began_day_s: of_day,
        ..trace
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_until_the_next() {
        let trace = ScaleTrace::parse("second,rate\n0,10\n3,20.5\n5,0\n").unwrap();
        assert_eq!(trace.rates(), [10.0, 10.0, 10.0, 20.5, 20.5, 0.0, 0.0]);
        assert_eq!(
            (trace.supply(), trace.began_unix_s(), trace.len_s()),
            (None, None, 7)
        );
        let bare = ScaleTrace::parse("0;5/s\n1;6/s\n").unwrap();
        assert_eq!(bare.rates(), [5.0, 6.0]);
        let recorded = "# of last night\nAt\tReplicas\tRPS\n2026-12-01T09:00:00Z\t2\t100\n2026-12-01T09:00:02Z\t4\t300\n";
        let recorded = ScaleTrace::parse(recorded).unwrap();
        assert_eq!(recorded.supply(), Some(&[2, 2, 4, 4][..]));
        assert_eq!(recorded.began_unix_s(), Some(1_796_115_600));
        let clock = ScaleTrace::parse("time,load\n09:00,1\n09:01,2\n").unwrap();
        assert_eq!((clock.began_day_s(), clock.len_s()), (32_400, 120));
        assert_eq!(
            ScaleTrace::parse("time,load\n0s,1\n1m,2\n")
                .unwrap()
                .len_s(),
            120
        );
    }

    #[test]
    fn what_is_no_trace_is_named_with_its_line() {
        for (text, expected) in [
            ("", "empty"),
            ("second,rate\n", "empty"),
            ("hour,rate\n1,2\n", "line 1: there is no column of times"),
            ("second,price\n1,2\n", "line 1: there is no column of rates"),
            ("second,rate\n0,x\n", "line 2: `x` is not a rate"),
            ("second,rate\n0,-1\n", "line 2: `-1` is not a rate"),
            (
                "second,rate\n\n0,1\nsoon,2\n",
                "line 4: `soon` is not a time",
            ),
            ("second,rate\n1,1\n1,2\n", "line 3: the row is not later"),
            (
                "second,rate,replicas\n1,1,two\n",
                "line 2: `two` is not a number of replicas",
            ),
            ("second,rate\n0,1\n604801,2\n", "longer than a week"),
            (
                "second,rate\n0,1\n09:00,2\n",
                "line 3: the row is not later",
            ),
        ] {
            let error = ScaleTrace::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_trace_or_refused(text in "(second,rate\n)?([0-9a-z:.,/\n-]{0,60})") {
            if let Ok(trace) = ScaleTrace::parse(&text) {
                proptest::prop_assert!(trace.len_s() >= 1 && trace.len_s() <= TRACE_S_MAX);
            }
        }
    }
}
