//! Hostile plans: every error has its place, and nothing keeps the reader busy.

use super::*;

#[test]
fn what_a_process_is_given_is_checked() {
    let plan = |process: &str| {
        format!(
            "target: http://site\ndata: {{ town: {{ rows: [a] }} }}\nload: {{ users: 1, hold: 1s }}\njourneys:\n  j:\n    process: {process}\n"
        )
    };
    for (process, place, words) in [
        ("python3 user.py", (6, 14), "valid: [python3, user.py]"),
        ("[]", (6, 14), "the command is empty"),
        ("{ comand: [a] }", (6, 16), "did you mean `command`"),
        ("{ data: town }", (6, 14), "`command` is missing"),
        ("{ command: a, data: twon }", (6, 34), "did you mean `town`"),
        (
            "{ command: a, data: [town, town] }",
            (6, 41),
            "duplicate name",
        ),
        ("{ command: a, processes: 65 }", (6, 39), "from 1 to 64"),
        ("{ command: a, timeout: 0s }", (6, 37), "above zero"),
    ] {
        check(&plan(process), place, words);
    }
    let both = plan("[a]\n    steps: [{ get: / }]\n    cache: true");
    let diagnostics = refused(&both);
    let lines: Vec<_> = diagnostics
        .list()
        .iter()
        .map(|diagnostic| diagnostic.line)
        .collect();
    assert_eq!(lines, [7, 8], "{diagnostics}");
    let read = read(&plan("{ command: a, data: town }"), &given(), &desktop()).unwrap();
    let process = read.scenario.unwrap().journeys[0].process.clone().unwrap();
    assert_eq!((process.count, process.feeds), (1, vec![0]));
}

#[test]
fn labels_of_a_process_are_not_known_before() {
    let text = "target: http://site\nload: { users: 1, hold: 1s }\nprocess: [a]\nthresholds: { step GET /x: avg<5, journey exam: p95<1s }\n";
    assert!(read(text, &given(), &desktop()).is_ok());
    let wrong = text.replace("journey exam", "journey exm");
    check(&wrong, (4, 35), "did you mean `exam`");
}

#[test]
fn thresholds_without_a_scope_are_of_everything() {
    let text = |thresholds: &str| {
        format!(
            "target: http://site\nsteps: [{{ get: / }}]\nload: {{ users: 1, hold: 1s }}\nthresholds: {thresholds}\n"
        )
    };
    let thresholds = |written: &str| {
        let plan = read(&text(written), &given(), &desktop()).unwrap();
        plan.scenario.unwrap().thresholds
    };
    let scoped = thresholds("{ everything: ['p(95)<800', 'rate<0.01'] }");
    assert_eq!(scoped.len(), 1);
    assert_eq!(thresholds("['p(95)<800', 'rate<0.01']"), scoped);
    assert_eq!(thresholds("p(95)<800, rate<0.01"), scoped);
    check(&text("['p(95)<800', 'rat<0.01']"), (4, 28), "rat");
}

#[test]
fn a_mix_may_change_for_users_and_for_arrivals() {
    let text = "target: http://site\njourneys: { a: { steps: [{ get: / }] }, b: { steps: [{ get: /b }] } }\nload:\n  - { rate: 5/s, for: 1s }\n  - { rate: 5/s, for: 1s, mix: { b: 1 } }\n";
    let plan = read(text, &given(), &desktop()).unwrap();
    let Some(LoadPlan::Fixed(plimsoll_model::plan::Load::Sessions { mixes, .. })) = plan.load
    else {
        panic!("{:?}", plan.load);
    };
    assert_eq!(mixes, [vec![], vec![0.0, 1.0]]);
    check(
        &text.replace("{ b: 1 }", "{ c: 1 }"),
        (5, 34),
        "unknown journey `c`",
    );
    let alone = "target: http://site\nload: [{ rate: 5/s, for: 1s, mix: { b: 1 } }]\n";
    check(alone, (2, 30), "`mix` needs journeys");
}

fn with_requests(rows: &'static str) -> TestSurroundings {
    let mut surroundings = desktop();
    surroundings
        .files
        .insert("log.csv", rows.as_bytes().to_vec());
    surroundings
}

#[test]
fn a_replay_keeps_order_and_gaps() {
    let rows = "path,at,status\n/a?x=1,10.0,200\n/c,12.25,200\n/b,10.5,200\n";
    let text =
        "target: http://site/app\nheaders: { X-A: b }\nload: { replay: log.csv, speed: 2x }\n";
    let plan = read(text, &given(), &with_requests(rows))
        .unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    insta::assert_debug_snapshot!((&plan.scenario, &plan.inputs.rows, &plan.load));
    let hour = text.replace("2x", "0.5x, window: busiest hour");
    assert!(read(&hour, &given(), &with_requests(rows)).is_ok());
}

#[test]
fn a_replay_that_cannot_be_is_told() {
    let text = "target: http://site\nload: { replay: log.csv, speed: 3x }\n";
    let check = |text: &str, rows: &'static str, place: (usize, usize), words: &str| {
        let diagnostics = read(text, &given(), &with_requests(rows)).unwrap_err();
        let first = &diagnostics.list()[0];
        assert_eq!((first.line, first.column), place, "{diagnostics}");
        assert!(first.to_string().contains(words), "{diagnostics}");
    };
    let good = "at,path\n0,/a\n";
    check(&text.replace("3x", "fast"), good, (2, 33), "0.01x to 1000x");
    check(
        &text.replace("3x", "3x, window: hour"),
        good,
        (2, 45),
        "busiest hour",
    );
    check(
        &text.replace("speed: 3x", "for: 5m"),
        good,
        (2, 26),
        "not allowed with `replay`",
    );
    check(text, "time,path\n0,/a\n", (2, 17), "has no column `at`");
    check(
        text,
        "at,path\nnoon,/a\n",
        (2, 17),
        "invalid value `noon` in the column at",
    );
    check(
        text,
        "at,path\n0,a\n",
        (2, 17),
        "invalid value `a` in the column path",
    );
    check(text, "at,path\n", (2, 17), "no rows");
    check(
        text,
        "at,path\n0,/a\n86400,/b\n",
        (2, 17),
        "longer than a day",
    );
    let steps = format!("{text}steps: [{{ get: / }}]\n");
    check(&steps, good, (3, 1), "mutually exclusive");
}

#[test]
fn what_is_watched_is_known_or_told() {
    let plan = |watch: &str| with_steps(&format!("  - get: /\nwatch: {watch}\n"));
    check(&plan("{ host: web1 }"), (5, 16), "valid: local");
    check(&plan("{ hapoxy: x }"), (5, 10), "did you mean `haproxy`");
    check(
        &plan("{ process: /usr/sbin/nginx }"),
        (5, 19),
        "not a process name",
    );
    check(&plan("{ pid: 0 }"), (5, 15), "out of range");
    let read = read(
        &plan("{ process: [a, b], pid: 7, envoy: x }"),
        &given(),
        &desktop(),
    );
    let watch = read.unwrap().watch;
    assert_eq!(watch.processes, ["a", "b"]);
    assert_eq!(
        (watch.pids, watch.later),
        (vec![7], vec!["envoy".to_owned()])
    );
}

#[test]
fn parts_are_watched_where_they_tell_of_themselves() {
    let plan = |watch: &str| with_steps(&format!("  - get: /\nwatch: {watch}\n"));
    for (watch, at, expected) in [
        ("{ nginx: '127.0.0.1:80' }", (5, 17), "stub_status"),
        ("{ haproxy: lb }", (5, 19), "stats socket"),
        (
            "{ redis: { at: cache, pasword: x } }",
            (5, 30),
            "did you mean `password`",
        ),
        ("{ redis: { password: x } }", (5, 17), "`at` is missing"),
        (
            "{ redis: 'redis://:secret@a b' }",
            (5, 17),
            "`a b` is not an address of Redis",
        ),
        (
            "{ memcached: { at: cache, password: x } }",
            (5, 21),
            "takes no login",
        ),
        (
            "{ prometheus: { url: 'http://a/m', series: [] } }",
            (5, 51),
            "0 series",
        ),
        (
            "{ prometheus: { url: 'https://a/m', series: x } }",
            (5, 29),
            "https:// is not supported yet",
        ),
        (
            "{ openmetrics: { url: 'http://a', serie: [x] } }",
            (5, 42),
            "did you mean `series`",
        ),
        (
            "{ prometheus: { url: 'http://a', series: [x, 'y{'] } }",
            (5, 53),
            "`y{` is not the name of a series",
        ),
        ("sometimes", (5, 8), "auto, none"),
        ("{ auto: perhaps }", (5, 16), "true, false"),
    ] {
        check(&plan(watch), at, expected);
    }
    let text = plan(
        "{ auto: true, nginx: [http://a/s, http://b/s], valkey: { at: cache, password: \"{{ env('KEY') }}\" }, prometheus: { url: 'http://c:9100', series: [a_total, 'b{c=d}'] } }",
    );
    let watch = read(&text, &given(), &desktop()).unwrap().watch;
    let shown: Vec<String> = watch.components.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "nginx at http://a:80/s",
            "nginx at http://b:80/s",
            "Redis at cache:6379",
            "the metrics page at http://c:9100/metrics"
        ]
    );
    let login = watch.components[2].login.as_ref().unwrap();
    assert!(login.password == "secret" && login.user.is_empty() && watch.auto);
    let auto = read_watch("auto\n", &desktop()).unwrap();
    assert!(auto.auto && auto.components.is_empty());
    let diagnostics = read_watch("nginx: x\nhapoxy: y\n", &desktop()).unwrap_err();
    assert_eq!(diagnostics.list().len(), 2, "{diagnostics:?}");
    assert!(read_watch("", &desktop()).is_err());
}

#[test]
fn gauges_with_a_limit_are_read_or_refused() {
    let plan = |watch: &str| with_steps(&format!("  - get: /\nwatch: {watch}\n"));
    for (watch, at, expected) in [
        (
            "{ statsd: '127.0.0.1:x' }",
            (5, 18),
            "meters are received over UDP",
        ),
        (
            "{ statsd: a, gauges: [{ gauge: queue }] }",
            (5, 30),
            "`limit` is missing",
        ),
        (
            "{ statsd: a, gauges: { limit: 1, gague: x } }",
            (5, 41),
            "did you mean `gauge`",
        ),
        (
            "{ statsd: a, gauges: { gauge: 'a b', limit: 1 } }",
            (5, 38),
            "`a b` is not the name of a gauge",
        ),
        (
            "{ statsd: a, gauges: { gauge: a, limit: 0 } }",
            (5, 48),
            "a number above 0",
        ),
        (
            "{ gauges: { gauge: a, limit: 1 } }",
            (5, 18),
            "no component reports gauges",
        ),
    ] {
        check(&plan(watch), at, expected);
    }
    let text = "statsd: 127.0.0.1\ngauges: [{ gauge: jobs.waiting, limit: 2.5 }, { gauge: pool_*, limit: 8 }]\n";
    let gauges = read_watch(text, &desktop()).unwrap().gauges;
    let shown: Vec<String> = gauges.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["jobs.waiting at 2.5", "pool_* at 8"]);
}

#[test]
fn agents_are_read_or_refused() {
    let plan = |watch: &str| with_steps(&format!("  - get: /\nwatch: {watch}\n"));
    for (watch, at, expected) in [
        ("{ agents: db1 }", (5, 18), "not the address of an agent"),
        (
            "{ agents: [{ token_file: a }] }",
            (5, 19),
            "`at` is missing",
        ),
        (
            "{ agents: { at: 'db1:1', token_file: none.txt } }",
            (5, 45),
            "`none.txt` cannot be read",
        ),
        (
            "{ agents: { at: 'db1:1', tokn: a } }",
            (5, 33),
            "token_file",
        ),
    ] {
        check(&plan(watch), at, expected);
    }
    let mut surroundings = desktop();
    surroundings
        .files
        .insert("db1.token", b"plimsoll1-secret\n".to_vec());
    let text = "agents: [{ at: 'db1:9192', token_file: db1.token }, 'ssh://root@db2']\n";
    let agents = read_watch(text, &surroundings).unwrap().agents;
    let shown: Vec<String> = agents.iter().map(|agent| agent.at.to_string()).collect();
    assert_eq!(shown, ["db1:9192", "ssh://root@db2"]);
    assert_eq!(agents[0].tokens.as_deref(), Some("plimsoll1-secret\n"));
    assert!(!format!("{agents:?}").contains("secret"));
}

#[test]
fn a_capture_that_nothing_uses_is_noted() {
    let text = with_steps("  - get: /\n    capture: { a: 'x', b: 'y' }\n  - get: /{{ b }}\n");
    let plan = read(&text, &given(), &desktop()).unwrap();
    assert_eq!(plan.notes.len(), 1);
    assert!(
        plan.notes[0].starts_with("5:16: `a` is captured but never used"),
        "{:?}",
        plan.notes
    );
}

#[test]
fn mistakes_of_every_kind_have_their_place() {
    check(&with_steps("\t- get: /\n"), (4, 2), "tabs disallowed");
    let twice = with_steps("  - get: /\n    get: /b\n");
    check(&twice, (5, 5), "duplicate key `get`, first in line 4");
    check(
        &with_steps("  - get: /{{ uuidd() }}\n"),
        (4, 14),
        "did you mean `uuid`",
    );
    let no_column = EXAM.replace("candidate.password", "candidate.pasword");
    check(&no_column, (8, 75), "did you mean `password`");
    let at_end = EXAM.replace("pick: unique", "pick: random, at_end: error");
    check(&at_end, (18, 51), "only allowed with `pick: unique`");
    for (steps, words) in [
        ("  - think: 2 sec\n", "unit"),
        ("  - think: 2\n", "unit"),
        ("  - get: /{{ random_int(1) }}\n", "random_int("),
        ("  - get: /\n    follow: 51\n", "50"),
        (
            "  - get: /\n    capture: { user: x }\n",
            "reserved for the number of the user",
        ),
        ("  - *nobody\n", "invalid YAML"),
        ("  - &a { get: /, steps: [*a] }\n", "valid: "),
    ] {
        let diagnostics = refused(&with_steps(steps));
        let lines = diagnostics.list().iter().map(|diagnostic| diagnostic.line);
        assert!(
            lines.clone().all(|line| (4..=5).contains(&line)),
            "{diagnostics}"
        );
        assert!(diagnostics.to_string().contains(words), "{diagnostics}");
    }
}

/// A file of ten megabytes is read or refused quickly, whatever its content.
#[test]
fn a_long_file_does_not_keep_the_reader_busy() {
    let many =
        |count: usize, make: &dyn Fn(usize) -> String| -> String { (0..count).map(make).collect() };
    // A million unknown keys.
    let unknown = format!(
        "target: http://site\n{}",
        many(450_000, &|n| format!("longer word {n}: 1\n"))
    );
    assert!(unknown.len() > 7_000_000);
    assert_eq!(refused(&unknown).list().len(), 100);
    // One map of headers.
    let headers = many(400_000, &|n| format!("  h{n}: valuevalue\n"));
    let headers = format!("{}headers:\n{headers}", with_steps("  - get: /\n"));
    assert!(read(&headers, &given(), &desktop()).is_ok_and(|plan| plan.scenario.is_some()));
    // A step for every line.
    let steps = with_steps(&many(300_000, &|n| {
        format!("  - get: /page/{n}/{{{{ user }}}}\n")
    }));
    assert!(refused(&steps).to_string().contains("1000"));
    // The same key again and again.
    let twice = format!("target: http://site\n{}", "seed: 1\n".repeat(450_000));
    assert_eq!(refused(&twice).list().len(), 100);
}

/// Which load is meant is ambiguous; the errors in each are reported nevertheless.
#[test]
fn loads_that_conflict_hide_no_further_mistake() {
    let text = "target: http://site\nsteps: [{ get: / }]\nload:\n  users: many\n  within: soon\n  hold: 0s\n  iterations: -1\n  rate: 5\n  connections: none\n  think: 2\n  spacing: evn\n  phases: [{ users: 1..x, for: 1h, mix: { nobody: 1 } }, { rate: 1/s, users: b, for: never }]\n  find: { users: 9..1, sessions: x, objective: p95, quick: maybe }\n";
    let diagnostics = refused(text);
    let mut lines: Vec<usize> = diagnostics
        .list()
        .iter()
        .map(|diagnostic| diagnostic.line)
        .collect();
    assert_eq!(
        lines.iter().filter(|line| **line == 12).count(),
        5,
        "{diagnostics}"
    );
    assert_eq!(
        lines.iter().filter(|line| **line == 13).count(),
        5,
        "{diagnostics}"
    );
    lines.dedup();
    assert_eq!(lines, [4, 5, 6, 7, 8, 9, 10, 11, 12, 13], "{diagnostics}");
}

#[test]
fn a_replay_beside_steps_hides_no_mistake_of_them() {
    let text = "target: http://site\nload: { replay: log.csv, speed: fast, window: noon }\nsteps:\n  - gte: /\n";
    let diagnostics = read(text, &given(), &with_requests("at,path\n0,/a\n")).unwrap_err();
    let lines: Vec<usize> = diagnostics
        .list()
        .iter()
        .map(|diagnostic| diagnostic.line)
        .collect();
    assert_eq!(lines, [2, 2, 3, 4], "{diagnostics}");
}

#[test]
fn words_that_conflict_hide_no_further_mistake() {
    let step = with_steps(
        "  - get: /a\n    capture: { name: '(' , other: 'x(.)' }\n    think: 2x\n  - get: /{{ other }}\n",
    );
    let lines = |text: &str| -> Vec<usize> {
        refused(text)
            .list()
            .iter()
            .map(|diagnostic| diagnostic.line)
            .collect()
    };
    assert_eq!(lines(&step), [5, 6, 6], "{}", refused(&step));
    let bodies = with_steps(
        "  - post: /a\n    json: { a: '{{ nobody }}' }\n    multipart: { f: { file: none.txt } }\n",
    );
    assert_eq!(lines(&bodies), [5, 6, 6], "{}", refused(&bodies));
    let data = format!(
        "{}data: {{ d: {{ csv: no.csv, json: no.json }} }}\n",
        with_steps("  - get: /\n")
    );
    assert_eq!(lines(&data), [5, 5, 5], "{}", refused(&data));
    // Two of them that hold steps, sixty deep.
    let deep = format!(
        "{}{}",
        "{ repeat: 2, group: g, steps: [".repeat(60),
        "]}".repeat(60)
    );
    assert!(!lines(&with_steps(&format!("  - {deep}\n"))).is_empty());
}
