//! Control flow of the program, groups, and where results are counted.

use plimsoll_model::journey::{
    Choice, Condition, Operator, RepeatRange, Step, TextPiece, TextTemplate,
};
use plimsoll_model::outcome::Outcome;
use plimsoll_testkit::origin::site;

use super::scenario_builder::{
    ScenarioBuilder, ends, iterations, literal, request_step, step, text, think,
};
use crate::trial::{assert_all, ms};

#[test]
fn steps_are_repeated_and_chosen() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let (a, b, c) = (
        written.get("/items"),
        written.get("/items"),
        written.get("/items"),
    );
    let slot = written.slot("n");
    let choice = |weight, steps| Choice { weight, steps };
    written.journey(
        Vec::new(),
        vec![
            Step::Repeat {
                times: RepeatRange { min: 3, max: 3 },
                steps: vec![request_step(a)],
            },
            Step::Repeat {
                times: RepeatRange { min: 0, max: 0 },
                steps: vec![Step::Set(slot, TextTemplate::literal("never"))],
            },
            Step::Choose(vec![
                choice(
                    1.0,
                    vec![
                        Step::Set(slot, TextTemplate::literal("left")),
                        request_step(b),
                    ],
                ),
                choice(1.0, vec![Step::Set(slot, TextTemplate::literal("right"))]),
            ]),
            Step::If {
                condition: Condition {
                    left: text(vec![TextPiece::Slot(slot)]),
                    operator: Operator::Equal,
                    right: TextTemplate::literal("right"),
                    negated: false,
                },
                then: vec![request_step(c)],
                otherwise: Vec::new(),
            },
        ],
    );
    let total = written.run(site.address(), iterations(4.0, 200));
    assert_all(&total, Outcome::Ok);
    let (left, right) = (ends(&total, 1).0, ends(&total, 2).0);
    assert_eq!((ends(&total, 0).0, left + right), (600, 200));
    assert!((60..=140).contains(&left), "{left} of 200 went left");
}

#[test]
fn a_group_takes_as_long_as_its_steps_without_thinking() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let group = written.step("buying");
    let (a, b) = (written.get("/slow/20"), written.get("/slow/20"));
    let steps = vec![
        request_step(a),
        think(ms(250)),
        request_step(b),
        think(ms(250)),
    ];
    written.journey(Vec::new(), vec![Step::Group { id: group, steps }]);
    let total = written.run(site.address(), iterations(2.0, 6));
    assert_all(&total, Outcome::Ok);
    assert_eq!((ends(&total, group), total.offered), ((6, 6), 12));
    let median = step(&total, group).response.quantile(0.5).unwrap();
    // One of its pauses alone would be longer.
    assert!((40_000..250_000).contains(&median), "{median} us");
}

#[test]
fn a_group_fails_with_what_is_in_it() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let group = written.step("buying");
    let (a, b) = (written.get("/items"), written.get("/status/500"));
    let steps = vec![request_step(a), request_step(b)];
    written.journey(Vec::new(), vec![Step::Group { id: group, steps }]);
    let total = written.run(site.address(), iterations(1.0, 3));
    assert_eq!(step(&total, group).outcomes.get(Outcome::WrongStatus), 3);
    assert_eq!((total.offered, total.iterations), (6, 3));
}

#[test]
fn headers_bodies_and_cookies_are_sent_as_written() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let slot = written.slot("echo");
    let visit = written.get("/login");
    let mut echo = written.post(
        "/echo?x",
        vec![("a b", text(vec![literal("c&d "), TextPiece::User]))],
    );
    echo.headers = vec![
        (
            "x-user".to_owned(),
            text(vec![literal("u\r\nX-Evil: "), TextPiece::User]),
        ),
        ("Cookie".to_owned(), TextTemplate::literal("mine=1")),
    ];
    echo.expectations = [
        "POST /echo?x HTTP/1.1\r\n",
        "\r\nHost: 127.0.0.1:",
        "\r\nX-User: u  X-Evil: 1\r\n",
        "\r\nX-All: yes\r\n",
        "\r\nCookie: mine=1\r\n",
        "\r\nContent-Type: application/x-www-form-urlencoded\r\n",
        "\r\nContent-Length: 11\r\n",
        "\r\n\r\na+b=c%26d+1",
    ]
    .iter()
    .map(|needle| super::scenario_builder::contains(TextTemplate::literal(*needle)))
    .collect();
    echo.captures = vec![super::scenario_builder::capture(slot, "x")];
    let mut below = written.request("PUT", "/login/../echo");
    below.url = TextTemplate::literal("/echo/login");
    written
        .journey(
            Vec::new(),
            vec![request_step(visit), request_step(echo), request_step(below)],
        )
        .headers = vec![
        ("X-User".to_owned(), TextTemplate::literal("nobody")),
        ("X-All".to_owned(), TextTemplate::literal("yes")),
    ];
    let total = written.run(site.address(), iterations(1.0, 1));
    assert!(total.failures.is_empty(), "{:#?}", total.failures);
    assert_all(&total, Outcome::Ok);
}
