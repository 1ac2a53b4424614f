//! Round trips between regions, by a table with its source and its date.
//!
//! A table is CSV: the first row names the regions where packets go, each further row one from which they come, with a
//! number of milliseconds for each. Lines that begin with `#` are remarks; `# source:` and `# date:` say where the numbers
//! are from and when they were measured.

use std::time::Duration;

/// The table that comes with the program.
const BUILT_IN: &str = include_str!("regions.csv");
/// Most bytes of a table.
pub const TABLE_LEN_MAX: u64 = 1 << 20;
/// Most regions of a table.
const REGIONS_MAX: usize = 500;
/// Longest round trip, ms.
const ROUND_TRIP_MS_MAX: f64 = 60_000.0;

/// Round trips between regions.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionTable {
    source: String,
    date: String,
    names: Vec<String>,
    /// A row for each region from which packets come, in the order of its own list.
    rows: Vec<(String, Vec<Option<Duration>>)>,
}

/// Why a table or a pair of regions is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegionError {
    /// A line of a table is invalid.
    #[error("line {line}: {message}; valid: {valid}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// The fault.
        message: String,
        /// What is valid.
        valid: &'static str,
    },
    /// The table has no such region.
    #[error("unknown region `{name}`; valid: {}", .valid.join(", "))]
    Unknown {
        /// As written.
        name: String,
        /// Regions of the table.
        valid: Vec<String>,
    },
    /// The table has no number for two regions.
    #[error("the table has no round trip from {from} to {to}")]
    Missing {
        /// Where packets come from.
        from: String,
        /// Where they go.
        to: String,
    },
}

impl RegionTable {
    /// The table that comes with the program.
    pub fn built_in() -> Self {
        Self::read(BUILT_IN).expect("a test reads the table")
    }

    /// Reads a table.
    ///
    /// # Errors
    /// Names the line that is invalid.
    pub fn read(text: &str) -> Result<Self, RegionError> {
        let mut table = Self {
            source: String::new(),
            date: String::new(),
            names: Vec::new(),
            rows: Vec::new(),
        };
        for (line, text) in (1..).zip(text.lines()) {
            table.read_line(line, text.trim())?;
        }
        if table.rows.is_empty() {
            let message = "the table has no row";
            return Err(invalid(
                1,
                message,
                "a row of names, and a row for each region",
            ));
        }
        Ok(table)
    }

    fn read_line(&mut self, line: usize, text: &str) -> Result<(), RegionError> {
        if let Some(remark) = text.strip_prefix('#') {
            if let Some(source) = remark.trim().strip_prefix("source:") {
                source.trim().clone_into(&mut self.source);
            } else if let Some(date) = remark.trim().strip_prefix("date:") {
                date.trim().clone_into(&mut self.date);
            }
            return Ok(());
        }
        if text.is_empty() {
            return Ok(());
        }
        let mut cells = text.split(',').map(str::trim);
        let name = cells.next().unwrap_or_default();
        if self.names.is_empty() {
            self.names = cells.map(str::to_owned).collect();
            let is_valid = (1..=REGIONS_MAX).contains(&self.names.len())
                && self.names.iter().all(|name| is_name(name));
            let valid =
                "1 to 500 names of lower-case letters, digits and `-` behind the first cell";
            return if is_valid {
                Ok(())
            } else {
                Err(invalid(line, "not a row of names", valid))
            };
        }
        if !is_name(name) || self.rows.len() >= REGIONS_MAX {
            let valid =
                "at most 500 rows, each with a name of lower-case letters, digits and `-` first";
            return Err(invalid(line, "not the row of a region", valid));
        }
        let trips: Result<Vec<_>, InvalidCell> = cells.map(round_trip).collect();
        let trips = trips.ok().filter(|trips| trips.len() == self.names.len());
        let Some(trips) = trips else {
            let valid = "a number of milliseconds from 0 to 60000, or nothing, for each name of the first row";
            return Err(invalid(line, "not the round trips of a region", valid));
        };
        self.rows.push((name.to_owned(), trips));
        Ok(())
    }

    /// Where the numbers are from; empty where the table does not say it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// When they were measured; empty where the table does not say it.
    pub fn date(&self) -> &str {
        &self.date
    }

    /// The regions from which packets may come.
    pub fn regions(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|(name, _)| name.as_str())
    }

    /// The round trip of packets from one region to another.
    ///
    /// # Errors
    /// When the table has not both, or no number for them.
    pub fn round_trip(&self, from: &str, to: &str) -> Result<Duration, RegionError> {
        let row = self.rows.iter().find(|(name, _)| name == from);
        let (_, trips) = row.ok_or_else(|| unknown(from, self.regions()))?;
        let column = self.names.iter().position(|name| name == to);
        let column = column.ok_or_else(|| unknown(to, self.names.iter().map(String::as_str)))?;
        trips[column].ok_or_else(|| RegionError::Missing {
            from: from.to_owned(),
            to: to.to_owned(),
        })
    }
}

fn is_name(text: &str) -> bool {
    let is_valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(is_valid)
}

/// A cell that is neither empty nor a round trip.
struct InvalidCell;

/// The round trip of a cell; `None` where it is empty.
fn round_trip(cell: &str) -> Result<Option<Duration>, InvalidCell> {
    if cell.is_empty() {
        return Ok(None);
    }
    let ms: f64 = cell.parse().map_err(|_| InvalidCell)?;
    if !(0.0..=ROUND_TRIP_MS_MAX).contains(&ms) {
        return Err(InvalidCell);
    }
    Ok(Some(Duration::from_secs_f64(ms / 1e3)))
}

fn invalid(line: usize, message: &str, valid: &'static str) -> RegionError {
    RegionError::Line {
        line,
        message: message.to_owned(),
        valid,
    }
}

fn unknown<'n>(name: &str, valid: impl Iterator<Item = &'n str>) -> RegionError {
    RegionError::Unknown {
        name: name.to_owned(),
        valid: valid.map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_table_of_the_program_is_whole() {
        let table = RegionTable::built_in();
        assert!(table.source().starts_with("Microsoft"), "{table:?}");
        assert_eq!(table.date(), "2026-07-30");
        assert!(table.regions().eq(table.names.iter().map(String::as_str)));
        for from in table.regions() {
            for to in table.regions() {
                let trip = table.round_trip(from, to);
                if from == to {
                    assert!(matches!(trip, Err(RegionError::Missing { .. })), "{from}");
                    continue;
                }
                let (there, back) = (trip.unwrap(), table.round_trip(to, from).unwrap());
                // Both directions of a path are measured apart; they differ by little.
                let difference = there.abs_diff(back);
                assert!(difference <= Duration::from_millis(20), "{from} to {to}");
            }
        }
        // As published: West Europe to East US, and back.
        let ms = |from, to| table.round_trip(from, to).unwrap().as_millis();
        assert_eq!(ms("west-europe", "east-us"), 85);
        assert_eq!(ms("east-us", "west-europe"), 83);
    }

    #[test]
    fn a_table_of_ones_own_is_read() {
        let text = "# source: our ping\n# date: 2026-11-01\nfrom,here\nthere,12.5\n\nhere,\n";
        let table = RegionTable::read(text).unwrap();
        assert_eq!((table.source(), table.date()), ("our ping", "2026-11-01"));
        let trip = table.round_trip("there", "here");
        assert_eq!(trip, Ok(Duration::from_micros(12_500)));
        let unknown = table.round_trip("nowhere", "here").unwrap_err();
        assert!(unknown.to_string().ends_with("valid: there, here"));
        let unknown = table.round_trip("here", "there").unwrap_err();
        assert!(unknown.to_string().ends_with("valid: here"), "{unknown}");
        assert!(table.round_trip("here", "here").is_err());
    }

    #[test]
    fn what_is_no_table_is_named_with_its_line() {
        for (wrong, line) in [
            ("", "line 1:"),
            ("from,a", "line 1:"),
            ("from,A\na,1", "line 1:"),
            ("from,a\na,1,2", "line 2:"),
            ("from,a\na,-1", "line 2:"),
            ("from,a\na,NaN", "line 2:"),
            ("from,a\n\nb b,1", "line 3:"),
        ] {
            let error = RegionTable::read(wrong).unwrap_err().to_string();
            assert!(error.starts_with(line), "{wrong}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-c,0-9\n#.-]{0,60}") {
            let _ = RegionTable::read(&text);
        }
    }
}
