//! Users driven by an external script: its messages, and its failures.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_model::journey::{AtEnd, Feed, FeedOrder, Journey, ProcessPlan};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::Load;
use plimsoll_model::window::Window;
use plimsoll_testkit::origin::site::{self, TestSite};

use super::scenario_builder::{ScenarioBuilder, finish, iterations, request_step, users};
use crate::trial::{assert_all, ms, plan};

/// The prologue of every script: events read, lines written.
const PREAMBLE: &str = "\
import json, sys, time
def say(user, **rest):
    print(json.dumps({'user': user, **rest}), flush=True)
def events():
    for line in sys.stdin:
        event = json.loads(line)
        yield event['user'], event['event'], event
";

fn script_scenario(script: &str) -> ScenarioBuilder {
    let mut written = ScenarioBuilder::default();
    written.journey(Vec::new(), Vec::new()).process = Some(process(script));
    // A process inherits no environment except the given variables; tests give it the path of programs.
    written.inputs.environment = environment();
    written
}

#[expect(
    clippy::disallowed_methods,
    reason = "the door reads the environment, and a test stands in its place"
)]
fn environment() -> Vec<(String, String)> {
    ["PATH", "HOME"]
        .map(|name| (name.to_owned(), std::env::var(name).unwrap_or_default()))
        .to_vec()
}

fn process(script: &str) -> ProcessPlan {
    ProcessPlan {
        command: vec![
            "python3".to_owned(),
            "-c".to_owned(),
            format!("{PREAMBLE}{script}"),
        ],
        count: 1,
        feeds: Vec::new(),
        timeout: Duration::from_secs(10),
    }
}

/// Ends of steps by label: good ones, and all.
fn ends(total: &Window) -> BTreeMap<String, (u64, u64)> {
    let named = total.steps_named.iter();
    let ends = named.map(|(id, info)| {
        let outcomes = total.steps.get(id).map(|step| step.outcomes);
        let outcomes = outcomes.unwrap_or_default();
        (
            info.label.clone(),
            (outcomes.get(Outcome::Ok), outcomes.total()),
        )
    });
    ends.collect()
}

fn run(site: &TestSite, script: &str, load: Load) -> Window {
    script_scenario(script).run(site.address(), load)
}

#[test]
fn users_do_what_is_said_and_hold_their_cookies() {
    let site = site::start().unwrap();
    let script = "
import html, re
def token(body): return html.unescape(re.search('value=\"([^\"]+)\"', body)[1])
at = {}
for user, event, it in events():
    if event == 'stop': continue
    step = at[user] = 0 if event == 'start' else at[user] + 1
    answer = it.get('answer')
    if answer: assert answer['outcome'] == 'ok', answer
    if event == 'start': name = it['row']['people']['name']
    if step == 0: say(user, request={'path': '/login', 'once': True})
    elif step == 1:
        form = {'username': 'ada', 'password': 'secret', 'csrf': token(answer['body'])}
        say(user, request={'path': '/login', 'method': 'POST', 'form': form, 'once': True,
                           'expect': {'status': 302, 'location': '/home'}})
    elif step == 2:
        assert answer['headers']['location'] == '/home' and answer['status'] == 302, answer
        say(user, request={'path': '/home', 'expect': {'contains': 'Hello ada'}})
    elif step == 3: say(user, request={'path': '/form?x=1'})
    elif step == 4:
        say(user, request={'path': '/save', 'method': 'POST', 'form': {'csrf': token(answer['body'])}, 'label': 'save'})
    else: say(user, end='ok')
";
    let mut written = script_scenario(script);
    let people = Feed {
        name: "people".to_owned(),
        path: None,
        columns: Vec::new(),
        rows: 0,
        order: FeedOrder::InOrder,
        at_end: AtEnd::default(),
        each_iteration: false,
    };
    written.feed(people, &["ada"]);
    let process = written.scenario.journeys[0].process.as_mut().unwrap();
    process.feeds = vec![0];
    let total = written.run(site.address(), iterations(5.0, 20));
    assert_all(&total, Outcome::Ok);
    assert_eq!((total.iterations, total.users_lost), (20, 0), "{total:?}");
    assert_eq!(total.journey_iterations, BTreeMap::from([(0, 20)]));
    assert_eq!(total.offered, 60, "what is done once counts apart");
    let expected = [
        "GET /form",
        "GET /home",
        "GET /login",
        "POST /login",
        "save",
    ];
    let expected = expected.map(|label| (label.to_owned(), (20, 20)));
    assert_eq!(ends(&total), BTreeMap::from(expected));
    let process_window = &total.processes[&0];
    assert_eq!(
        (
            process_window.steps,
            process_window.wait.count(),
            process_window.errors
        ),
        (120, 120, 0)
    );
    assert!(process_window.cpu_us > 0, "{process_window:?}");
}

#[test]
fn an_answer_is_told_and_cut_where_asked() {
    let site = site::start().unwrap();
    let script = "
n = {}
for user, event, it in events():
    if event == 'stop': continue
    a = it.get('answer', {})
    k = n[user] = 0 if event == 'start' else n[user] + 1
    if k == 0: say(user, request={'path': '/gzip'})
    elif k == 1:
        assert (a['body'], a['body_cut'], a['path']) == ('Hello gzip', False, '/gzip'), a
        say(user, request={'path': '/asset/a', 'body_max': 10})
    elif k == 2:
        assert (a['body'], a['body_cut'], a['headers']['etag']) == ('x' * 10, True, '\"a-1\"'), a
        say(user, request={'path': '/echo', 'method': 'PUT', 'json': {'a': [1]}, 'headers': {'X-B': 'c'}})
    elif k == 3:
        assert 'X-B: c' in a['body'] and 'application/json' in a['body'] and a['body'].endswith('{\"a\":[1]}'), a
        say(user, request={'path': '/status/503'})
    elif k == 4:
        assert (a['outcome'], a['status']) == ('wrong_status', 503), a
        say(user, request={'path': '/items', 'expect': {'lacks': 'pen'}})
    elif k == 5:
        assert a['outcome'] == 'expectation' and 'not to contain' in a['reason'], a
        say(user, request={'path': 'http://other.example/'})
";
    let total = run(&site, script, iterations(1.0, 2));
    assert_eq!(
        (total.load_errors.len(), total.iterations),
        (0, 2),
        "{total:?}"
    );
    assert_eq!(total.outcomes.get(Outcome::Ok), 6);
    assert_eq!(total.outcomes.get(Outcome::Dropped), 2);
    assert_eq!(total.outcomes.get(Outcome::Expectation), 2);
    let mut reasons = total.failures.iter().map(|failure| &failure.reason);
    assert!(reasons.any(|reason| reason.contains("not on an origin of the plan")));
}

#[test]
fn a_pause_is_kept_and_begins_before_the_process_is_asked() {
    let site = site::start().unwrap();
    let script = "
for user, event, it in events():
    if event == 'start': time.sleep(0.25); say(user, think_ms=450)
    elif event == 'thought': say(user, think_ms=100, request={'path': '/items'})
    elif event == 'answer': say(user, end='ok')
";
    let total = run(&site, script, iterations(1.0, 3));
    assert_all(&total, Outcome::Ok);
    assert_eq!(total.iterations, 3);
    // Response time counts from the end of the pause, so it excludes the script's own quarter of a second: with it, no
    // response would be faster.
    let fastest = total.response.quantile(0.0).unwrap();
    assert!(fastest < 250_000, "{total:?}");
    assert!(total.processes[&0].wait.max().unwrap() >= 250_000);
}

#[test]
fn what_a_process_calls_failed_has_failed() {
    let site = site::start().unwrap();
    let script = "
for user, event, it in events():
    if event == 'start': say(user, request={'path': '/items'})
    elif event == 'answer': say(user, end='fail', reason='no pencil')
";
    let total = run(&site, script, iterations(1.0, 4));
    assert_eq!(total.outcomes.get(Outcome::Ok), 4);
    assert_eq!(total.outcomes.get(Outcome::Expectation), 4);
    assert_eq!(ends(&total)["process"], (0, 4));
    assert_eq!(total.failures[0].reason, "no pencil");
    assert_eq!((total.iterations, total.load_errors.len()), (4, 0));
}

#[test]
fn nonsense_about_a_user_ends_its_iteration_alone() {
    let site = site::start().unwrap();
    let script = "
for user, event, it in events():
    if event == 'start' and it['iteration'] == 2: say(user, request={'pth': '/items'})
    elif event == 'start': say(user, request={'path': '/items'})
    elif event == 'answer': say(user, end='ok')
";
    let total = run(&site, script, iterations(1.0, 3));
    assert_eq!(total.outcomes.get(Outcome::Ok), 2);
    assert_eq!(total.outcomes.get(Outcome::Dropped), 1);
    assert_eq!((total.iterations, total.users_lost), (3, 0));
    let reason = &total.failures[0].reason;
    assert!(
        reason.contains("line 3 of its output") && reason.contains("unknown field `pth`"),
        "{reason}"
    );
    assert_eq!(total.processes[&0].errors, 1);
}

/// A script that fails beside a journey of steps, which continues.
#[track_caller]
fn lost(script: &str, words: &[&str]) {
    let site = site::start().unwrap();
    let mut written = script_scenario(script);
    let step = written.get("/slow/20");
    let plain: &mut Journey = written.journey(Vec::new(), vec![request_step(step)]);
    plain.weight = 1.0;
    // The load goes on until the process has ended, however long it takes to start.
    let total = written.run(site.address(), iterations(4.0, 60));
    let [error] = &total.load_errors[..] else {
        panic!("{:?}", total.load_errors);
    };
    for word in words {
        assert!(error.contains(word), "no `{word}` in {error}");
    }
    assert_eq!(total.users_lost, 2, "its users end: {total:?}");
    assert!(total.outcomes.get(Outcome::Dropped) >= 1);
    let others = &total.steps[&0];
    assert!(
        others.outcomes.get(Outcome::Ok) >= 58,
        "the others go on: {others:?}"
    );
}

#[test]
fn a_process_that_dies_ends_its_users() {
    let script = "
for user, event, it in events():
    sys.stderr.write('about to end\\n'); sys.stderr.flush()
    sys.exit(3)
";
    lost(
        script,
        &[
            "journey 0",
            "it ended with exit code 3",
            "line 0 of its output",
        ],
    );
}

#[test]
fn a_process_that_talks_nonsense_ends_with_its_users() {
    let script = "
for user, event, it in events():
    print('starting', user, flush=True)
";
    lost(
        script,
        &[
            "line 1 of its output",
            "starting 1: expected value",
            "standard error",
            "it was stopped",
        ],
    );
}

#[test]
fn a_process_that_speaks_for_others_ends() {
    let script = "
for user, event, it in events():
    say(99, end='ok')
";
    lost(
        script,
        &["message for user 99, which is not one of its users"],
    );
}

#[test]
fn a_process_that_says_nothing_loses_its_users_in_time() {
    let site = site::start().unwrap();
    let mut written = script_scenario("time.sleep(60)");
    let process = written.scenario.journeys[0].process.as_mut().unwrap();
    process.timeout = ms(200);
    let total = written.run(site.address(), users(3.0, ms(60_000)));
    assert_eq!(total.users_lost, 3);
    assert_eq!(total.outcomes.get(Outcome::Dropped), 3);
    let reason = &total.failures[0].reason;
    assert!(
        reason.contains("did not reply within 0.2 s for user"),
        "{reason}"
    );
    assert_eq!(total.load_errors, Vec::<String>::new());
}

#[test]
fn a_process_that_never_ends_by_itself_is_ended() {
    let site = site::start().unwrap();
    let script = "
for user, event, it in events():
    if event == 'start': say(user, request={'path': '/items'})
    elif event == 'answer': say(user, end='ok')
time.sleep(600)
";
    let total = run(&site, script, iterations(1.0, 3));
    assert_all(&total, Outcome::Ok);
    assert_eq!(total.load_errors, Vec::<String>::new());
}

#[test]
fn what_it_writes_to_its_standard_error_is_passed_on() {
    let site = site::start().unwrap();
    let script = "
sys.stderr.write('ready\\n'); sys.stderr.flush()
for user, event, it in events():
    if event == 'start': say(user, request={'path': '/items'})
    elif event == 'answer': say(user, end='ok')
";
    let total = run(&site, script, iterations(2.0, 10));
    assert_eq!(total.processes[&0].stderr, ["journey 0: ready"]);
}

/// Windows are stored as they are.
#[test]
fn no_secret_that_it_writes_is_in_a_window() {
    let site = site::start().unwrap();
    let script = "
sys.stderr.write('Authorization: Bearer hush7431\\n'); sys.stderr.flush()
first = True
for user, event, it in events():
    if event == 'start': say(user, request={'path': '/items?token=hush7431'})
    elif event == 'answer' and first: first = False; say(user, end='fail', reason='token=hush7431')
    elif event == 'answer': print('{\"password\": \"hush7431\"}', flush=True)
";
    let mut written = script_scenario(script);
    let process = written.scenario.journeys[0].process.as_mut().unwrap();
    process.command.insert(1, "-Xtoken=hush7431".to_owned());
    let total = written.run(site.address(), iterations(1.0, 2));
    assert_eq!(total.processes[&0].stderr.len(), 1, "{total:?}");
    assert_eq!(total.load_errors.len(), 1, "{total:?}");
    assert_eq!(total.failures.len(), 2, "{total:?}");
    let stored = format!("{total:?}");
    assert!(!stored.contains("hush7431"), "{stored}");
}

#[test]
fn several_loops_and_processes_agree_on_labels() {
    let site = site::start().unwrap();
    let script = "
for user, event, it in events():
    if event == 'start': say(user, request={'path': f'/status/20{user % 3}'})
    elif event == 'answer': say(user, end='ok')
";
    let mut written = script_scenario(script);
    written.scenario.journeys[0].process.as_mut().unwrap().count = 2;
    let mut plan = plan(site.address());
    plan.cores = 2;
    let mut running = written.try_begin(plan, iterations(12.0, 120)).unwrap();
    let total = finish(&mut running);
    assert_eq!(total.outcomes.get(Outcome::Ok), 120);
    let labels: Vec<&str> = total
        .steps_named
        .values()
        .map(|info| info.label.as_str())
        .collect();
    let mut sorted = labels.clone();
    sorted.sort_unstable();
    assert_eq!(
        sorted,
        ["GET /status/200", "GET /status/201", "GET /status/202"]
    );
    assert_eq!(
        ends(&total).values().map(|(good, _)| good).sum::<u64>(),
        120
    );
}

#[test]
fn a_program_that_is_not_there_is_told_at_once() {
    let site = site::start().unwrap();
    let mut written = script_scenario("");
    let process = written.scenario.journeys[0].process.as_mut().unwrap();
    process.command = vec!["no-such-program".to_owned(), "x".to_owned()];
    let error = written.try_begin(plan(site.address()), users(1.0, ms(100)));
    let error = error.err().unwrap().to_string();
    for word in ["journey 0", "no-such-program x", "No such file", "PATH"] {
        assert!(error.contains(word), "no `{word}` in {error}");
    }
}
