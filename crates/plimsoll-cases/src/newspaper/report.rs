//! The table of overload, for the terminal and for the page.

use plimsoll_harness::page::{Table, percent};

use super::measure::Shares;
use super::study::StudyLoad;

/// What became of one load, beside what the study saw.
pub(super) struct NewspaperRow {
    pub(super) study: StudyLoad,
    pub(super) shares: Shares,
}

impl NewspaperRow {
    /// Whether as many pages were rendered or more, and as few were slow or fewer.
    fn is_better(&self) -> bool {
        let slow = (self.shares.slow + self.shares.failed) * 100.0;
        self.shares.rendered * 100.0 >= self.study.rendered
            && slow <= self.study.slow.unwrap_or(1.0)
    }
}

/// The table of overload.
pub(super) fn table(rows: &[NewspaperRow]) -> Table {
    let mut table = Table::new([
        "times that",
        "offered req/s",
        "rendered",
        "the study's",
        "slower than 1.2 s",
        "the study's",
        "fallback",
        "failed",
        "better",
    ]);
    for row in rows {
        let shares = &row.shares;
        let study_slow = row.study.slow.map(|slow| format!("{slow:.0} %"));
        let better = match (shares.is_void, row.is_better()) {
            (true, _) => "void",
            (false, true) => "yes",
            (false, false) => "**no**",
        };
        table.row([
            format!("{:.2}", row.study.factor()),
            format!("{:.0}", shares.offered),
            percent(shares.rendered),
            format!("{:.0} %", row.study.rendered),
            percent(shares.slow),
            study_slow.unwrap_or_else(|| "–".to_owned()),
            percent(shares.fallback),
            percent(shares.failed),
            better.to_owned(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use plimsoll_harness::workspace::Workspace;

    use super::super::study::Study;
    use super::*;

    #[test]
    fn rows_stand_beside_the_study() {
        let shares = |rendered, slow, is_void| Shares {
            offered: 251.0,
            rendered,
            fallback: 1.0 - rendered,
            slow,
            failed: 0.0,
            is_void,
        };
        let loads = Study::read(Workspace::find().unwrap().root())
            .unwrap()
            .loads;
        let rows = [
            NewspaperRow {
                study: loads[2],
                shares: shares(0.42, 0.0, false),
            },
            NewspaperRow {
                study: loads[2],
                shares: shares(0.30, 0.0, false),
            },
            NewspaperRow {
                study: loads[0],
                shares: shares(0.9, 0.02, true),
            },
        ];
        let table = table(&rows).to_string();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(
            &lines[2..],
            [
                "| 2.50 | 251 | 42.0 % | 34 % | 0.0 % | 10 % | 58.0 % | 0.0 % | yes |",
                "| 2.50 | 251 | 30.0 % | 34 % | 0.0 % | 10 % | 70.0 % | 0.0 % | **no** |",
                "| 1.00 | 251 | 90.0 % | 88 % | 2.0 % | – | 10.0 % | 0.0 % | void |",
            ]
        );
        assert!(!rows[2].is_better());
    }
}
