//! The table of the consultation, for the terminal and for the page.

use plimsoll_harness::page::{Table, cell, percent};

use super::measure::Shares;
use super::stack::ConsultSetup;

/// What became of so many users, through each way.
pub(super) struct ConsultRow {
    pub(super) users: u32,
    pub(super) shares: Vec<(ConsultSetup, Shares)>,
}

impl ConsultRow {
    pub(super) fn of(users: u32) -> Self {
        Self {
            users,
            shares: Vec::new(),
        }
    }
}

/// A line for each number of users and each way.
pub(super) fn table(rows: &[ConsultRow]) -> Table {
    let mut table = Table::new([
        "users",
        "before the platform",
        "under 500 ms",
        "under 1,500 ms",
        "under 3,000 ms",
        "good answers a second",
        "mean ms",
    ]);
    for row in rows {
        for (way, shares) in &row.shares {
            let cells = match &shares.void {
                Some(why) => {
                    let none = || "–".to_owned();
                    [format!("void: {why}"), none(), none(), none(), none()]
                }
                None => [
                    percent(shares.good),
                    percent(shares.passable),
                    percent(shares.answered),
                    cell(Some(shares.rate), 1),
                    cell(shares.mean_ms, 0),
                ],
            };
            let head = [row.users.to_string(), way.title().to_owned()];
            table.row(head.iter().chain(&cells));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_stand_below_each_other() {
        let shares = |void: Option<&str>| Shares {
            good: 0.5,
            passable: 0.75,
            answered: 0.999,
            rate: 12.34,
            mean_ms: Some(99.6),
            void: void.map(str::to_owned),
        };
        let row = ConsultRow {
            users: 50,
            shares: vec![
                (ConsultSetup::Alone, shares(None)),
                (ConsultSetup::Pages, shares(Some("a | b"))),
            ],
        };
        let table = table(&[row]).to_string();
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| 50 | nothing | 50.0 % | 75.0 % | 99.9 % | 12.3 | 100 |",
                "| 50 | page cache | void: a / b | – | – | – | – |",
            ]
        );
    }
}
