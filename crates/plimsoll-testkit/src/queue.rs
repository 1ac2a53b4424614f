//! A FIFO queue with a known law, in virtual time, whose windows are those of the load engine.
//!
//! The queue keeps its state from trial to trial, so the backlog of an overload and the recovery from it are real.
//! A trial's arrivals are those of [`Schedule`], as in the engine.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use plimsoll_model::histogram::{Histogram, bucket_top};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::schedule::{LoadPhase, Schedule, Spacing};
use plimsoll_model::seed::Seed;
use plimsoll_model::trial::{TrialKind, TrialSpec};
use plimsoll_model::window::Window;
use rand::RngExt as _;

const SECOND_NS: u64 = 1_000_000_000;
/// Drain time of a trial, seconds.
const DRAIN_S_MAX: u32 = 10;

/// Distribution of service times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Constant.
    Deterministic,
    /// Exponential.
    Exponential,
}

/// The law of a queue: parallel servers with one line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulatedLaw {
    /// Servers.
    pub servers: usize,
    /// Distribution of service times.
    pub service: Distribution,
    /// Mean service time, seconds.
    pub mean_s: f64,
}

/// A request in the queue, by its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::struct_field_names, reason = "the unit belongs to each name")]
struct Pending {
    done_ns: u64,
    due_ns: u64,
    service_ns: u64,
}

/// The queue, and the clock of its run.
#[derive(Debug)]
pub struct SimulatedQueue {
    law: SimulatedLaw,
    spacing: Spacing,
    seed: Seed,
    random: rand_xoshiro::Xoshiro256PlusPlus,
    /// Moments at which the servers are free, earliest first.
    free_ns: BinaryHeap<Reverse<u64>>,
    pending: BinaryHeap<Reverse<Pending>>,
    second: u32,
    trials: u64,
    previous_rate: f64,
    /// Mean think time of users, exponential, s.
    think_s: f64,
    /// Users of this trial, by the moment of their next request; each with the moment of its response. Empty between
    /// trials.
    thinking_ns: BinaryHeap<Reverse<(u64, u64)>>,
    /// Users carried over from earlier trials: the rest of each one's pause, `None` with a pending request.
    stayed: Vec<Option<u64>>,
}

impl SimulatedQueue {
    /// An empty queue at second 0.
    pub fn new(law: SimulatedLaw, spacing: Spacing, seed: Seed) -> Self {
        Self {
            law,
            spacing,
            seed,
            random: seed.derive(u64::MAX).generator(),
            free_ns: (0..law.servers).map(|_| Reverse(0)).collect(),
            pending: BinaryHeap::new(),
            second: 0,
            trials: 0,
            previous_rate: 0.0,
            think_s: 0.0,
            thinking_ns: BinaryHeap::new(),
            stayed: Vec::new(),
        }
    }

    /// Trials in users have this many users, each of whom waits for the response, thinks (exponential) and
    /// sends again.
    #[must_use]
    pub fn with_think_s(mut self, think_s: f64) -> Self {
        self.think_s = think_s;
        self
    }

    /// The next second of run time; a trial begins there.
    pub fn second(&self) -> u32 {
        self.second
    }

    /// Changes the mean service time from now on, for targets that drift.
    pub fn set_mean_s(&mut self, mean_s: f64) {
        self.law.mean_s = mean_s;
    }

    /// Runs a trial and returns its windows, drain included. `stop` is called after each second of load and
    /// ends the trial early.
    pub fn run(
        &mut self,
        spec: &TrialSpec,
        mut stop: impl FnMut(&[Window]) -> bool,
    ) -> Vec<Window> {
        let mut windows = Vec::new();
        let start_ns = u64::from(self.second) * SECOND_NS;
        let phases = spec.phases(self.previous_rate);
        let mut arrivals = Schedule::new(phases, self.spacing, self.seed.derive(self.trials))
            .map(|arrival| start_ns + arrival.due_ns)
            .peekable();
        self.trials += 1;
        self.previous_rate = spec.rate;
        let by_users = spec.unit == LoadUnit::Users && spec.kind != TrialKind::SelfTest;
        if by_users {
            self.let_users_come(spec, start_ns);
        }
        for _ in 0..spec.offered_s() {
            let mut window = self.open_window();
            let end_ns = self.end_ns();
            if by_users {
                self.users(&mut window, end_ns);
            } else if spec.kind == TrialKind::Single {
                self.single_client(&mut window, end_ns);
            } else {
                while let Some(due_ns) = arrivals.next_if(|&due_ns| due_ns < end_ns) {
                    self.admit(due_ns, end_ns, &mut window);
                }
            }
            windows.push(self.close_window(window));
            if stop(&windows) {
                break;
            }
        }
        self.users_leave();
        self.drain(&mut windows);
        windows
    }

    /// Offers a load of phases, each a line; returns its windows, drain included. `stop` is called after each second of load
    /// and ends it early.
    pub fn offer(
        &mut self,
        phases: &[LoadPhase],
        mut stop: impl FnMut(&Window) -> bool,
    ) -> Vec<Window> {
        let start_ns = u64::from(self.second) * SECOND_NS;
        let seed = self.seed.derive(self.trials);
        self.trials += 1;
        let schedule = Schedule::new(phases.to_vec(), self.spacing, seed);
        let whole_ns = schedule.length_ns();
        let mut arrivals = schedule.map(|arrival| start_ns + arrival.due_ns).peekable();
        let mut windows = Vec::new();
        while self.end_ns() - start_ns < whole_ns + SECOND_NS {
            let mut window = self.open_window();
            let end_ns = self.end_ns();
            while let Some(due_ns) = arrivals.next_if(|&due_ns| due_ns < end_ns) {
                self.admit(due_ns, end_ns, &mut window);
            }
            windows.push(self.close_window(window));
            if windows.last().is_some_and(&mut stop) {
                break;
            }
        }
        self.drain(&mut windows);
        windows
    }

    /// How long a request would wait that arrived now, s.
    pub fn wait_s(&self) -> f64 {
        let now_ns = u64::from(self.second) * SECOND_NS;
        let Reverse(free_ns) = self
            .free_ns
            .peek()
            .expect("a queue has at least one server");
        free_ns.saturating_sub(now_ns) as f64 / 1e9
    }

    /// Places of users who may resume in the next trial, each with whether a request was pending at the end.
    pub fn places(&self) -> Vec<(u64, bool)> {
        let waited = self.stayed.iter().map(Option::is_none);
        (1..).zip(waited).collect()
    }

    /// All users stay between trials; pending requests are answered meanwhile.
    fn users_leave(&mut self) {
        let now_ns = u64::from(self.second) * SECOND_NS;
        let left = std::mem::take(&mut self.thinking_ns).into_iter();
        let pauses: Vec<Option<u64>> = left
            .map(|Reverse((next_request_ns, done_ns))| {
                (done_ns <= now_ns).then(|| next_request_ns.saturating_sub(now_ns))
            })
            .collect();
        // Users not wanted in this trial are kept.
        let rest = pauses.len().min(self.stayed.len());
        drop(self.stayed.splice(..rest, pauses));
    }

    /// Carried-over users resume, new ones arrive evenly within the ramp; one client alone is one user.
    fn let_users_come(&mut self, spec: &TrialSpec, start_ns: u64) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of users"
        )]
        let users = if spec.kind == TrialKind::Single {
            1
        } else {
            spec.rate.round() as u64
        };
        let ramp_ns = u64::from(spec.ramp_s) * SECOND_NS;
        let back = self
            .stayed
            .len()
            .min(usize::try_from(users).unwrap_or(usize::MAX));
        for index in 0..back {
            let pause_ns = self.stayed[index]
                .unwrap_or_else(|| self.random.random_range(0..ramp_ns.max(SECOND_NS)));
            let due_ns = start_ns + pause_ns;
            self.thinking_ns.push(Reverse((due_ns, due_ns)));
        }
        let new = users - back as u64;
        for user in 0..new {
            let due_ns = start_ns + ramp_ns * user / new;
            self.thinking_ns.push(Reverse((due_ns, due_ns)));
        }
    }

    /// Every user whose think time ends in this second sends, and thinks again after the response.
    fn users(&mut self, window: &mut Window, end_ns: u64) {
        while let Some(&Reverse((due_ns, _))) = self.thinking_ns.peek() {
            if due_ns >= end_ns {
                break;
            }
            self.thinking_ns.pop();
            let done_ns = self.admit(due_ns, end_ns, window);
            let think_ns = self.exponential_ns(self.think_s);
            self.thinking_ns
                .push(Reverse((done_ns + think_ns, done_ns)));
        }
        window.users = self.thinking_ns.len() as u64;
    }

    fn end_ns(&self) -> u64 {
        (u64::from(self.second) + 1) * SECOND_NS
    }

    /// A window with requests in flight at its start: as if all of them stayed the whole second.
    fn open_window(&self) -> Window {
        let mut window = Window::new(self.second);
        window.in_flight_mean = self.pending.len() as f64;
        window
    }

    /// Adds a request, and returns the moment of its response.
    fn admit(&mut self, due_ns: u64, end_ns: u64, window: &mut Window) -> u64 {
        let Reverse(free_ns) = self.free_ns.pop().expect("a queue has at least one server");
        let service_ns = self.service_ns();
        let done_ns = due_ns.max(free_ns) + service_ns;
        self.free_ns.push(Reverse(done_ns));
        self.pending.push(Reverse(Pending {
            done_ns,
            due_ns,
            service_ns,
        }));
        window.offered += 1;
        window.sent += 1;
        window.in_flight_mean += (end_ns - due_ns) as f64 / 1e9;
        done_ns
    }

    /// One client that sends again after each response.
    fn single_client(&mut self, window: &mut Window, end_ns: u64) {
        let begin_ns = end_ns - SECOND_NS;
        let mut due_ns = self
            .pending
            .peek()
            .map_or(begin_ns, |Reverse(last)| last.done_ns);
        while due_ns < end_ns {
            self.admit(due_ns, end_ns, window);
            due_ns = self
                .pending
                .iter()
                .map(|Reverse(request)| request.done_ns)
                .max()
                .expect("a request was just admitted");
        }
    }

    fn service_ns(&mut self) -> u64 {
        match self.law.service {
            Distribution::Deterministic => whole_ns(self.law.mean_s),
            Distribution::Exponential => self.exponential_ns(self.law.mean_s),
        }
    }

    fn exponential_ns(&mut self, mean_s: f64) -> u64 {
        // 1 − u lies in (0, 1], so the logarithm is finite.
        whole_ns(-mean_s * (1.0 - self.random.random::<f64>()).ln())
    }

    /// Removes requests that ended in this second.
    fn close_window(&mut self, mut window: Window) -> Window {
        let end_ns = self.end_ns();
        let (mut response_us, mut service_us) = (Vec::new(), Vec::new());
        while let Some(Reverse(request)) = self.pending.peek().copied() {
            if request.done_ns >= end_ns {
                break;
            }
            self.pending.pop();
            window.in_flight_mean -= (end_ns - request.done_ns) as f64 / 1e9;
            response_us.push(bucket_top((request.done_ns - request.due_ns) / 1000));
            service_us.push(bucket_top(request.service_ns / 1000));
        }
        window
            .outcomes
            .add_many(Outcome::Ok, response_us.len() as u64);
        window.status.insert(200, response_us.len() as u64);
        // Ascending values are appended, not inserted.
        response_us.sort_unstable();
        service_us.sort_unstable();
        for value in response_us {
            window.response.record(value, 1);
        }
        for value in service_us {
            window.service.record(value, 1);
        }
        window.in_flight = self.pending.len() as u64;
        self.second += 1;
        window
    }

    /// Waits for unfinished requests; the rest has failed, yet the servers stay busy with it.
    fn drain(&mut self, windows: &mut Vec<Window>) {
        for _ in 0..DRAIN_S_MAX {
            if self.pending.is_empty() {
                return;
            }
            let window = self.open_window();
            windows.push(self.close_window(window));
        }
        let now_ns = u64::from(self.second) * SECOND_NS;
        if let Some(last) = windows.last_mut() {
            for Reverse(request) in self.pending.drain() {
                last.outcomes.add(Outcome::Timeout);
                last.failed.record((now_ns - request.due_ns) / 1000, 1);
            }
            last.in_flight = 0;
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time of a queue is positive and far below 584 years"
)]
fn whole_ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// Response times in milliseconds, ascending, of five seconds of 100 requests per second, Poisson by `arrivals`, at a single
/// server that takes `service_ms` for each. Equal arrivals make two services comparable request by request.
pub fn times_of_a_trial(arrivals: Seed, service_ms: f64) -> Vec<f64> {
    let mut random = arrivals.generator();
    let (mut wait_ms, mut times) = (0.0_f64, Vec::with_capacity(REQUESTS));
    for _ in 0..REQUESTS {
        times.push(wait_ms + service_ms);
        let gap_ms = -10.0 * (1.0 - random.random::<f64>()).ln();
        wait_ms = (wait_ms + service_ms - gap_ms).max(0.0);
    }
    times.sort_by(f64::total_cmp);
    times
}

/// Requests of a trial.
const REQUESTS: usize = 500;

/// p50, p95 and p99 in milliseconds of [`times_of_a_trial`].
pub fn quantiles_of_a_trial(arrivals: Seed, service_ms: f64) -> [f64; 3] {
    quantiles_of(&times_of_a_trial(arrivals, service_ms))
}

/// p50, p95 and p99 of ascending times of a trial.
pub fn quantiles_of(times: &[f64]) -> [f64; 3] {
    [500, 950, 990].map(|per_mille| times[times.len() * per_mille / 1000])
}

/// Times in milliseconds as a histogram.
pub fn histogram_of(times: &[f64]) -> Histogram {
    let mut histogram = Histogram::new();
    for time in times {
        histogram.record(whole_ns(time / 1000.0) / 1000, 1);
    }
    histogram
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(kind: TrialKind, rate: f64, measure_s: u32) -> TrialSpec {
        TrialSpec {
            kind,
            rate,
            unit: LoadUnit::RequestsPerSecond,
            per_unit: 1.0,
            ramp_s: 0,
            warmup_s: 0,
            measure_s,
            stop_early: false,
            in_flight_cap: u64::MAX,
        }
    }

    fn queue(servers: usize, service: Distribution, seed: u64) -> SimulatedQueue {
        let law = SimulatedLaw {
            servers,
            service,
            mean_s: 0.01,
        };
        SimulatedQueue::new(law, Spacing::Poisson, Seed(seed))
    }

    #[test]
    fn one_server_answers_as_its_law_says() {
        // M/M/1 at ρ = 0.6: mean response 1/(μ − λ) = 25 ms, mean in flight ρ/(1 − ρ) = 1.5.
        let mut queue = queue(1, Distribution::Exponential, 1);
        let windows = queue.run(&spec(TrialKind::Refine, 60.0, 5000), |_| false);
        let (mut sum, mut count, mut in_flight) = (0.0, 0.0, 0.0);
        for window in &windows {
            let answers = window.response.count() as f64;
            sum += window.response.mean().unwrap_or(0.0) * answers;
            count += answers;
            in_flight += window.in_flight_mean / windows.len() as f64;
        }
        assert!(
            (sum / count / 25_000.0 - 1.0).abs() < 0.03,
            "{}",
            sum / count
        );
        assert!((in_flight / 1.5 - 1.0).abs() < 0.03, "{in_flight}");
    }

    #[test]
    fn nothing_is_lost_and_an_overload_is_carried_over() {
        let mut queue = queue(1, Distribution::Deterministic, 2);
        let overload = queue.run(&spec(TrialKind::Refine, 300.0, 20), |_| false);
        let offered: u64 = overload.iter().map(|window| window.offered).sum();
        let ended: u64 = overload.iter().map(Window::completed).sum();
        assert_eq!(offered, ended);
        // Two thirds of 6,000 wait at the end; a second of drain serves a hundred.
        assert_eq!(overload.len(), 30);
        let calm = queue.run(&spec(TrialKind::Recovery, 10.0, 60), |_| false);
        let answered = calm.iter().position(|window| !window.response.is_empty());
        assert!((27..=33).contains(&answered.unwrap()), "{answered:?}");
    }

    #[test]
    fn one_client_never_waits() {
        let mut queue = queue(2, Distribution::Deterministic, 3);
        let windows = queue.run(&spec(TrialKind::Single, 0.0, 3), |_| false);
        assert_eq!(windows[1].response.count(), 100);
        assert_eq!(windows[1].response.max(), Some(bucket_top(10_000)));
        assert!((windows[1].in_flight_mean - 1.0).abs() < 1e-6);
    }

    #[test]
    fn users_ask_as_their_law_says() {
        // M/M/1//2 with S = 10 ms and Z = 20 ms: X = 0.6/S and R = 4/3 S, as the machine repairman knows.
        let mut queue = queue(1, Distribution::Exponential, 5).with_think_s(0.02);
        let users = TrialSpec {
            unit: LoadUnit::Users,
            ..spec(TrialKind::Refine, 2.0, 2000)
        };
        let windows = queue.run(&users, |_| false);
        let asked: u64 = windows.iter().map(|window| window.offered).sum();
        assert!((asked as f64 / 2000.0 / 60.0 - 1.0).abs() < 0.02, "{asked}");
        let in_flight: f64 = windows.iter().map(|window| window.in_flight_mean).sum();
        assert!((in_flight / 2000.0 / 0.8 - 1.0).abs() < 0.02, "{in_flight}");
        assert!(windows[..2000].iter().all(|window| window.users == 2));
    }

    #[test]
    fn a_trial_stops_when_told() {
        let mut queue = queue(1, Distribution::Exponential, 4);
        let windows = queue.run(&spec(TrialKind::Bracket, 10.0, 60), |so_far| {
            so_far.len() == 7
        });
        assert!((7..=8).contains(&windows.len()));
        assert_eq!(queue.second() as usize, windows.len());
    }
}
