//! On which machine a series was read.
//!
//! Series of the generator's own machine carry no label, so that a run without agents is written as ever. A series that
//! an agent reads has its ordinary name and one label more: `system.cpu.utilization{cpu.mode=user,host.name=db1}`.

use crate::labels::{label, labels, metric, series as name_of};

/// Label of a series with the name of the machine whose agent read it, as in OpenTelemetry.
pub const MACHINE: &str = "host.name";

/// The machine whose agent read a series; `None` for the generator's own machine.
pub fn machine_of(series: &str) -> Option<&str> {
    // Few series have the label: looking for its name is cheaper than reading all labels.
    series
        .contains(MACHINE)
        .then(|| label(series, MACHINE))
        .flatten()
}

/// The name of a series that the agent of a machine reads. A label of this name that the series has already is replaced:
/// where an agent runs is known better than what a program says of its host.
pub fn on_machine(series: &str, machine: &str) -> String {
    let own = own_labels(series).chain([(MACHINE, machine)]);
    name_of(metric(series), &own.collect::<Vec<_>>())
}

/// The ordinary name of a series, whichever machine it is of.
pub fn without_machine(series: &str) -> String {
    if machine_of(series).is_none() {
        return series.to_owned();
    }
    name_of(metric(series), &own_labels(series).collect::<Vec<_>>())
}

fn own_labels(series: &str) -> impl Iterator<Item = (&str, &str)> {
    labels(series).filter(|(name, _)| *name != MACHINE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_machine_is_one_label_more() {
        for (series, right) in [
            ("plimsoll.cpu.busy", "plimsoll.cpu.busy{host.name=db1}"),
            ("m{a=1}", "m{a=1,host.name=db1}"),
            ("m{a=\"1,2\"}", "m{a=\"1,2\",host.name=db1}"),
            ("m{host.name=other,a=1}", "m{a=1,host.name=db1}"),
        ] {
            let labelled = on_machine(series, "db1");
            assert_eq!(labelled, right);
            assert_eq!(machine_of(&labelled), Some("db1"));
        }
        assert_eq!(without_machine("m{a=1,host.name=db1}"), "m{a=1}");
        assert_eq!(without_machine("m{host.name=db1}"), "m");
    }

    #[test]
    fn series_of_the_own_machine_have_no_label() {
        for series in ["m", "m{a=1}", "m{a=host.name}", "m{x.host.name=1}"] {
            assert_eq!(machine_of(series), None, "{series}");
            assert_eq!(without_machine(series), series);
        }
    }

    proptest! {
        #[test]
        fn a_label_that_is_added_can_be_taken_away(
            values in proptest::collection::vec("[#\"{},=a]{0,12}|\\PC{0,20}", 0..3),
            machine in "[a-z0-9.:-]{1,20}|\\PC{1,20}",
        ) {
            let labelled = ["a", "b.c", "d"].into_iter().zip(values.iter().map(String::as_str));
            let series = name_of("some.metric", &labelled.collect::<Vec<_>>());
            let on = on_machine(&series, &machine);
            prop_assert_eq!(machine_of(&on), Some(machine.as_str()));
            prop_assert_eq!(without_machine(&on), series);
        }
    }
}
