//! Session carry-over between loads.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_load::{Job, LoopShare, RunningLoad, SessionCarryOver, Stay, start_share, start_with};
use plimsoll_model::journey::{AtEnd, Feed, FeedOrder, Inputs, Scenario, TextPiece};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::Plan;
use plimsoll_model::seed::Seed;
use plimsoll_model::window::Window;
use plimsoll_testkit::origin::site;

use super::logging_in::tutor;
use super::scenario_builder::{
    ScenarioBuilder, ends, finish, literal, request_step, text, think, users,
};
use crate::trial::{assert_all, ms, plan};

/// Consecutive loads with session carry-over, each two seconds of run time after the one before.
struct Loads {
    plan: Plan,
    scenario: Scenario,
    inputs: Arc<Inputs>,
    start_second: u32,
    carry_over: SessionCarryOver,
}

/// Time from the call of `start_with` to the start of a load: its threads start within it.
const LEAD: Duration = Duration::from_millis(50);

impl Loads {
    fn new(address: SocketAddr, cores: u32, written: ScenarioBuilder) -> Self {
        let mut plan = plan(address);
        plan.cores = cores;
        Self {
            plan,
            scenario: written.scenario,
            inputs: Arc::new(written.inputs),
            start_second: 0,
            carry_over: SessionCarryOver::default(),
        }
    }

    /// A load of this many users. The time between loads passes on their clock only: the epoch of each is set so that it
    /// starts at once.
    #[expect(clippy::disallowed_methods, reason = "a load starts now")]
    fn job(&mut self, count: f64) -> Job {
        let plan = Plan {
            scenario: Some(self.scenario.clone()),
            ..self.plan.clone()
        };
        self.start_second += 2;
        let start_second = self.start_second;
        let start = Instant::now() + LEAD;
        Job {
            plan: Arc::new(plan),
            load: users(count, ms(1000)),
            epoch: start
                .checked_sub(Duration::from_secs(start_second.into()))
                .unwrap(),
            start_second,
            seed: Seed(u64::from(start_second)),
            inputs: Arc::clone(&self.inputs),
        }
    }

    /// Such a load goes on.
    fn run(&mut self, count: f64) -> Window {
        let job = self.job(count);
        let stay = stay(std::mem::take(&mut self.carry_over));
        let mut running = start_with(job, stay).unwrap();
        let total = finish(&mut running);
        self.carry_over = running.take_carry_over();
        total
    }
}

/// Users return, and new ones arrive within 100 ms.
fn stay(carry_over: SessionCarryOver) -> Stay {
    Stay {
        carry_over,
        within: ms(100),
        seed: Seed(7),
    }
}

/// Whether this machine was too busy for a load of a second, with a message: the result is then inconclusive.
fn is_disturbed(total: &Window) -> bool {
    let late_us = total.lag.max().unwrap_or(u64::MAX);
    if late_us > 500_000 {
        plimsoll_testkit::not_tried::disturbed(format_args!("users came {late_us} µs late"));
    }
    late_us > 500_000
}

/// The tutor's users, who think between their iterations.
fn patient() -> ScenarioBuilder {
    let mut written = tutor("secret");
    let steps = &mut written.scenario.journeys[0].steps;
    steps.push(think(Duration::from_millis(30)));
    written
}

#[test]
fn who_stays_does_not_log_in_again() {
    for cores in [1, 3] {
        let site = site::start().unwrap();
        let mut loads = Loads::new(site.address(), cores, patient());
        // Each iteration counts the saves of its session: a mixed-up session or iteration would show.
        for (count, new) in [(6.0, 6), (9.0, 3), (4.0, 0), (9.0, 0)] {
            let before = site.count("POST /login");
            let total = loads.run(count);
            if is_disturbed(&total) {
                return;
            }
            assert_all(&total, Outcome::Ok);
            assert_eq!(total.users_lost, 0);
            assert_eq!(ends(&total, 1), (new, new), "{count} users, {cores} loops");
            assert_eq!(site.count("POST /login") - before, new);
            assert!(ends(&total, 4).0 > 0, "those who are back go on");
        }
        let places: Vec<u64> = loads
            .carry_over
            .places()
            .iter()
            .map(|(place, _)| *place)
            .collect();
        assert_eq!(places, (1..=9).collect::<Vec<u64>>());
        assert_eq!(site.accepted(), 6 + 9 + 4 + 9, "connections are new");
    }
}

#[test]
fn who_stays_on_one_of_two_hosts_does_not_log_in_again() {
    let site = site::start().unwrap();
    let mut loads = Loads::new(site.address(), 4, patient());
    let mut stayed = [SessionCarryOver::default(), SessionCarryOver::default()];
    for (count, new) in [(6.0, 6), (9.0, 3), (4.0, 0), (9.0, 0)] {
        let before = site.count("POST /login");
        let job = loads.job(count);
        let hosts: Vec<RunningLoad> = (0..2)
            .zip(&mut stayed)
            .map(|(host, users)| {
                let share = LoopShare::of_process(host, 2);
                let stay = stay(std::mem::take(users));
                start_share(job.clone(), share, Some(stay)).unwrap()
            })
            .collect();
        for (mut host, users) in hosts.into_iter().zip(&mut stayed) {
            let total = finish(&mut host);
            *users = host.take_carry_over();
            if is_disturbed(&total) {
                return;
            }
            assert_all(&total, Outcome::Ok);
            assert_eq!(total.users_lost, 0);
        }
        assert_eq!(site.count("POST /login") - before, new, "{count} users");
    }
    let places = stayed.iter().flat_map(SessionCarryOver::places);
    let places: BTreeSet<u64> = places.map(|(place, _)| place).collect();
    assert_eq!(places, (1..=9).collect::<BTreeSet<u64>>());
}

#[test]
fn who_has_lost_the_session_logs_in_again() {
    let first = site::start().unwrap();
    let mut loads = Loads::new(first.address(), 2, patient());
    if is_disturbed(&loads.run(4.0)) {
        return;
    }
    assert_eq!(first.count("POST /login"), 4);
    // A server without sessions redirects all users to the login.
    let second = site::start().unwrap();
    loads.plan.target = plan(second.address()).target;
    let total = loads.run(4.0);
    if is_disturbed(&total) {
        return;
    }
    assert_all(&total, Outcome::Expectation);
    assert_eq!(second.count("POST /login"), 0);
    assert!(loads.carry_over.places().is_empty());
    let total = loads.run(4.0);
    if is_disturbed(&total) {
        return;
    }
    assert_all(&total, Outcome::Ok);
    assert_eq!((ends(&total, 1), total.users_lost), ((4, 4), 0));
}

#[test]
fn a_target_that_fails_ends_no_session() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let login = written.get("/items?login");
    let fails = written.get("/status/503");
    written.journey(
        vec![request_step(login)],
        vec![request_step(fails), think(ms(20))],
    );
    written.scenario.steps[0].once = true;
    let mut loads = Loads::new(site.address(), 1, written);
    for _ in 0..2 {
        let total = loads.run(3.0);
        if is_disturbed(&total) {
            return;
        }
        assert_all(&total, Outcome::WrongStatus);
    }
    assert_eq!(site.count("GET /items?login"), 3);
}

#[test]
fn unique_rows_suffice_for_those_who_stay_and_those_who_come() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let feed = Feed {
        name: "people".to_owned(),
        path: None,
        columns: Vec::new(),
        rows: 0,
        order: FeedOrder::Unique,
        at_end: AtEnd::Error,
        each_iteration: false,
    };
    written.feed(feed, &["a", "b", "c", "d", "e"]);
    let url = text(vec![
        literal("/items?"),
        TextPiece::User,
        literal("="),
        TextPiece::Column(0, 0),
    ]);
    let items = written.get(url);
    written.journey(Vec::new(), vec![request_step(items), think(ms(20))]);
    let mut loads = Loads::new(site.address(), 2, written);
    for count in [2.0, 5.0, 3.0, 5.0] {
        let total = loads.run(count);
        if is_disturbed(&total) {
            return;
        }
        assert_all(&total, Outcome::Ok);
        assert_eq!((total.users_lost, total.load_errors.len()), (0, 0));
    }
    // Each of five people has one row, from the first load to the last.
    let asked: BTreeSet<String> = site.log().into_iter().collect();
    assert_eq!(asked.len(), 5, "{asked:?}");
}
