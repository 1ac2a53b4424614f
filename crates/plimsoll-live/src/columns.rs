//! Columns with a value a second, of a bounded length: when they are full, pairs of rows become one.

use std::collections::BTreeMap;

use crate::number;

/// Rows kept at most: a run of four hours and a half by the second, one of nine by two seconds.
pub(crate) const ROWS_MAX: usize = 16_384;
/// Columns kept at most.
const COLUMNS_MAX: usize = 460;

/// How rows become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// By their mean: rates and levels.
    Mean,
    /// By the higher one: percentiles, which have no mean, and what must not disappear.
    Max,
}

/// A value for a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ColumnValue {
    pub(crate) key: String,
    pub(crate) merge: Merge,
    pub(crate) value: f64,
}

/// Values of one column; NaN where there is none.
#[derive(Debug)]
struct Column {
    merge: Merge,
    values: Vec<f32>,
    /// The row written last, and how many seconds are in it.
    open: (usize, u16),
}

impl Column {
    fn put(&mut self, row: usize, value: f32) {
        if self.values.len() <= row {
            self.values.resize(row + 1, f32::NAN);
        }
        let held = &mut self.values[row];
        let count = if self.open.0 == row { self.open.1 } else { 0 };
        *held = match self.merge {
            _ if held.is_nan() => value,
            Merge::Max => held.max(value),
            Merge::Mean => {
                let count = f32::from(count.max(1));
                (*held * count + value) / (count + 1.0)
            }
        };
        self.open = (row, count.saturating_add(1));
    }

    fn halve(&mut self) {
        let merge = self.merge;
        let pairs = self.values.chunks(2).map(|pair| match *pair {
            [a, b] if b.is_nan() => a,
            [a, b] if a.is_nan() => b,
            [a, b] => match merge {
                Merge::Max => a.max(b),
                Merge::Mean => f32::midpoint(a, b),
            },
            _ => pair[0],
        });
        self.values = pairs.collect();
        let (row, count) = self.open;
        let is_second_of_pair = row % 2 == 1;
        self.open = (row / 2, count + u16::from(is_second_of_pair));
    }
}

/// All columns of a run, by key.
#[derive(Debug)]
pub(crate) struct Columns {
    by_key: BTreeMap<String, Column>,
    rows: usize,
    rows_max: usize,
    /// Seconds of a row.
    step_s: u32,
    /// First row that has changed since the last document.
    changed_from: usize,
}

impl Default for Columns {
    fn default() -> Self {
        Self::bounded(ROWS_MAX)
    }
}

impl Columns {
    fn bounded(rows_max: usize) -> Self {
        Self {
            by_key: BTreeMap::new(),
            rows: 0,
            rows_max,
            step_s: 1,
            changed_from: 0,
        }
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Seconds of a row.
    pub(crate) fn step_s(&self) -> u32 {
        self.step_s
    }

    /// First row that has changed since the last document.
    pub(crate) fn changed_from(&self) -> usize {
        self.changed_from
    }

    /// Whether there is room for another column.
    pub(crate) fn has_room(&self) -> bool {
        self.by_key.len() < COLUMNS_MAX
    }

    /// Puts a value into the row of a second. Further columns than fit are left out.
    pub(crate) fn put(&mut self, key: &str, merge: Merge, second: u32, value: f64) {
        let mut row = usize::try_from(second / self.step_s).unwrap_or(usize::MAX);
        while row >= self.rows_max {
            self.halve();
            row /= 2;
        }
        if !self.by_key.contains_key(key) {
            if !self.has_room() {
                return;
            }
            let column = Column {
                merge,
                values: Vec::new(),
                open: (usize::MAX, 0),
            };
            self.by_key.insert(key.to_owned(), column);
        }
        let Some(column) = self.by_key.get_mut(key) else {
            return;
        };
        #[expect(clippy::cast_possible_truncation, reason = "a picture needs no more")]
        column.put(row, value as f32);
        self.rows = self.rows.max(row + 1);
        self.changed_from = self.changed_from.min(row);
    }

    fn halve(&mut self) {
        for column in self.by_key.values_mut() {
            column.halve();
        }
        self.rows = self.rows.div_ceil(2);
        self.step_s = self.step_s.saturating_mul(2);
        self.changed_from = 0;
    }

    /// All that has changed is in a document now.
    pub(crate) fn sent(&mut self) {
        self.changed_from = self.rows;
    }

    /// Appends the values of the rows from `from` on as an object of lists. A column without any of them is left out.
    pub(crate) fn write(&self, from: usize, text: &mut String) {
        text.push('{');
        let mut separator = "";
        for (key, column) in &self.by_key {
            let values = column.values.get(from..).unwrap_or_default();
            if values.iter().all(|value| value.is_nan()) {
                continue;
            }
            text.push_str(separator);
            separator = ",";
            // Keys are ours: letters, digits, dots.
            text.push('"');
            text.push_str(key);
            text.push_str("\":[");
            for (index, &value) in values.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                number::write(text, value);
            }
            text.push(']');
        }
        text.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(columns: &Columns, from: usize) -> String {
        let mut text = String::new();
        columns.write(from, &mut text);
        text
    }

    #[test]
    fn a_second_without_a_value_is_a_gap() {
        let mut columns = Columns::default();
        columns.put("a", Merge::Mean, 0, 1.0);
        columns.put("b", Merge::Max, 2, 5.0);
        assert_eq!(text(&columns, 0), r#"{"a":[1],"b":[null,null,5]}"#);
        columns.sent();
        columns.put("a", Merge::Mean, 3, 4.0);
        assert_eq!(columns.changed_from(), 3);
        assert_eq!(text(&columns, 3), r#"{"a":[4]}"#);
    }

    #[test]
    fn long_runs_keep_their_means_and_their_maxima() {
        let mut columns = Columns::bounded(8);
        for second in 0..64 {
            columns.put("rate", Merge::Mean, second, f64::from(second));
            columns.put("p99", Merge::Max, second, f64::from(second));
        }
        assert_eq!((columns.rows(), columns.step_s()), (8, 8));
        assert_eq!(
            text(&columns, 0),
            r#"{"p99":[7,15,23,31,39,47,55,63],"rate":[3.5,11.5,19.5,27.5,35.5,43.5,51.5,59.5]}"#
        );
    }

    #[test]
    fn there_is_an_end_to_columns() {
        let mut columns = Columns::default();
        for index in 0..2 * COLUMNS_MAX {
            columns.put(&format!("c{index}"), Merge::Mean, 0, 1.0);
        }
        assert_eq!(columns.by_key.len(), COLUMNS_MAX);
    }
}
