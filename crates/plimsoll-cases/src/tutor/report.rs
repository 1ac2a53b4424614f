//! The table of the tutor, for the terminal and for the page.

use std::fmt::Write as _;

use super::injected_fault::{InjectedFault, TutorComponent};
use crate::plimsoll_run::LoadLineResult;

/// What one stack carried; the healthy one has no fault.
pub(super) struct TutorRow {
    pub(super) component: TutorComponent,
    pub(super) fault: Option<InjectedFault>,
    pub(super) found: LoadLineResult,
}

/// A Markdown table: each row beside the healthy one of its part.
pub(super) fn table(rows: &[TutorRow]) -> String {
    let mut text =
        "| part | fault | users carried | interval | against healthy |\n|---|---|---|---|---|\n"
            .to_owned();
    for row in rows {
        let healthy = rows
            .iter()
            .find(|other| other.component == row.component && other.fault.is_none())
            .map(|other| &other.found);
        let title = row.fault.map_or("none", InjectedFault::title);
        let cells = match &row.found {
            LoadLineResult::Line { low, median, high } => format!(
                "{median:.0} | {low:.0}-{high:.0} | {}",
                row.fault
                    .and(healthy)
                    .map_or("–".to_owned(), |healthy| beside(*median, healthy))
            ),
            LoadLineResult::Nothing(reason) => format!("not known: {reason} | – | –"),
        };
        writeln!(text, "| {} | {title} | {cells} |", row.component.name())
            .expect("a string takes every character");
    }
    text
}

fn beside(users: f64, healthy: &LoadLineResult) -> String {
    match healthy {
        LoadLineResult::Line { median, .. } if *median > 0.0 => format!("{:.2}x", users / median),
        _ => "–".to_owned(),
    }
}

/// The page, with what the machine was and how the table came about.
pub(super) fn page(rows: &[TutorRow], date: &str, machine: &str, remarks: &[String]) -> String {
    let mut text = format!(
        "# The tutor and its faults\n\n\
         Written by `cargo xtask case tutor` on {date}. {machine}. HAProxy, the web part, the engine, MariaDB, \
         memcached and the load generator share the machine; a stack is started anew for each row, with the same rows \
         in its database. Users are those of the part's plan ([web](../../cases/tutor/web.yaml), \
         [engine](../../cases/tutor/engine.yaml)), with its objective; the interval holds the load line with 90 % credibility. Only the ratios mean something elsewhere.\n\n{}",
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
    fn each_fault_stands_beside_the_healthy_stack() {
        let line = |low, median, high| LoadLineResult::Line { low, median, high };
        let rows = [
            TutorRow {
                component: TutorComponent::Engine,
                fault: None,
                found: line(90.0, 100.0, 110.0),
            },
            TutorRow {
                component: TutorComponent::Web,
                fault: None,
                found: line(190.0, 200.0, 210.0),
            },
            TutorRow {
                component: TutorComponent::Web,
                fault: Some(InjectedFault::SyncBcrypt),
                found: line(140.0, 150.4, 160.0),
            },
            TutorRow {
                component: TutorComponent::Engine,
                fault: Some(InjectedFault::OrmQueries),
                found: LoadLineResult::Nothing("void".to_owned()),
            },
        ];
        let table = table(&rows);
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| engine | none | 100 | 90-110 | – |",
                "| web | none | 200 | 190-210 | – |",
                "| web | bcrypt on the event loop | 150 | 140-160 | 0.75x |",
                "| engine | 12 queries per compile instead of 3 | not known: void | – | – |",
            ]
        );
        let page = page(&rows, "2018-02-02", "Machine", &["Remark.".to_owned()]);
        assert!(page.ends_with("| – | – |\n\nRemark.\n"), "{page}");
    }
}
