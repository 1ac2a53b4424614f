//! The usual journey: log in once, then forms with tokens.

use plimsoll_model::journey::{Expectation, TextMatch, TextPiece, TextTemplate};
use plimsoll_model::outcome::Outcome;
use plimsoll_testkit::origin::site;

use super::scenario_builder::{
    ScenarioBuilder, capture, contains, ends, iterations, literal, request_step, status, text,
};
use crate::trial::assert_all;

/// A user who logs in with a password, and saves something repeatedly. Ids: 0 form, 1 login, 2 home, 3 form,
/// 4 save.
pub(crate) fn tutor(password: &str) -> ScenarioBuilder {
    let mut written = ScenarioBuilder::default();
    let (login_token, token, saved) = (
        written.slot("login"),
        written.slot("csrf"),
        written.slot("saved"),
    );
    let mut form = written.get("/login");
    form.captures = vec![capture(login_token, "value=\"([^\"]+)\"")];
    let unescaped = TextPiece::Call(
        plimsoll_model::journey::Function::Unescape,
        vec![text(vec![TextPiece::Slot(login_token)])],
    );
    let fields = vec![
        ("username", text(vec![literal("user "), TextPiece::User])),
        ("password", TextTemplate::literal(password)),
        ("csrf", text(vec![unescaped])),
    ];
    let mut login = written.post("/login", fields);
    let home = TextMatch::Equals(TextTemplate::literal("/home"));
    login.expectations = vec![
        status(302),
        Expectation::Header("location".to_owned(), home),
    ];
    let mut home = written.get("/home");
    home.expectations = vec![contains(text(vec![
        literal("Hello user "),
        TextPiece::User,
    ]))];
    let mut form2 = written.get("/form");
    form2.captures = vec![capture(token, "value=\"([^\"]+)\"")];
    let mut save = written.post("/save", vec![("csrf", text(vec![TextPiece::Slot(token)]))]);
    save.captures = vec![capture(saved, r#""saved":(\d+)"#)];
    save.expectations = vec![Expectation::Json(
        "$.saved".to_owned(),
        TextMatch::Equals(text(vec![TextPiece::Iteration])),
    )];
    written.journey(
        vec![request_step(form), request_step(login)],
        vec![request_step(home), request_step(form2), request_step(save)],
    );
    for once in 0..2 {
        written.scenario.steps[once].once = true;
    }
    written
}

#[test]
fn each_user_logs_in_once_and_keeps_its_cookies_and_tokens() {
    let site = site::start().unwrap();
    let total = tutor("secret").run(site.address(), iterations(5.0, 60));
    assert_all(&total, Outcome::Ok);
    assert_eq!(
        (total.offered, total.iterations, total.users_lost),
        (180, 60, 0)
    );
    for (id, count) in [(0, 5), (1, 5), (2, 60), (3, 60), (4, 60)] {
        assert_eq!(ends(&total, id), (count, count), "step {id}");
    }
    assert_eq!(
        (site.count("POST /login"), site.count("POST /save")),
        (5, 60)
    );
    // Steps of `once` are sent and received, and counted nowhere else.
    assert_eq!((total.sent, total.status[&200]), (190, 180));
    assert_eq!((total.connections_opened, site.accepted()), (5, 5));
    assert!(total.failures.is_empty(), "{:?}", total.failures);
}

#[test]
fn a_user_that_forgets_keeps_the_cookies_of_an_iteration_only() {
    let site = site::start().unwrap();
    let mut written = tutor("secret");
    written.scenario.journeys[0].forgets = true;
    // Without a session, the site answers with a redirect to the login.
    // A single user, as it is left to chance how several share their iterations.
    let total = written.run(site.address(), iterations(1.0, 3));
    assert_eq!((total.iterations, total.users_lost), (3, 0));
    assert_eq!((ends(&total, 1), ends(&total, 2)), ((1, 1), (1, 3)));
    assert_eq!(site.count("POST /save"), 1);
}

#[test]
fn users_over_several_loops_are_as_many() {
    let site = site::start().unwrap();
    let mut plan = crate::trial::plan(site.address());
    plan.cores = 2;
    let mut running = tutor("secret")
        .try_begin(plan, iterations(5.0, 41))
        .unwrap();
    let total = super::scenario_builder::finish(&mut running);
    assert_all(&total, Outcome::Ok);
    assert_eq!((total.iterations, ends(&total, 1)), (41, (5, 5)));
}

#[test]
fn a_failed_login_ends_the_user_for_good() {
    let site = site::start().unwrap();
    let total = tutor("wrong").run(site.address(), iterations(5.0, 60));
    assert_eq!(
        (total.users_lost, total.iterations, total.offered),
        (5, 0, 0)
    );
    assert_eq!(total.completed(), 0);
    assert_eq!(ends(&total, 1), (0, 5));
    assert_eq!(total.steps[&1].outcomes.get(Outcome::Expectation), 5);
    assert_eq!(site.count("GET /home"), 0);
    let failure = &total.failures[0];
    assert_eq!(
        (failure.step, failure.status, total.failures.len()),
        (Some(1), 302, 5)
    );
    assert_eq!(
        failure.reason,
        "header location is \"/login?failed\", expected exactly \"/home\""
    );
}
