//! A load over time, and the supply that somebody's scaler had.

mod parse;

use std::collections::BTreeMap;

use plimsoll_model::run::Run;

/// Largest trace file, bytes.
pub const TRACE_LEN_MAX: u64 = 64 << 20;
/// Longest trace, s: a week.
pub const TRACE_S_MAX: u32 = 7 * 86_400;
/// Highest rate of a trace, 1/s.
const RATE_MAX: f64 = 1e7;

/// What is wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// There is no row.
    #[error("the trace is empty; valid: a table with the columns second and rate, one row a line")]
    Empty,
    /// The first line names no column of times or of rates.
    #[error("line {line}: there is no column {column}; valid: {valid}")]
    Column {
        /// The line, from 1.
        line: usize,
        /// What is missing.
        column: &'static str,
        /// Names of such a column.
        valid: &'static str,
    },
    /// A value cannot be read.
    #[error("line {line}: `{value}` is not {what}; valid: {valid}")]
    Value {
        /// The line, from 1.
        line: usize,
        /// The value, cut.
        value: String,
        /// What it should be.
        what: &'static str,
        /// What is valid.
        valid: &'static str,
    },
    /// A row is not later than the one before it.
    #[error(
        "line {line}: the row is not later than the one before it; valid: rows in the order of time"
    )]
    Order {
        /// The line, from 1.
        line: usize,
    },
    /// It is longer than a week.
    #[error("the trace is longer than a week; valid: at most 604800 s, such as its busiest days")]
    TooLong,
}

/// A load over time, second by second.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleTrace {
    rates: Vec<f64>,
    supply: Option<Vec<u32>>,
    began_unix_s: Option<i64>,
    began_day_s: u32,
}

impl ScaleTrace {
    /// Reads a table: a line with the names of the columns, and a row for each moment, which holds until the next one.
    /// `second` is a number of seconds, a duration, a time of the day or a date; `rate` is per second; a column
    /// `replicas` has what somebody's scaler had. Comments begin with `#`.
    ///
    /// # Errors
    /// When a row cannot be read, or the trace is empty or too long.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        parse::parse(text)
    }

    /// A trace of these rates (1/s), second by second.
    ///
    /// # Errors
    /// When there are none, too many, or one is no rate.
    pub fn of_rates(rates: Vec<f64>) -> Result<Self, TraceError> {
        if rates.is_empty() {
            return Err(TraceError::Empty);
        }
        if rates.len() > TRACE_S_MAX as usize {
            return Err(TraceError::TooLong);
        }
        let wrong = rates
            .iter()
            .position(|rate| !(0.0..=RATE_MAX).contains(rate));
        match wrong {
            Some(at) => Err(TraceError::Value {
                line: at + 1,
                value: rates[at].to_string(),
                what: "a rate",
                valid: "0 to 10000000 a second",
            }),
            None => Ok(Self {
                rates,
                supply: None,
                began_unix_s: None,
                began_day_s: 0,
            }),
        }
    }

    /// The requests of a log by seconds since 1970; seconds without one have none.
    ///
    /// # Errors
    /// When there are none, or the log is longer than a week.
    pub fn of_seconds(requests: &BTreeMap<i64, u64>) -> Result<Self, TraceError> {
        let ends = requests.keys().next().zip(requests.keys().next_back());
        let (first, last) = ends.ok_or(TraceError::Empty)?;
        let len = last.saturating_sub(*first).saturating_add(1);
        let len = u32::try_from(len).ok().filter(|len| *len <= TRACE_S_MAX);
        let len = len.ok_or(TraceError::TooLong)?;
        let mut rates = vec![0.0; len as usize];
        for (second, count) in requests {
            let place = usize::try_from(second - first).ok();
            if let Some(rate) = place.and_then(|place| rates.get_mut(place)) {
                *rate = *count as f64;
            }
        }
        let trace = Self::of_rates(rates)?;
        Ok(Self {
            began_unix_s: Some(*first),
            ..trace
        })
    }

    /// What the load of a run offered; `began_unix_s` is when it began.
    ///
    /// # Errors
    /// When nothing was offered, or the run is longer than a week.
    pub fn of_run(run: &Run, began_unix_s: Option<i64>) -> Result<Self, TraceError> {
        // The length is that of the latest window, wherever it stands.
        let seconds = run.windows.iter().map(|window| window.second);
        let last = seconds.max().ok_or(TraceError::Empty)?;
        if last >= TRACE_S_MAX {
            return Err(TraceError::TooLong);
        }
        let mut rates = vec![0.0; last as usize + 1];
        for window in &run.windows {
            rates[window.second as usize] = window.offered as f64;
        }
        let trace = Self::of_rates(rates)?;
        Ok(Self {
            began_unix_s,
            ..trace
        })
    }

    /// Rates by second, 1/s; at least one.
    pub fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// Replicas that somebody's scaler had, by second.
    pub fn supply(&self) -> Option<&[u32]> {
        self.supply.as_deref()
    }

    /// Seconds since 1970 of the beginning, if the date is known.
    pub fn began_unix_s(&self) -> Option<i64> {
        self.began_unix_s
    }

    /// Second of the day of the beginning, where the date is unknown.
    pub fn began_day_s(&self) -> u32 {
        self.began_day_s
    }

    /// Length, s.
    pub fn len_s(&self) -> u32 {
        u32::try_from(self.rates.len()).unwrap_or(TRACE_S_MAX)
    }
}
