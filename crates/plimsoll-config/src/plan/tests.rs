//! Whole plans.

use std::collections::BTreeMap;

use plimsoll_model::distribution::DurationDistribution;

use super::*;
use crate::document::{NodeKind, TestSurroundings};

const EXAM: &str = r#"
target: https://exam.example
objective: [p95 < 800ms, errors < 1%]
journeys:
  candidate:
    once:                                   # per user, outside the loop
      - post: /accounts/login
        form: { username: "{{ candidate.name }}", password: "{{ candidate.password }}" }
        expect: { status: 302, location: /home }
    steps:
      - get: /home
      - think: 2s
      - get: /editor/{{ candidate.assignment }}
        capture: { csrf: 'name="csrf" value="([^"]+)"' }
      - post: /editor/save
        form: { csrf: "{{ csrf }}", code: "{{ file('answer.c') }}" }
data:
  candidate: { csv: candidates.csv, pick: unique }
load: { users: 12000, within: 3m, hold: 60m }   # or: { rate: 300/s, for: 5m } · phases: [...] · find: { ... }
watch: { host: local, haproxy: "unix:/run/haproxy.sock", postgres: "postgres://plimsoll@db/exam" }
"#;

fn desktop() -> TestSurroundings {
    TestSurroundings {
        files: BTreeMap::from([
            (
                "candidates.csv",
                b"name,password,assignment\nada,x,1\ngrace,y,2\n".to_vec(),
            ),
            ("answer.c", b"int main(void) { return 0; }\n".to_vec()),
        ]),
        variables: BTreeMap::from([("KEY", "secret")]),
        ..TestSurroundings::default()
    }
}

fn given() -> Given {
    Given {
        target: None,
        name: "exam".to_owned(),
        may_miss_variables: false,
    }
}

#[test]
fn bands_of_patience_are_read_in_order() {
    let read = |bands: &str| {
        let text = format!("target: http://site\npatience: {bands}\n");
        read(&text, &given(), &desktop())
    };
    let plan = read("{ gone: 10s, instant: 100ms, fluent: 1s }").unwrap();
    let named: Vec<(&str, u64)> = plan
        .patience
        .iter()
        .map(|band| (band.name.as_str(), band.within_us))
        .collect();
    assert_eq!(
        named,
        [
            ("instant", 100_000),
            ("fluent", 1_000_000),
            ("gone", 10_000_000)
        ]
    );
    for (bands, line) in [
        ("{ instant: 0s }", "f:2:22: "),
        (
            "{ a: 1s, b: 1000ms }",
            "f:2:23: duplicate name or time; valid: ",
        ),
        ("{}", "f:2:11: there are 0 bands; valid: 1 to 20 bands"),
        ("100ms", "f:2:11: "),
    ] {
        let lines = read(bands).unwrap_err().lines("f");
        assert!(
            lines.len() == 1 && lines[0].starts_with(line),
            "{bands}: {lines:?}"
        );
    }
}

#[test]
fn users_give_up_by_a_distribution() {
    let text = |journey: &str| {
        format!(
            "target: http://site\nload: {{ users: 1, hold: 1s }}\njourneys:\n  a:\n    {journey}\n    steps: [{{ get: / }}]\n"
        )
    };
    for (written, expected) in [
        ("5s", DurationDistribution::Fixed(Duration::from_secs(5))),
        (
            "0s..4s",
            DurationDistribution::Uniform(Duration::ZERO, Duration::from_secs(4)),
        ),
        (
            "{ exponential: 8s }",
            DurationDistribution::Exponential(Duration::from_secs(8)),
        ),
    ] {
        let text = text(&format!("gives_up: {written}"));
        let scenario = read(&text, &given(), &desktop()).unwrap().scenario.unwrap();
        assert_eq!(scenario.journeys[0].gives_up, Some(expected), "{written}");
    }
    let plain =
        "target: http://site\nload: { users: 1, hold: 1s }\ngives_up: 2s\nsteps: [{ get: / }]\n";
    let scenario = read(plain, &given(), &desktop()).unwrap().scenario.unwrap();
    assert!(scenario.journeys[0].gives_up.is_some());
    check(
        &text("gives_up: 0s"),
        (5, 15),
        "users would not wait for any response; valid: above 0",
    );
    check(&text("gives_up: 5"), (5, 16), "the unit is missing");
    check(&text("gives_up: { exponential: 0s }"), (5, 30), "0s");
    check(
        "target: http://site\nload: { users: 1, hold: 1s }\ngives_up: 2s\nprocess: [./users]\n",
        (3, 1),
        "`gives_up` and `process` are mutually exclusive",
    );
}

#[test]
fn prices_without_a_unit_are_refused() {
    let refused = |price: &str| {
        let text = format!("target: http://site\nprice: {price}\n");
        let diagnostics = read(&text, &given(), &desktop()).unwrap_err();
        diagnostics.lines("f")
    };
    for (price, line) in [
        ("2.45", "f:2:8: the price has no unit; valid: {"),
        (
            "{ currency: EUR, per_hour: 2.45 }",
            "f:2:35: the price per hour has no unit",
        ),
        ("{ per_request: 1 }", "f:2:8: `currency` is missing"),
        (
            "{ currency: EUR, per_request: x }",
            "f:2:38: in `x`: not a price",
        ),
    ] {
        let lines = refused(price);
        assert!(
            lines.len() == 1 && lines[0].starts_with(line),
            "{price}: {lines:?}"
        );
    }
}

#[test]
fn a_price_may_have_a_demand() {
    let of = |demand: &str| {
        let text = format!(
            "target: http://site\nprice: {{ currency: EUR, per_request: 1, demand: {demand} }}\n"
        );
        read(&text, &given(), &desktop())
    };
    let price = of("[60/m, 40/s]").unwrap().price.unwrap();
    assert_eq!(price.demand, [1.0, 40.0]);
    for (demand, words) in [
        ("[many]", "many"),
        ("[]", "the demand has 0 parts"),
        ("nothing.json", "`nothing.json` cannot be read"),
    ] {
        let lines = of(demand).unwrap_err().lines("f");
        assert!(lines.len() == 1 && lines[0].contains(words), "{lines:?}");
    }
}

#[test]
fn the_exam_is_read() {
    let plan =
        read(EXAM, &given(), &desktop()).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    insta::assert_debug_snapshot!(plan);
}

fn refused(text: &str) -> Diagnostics {
    match read(text, &given(), &desktop()) {
        Err(diagnostics) => diagnostics,
        Ok(plan) => panic!("accepted: {plan:#?}"),
    }
}

/// A plan with one error: its place and a fragment of the message.
#[track_caller]
fn check(text: &str, place: (usize, usize), words: &str) {
    let diagnostics = refused(text);
    let first = &diagnostics.list()[0];
    assert_eq!((first.line, first.column), place, "{diagnostics}");
    assert!(first.to_string().contains(words), "{diagnostics}");
    assert_eq!(diagnostics.list().len(), 1, "{diagnostics}");
}

/// A plan with these steps.
fn with_steps(steps: &str) -> String {
    format!("target: http://site\nload: {{ users: 1, hold: 1s }}\nsteps:\n{steps}")
}

#[test]
fn all_mistakes_are_told_at_once() {
    let text = include_str!("tests/mistakes.yaml");
    let diagnostics = refused(text);
    insta::assert_snapshot!(diagnostics.lines("mistakes.yaml").join("\n"));
}

#[test]
fn every_construct_is_read() {
    let text = include_str!("tests/everything.yaml");
    let mut surroundings = desktop();
    surroundings
        .files
        .insert("letter.txt", b"Dear {{ candidate.name }},".to_vec());
    surroundings
        .files
        .insert("photo.png", vec![0x89, b'P', 0, 255]);
    surroundings.files.insert(
        "towns.json",
        br#"[{"name": "Ulm", "size": 1}, {"name": "Bonn"}]"#.to_vec(),
    );
    let plan =
        read(text, &given(), &surroundings).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    insta::assert_debug_snapshot!(plan);
}

#[test]
fn several_parts_of_a_multipart_body_may_have_one_name() {
    use plimsoll_model::journey::{RequestBody, Step};

    let text = with_steps(
        "  - post: /a\n    multipart:\n      f: [one, { file: answer.c, type: text/x-c }, { text: two, name: b.txt }]\n      g: three\n",
    );
    let plan = read(&text, &given(), &desktop()).unwrap();
    let scenario = plan.scenario.unwrap();
    let Step::Request(request) = &scenario.journeys[0].steps[0] else {
        panic!("{scenario:?}");
    };
    let RequestBody::Multipart(parts) = &request.body else {
        panic!("{request:?}");
    };
    let shown: Vec<_> = parts
        .iter()
        .map(|part| (part.name.as_str(), part.file_name.as_deref().unwrap_or("-")))
        .collect();
    assert_eq!(
        shown,
        [("f", "-"), ("f", "answer.c"), ("f", "b.txt"), ("g", "-")]
    );
    check(
        &with_steps("  - post: /a\n    multipart: { f: [one, { name: b.txt }] }\n"),
        (5, 27),
        "file",
    );
}

#[test]
fn a_byte_order_mark_and_line_ends_of_windows_change_nothing() {
    let marked = |content: &[u8]| {
        let text = String::from_utf8(content.to_vec()).unwrap();
        format!("\u{feff}{}", text.replace('\n', "\r\n")).into_bytes()
    };
    let text = "target: http://site\nload: { users: 1, hold: 1s }\ndata:\n  a: { csv: a.csv }\n  b: { json: b.json }\n  c: { json: c.json }\nsteps:\n  - post: /{{ a.name }}/{{ b.name }}/{{ c.name }}\n    body: { file: body.txt, template: true }\n    headers:\n      X-Long: >-\n        one\n        two\n  - post: /text\n    body: |\n      first\n      second\n";
    let files = BTreeMap::from([
        ("a.csv", b"name,more\nada,1\ngrace,2\n".to_vec()),
        (
            "b.json",
            b"[{\"name\": \"ulm\"},\n {\"name\": \"bonn\"}]\n".to_vec(),
        ),
        ("c.json", b"{\"name\": \"x\"}\n{\"name\": \"y\"}\n".to_vec()),
        ("body.txt", b"Dear {{ a.name }}".to_vec()),
    ]);
    let plain = TestSurroundings {
        files: files.clone(),
        ..TestSurroundings::default()
    };
    let windows = TestSurroundings {
        files: files
            .into_iter()
            .map(|(name, content)| (name, marked(&content)))
            .collect(),
        ..TestSurroundings::default()
    };
    let expected = read(text, &given(), &plain).unwrap();
    let marked = String::from_utf8(marked(text.as_bytes())).unwrap();
    let found = read(&marked, &given(), &windows).unwrap();
    assert_eq!(
        format!("{:?}", found.scenario),
        format!("{:?}", expected.scenario)
    );
    assert_eq!(found.inputs.rows, expected.inputs.rows);
}

#[test]
fn the_schema_accepts_what_the_reader_accepts() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for text in [EXAM, include_str!("tests/everything.yaml")] {
        let surroundings = TestSurroundings::default();
        let root = DocumentReader::new(text, &surroundings).root();
        let value = as_json(&root.unwrap());
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert_eq!(errors, Vec::<String>::new());
    }
    let wrong = serde_json::json!({ "targt": "http://x" });
    assert!(!validator.is_valid(&wrong));
}

fn as_json(node: &DocumentNode) -> serde_json::Value {
    match &node.kind {
        NodeKind::Scalar { text, plain } => {
            let typed = plain.then(|| serde_json::from_str(text).ok()).flatten();
            if node.is_null() {
                serde_json::Value::Null
            } else {
                typed.unwrap_or_else(|| text.as_str().into())
            }
        }
        NodeKind::List(items) => items.iter().map(as_json).collect(),
        NodeKind::Map(entries) => entries
            .iter()
            .map(|(key, value)| (key.text.clone(), as_json(value)))
            .collect(),
    }
}

#[test]
fn names_in_templates_are_known_or_told() {
    check(
        &with_steps("  - get: /a?x={{ csfr }}\n  - get: /b\n    capture: { csrf: 'x' }\n"),
        (4, 18),
        "did you mean `csrf`",
    );
    check(
        &with_steps("  - get: /a?x={{ csrf }}\n  - get: /b\n    capture: { csrf: 'x' }\n"),
        (4, 18),
        "used before it is set",
    );
    check(
        &with_steps("  - get: \"/ä/{{ uuid }}\"\n"),
        (4, 17),
        "valid: uuid()",
    );
    check(
        &with_steps("  - get: /{{ random_int(5, 1) }}\n"),
        (4, 28),
        "lower than the first number",
    );
    check(
        &with_steps("  - get: /{{ rand_int(1, 5) }}\n"),
        (4, 14),
        "did you mean `random_int`",
    );
    check(
        &with_steps("  - get: /{{ env('NO') }}\n"),
        (4, 14),
        "variable `NO` is not set",
    );
    let data = EXAM.replace("candidate.assignment", "candidate.asignment");
    check(&data, (13, 35), "did you mean `assignment`");
}

#[test]
fn one_branch_does_not_set_for_the_other() {
    let text = with_steps(
        "  - choose:\n      - steps: [{ set: { a: x } }, { get: /1 }]\n      - steps: [{ get: '/{{ a }}' }]\n  - get: /{{ a }}\n",
    );
    check(&text, (6, 29), "used before it is set");
}

#[test]
fn secrets_of_the_environment_are_not_in_the_plan() {
    let text = with_steps("  - get: /\n    headers: { X-Key: \"Bearer {{ env('KEY') }}\" }\n");
    let plan = read(&text, &given(), &desktop()).unwrap();
    assert_eq!(plan.inputs.files, [b"secret".to_vec()]);
    assert!(!format!("{:?}", plan.scenario).contains("secret"));
}

#[test]
fn a_check_forgives_what_only_a_run_needs() {
    let text = with_steps("  - get: /\n    headers: { X-Key: \"{{ env('NO') }}\" }\n");
    let lenient = Given {
        may_miss_variables: true,
        ..given()
    };
    let plan = read(&text, &lenient, &desktop()).unwrap();
    assert_eq!(plan.variables_missing, ["NO"]);
    let text = text.replace("http://site", "\"{{ env('NO') }}\"");
    assert!(read(&text, &lenient, &desktop()).is_err());
}

#[test]
fn urls_are_paths_or_whole() {
    let text = "target: http://site:80/app/\nload: { users: 1, hold: 1s }\nsteps:\n  - get: /a\n  - get: http://SITE/b\n  - get: https://cdn.site/c\n  - get: '{{ iteration }}'\n";
    let plan = read(text, &given(), &desktop()).unwrap();
    let scenario = plan.scenario.unwrap();
    let urls: Vec<_> = scenario.journeys[0]
        .steps
        .iter()
        .map(|step| match step {
            plimsoll_model::journey::Step::Request(request) => {
                request.url.as_literal().unwrap_or("?").to_owned()
            }
            step => panic!("{step:?}"),
        })
        .collect();
    assert_eq!(urls, ["/app/a", "/b", "https://cdn.site/c", "?"]);
    assert_eq!(scenario.steps[2].label, "GET https://cdn.site/c");
    assert_eq!(plan.origins.len(), 1);
    check(
        &with_steps("  - get: home\n"),
        (4, 10),
        "did you mean `/home`",
    );
    check(&with_steps("  - get: /a b\n"), (4, 12), "space");
    check(
        &with_steps("  - get: http://x{{ user }}/\n"),
        (4, 18),
        "host",
    );
}

#[test]
fn a_login_in_a_url_becomes_basic_authentication() {
    let text = with_steps(
        "  - get: http://ada:pa%40ss@site/a\n  - get: http://ada:pw@site/b\n    headers: { authorization: Bearer x }\n  - sse: http://:pw@other/c\n",
    );
    let plan = read(&text, &given(), &desktop()).unwrap();
    let scenario = plan.scenario.unwrap();
    let requests = scenario.journeys[0].steps.iter().map(|step| match step {
        plimsoll_model::journey::Step::Request(request) => request,
        plimsoll_model::journey::Step::Socket(socket) => &socket.request,
        step => panic!("{step:?}"),
    });
    let shown: Vec<_> = requests
        .map(|request| {
            let (name, value) = request.headers.last().unwrap();
            let url = request.url.as_literal().unwrap();
            format!("{url} {name}: {}", value.as_literal().unwrap())
        })
        .collect();
    assert_eq!(
        shown,
        [
            "/a Authorization: Basic YWRhOnBhQHNz",
            "/b authorization: Bearer x",
            "http://other/c Authorization: Basic OnB3",
        ]
    );
    let labels: Vec<_> = scenario.steps.iter().map(|step| &step.label).collect();
    assert_eq!(
        labels,
        [
            "GET http://site/a",
            "GET http://site/b",
            "SSE http://other/c"
        ]
    );
}

#[test]
fn loads_in_peoples_words() {
    let load = |load: &str, steps: bool| {
        let steps = if steps { "steps: [{ get: / }]\n" } else { "" };
        let text = format!("target: http://site\n{steps}load: {load}\n");
        read(&text, &given(), &desktop()).map(|plan| format!("{:?}", plan.load.unwrap()))
    };
    assert!(
        load("{ rate: 300/s, for: 5m }", true)
            .unwrap()
            .contains("Sessions")
    );
    assert!(
        load("{ rate: 300/s, for: 5m }", false)
            .unwrap()
            .contains("Open")
    );
    assert!(
        load("{ connections: 5, for: 5m }", false)
            .unwrap()
            .contains("Closed")
    );
    assert!(load("{ users: 5, hold: 5m }", false).is_err());
    assert!(
        load("{ users: 5 }", true)
            .unwrap_err()
            .to_string()
            .contains("hold")
    );
    assert!(load("{ users: 5, iterations: 10 }", true).is_ok());
    assert!(load("[{ users: 5, for: 1m }, { rate: 3/s, for: 1m }]", true).is_err());
    assert!(load("{ find: users }", true).unwrap().contains("Users"));
    assert!(
        load("{ find: { users: 10..100, quick: true } }", true)
            .unwrap()
            .contains("to: Some(100.0)")
    );
    let phases = load(
        "[{ users: 0..10, for: 1m }, { users: ..30, for: 1m }, { spike: 99, for: 1s }]",
        true,
    )
    .unwrap();
    assert!(
        phases.contains("from: 10.0, to: 30.0") && phases.contains("from: 99.0, to: 99.0"),
        "{phases}"
    );
}

#[test]
fn data_is_told_with_its_place() {
    let mut surroundings = desktop();
    surroundings.files.insert(
        "candidates.csv",
        b"name,password,assignment\nada,x\n".to_vec(),
    );
    let diagnostics = read(EXAM, &given(), &surroundings).unwrap_err();
    assert!(
        diagnostics.to_string().contains("line 2 has 2 values"),
        "{diagnostics}"
    );
    assert_eq!(diagnostics.list().len(), 1, "{diagnostics}");
    surroundings.files.remove("candidates.csv");
    let diagnostics = read(EXAM, &given(), &surroundings).unwrap_err();
    assert!(
        diagnostics
            .to_string()
            .contains("18:21: `candidates.csv` cannot be read: no such file"),
        "{diagnostics}"
    );
}

mod nasty;
mod websockets;

mod property {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn places_lie_inside_the_file(at in 0_usize..1500, cut in 0_usize..40, put in "[ -~\\n\u{e4}\u{20ac}{}]{0,6}") {
            let mut text = EXAM.to_owned();
            let floor = |mut at: usize| {
                at = at.min(EXAM.len());
                while !EXAM.is_char_boundary(at) {
                    at -= 1;
                }
                at
            };
            text.replace_range(floor(at)..floor(at + cut).max(floor(at)), &put);
            if let Err(faults) = read(&text, &given(), &desktop()) {
                prop_assert!(!faults.list().is_empty());
                let lines: Vec<&str> = text.split('\n').collect();
                for fault in faults.list() {
                    prop_assert!((1..=lines.len()).contains(&fault.line), "{}", fault);
                    let len = lines[fault.line - 1].chars().count();
                    prop_assert!((1..=len + 1).contains(&fault.column), "{} in {:?}", fault, lines[fault.line - 1]);
                }
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
            let _ = read(&text, &given(), &desktop());
        }
    }
}
