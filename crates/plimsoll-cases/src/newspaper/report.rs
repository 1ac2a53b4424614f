//! The tables of the newspaper, for the terminal and for the page.

use plimsoll_harness::page::{Table, percent};

use super::measure::Shares;
use super::study::{CycleEntry, StudyLoad};

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

/// The table of cycles.
pub(super) fn cycles_table(entries: &[CycleEntry]) -> Table {
    let mut table = Table::new([
        "diagnose",
        "act",
        "evaluate: req/s carried",
        "interval",
        "gain",
        "the study's gain",
    ]);
    for entry in entries {
        let before = entry.cycle.compared_with.as_ref().and_then(|name| {
            let other = entries.iter().find(|other| other.cycle.name == *name)?;
            other.found.median()
        });
        let gain = before.zip(entry.found.median());
        let gain = gain.map(|(before, now)| format!("{:+.0} %", (now / before - 1.0) * 100.0));
        let study = entry.cycle.gain.map(|gain| format!("+{gain} %"));
        let [found, interval] = entry.found.cells();
        table.row([
            entry.diagnosis.as_deref().unwrap_or("–"),
            &entry.cycle.act,
            &found,
            &interval,
            gain.as_deref().unwrap_or("–"),
            study.as_deref().unwrap_or("–"),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use plimsoll_harness::workspace::Workspace;

    use super::super::study::Study;
    use super::*;
    use crate::plimsoll_run::LoadLineResult;

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

    #[test]
    fn gains_are_over_what_was_changed() {
        let cycles = Study::read(Workspace::find().unwrap().root())
            .unwrap()
            .cycles;
        let entry = |place: usize, median, diagnosis: Option<&str>| CycleEntry {
            cycle: cycles[place].clone(),
            diagnosis: diagnosis.map(str::to_owned),
            found: LoadLineResult::Line {
                low: median - 5.0,
                median,
                high: median + 5.0,
            },
            finding: None,
        };
        let table = cycles_table(&[
            entry(0, 100.0, None),
            entry(1, 180.0, Some("one process uses one core")),
            entry(2, 171.0, None),
            entry(3, 270.0, None),
        ])
        .to_string();
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines[1],
            "| one process uses one core | a process per core | 180 | 175-185 | +80 % | +65 % |"
        );
        assert!(lines[2].contains("| -5 % |"), "{}", lines[2]);
        assert!(lines[3].contains("| +50 % | +58 % |"), "{}", lines[3]);
    }
}
