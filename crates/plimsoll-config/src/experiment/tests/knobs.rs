//! Files with knobs and constraints, and what is refused in them.

use plimsoll_model::experiment::Axis;

use super::*;

pub(super) const TUNING: &str = include_str!("tuning.yaml");

/// A file of one error with these knobs, applied ones, and further lines.
fn with_knobs(knobs: &str, more: &str) -> String {
    let apply = "{ command: [run, '{{ workers }}', '{{ cache }}'] }";
    format!("knobs: {knobs}\napply: {apply}\nmeasure: {{ url: 'http://site' }}\n{more}\n")
}

const KNOBS: &str = "{ workers: [2, 4, 8], cache: [off, on] }";

/// A constraint with one error: its column and a fragment of the message.
#[track_caller]
fn check_constraint(constraint: &str, column: usize, words: &str) {
    let quantities = "quantities: { rss: 180MiB, wait: 30s, zero: 0 }";
    let text = with_knobs(KNOBS, &format!("constraints: {constraint}\n{quantities}"));
    // The text begins in column 14.
    check(&text, &format!("4:{}", 13 + column), words);
}

#[test]
fn knobs_are_read_with_their_levels() {
    let read = accepted(TUNING);
    let tuning = read.tuning.as_ref().unwrap();
    let shown: Vec<String> = tuning
        .knobs
        .iter()
        .map(|knob| {
            let mut levels = knob.levels.clone();
            levels[knob.default] = format!("[{}]", levels[knob.default]);
            let kind = if knob.is_ordered { "" } else { ", choices" };
            let restart = if knob.needs_restart { ", restart" } else { "" };
            format!("{}: {}{kind}{restart}", knob.name, levels.join(" "))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "workers: 1 2 [4] 8 16 32 64, restart",
            "threads: [5] 8 16, restart",
            "buffers: 1GB [3GB] 5GB 7GB 9GB",
            "keepalive: off 15s [60s], choices, restart",
            "backlog: 128 256 [512] 1024 2048",
        ]
    );
    assert_eq!(tuning.default_levels(), [2, 0, 1, 2, 2]);
    assert_eq!(
        tuning.knobs[0].meaning.as_deref(),
        Some("Processes of the web server.")
    );
    assert_eq!(tuning.knobs[3].numbers, [None, Some(15.0), Some(60.0)]);
    let names: Vec<&str> = read.design.axes().iter().map(Axis::name).collect();
    assert_eq!(
        names,
        ["workers", "threads", "buffers", "keepalive", "backlog"]
    );
    assert_eq!(
        read.measure.measurement,
        Measurement::Limit(SearchEffort::Within(Duration::from_mins(2)))
    );
    assert_eq!(read.seed, Some(7));
    let file = &read.setups[1].files[0];
    assert_eq!(file.check.as_ref().unwrap().within, Duration::from_secs(30));
    assert_eq!(file.reload.as_ref().unwrap().within, Duration::from_secs(5));
}

#[test]
fn what_usually_suffices_is_a_level() {
    let knobs = "{ workers: { range: 1..64, default: 4, usual: 16 }, cache: [off, on] }";
    let read = accepted(&with_knobs(knobs, ""));
    let usual = |knob: usize| read.tuning.as_ref().unwrap().knobs[knob].usual;
    assert_eq!((usual(0), usual(1)), (Some(4), None));
}

#[test]
fn cells_of_a_search_are_numbers() {
    let read = accepted(TUNING);
    assert!(read.listed().is_empty());
    assert_eq!(read.cells_len(), 7 * 3 * 5 * 3 * 5);
    let index = read.design.index_of(&[6, 2, 2, 0, 1]);
    let cell = read.cell(index).unwrap();
    assert_eq!(
        read.design.describe(&cell).to_string(),
        "workers=64 threads=16 buffers=5GB keepalive=off backlog=256"
    );
    assert_eq!(read.cell(read.cells_len()), None);
    let words = read.setups[0].command.iter();
    let words: Vec<_> = words
        .filter_map(|word| word.in_cell(&read.design, &cell))
        .collect();
    assert_eq!(words, ["bin/puma", "-w", "64", "-t", "16"]);
}

#[test]
fn values_differ_by_the_knobs_that_they_mention() {
    let levels: Vec<String> = (1..=16).map(|level| level.to_string()).collect();
    let levels = levels.join(", ");
    let names: Vec<String> = (0..11).map(|knob| format!("k{knob}")).collect();
    let knobs: Vec<String> = names
        .iter()
        .map(|name| format!("{name}: [{levels}]"))
        .collect();
    let words: Vec<String> = names
        .iter()
        .map(|name| format!("'{{{{ {name} }}}}'"))
        .collect();
    let text = format!(
        "knobs: {{ {} }}\nmeasure: {{ url: 'http://site', limit: quick }}\napply: {{ command: [{}], processes: '{{{{ k3 }}}}', cpus: '{{{{ k3 }}}}.{{{{ k4 }}}}' }}\n",
        knobs.join(", "),
        words.join(", ")
    );
    let read = accepted(&text);
    assert_eq!(read.cells_len() as u64, 1 << 44);
    let cell = read.cell(read.design.index_of(&[15, 0, 0, 7, 1, 0, 0, 0, 0, 0, 9]));
    let cell = cell.unwrap();
    assert_eq!(
        read.setups[0].processes.as_ref().unwrap().at(&cell),
        Some(&8)
    );
    assert_eq!(read.setups[0].cpus.as_ref().unwrap().at(&cell), Some(&8.2));
    // Sixteen levels of four knobs are too many for a value.
    let many = "processes: '{{ k3 }}{{ k4 }}{{ k5 }}{{ k6 }}'";
    let text = text.replace("processes: '{{ k3 }}'", many);
    let lines = refused(&text);
    assert!(
        lines[0].contains("too many combinations of levels"),
        "{lines:?}"
    );
}

#[test]
fn constraints_exclude_settings() {
    let read = accepted(TUNING);
    let tuning = read.tuning.as_ref().unwrap();
    // 64 workers of 180 MiB and 5 GB are more than 80 % of 16 GiB.
    assert_eq!(
        tuning.violated(&[6, 0, 2, 2, 4]),
        Some("workers * rss + buffers <= 0.8 * memory")
    );
    assert_eq!(
        tuning.violated(&[5, 2, 0, 2, 2]),
        Some("workers * threads + reserve <= 500")
    );
    assert_eq!(tuning.violated(&[2, 0, 1, 1, 2]), Some("keepalive != 15s"));
    // 63 / 2 * 8 is 252.
    assert!(tuning.is_feasible(&[6, 0, 0, 2, 1]));
    assert_eq!(
        tuning.violated(&[6, 0, 0, 2, 0]),
        Some("backlog >= (workers - 1) / 2 * cpus")
    );
    // The memory of the machine is rounded, and numbers that nothing uses are not there.
    let quantities: Vec<(&str, f64)> = tuning
        .quantities
        .iter()
        .map(|(name, number)| (name.as_str(), *number))
        .collect();
    let mib = f64::from(1_u32 << 20);
    assert_eq!(
        quantities,
        [
            ("cpus", 8.0),
            ("memory", 16.0 * 1024.0 * mib),
            ("reserve", 3.0),
            ("rss", 180.0 * mib),
        ]
    );
}

#[test]
fn a_constraint_must_not_exclude_the_default() {
    check_constraint(
        "workers * rss <= 300MiB",
        1,
        "the constraint `workers * rss <= 300MiB` excludes the default workers=2: 360MiB against 300MiB",
    );
    check_constraint(
        "cache == on",
        1,
        "the constraint `cache == on` excludes the default cache=off",
    );
}

#[test]
fn constraints_have_a_grammar() {
    check_constraint(
        "workers <",
        10,
        "a number is missing; valid: a name, a number or (",
    );
    check_constraint("workers", 8, "the relation is missing; valid: one of <=, <");
    check_constraint(
        "workers = 2",
        9,
        "`=` is not a relation; valid: == for equal",
    );
    check_constraint("1 <= workers <= 8", 14, "`<=` is unexpected");
    check_constraint("(workers + 1 <= 8", 14, "the parenthesis is not closed");
    check_constraint("workers + * 2 < 8", 11, "`*` is unexpected");
    check_constraint("workers ~ 2", 9, "`~` is unexpected");
    check_constraint("workers < 4Gb", 11, "`4Gb` is not a number");
    check_constraint("rss < memory", 1, "no knob; valid: one of workers, cache");
    let long = format!("workers < 9{}", " + 1".repeat(40));
    check_constraint(&long, 141, "at most 32");
    let deep = format!("{}workers{} < 9", "(".repeat(40), ")".repeat(40));
    check_constraint(&deep, 33, "at most 32");
    check_constraint(&format!("workers < {}", "9".repeat(1000)), 1, "too long");
}

#[test]
fn names_of_constraints_are_known() {
    check_constraint(
        "wrkers < 9",
        1,
        "unknown name `wrkers`; valid: workers, cache, rss, wait, zero, memory, cpus; did you mean `workers`?",
    );
    check_constraint("workers-2 < 9", 1, "spaces around its minus");
    check_constraint(
        "cache * 2 < 9",
        1,
        "the level `off` of `cache` is not a number; valid: cache == 'off'",
    );
    check_constraint(
        "cache != of",
        10,
        "`cache` has no level `of`; valid: off, on; did you mean `off`?",
    );
    check_constraint(
        "workers / zero < 9",
        9,
        "division by zero; valid: a divisor",
    );
    check_constraint(
        "9 / (workers - 8) < 9",
        3,
        "division by zero with workers=8",
    );
    check_constraint(
        "workers * rss < wait",
        15,
        "a size and a duration are compared",
    );
    check_constraint(
        "workers < rss + wait",
        15,
        "a size and a duration are added",
    );
}

#[test]
fn knobs_are_checked() {
    let knobs = |workers: &str, place: &str, words: &str| {
        let knobs = format!("{{ cache: [off, on], workers: {workers} }}");
        check(&with_knobs(&knobs, ""), place, words);
    };
    knobs("4", "1:37", "not the levels of a knob");
    knobs("[4]", "1:37", "the knob has 1 level; valid: 2 to 16 levels");
    knobs("[1, 2, 1]", "1:44", "duplicate level `1`");
    knobs("{ range: 8..1 }", "1:46", "the range is empty");
    knobs("{ range: 8..8 }", "1:46", "the range has a single level");
    knobs(
        "{ range: 0..8 }",
        "1:46",
        "a geometric range begins above 0",
    );
    knobs(
        "{ range: 1..8, default: 9 }",
        "1:61",
        "`9` is out of range; valid: a number from 1 to 8",
    );
    knobs(
        "{ range: 1..8, default: 2s }",
        "1:61",
        "has another unit than the range",
    );
    knobs("{ range: 1..8, levels: 2 }", "1:60", "3 to 16");
    knobs(
        "{ range: 1..8, scale: log }",
        "1:59",
        "valid: geometric, linear",
    );
    knobs("{ default: off }", "1:48", "`off` is not a number above 0");
    knobs("{ restart: true }", "1:37", "the knob has no levels");
    knobs(
        "{ values: [1, 2], range: 1..8 }",
        "1:55",
        "`range` has no effect on `values`",
    );
    knobs(
        "{ values: [1, 2], default: 3 }",
        "1:64",
        "unknown level `3`; valid: 1, 2",
    );
    knobs(
        "{ values: [1, 2], usual: 3 }",
        "1:62",
        "unknown level `3`; valid: 1, 2",
    );
    knobs("{ vales: [1, 2] }", "1:39", "did you mean `values`");
    let levels = vec!["1"; 17].join(", ");
    knobs(&format!("[{levels}]"), "1:37", "the knob has 17 levels");
}

#[test]
fn knobs_and_what_applies_them_fit() {
    let text = with_knobs("{ workers: [1, 2], cache: [off, on], idle: [1, 2] }", "");
    check(
        &text,
        "1:45",
        "the knob `idle` is not applied; valid: {{ idle }} in a value of `apply`",
    );
    let text = with_knobs("{ workers: [1, 2], cach: [off, on] }", "");
    check(
        &text,
        "2:46",
        "unknown knob `cache`; valid: workers, cach; did you mean `cach`?",
    );
    let levels: Vec<String> = (0..16).map(|level| level.to_string()).collect();
    let knobs: Vec<String> = (0..16)
        .map(|knob| format!("k{knob}: [{}]", levels.join(", ")))
        .collect();
    let words: Vec<String> = (0..16).map(|knob| format!("'{{{{ k{knob} }}}}'")).collect();
    let text = format!(
        "knobs: {{ {} }}\nmeasure: {{ url: 'http://site' }}\napply: {{ command: [{}] }}\n",
        knobs.join(", "),
        words.join(", ")
    );
    check(
        &text,
        "1:8",
        "too many combinations of levels; valid: at most 281474976710656",
    );
}

#[test]
fn keys_of_matrices_are_refused_beside_knobs() {
    for (more, place, words) in [
        ("axes: { cores: [1, 2] }", "4:1", "mutually exclusive"),
        (
            "zip: [workers, cache]",
            "4:1",
            "`zip` has no effect on knobs",
        ),
        (
            "exclude: { workers: 2 }",
            "4:1",
            "valid: `constraints` between knobs",
        ),
        (
            "only_if: { workers: { cache: on } }",
            "4:1",
            "`only_if` has no effect",
        ),
        ("trials: 3", "4:1", "the search decides"),
        ("order: listed", "4:1", "random order"),
    ] {
        check(&with_knobs(KNOBS, more), place, words);
    }
    let axes = with(AXES, APPLIED, "constraints: workers < 9");
    check(&axes, "4:1", "`constraints` has no effect without `knobs`");
    let axes = with(AXES, APPLIED, "quantities: { a: 1 }");
    check(&axes, "4:1", "`quantities` has no effect without `knobs`");
}

#[test]
fn quantities_are_checked() {
    let quantities = |quantities: &str, place: &str, words: &str| {
        let more = format!("quantities: {quantities}");
        check(&with_knobs(KNOBS, &more), place, words);
    };
    quantities(
        "{ rss: much }",
        "4:20",
        "not a number; valid: a number, a size",
    );
    quantities("{ workers: 3 }", "4:15", "`workers` is a knob as well");
    quantities("{ a.b: 3 }", "4:15", "not a valid name of a quantity");
    quantities("3", "4:13", "not a map");
}

#[test]
fn a_search_measures_the_load_line_of_the_same_load() {
    let measure = |measure: &str, place: &str, words: &str| {
        let text = format!(
            "knobs: {KNOBS}\napply: {{ command: [run, '{{{{ workers }}}}', '{{{{ cache }}}}'] }}\nmeasure: {measure}\n"
        );
        check(&text, place, words);
    };
    measure(
        "{ plan: a, loads: 3/s }",
        "3:21",
        "`loads` has no effect on knobs",
    );
    measure(
        "{ plan: 'a-{{ cache }}.yaml' }",
        "3:18",
        "the load depends on a knob",
    );
}

#[test]
fn without_a_machine_its_size_is_a_quantity() {
    let nowhere = TestSurroundings::default();
    let text = with_knobs(KNOBS, "constraints: workers <= cpus");
    let diagnostics = read(&text, "file", &nowhere).unwrap_err();
    let line = &diagnostics.lines("f")[0];
    assert!(
        line.contains("the `cpus` of the machine is not known here"),
        "{line}"
    );
    let text = with_knobs(
        KNOBS,
        "constraints: workers <= cpus\nquantities: { cpus: 4 }",
    );
    assert!(read(&text, "file", &nowhere).is_ok());
}
