//! Columns of numbers at a fixed interval, of which the latest are kept.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Digits of a value that are kept.
const DIGITS: i32 = 4;

/// Columns by key. What was not measured is NaN.
#[derive(Debug)]
pub(super) struct Columns {
    capacity: usize,
    series_max: usize,
    /// The row after the newest, counted from the first ever.
    rows: u64,
    series: BTreeMap<String, Column>,
}

#[derive(Debug)]
struct Column {
    values: Box<[f32]>,
    /// The newest row with a value.
    latest: u64,
}

impl Columns {
    /// At most `series_max` columns of `capacity` rows.
    pub(super) fn new(capacity: usize, series_max: usize) -> Self {
        Self {
            capacity,
            series_max,
            rows: 0,
            series: BTreeMap::new(),
        }
    }

    /// The row after the newest.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// The oldest row that is kept.
    pub(super) fn first(&self) -> u64 {
        self.rows.saturating_sub(self.capacity as u64)
    }

    /// Adds a row; rows that were left out hold nothing. An older row than the newest changes nothing.
    pub(super) fn push(&mut self, row: u64, values: &[(String, f64)]) {
        if row < self.rows {
            return;
        }
        let gap = (row + 1 - self.rows).min(self.capacity as u64);
        for skipped in row + 1 - gap..=row {
            let place = self.place(skipped);
            for column in self.series.values_mut() {
                column.values[place] = f32::NAN;
            }
        }
        self.rows = row + 1;
        let first = self.first();
        self.series.retain(|_, column| column.latest >= first);
        for (key, value) in values {
            self.set(row, key, *value);
        }
    }

    fn set(&mut self, row: u64, key: &str, value: f64) {
        let place = self.place(row);
        if !self.series.contains_key(key) {
            if self.series.len() >= self.series_max {
                return;
            }
            let values = vec![f32::NAN; self.capacity].into_boxed_slice();
            let column = Column {
                values,
                latest: row,
            };
            self.series.insert(key.to_owned(), column);
        }
        if let Some(column) = self.series.get_mut(key) {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "seven digits are enough for a picture"
            )]
            let value = value as f32;
            column.values[place] = value;
            column.latest = row;
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "smaller than the capacity")]
    fn place(&self, row: u64) -> usize {
        (row % self.capacity as u64) as usize
    }

    /// All columns from a row on.
    pub(super) fn since(&self, row: u64) -> Map<String, Value> {
        let rows = row.max(self.first())..self.rows;
        let columns = self.series.iter().map(|(key, column)| {
            let values = rows
                .clone()
                .map(|row| number(column.values[self.place(row)]));
            (key.clone(), Value::Array(values.collect()))
        });
        columns.collect()
    }
}

/// A number to four digits; `null` for NaN.
fn number(value: f32) -> Value {
    let value = f64::from(value);
    if !value.is_finite() {
        return Value::Null;
    }
    if value.fract() == 0.0 && value.abs() < 1e15 {
        #[expect(clippy::cast_possible_truncation, reason = "whole, and below 2^53")]
        let whole = value as i64;
        return whole.into();
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the exponent of a double is below 400"
    )]
    let exponent = value.abs().log10().floor() as i32;
    let scale = 10f64.powi((DIGITS - 1 - exponent).clamp(0, 9));
    let rounded = (value * scale).round() / scale;
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        #[expect(clippy::cast_possible_truncation, reason = "whole, and below 2^53")]
        let whole = rounded as i64;
        return whole.into();
    }
    rounded.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(value: f64) -> [(String, f64); 1] {
        [("a".to_owned(), value)]
    }

    #[test]
    fn the_latest_rows_are_kept_and_gaps_hold_nothing() {
        let mut columns = Columns::new(4, 2);
        for at in 0..6_u32 {
            columns.push(at.into(), &row(f64::from(at)));
        }
        assert_eq!((columns.first(), columns.rows()), (2, 6));
        assert_eq!(columns.since(0)["a"], json!([2, 3, 4, 5]));
        columns.push(7, &row(0.123_456));
        assert_eq!(columns.since(0)["a"], json!([4, 5, null, 0.1235]));
        assert_eq!(columns.since(7)["a"], json!([0.1235]));
        columns.push(3, &row(99.0));
        assert_eq!(columns.rows(), 8, "the past does not change");
        columns.push(100, &row(12_345.6));
        assert_eq!(columns.since(0)["a"], json!([null, null, null, 12_346]));
    }

    #[test]
    fn columns_are_bounded_and_old_ones_make_room() {
        let mut columns = Columns::new(3, 2);
        let pair = |first: &str, second: &str| [(first.to_owned(), 1.0), (second.to_owned(), 2.0)];
        columns.push(0, &pair("a", "b"));
        columns.push(1, &pair("b", "c"));
        assert!(!columns.since(0).contains_key("c"));
        columns.push(3, &pair("b", "c"));
        assert_eq!(
            columns.since(0).keys().collect::<Vec<_>>(),
            ["b", "c"],
            "`a` had no value for as long as values are kept"
        );
    }
}
