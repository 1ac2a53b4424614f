//! The table of the tutor, for the terminal and for the page.

use plimsoll_harness::page::Table;

use super::injected_fault::{InjectedFault, TutorComponent};
use super::named_limit::NamedLimits;
use crate::plimsoll_run::LoadLineResult;

/// What one stack carried; the healthy one has no fault.
pub(super) struct TutorRow {
    pub(super) component: TutorComponent,
    pub(super) fault: Option<InjectedFault>,
    pub(super) found: LoadLineResult,
    pub(super) named: NamedLimits,
}

/// Each row beside the healthy one of its part.
pub(super) fn table(rows: &[TutorRow]) -> Table {
    let mut table = Table::new([
        "part",
        "fault",
        "users carried",
        "interval",
        "against healthy",
        "named by `limit`",
        "",
    ]);
    for row in rows {
        let healthy = rows
            .iter()
            .find(|other| other.component == row.component && other.fault.is_none());
        let healthy = row.fault.and(healthy).and_then(|row| row.found.median());
        let share = healthy
            .filter(|users| *users > 0.0)
            .zip(row.found.median())
            .map(|(healthy, users)| users / healthy);
        let against = share.map(|share| format!("{share:.2}x"));
        let verdict = row.fault.map(|fault| row.named.verdict(fault, share));
        let [found, interval] = row.found.cells();
        table.row([
            row.component.name(),
            row.fault.map_or("none", InjectedFault::title),
            &found,
            &interval,
            against.as_deref().unwrap_or("–"),
            &row.named.first(),
            verdict.as_deref().unwrap_or("–"),
        ]);
    }
    table
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
                named: NamedLimits::default(),
            },
            TutorRow {
                component: TutorComponent::Web,
                fault: None,
                found: line(190.0, 200.0, 210.0),
                named: NamedLimits::default(),
            },
            TutorRow {
                component: TutorComponent::Web,
                fault: Some(InjectedFault::SyncBcrypt),
                found: line(140.0, 150.4, 160.0),
                named: NamedLimits::default(),
            },
            TutorRow {
                component: TutorComponent::Engine,
                fault: Some(InjectedFault::OrmQueries),
                found: LoadLineResult::Nothing("void".to_owned()),
                named: NamedLimits::default(),
            },
        ];
        let table = table(&rows).to_string();
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| engine | none | 100 | 90-110 | – | nothing | – |",
                "| web | none | 200 | 190-210 | – | nothing | – |",
                "| web | bcrypt on the event loop | 150 | 140-160 | 0.75x | nothing | **wrong** |",
                "| engine | 12 queries per compile instead of 3 | not known: void | – | – | nothing | **wrong** |",
            ]
        );
    }
}
