//! The table of the consultation, for the terminal and for the page.

use std::fmt::Write as _;

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
pub(super) fn table(rows: &[ConsultRow]) -> String {
    let mut text = "| users | before the platform | under 500 ms | under 1,500 ms | under 3,000 ms | good answers a \
                    second | mean ms |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    for row in rows {
        for (way, shares) in &row.shares {
            let cells = match &shares.void {
                Some(why) => format!("void: {} | – | – | – | –", why.replace('|', "/")),
                None => format!(
                    "{} | {} | {} | {:.1} | {}",
                    percent(shares.good),
                    percent(shares.passable),
                    percent(shares.answered),
                    shares.rate,
                    shares
                        .mean_ms
                        .map_or_else(|| "–".to_owned(), |mean| format!("{mean:.0}"))
                ),
            };
            writeln!(text, "| {} | {} | {cells} |", row.users, way.title())
                .expect("a string takes every character");
        }
    }
    text
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The page, with what the machine was and how the table came about.
pub(super) fn page(rows: &[ConsultRow], date: &str, machine: &str, remarks: &[String]) -> String {
    let mut text = format!(
        "# The consultation, and what stands before it\n\n\
         Written by `cargo xtask case consult` on {date}. {machine}. The load has one core; the platform, its database \
         and the edge share the other. [The case](../../cases/consult/README.md) tells what it is. Shares are of all \
         requests of [the walk](../../cases/consult/walk.yaml), logins left out; who has no answer after 3 s goes on \
         without it. A page that is somebody else's counts as no answer. Half of the users have logged in.\n\n\
         The study wanted 95 % under 500 ms. On eight cores its platform answered 80-90 % of 100 users, 2 s on average; \
         with the framework's own cache of whole pages 94-97 %, and fragments made by hand added 1-2 % and took a fifth \
         of the time on large machines, nothing on small ones. Only the ratios mean something elsewhere.\n\n{}",
        table(rows)
    );
    for remark in remarks {
        write!(text, "\n{remark}\n").expect("a string takes every character");
    }
    text
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
        let table = table(&[row]);
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
