//! Whole experiment files, and hostile ones.

mod knobs;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use plimsoll_model::experiment::{
    CELLS_MAX, FixedLoad, Measurement, PerCell, Readiness, SearchEffort, Warm,
};
use plimsoll_model::price::HeldResources;
use proptest::prelude::*;

use super::*;
use crate::document::{NodeKind, TestSurroundings};

const EVERYTHING: &str = include_str!("tests/everything.yaml");

fn desktop() -> TestSurroundings {
    let nginx = b"worker_processes {{ cores }};\nexpires {{ ttl }};\nlog_format '{{ '{{' }}';\n";
    let files = BTreeMap::from([
        ("nginx.conf.in", nginx.to_vec()),
        (
            "site.conf.in",
            b"keepalive_timeout {{ keepalive }};\nlisten 80 backlog={{ backlog }};\n".to_vec(),
        ),
        ("binary", vec![0xff]),
        ("long", vec![b' '; (1 << 20) + 1]),
        ("wrong.in", "{{ wrker }}\n".repeat(50_000).into_bytes()),
    ]);
    TestSurroundings {
        files,
        variables: BTreeMap::from([("KEY", "secret")]),
        machine: Some(HeldResources {
            machines: 1.0,
            cpus: 8.0,
            memory: (16 << 30) + 12_345,
        }),
    }
}

fn accepted(text: &str) -> Experiment {
    read(text, "file", &desktop()).unwrap_or_else(|diagnostics| panic!("{diagnostics}"))
}

fn refused(text: &str) -> Vec<String> {
    match read(text, "file", &desktop()) {
        Err(diagnostics) => diagnostics.lines("f"),
        Ok(experiment) => panic!("accepted: {experiment:#?}"),
    }
}

/// A file with one error: its place and a fragment of the message.
#[track_caller]
fn check(text: &str, place: &str, words: &str) {
    let lines = refused(text);
    let [line] = lines.as_slice() else {
        panic!("not one error: {lines:#?}");
    };
    assert!(line.starts_with(&format!("f:{place}: ")), "{line}");
    assert!(line.contains(words), "{line}");
}

/// A file with one axis, `workers`; its first line is that of the axes.
fn with(axes: &str, apply: &str, more: &str) -> String {
    format!(
        "axes: {axes}\napply: {apply}\nmeasure: {{ url: 'http://site', limit: quick }}\n{more}\n"
    )
}

const AXES: &str = "{ workers: [1, 2] }";
const APPLIED: &str = "{ command: [run, '{{ workers }}'] }";

#[test]
fn every_construct_is_read() {
    let read = accepted(EVERYTHING);
    assert_eq!((read.name.as_str(), read.trials), ("consult", 2));
    assert_eq!((read.order, read.seed), (TrialOrder::Listed, Some(7)));
    // Cores with one worker: 1, with any: 2 and 4; without a cache or with one of two times to live.
    let cells: Vec<String> = read
        .listed()
        .iter()
        .map(|cell| read.design.describe(cell).to_string())
        .collect();
    assert_eq!(cells.len(), 3 + 9 + 18);
    assert_eq!(
        cells[0],
        "cores=1 workers=1 threads=5 cache=none users=100 memory=1GiB"
    );
    assert_eq!(
        cells[1],
        "cores=1 workers=1 threads=5 cache=page ttl=1s users=100 memory=1GiB"
    );
    let last = cells.len() - 1;
    let (first_cell, last_cell) = (&read.listed()[0], &read.listed()[last]);
    assert_eq!(
        cells[last],
        "cores=4 workers=4 threads=8 cache=page ttl=60s users=400 memory=4GiB"
    );
    assert_eq!(read.trials_total(), 60);
    let warm = Duration::from_mins(5);
    assert_eq!(
        read.trial_time(first_cell, Duration::ZERO),
        Duration::from_secs(40) + warm
    );
    let Measurement::Loads { loads, each } = &read.measure.measurement else {
        panic!("{:?}", read.measure);
    };
    assert_eq!(*each, Duration::from_secs(20));
    assert_eq!(loads[0].at(first_cell), Some(&FixedLoad::Users(100)));
    assert_eq!(loads[0].at(last_cell), Some(&FixedLoad::Users(400)));
    assert_eq!(loads[1], PerCell::Every(FixedLoad::PerSecond(30.0)));
}

#[test]
fn what_is_applied_is_known_for_each_cell() {
    let read = accepted(EVERYTHING);
    let (setup, worker) = (&read.setups[0], &read.setups[1]);
    let last = read.listed().len() - 1;
    let last_cell = &read.listed()[last];
    let texts = |index: usize| -> Vec<Option<String>> {
        let cell = &read.listed()[index];
        let words = setup.command.iter();
        words.map(|word| word.in_cell(&read.design, cell)).collect()
    };
    let some = |words: [&str; 5]| words.map(|word| Some(word.to_owned()));
    assert_eq!(texts(0), some(["bin/puma", "-w", "1", "-t", "5"]));
    assert_eq!(texts(last), some(["bin/puma", "-w", "4", "-t", "8"]));
    assert_eq!(setup.processes.as_ref().unwrap().at(last_cell), Some(&4));
    assert_eq!(setup.cpus.as_ref().unwrap().at(last_cell), Some(&4.0));
    assert_eq!(
        setup.memory.as_ref().unwrap().at(last_cell),
        Some(&(4 << 30))
    );
    assert_eq!(worker.cpus, Some(PerCell::Every(0.5)));
    let secret = &setup.env[1].1;
    let filled = secret.in_cell(&read.design, &read.listed()[0]);
    assert_eq!(filled.as_deref(), Some("secret"));
    assert!(!format!("{secret:?}").contains("secret"));
    let folder = setup.folder.as_ref().unwrap();
    let folder = folder.in_cell(&read.design, last_cell);
    assert_eq!(folder.as_deref(), Some("srv/page"));
    assert_eq!(worker.folder, None);
    let file = &setup.files[0];
    let content = |index: usize| -> String {
        let cell = &read.listed()[index];
        let lines = file.lines.iter();
        lines
            .filter_map(|line| line.in_cell(&read.design, cell))
            .collect()
    };
    // Without a cache, the line with its time to live is left out.
    assert_eq!(content(0), "worker_processes 1;\nlog_format '{{';\n");
    assert_eq!(
        content(last),
        "worker_processes 4;\nexpires 60s;\nlog_format '{{';\n"
    );
    assert_eq!(
        file.reload.as_ref().unwrap().within,
        Duration::from_secs(30)
    );
    assert_eq!(setup.tunables[0].setting, "work_mem");
    let source = setup.source.as_ref().unwrap();
    assert_eq!(source.repository, "../site");
    assert_eq!(
        source.build.as_ref().unwrap().within,
        Duration::from_mins(2)
    );
    assert!(matches!(
        read.ready.as_ref().unwrap().readiness,
        Readiness::Http(_)
    ));
    assert_eq!(read.health.unwrap().within, Duration::from_secs(5));
    assert_eq!(read.warm, Some(Warm::Steady(Duration::from_mins(5))));
    assert_eq!(read.reset.unwrap().within, Duration::from_mins(5));
    assert_eq!(read.settle, Duration::from_secs(10));
}

#[test]
fn prices_are_known_for_each_cell() {
    let read = accepted(EVERYTHING);
    let cells = read.listed();
    let price = |cell: usize| read.price.as_ref().unwrap().at(&cells[cell]).unwrap();
    let last = cells.len() - 1;
    assert_eq!(price(0).currency, "EUR");
    assert_eq!((price(0).machine_hour, price(last).gb_out), (2.45, 0.09));
    assert_eq!((price(0).request, price(last).request), (1e-6, 4e-6));
    assert!(accepted(&with(AXES, APPLIED, "")).price.is_none());
    let constant = accepted(&with(
        AXES,
        APPLIED,
        "price: { currency: £, per_request: 1 }",
    ));
    assert!(matches!(constant.price, Some(PerCell::Every(_))));
}

#[test]
fn prices_are_checked() {
    let price = |price: &str, place: &str, words: &str| {
        check(
            &with(AXES, APPLIED, &format!("price: {price}")),
            place,
            words,
        );
    };
    price(
        "2.45",
        "4:8",
        "the price has no unit; valid: { currency: EUR, per_hour",
    );
    price(
        "{ currency: EUR, per_hour: 2.45 }",
        "4:35",
        "the price per hour has no unit",
    );
    price("{ per_hour: { cpu: 1 } }", "4:8", "`currency` is missing");
    price("{ currency: EUR }", "4:8", "the price has no amount");
    price(
        "{ currency: EUR, per_hour: {} }",
        "4:35",
        "there is no price per hour",
    );
    price(
        "{ currency: EUR, per_hour: { machin: 1 } }",
        "4:37",
        "did you mean `machine`",
    );
    price(
        "{ currency: EUR, per_request: 2 EUR }",
        "4:38",
        "not a price",
    );
    price("{ currency: EUR, per_gb_out: -1 }", "4:37", "not a price");
    price("{ currency: EUR, per_gb_out: inf }", "4:37", "not a price");
    price(
        "{ currency: EUR, per_request: '{{ workrs }}' }",
        "4:42",
        "did you mean `workers`",
    );
}

#[test]
fn a_short_file_has_defaults() {
    let read = accepted(&with(AXES, APPLIED, ""));
    assert_eq!((read.name.as_str(), read.trials), ("file", 3));
    assert_eq!((read.order, read.seed), (TrialOrder::Random, None));
    assert_eq!(read.settle, Duration::from_mins(1));
    assert_eq!(
        read.measure.measurement,
        Measurement::Limit(SearchEffort::Quick)
    );
    assert!(read.ready.is_none() && read.warm.is_none() && read.reset.is_none());
}

#[test]
fn axes_are_checked() {
    let axes = |axes: &str, place: &str, words: &str| {
        check(&with(axes, APPLIED, ""), place, words);
    };
    axes("{ workers: [1, 2, 1] }", "1:25", "duplicate level `1`");
    axes("{ workers: [] }", "1:18", "no levels");
    axes("{ workers: 4 }", "1:18", "not a list of levels");
    axes("{ workers: { geom: 16..1 } }", "1:26", "the range is empty");
    axes(
        "{ workers: { goem: 1..16 } }",
        "1:20",
        "did you mean `geom`",
    );
    axes(
        "{ workers: { geom: 1..16, factor: 1 } }",
        "1:41",
        "valid: a number from 1.01",
    );
    axes(
        "{ workers: { geom: 1..1000000000, factor: 1.01 } }",
        "1:26",
        "too many levels",
    );
    axes("{ workers: [1, [2]] }", "1:22", "not a scalar");
    let unnamed = with("{ a.b: [1], workers: [1] }", APPLIED, "");
    assert!(refused(&unnamed)[0].contains("not a valid name of an axis"));
}

#[test]
fn axes_and_what_applies_them_fit() {
    check(
        &with("{ workers: [1], cores: [1] }", APPLIED, ""),
        "1:23",
        "the axis `cores` is not applied",
    );
    // A misspelt use is one error, not two.
    check(
        &with(AXES, "{ command: [run, '{{ wrkers }}'] }", ""),
        "2:29",
        "unknown axis `wrkers`; valid: workers; did you mean `workers`?",
    );
    check(
        &with(
            "{ workers: [1, x] }",
            "{ command: [run], processes: '{{ workers }}' }",
            "",
        ),
        "2:37",
        "`x` with workers=x: not a number of processes",
    );
}

#[test]
fn combinations_are_checked() {
    let more = |more: &str, place: &str, words: &str| {
        let axes = "{ workers: [1, 2], cores: [1, 2, 4] }";
        let apply = "{ command: [run, '{{ workers }}', '{{ cores }}'] }";
        check(&with(axes, apply, more), place, words);
    };
    more(
        "zip: [workers, cores]",
        "4:16",
        "`cores` has 3 levels, `workers` has 2",
    );
    more("zip: [workers]", "4:6", "nothing to zip");
    more(
        "zip: [workers, workers]",
        "4:16",
        "`workers` is zipped twice",
    );
    more("exclude: { workers: 3 }", "4:21", "unknown level `3`");
    more("exclude: { wokers: 1 }", "4:12", "did you mean `workers`");
    more("exclude: {}", "4:10", "the condition is empty");
    more("exclude: { workers: [1, 2] }", "1:7", "no cell is left");
    more(
        "only_if: { cores: { cores: 1 } }",
        "4:21",
        "depends on itself",
    );
    more("trials: 0", "4:9", "out of range");
    more("order: randm", "4:8", "did you mean `random`");
}

#[test]
fn zipped_axes_may_repeat_a_level_in_other_combinations() {
    let apply = "{ command: [run, '{{ cache }}'], edge: '{{ edge }}' }";
    let zipped = |edges: &str, more: &str| {
        let axes = format!("{{ cache: [none, redis, page, page], edge: [{edges}] }}");
        with(&axes, apply, &format!("zip: [cache, edge]\n{more}"))
    };
    let read = accepted(&zipped("none, none, a.yaml, b.yaml", ""));
    assert_eq!(read.listed().len(), 4);
    // A condition on a repeated level is about all of its places.
    let read = accepted(&zipped(
        "none, none, a.yaml, b.yaml",
        "exclude: { edge: none }",
    ));
    assert_eq!(read.listed().len(), 2);
    check(
        &zipped("none, none, a.yaml, a.yaml", ""),
        "1:36",
        "duplicate level `page, a.yaml`",
    );
}

#[test]
fn applied_values_are_checked() {
    let apply = |apply: &str, place: &str, words: &str| {
        let used = "'{{ workers }}'";
        let apply = apply.replace("LEVEL", used);
        check(&with(AXES, &apply, ""), place, words);
    };
    apply("{ env: { A: LEVEL } }", "2:10", "without `command`");
    apply(
        "{ command: run fast, edge: LEVEL }",
        "2:19",
        "valid: [run, fast]",
    );
    apply(
        "{ edge: LEVEL, command: [] }",
        "2:42",
        "the command is empty",
    );
    apply(
        "{ edge: LEVEL, set: { component: postgres, setting: work_men, to: 1 } }",
        "2:70",
        "did you mean `work_mem`",
    );
    apply(
        "{ edge: LEVEL, set: { component: postgrs, setting: work_mem, to: 1 } }",
        "2:51",
        "did you mean `postgres`",
    );
    apply(
        "{ command: [run, LEVEL], kubernetes: { deployment: web } }",
        "2:43",
        "`kubernetes` is not supported yet",
    );
    apply("{ edge: LEVEL, git: --upload }", "2:38", "not a revision");
    apply(
        "{ edge: LEVEL, file: { template: none, to: x } }",
        "2:51",
        "cannot be read",
    );
    apply(
        "{ edge: LEVEL, file: { template: binary, to: x } }",
        "2:51",
        "not a text",
    );
    apply(
        "{ edge: LEVEL, file: { template: long, to: x } }",
        "2:51",
        "at most 1 MiB",
    );
}

#[test]
fn what_is_measured_is_checked() {
    let measure = |measure: &str, place: &str, words: &str| {
        let text = format!("axes: {AXES}\napply: {APPLIED}\nmeasure: {measure}\n");
        check(&text, place, words);
    };
    measure("{ url: 'http://s' }", "3:10", "no load of its own");
    measure("{ limit: quick }", "3:10", "one of plan, url");
    measure(
        "{ plan: a, limit: quick, loads: 3/s }",
        "3:10",
        "mutually exclusive",
    );
    measure("{ plan: a, loads: 30 }", "3:30", "the unit is missing");
    measure(
        "{ plan: a, loads: 0 users }",
        "3:28",
        "not a number of users",
    );
    measure("{ plan: a, for: 3s }", "3:21", "without `loads`");
    measure("{ url: 'ftp://s', limit: quick }", "3:17", "not a URL");
    measure(
        "{ plan: a, limit: fast }",
        "3:28",
        "quick, standard, thorough",
    );
    measure(
        "{ plan: a, limit: 20s }",
        "3:28",
        "out of range; valid: 1m to 4m",
    );
    measure("{ plan: a, limit: 2 }", "3:29", "the unit is missing");
}

#[test]
fn a_search_may_have_a_time() {
    let text = format!("axes: {AXES}\napply: {APPLIED}\nmeasure: {{ plan: a, limit: 90s }}\n");
    let read = accepted(&text);
    let time = Duration::from_secs(90);
    assert_eq!(
        read.measure.measurement,
        Measurement::Limit(SearchEffort::Within(time))
    );
    assert_eq!(read.trial_time(&read.listed()[0], Duration::ZERO), time);
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = "axes:\n  workers: [1, 1]\n  cores: 2\nzip: [workers, coers]\ntrials: many\nmeasure: { plan: a, limit: soon }\napply: { comand: [x] }\nready: here\nwarm: 0\nsetle: 1s\n";
    let lines = refused(text);
    let places: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.split(':').nth(1))
        .collect();
    // The axes are not applied either, in lines 2 and 3.
    assert_eq!(
        places,
        ["2", "2", "3", "3", "4", "5", "6", "7", "8", "9", "10"],
        "{lines:#?}"
    );
}

#[test]
fn everything_has_a_limit() {
    let wide = |axes: usize, levels: usize| -> (String, String) {
        let levels: Vec<String> = (0..levels).map(|level| format!("{level}")).collect();
        let levels = levels.join(", ");
        let names: Vec<String> = (0..axes).map(|axis| format!("a{axis}")).collect();
        let axes: Vec<String> = names
            .iter()
            .map(|name| format!("{name}: [{levels}]"))
            .collect();
        let uses: Vec<String> = names
            .iter()
            .map(|name| format!("'{{{{ {name} }}}}'"))
            .collect();
        (
            format!("{{ {} }}", axes.join(", ")),
            format!("{{ command: [{}] }}", uses.join(", ")),
        )
    };
    let (axes, apply) = wide(16, 200);
    check(&with(&axes, &apply, ""), "1:7", "combinations");
    let (axes, apply) = wide(2, 200);
    check(&with(&axes, &apply, ""), "1:7", &CELLS_MAX.to_string());
    let (axes, apply) = wide(1, 257);
    check(&with(&axes, &apply, ""), "1:13", "at most 256");
    let (axes, apply) = wide(2, 80);
    check(&with(&axes, &apply, "trials: 20"), "4:1", "128000 trials");
    // Four minutes each.
    check(&with(&axes, &apply, "trials: 10"), "4:1", "take about");
    let (axes, apply) = wide(17, 1);
    assert!(refused(&with(&axes, &apply, ""))[0].contains("at most 16"));
}

#[test]
fn hostile_files_are_refused_quickly() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        let _ = writeln!(bomb, "a{level}: &a{level} [{aliases}]");
    }
    let lines = refused(&bomb);
    assert!(
        lines.len() == 1 && lines[0].contains("too many values"),
        "{lines:?}"
    );
    // Every line of the template is wrong.
    let template = "{ file: { template: wrong.in, to: x }, edge: '{{ workers }}' }";
    assert_eq!(refused(&with(AXES, template, "")).len(), 20);
    for text in [
        "",
        "~",
        "[]",
        "x",
        "axes: ~",
        "axes: []",
        "axes: {}",
        "knobs: ~",
        "knobs: {}",
    ] {
        assert!(!refused(text).is_empty(), "{text}");
    }
    let unknown: String = (0..100_000).fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "unknown{line}: 1");
        text
    });
    assert_eq!(refused(&unknown).len(), 100);
}

#[test]
fn the_schema_accepts_what_the_reader_accepts() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let surroundings = desktop();
    let tuning = knobs::TUNING.to_owned();
    for text in [EVERYTHING.to_owned(), tuning, with(AXES, APPLIED, "")] {
        let root = DocumentReader::new(&text, &surroundings).root();
        let value = as_json(&root.unwrap());
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert_eq!(errors, Vec::<String>::new());
    }
    assert!(!validator.is_valid(&serde_json::json!({ "axs": {} })));
}

fn as_json(node: &DocumentNode) -> serde_json::Value {
    match &node.kind {
        NodeKind::Scalar { text, plain } => {
            let plain = plain.then(|| serde_json::from_str(text).ok()).flatten();
            plain.unwrap_or_else(|| text.as_str().into())
        }
        NodeKind::List(items) => items.iter().map(as_json).collect(),
        NodeKind::Map(entries) => entries
            .iter()
            .map(|(key, value)| (key.text.clone(), as_json(value)))
            .collect(),
    }
}

#[test]
fn the_reference_has_every_key() {
    let page = reference();
    for key in [
        "only_if", "geom", "loads", "cpus", "template", "within", "knobs", "range",
    ] {
        assert!(page.contains(&format!("| `{key}` |")), "{key}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A damaged file is read or refused with places inside it.
    #[test]
    fn places_lie_inside_the_file(
        of_tuning in any::<bool>(),
        at in 0_usize..1200,
        cut in 0_usize..40,
        put in "[ -~\\n{}]{0,6}",
    ) {
        let mut text = if of_tuning { knobs::TUNING } else { EVERYTHING }.to_owned();
        let start = at.min(text.len());
        let end = (start + cut).min(text.len());
        text.replace_range(start..end, &put);
        if let Err(diagnostics) = read(&text, "file", &desktop()) {
            prop_assert!(!diagnostics.list().is_empty());
            let lines = text.lines().count() + 1;
            for diagnostic in diagnostics.list() {
                prop_assert!((1..=lines).contains(&diagnostic.line), "{}", diagnostic);
            }
        }
    }
}

#[test]
fn workers_by_signals_are_numbers_in_each_cell() {
    let text = |to: &str| {
        format!(
            "axes: {{ count: [2, 16] }}\n\
             measure: {{ url: 'http://127.0.0.1:9/', loads: [10/s], for: 1s }}\n\
             apply:\n  - workers: {{ pid_file: run/pid, to: '{to}', within: 5s }}\n"
        )
    };
    let read = accepted(&text("{{ count }}"));
    let signals = &read.setups[0].workers[0];
    assert_eq!(signals.to.at(&read.listed()[1]), Some(&16));
    assert_eq!(
        (signals.pid_file.as_str(), signals.within),
        ("run/pid", Duration::from_secs(5))
    );
    let errors = refused(&text("{{ count }}00")).join("\n");
    assert!(errors.contains("a whole number from 1 to 1024"), "{errors}");
}
