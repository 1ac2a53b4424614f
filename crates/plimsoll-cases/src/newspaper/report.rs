//! The tables of the newspaper, for the terminal and for the page.

use std::fmt::Write as _;

use super::cycle::CycleEntry;
use super::measure::Shares;
use super::stack::NewspaperSettings;
use crate::plimsoll_run::LoadLineResult;

/// What the study's instance carried, requests a second.
const STUDY_LINE: f64 = 80.0;

/// A row of the study's table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Study {
    /// Requests a second that it offered.
    offered: f64,
    /// Percent of pages rendered on the server.
    rendered: f64,
    /// Percent slower than 1.2 s; `None` where the study has none.
    slow: Option<f64>,
}

impl Study {
    const fn new(offered: f64, rendered: f64, slow: Option<f64>) -> Self {
        Self {
            offered,
            rendered,
            slow,
        }
    }

    /// How many times its load line that was.
    pub(super) fn factor(&self) -> f64 {
        self.offered / STUDY_LINE
    }
}

/// The study's table from its load line on.
pub(super) static FACTORS: [Study; 8] = [
    Study::new(80.0, 88.0, None),
    Study::new(100.0, 71.0, Some(7.0)),
    Study::new(200.0, 34.0, Some(10.0)),
    Study::new(400.0, 16.0, Some(7.0)),
    Study::new(600.0, 10.0, Some(6.0)),
    Study::new(800.0, 8.0, Some(8.0)),
    Study::new(900.0, 7.0, Some(19.0)),
    Study::new(1000.0, 6.0, Some(70.0)),
];

/// What became of one load, beside what the study saw.
pub(super) struct NewspaperRow {
    pub(super) study: &'static Study,
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

/// The table of overload in Markdown.
pub(super) fn table(line: f64, rows: &[NewspaperRow]) -> String {
    let mut text = format!(
        "The site alone carries {line:.0} req/s.\n\n\
         | times that | offered req/s | rendered | the study's | slower than 1.2 s | the study's | fallback | failed | better |\n\
         |---|---|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        let Shares {
            offered,
            rendered,
            fallback,
            slow,
            failed,
            is_void,
        } = row.shares;
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let study_slow = row
            .study
            .slow
            .map_or_else(|| "–".to_owned(), |slow| format!("{slow:.0} %"));
        let better = match (is_void, row.is_better()) {
            (true, _) => "void",
            (false, true) => "yes",
            (false, false) => "**no**",
        };
        writeln!(
            text,
            "| {:.2} | {offered:.0} | {} | {:.0} % | {} | {study_slow} | {} | {} | {better} |",
            row.study.factor(),
            percent(rendered),
            row.study.rendered,
            percent(slow),
            percent(fallback),
            percent(failed),
        )
        .expect("a string takes every character");
    }
    text
}

/// The table of cycles in Markdown.
pub(super) fn cycles_table(entries: &[CycleEntry]) -> String {
    let mut text =
        "| diagnose | act | evaluate: req/s carried | interval | gain | the study's gain |\n\
         |---|---|---|---|---|---|\n"
            .to_owned();
    for entry in entries {
        let before = entry.cycle.compared_with().and_then(|other| {
            let other = entries.iter().find(|entry| entry.cycle == other)?;
            match &other.found {
                LoadLineResult::Line { median, .. } => Some(*median),
                LoadLineResult::Nothing(_) => None,
            }
        });
        let evaluated = match &entry.found {
            LoadLineResult::Line { low, median, high } => {
                let gain = before.map_or_else(
                    || "–".to_owned(),
                    |before| format!("{:+.0} %", (median / before - 1.0) * 100.0),
                );
                format!("{median:.0} | {low:.0}-{high:.0} | {gain}")
            }
            LoadLineResult::Nothing(reason) => format!("not known: {reason} | – | –"),
        };
        let study = entry
            .cycle
            .study_gain()
            .map_or_else(|| "–".to_owned(), |gain| format!("+{gain} %"));
        writeln!(
            text,
            "| {} | {} | {evaluated} | {study} |",
            entry.diagnosis.as_deref().unwrap_or("–").replace('|', "/"),
            entry.cycle.act(),
        )
        .expect("a string takes every character");
    }
    text
}

/// Method of both pages.
pub(super) struct NewspaperPage<'a> {
    pub(super) date: &'a str,
    pub(super) machine: &'a str,
    pub(super) remarks: &'a [String],
}

impl NewspaperPage<'_> {
    /// The page of overload.
    pub(super) fn overload(
        &self,
        line: f64,
        rows: &[NewspaperRow],
        settings: NewspaperSettings,
    ) -> String {
        let NewspaperSettings { workers, nodes } = settings;
        let body = format!(
            "{workers} process(es) render pages of {nodes} elements; the edge is before them, with \
             [this configuration](../../cases/newspaper/edge.yaml). The study's columns are what it saw at the same \
             multiple of what its instance carried ({STUDY_LINE:.0} req/s). Better means: at least as many pages \
             rendered, and no more that were slow or failed (where the study tells no share of slow pages, 1 %).\n\n{}",
            table(line, rows),
        );
        self.text("The newspaper, beyond its load line", &body)
    }

    /// The page of cycles.
    pub(super) fn cycles(&self, entries: &[CycleEntry]) -> String {
        let body = format!(
            "Each cycle is judged by the same search; the diagnosis is the limit that the cycle before it named first. \
             Gains are over the cycle whose settings were changed.\n\n{}",
            cycles_table(entries)
        );
        self.text("The newspaper's ledger of cycles", &body)
    }

    fn text(&self, title: &str, body: &str) -> String {
        let mut text = format!(
            "# {title}\n\n\
             Written by `cargo xtask case newspaper` on {}. {}. The site, its articles, the edge and the load generator \
             share the machine. [The case](../../cases/newspaper/README.md) tells what it is; only the ratios mean \
             something elsewhere.\n\n{body}",
            self.date, self.machine,
        );
        for remark in self.remarks {
            write!(text, "\n{remark}\n").expect("a string takes every character");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::cycle::Cycle;
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
        let rows = [
            NewspaperRow {
                study: &FACTORS[2],
                shares: shares(0.42, 0.0, false),
            },
            NewspaperRow {
                study: &FACTORS[2],
                shares: shares(0.30, 0.0, false),
            },
            NewspaperRow {
                study: &FACTORS[0],
                shares: shares(0.9, 0.02, true),
            },
        ];
        let table = table(100.4, &rows);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "The site alone carries 100 req/s.");
        assert_eq!(
            &lines[4..],
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
        let entry = |cycle, median, diagnosis: Option<&str>| CycleEntry {
            cycle,
            diagnosis: diagnosis.map(str::to_owned),
            found: LoadLineResult::Line {
                low: median - 5.0,
                median,
                high: median + 5.0,
            },
            finding: None,
        };
        let table = cycles_table(&[
            entry(Cycle::OneProcess, 100.0, None),
            entry(
                Cycle::ProcessPerCore,
                180.0,
                Some("one process uses one core"),
            ),
            entry(Cycle::TwoPerCore, 171.0, None),
            entry(Cycle::FewerNodes, 270.0, None),
        ]);
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines[1],
            "| one process uses one core | a process per core | 180 | 175-185 | +80 % | +65 % |"
        );
        assert!(lines[2].contains("| -5 % |"), "{}", lines[2]);
        assert!(lines[3].contains("| +50 % | +58 % |"), "{}", lines[3]);
    }
}
