use plimsoll_model::verdict::Verdict;

use super::super::metrics;
use super::super::run_series::series;
use super::super::run_series::tests::noisy;
use super::*;

fn verdict(entries: &[HistoryEntry]) -> GateVerdict {
    let options = HistoryOptions::default();
    worst(&judge(&series(entries, options), entries, options))
}

fn levels(parts: &[(usize, f64)]) -> Vec<HistoryEntry> {
    let levels: Vec<f64> = parts
        .iter()
        .flat_map(|&(count, level)| std::iter::repeat_n(level, count))
        .collect();
    noisy(metrics::P95, &levels, 5)
}

#[test]
fn nothing_compared_is_never_green() {
    assert_eq!(verdict(&[]), GateVerdict::Undecided);
    for count in 1..=5 {
        assert_eq!(verdict(&levels(&[(count, 100.0)])), GateVerdict::Undecided);
    }
    assert_eq!(verdict(&levels(&[(6, 100.0)])), GateVerdict::Passed);
    let mut other_machine = levels(&[(30, 100.0)]);
    "other".clone_into(&mut other_machine[29].machine);
    assert_eq!(verdict(&other_machine), GateVerdict::Undecided);
    let mut unknown = levels(&[(30, 100.0)]);
    for entry in &mut unknown {
        let value = entry.metrics[metrics::P95];
        entry.metrics = [("unheard_of".to_owned(), value)].into();
    }
    assert_eq!(verdict(&unknown), GateVerdict::Undecided);
    let mut void = levels(&[(30, 100.0)]);
    void[29].verdict = Some(Verdict::Void);
    assert_eq!(verdict(&void), GateVerdict::Void);
}

#[test]
fn steps_and_slides_for_the_worse_fail_and_others_do_not() {
    assert_eq!(verdict(&levels(&[(60, 100.0)])), GateVerdict::Passed);
    let worse = levels(&[(50, 100.0), (10, 110.0)]);
    assert_eq!(verdict(&worse), GateVerdict::Regressed);
    let better = levels(&[(50, 110.0), (10, 100.0)]);
    assert_eq!(verdict(&better), GateVerdict::Passed);
    let repaired = levels(&[(40, 100.0), (10, 110.0), (10, 100.0)]);
    assert_eq!(verdict(&repaired), GateVerdict::Passed);
    let half_repaired = levels(&[(40, 100.0), (10, 130.0), (10, 110.0)]);
    assert_eq!(verdict(&half_repaired), GateVerdict::Regressed);
    let accepted = levels(&[(40, 100.0), (30, 110.0)]);
    assert_eq!(verdict(&accepted), GateVerdict::Passed);
    let slide: Vec<(usize, f64)> = (0..60)
        .map(|run| (1, 100.0 + 0.3 * f64::from(run)))
        .collect();
    assert_eq!(verdict(&levels(&slide)), GateVerdict::Regressed);
}

#[test]
fn a_spike_is_to_be_repeated_and_then_forgotten() {
    for before in [10, 40] {
        let spike = levels(&[(before, 100.0), (1, 200.0)]);
        assert_eq!(verdict(&spike), GateVerdict::Undecided, "{before}");
        let twice = levels(&[(before, 100.0), (2, 200.0)]);
        assert_eq!(verdict(&twice), GateVerdict::Regressed, "{before}");
        let past = levels(&[(before, 100.0), (1, 200.0), (3, 100.0)]);
        assert_eq!(verdict(&past), GateVerdict::Passed, "{before}");
    }
}

#[test]
fn steady_histories_rarely_fail() {
    let fails = (0..200)
        .filter(|&seed| {
            let entries = noisy(metrics::P95, &[100.0; 60], seed);
            verdict(&entries) == GateVerdict::Regressed
        })
        .count();
    assert!(fails <= 4, "{fails} of 200");
}

#[test]
fn each_name_is_judged_and_the_worst_decides() {
    let mut entries = levels(&[(30, 100.0)]);
    for mut entry in levels(&[(20, 100.0), (10, 120.0)]) {
        "search".clone_into(&mut entry.name);
        entries.push(entry);
    }
    let options = HistoryOptions::default();
    let series = series(&entries, options);
    let gates = judge(&series, &entries, options);
    let verdicts: Vec<GateVerdict> = gates.iter().map(|gate| gate.verdict).collect();
    assert_eq!(verdicts, [GateVerdict::Regressed, GateVerdict::Passed]);
    assert_eq!(worst(&gates), GateVerdict::Regressed);
    assert!(matches!(gates[0].reasons[..], [GateReason::Changed(..)]));
}
