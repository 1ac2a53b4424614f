//! What a simulation has found, as plain data.

/// A mean, and the half of its interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanInterval {
    /// The mean.
    pub mean: f64,
    /// Half of the width of its interval.
    pub half: f64,
}

impl MeanInterval {
    /// Half of the width as a share of the mean; 0 when both are 0.
    pub fn relative(&self) -> f64 {
        if self.half <= 0.0 {
            return 0.0;
        }
        self.half / self.mean.abs()
    }
}

/// Times in ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimesMs {
    /// Number of times.
    pub count: u64,
    /// The mean.
    pub mean: f64,
    /// Lower and upper end of the mean's interval of 95 %; `None` with too few times.
    pub mean_interval: Option<(f64, f64)>,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// What a tier did.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedTier {
    /// Its name.
    pub name: String,
    /// Requests that reached it, per second.
    pub rate: f64,
    /// From the arrival of a request to its answer, its calls included; `None` without answers.
    pub response_ms: Option<TimesMs>,
    /// From the arrival of a request to the begin of its service; `None` when none began.
    pub wait_ms: Option<TimesMs>,
    /// Share of its servers that are taken, on average: by service, or by a blocking call without threads.
    pub busy: f64,
    /// Share of its servers that serve, on average. What `busy` has beyond it waits for calls.
    pub serving: f64,
    /// Share of its threads that are taken, on average; `None` without threads.
    pub threads_busy: Option<f64>,
    /// Requests that wait, on average.
    pub waiting: f64,
    /// Requests that were refused because the queue was full.
    pub refused: u64,
    /// Requests that waited too long.
    pub timed_out: u64,
    /// Requests that failed because a call failed.
    pub call_failed: u64,
}

/// What clients of a region got.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedRegion {
    /// Its name; `None` where clients are beside the service.
    pub name: Option<String>,
    /// Good answers, from the first attempt; `None` without any.
    pub response_ms: Option<TimesMs>,
    /// Requests that failed for good.
    pub failed: u64,
}

/// Why a simulation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Each mean is known well enough.
    Precise,
    /// The given time of the world is over.
    TimeOver,
    /// After the most events: the means are known less well than wanted, or the given time is not over.
    EventsOver,
    /// Too many requests wait: the backlog grows.
    Backlog,
}

/// What a simulation has found.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// Time of the world that is measured, s.
    pub measured_s: f64,
    /// Time of the world before it, s.
    pub warmup_s: f64,
    /// Events of the whole simulation.
    pub events: u64,
    /// Why it ended.
    pub ending: Ending,
    /// Widest interval of all means, as a share of its mean: 0.005 for ±0.5 %; `None` with too few answers.
    pub precision: Option<f64>,
    /// Good answers of all clients, from the first attempt; `None` without any.
    pub response_ms: Option<TimesMs>,
    /// Requests of clients that ended in the measured time, each with its repetitions.
    pub requests: u64,
    /// Of them failed for good.
    pub failed: u64,
    /// Attempts that clients gave up.
    pub given_up: u64,
    /// Attempts of clients per second, repetitions included.
    pub attempts_per_s: f64,
    /// Whether the objective holds; `None` without requests.
    pub objective_holds: Option<bool>,
    /// Tiers in the order of the world.
    pub tiers: Vec<SimulatedTier>,
    /// Groups of clients in the order of the world.
    pub regions: Vec<SimulatedRegion>,
}
