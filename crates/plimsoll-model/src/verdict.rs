//! Judgements: of one trial, and of a whole run.

use serde::{Deserialize, Serialize};

/// Why a measurement is not valid for the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum VoidReason {
    /// The generator took arrivals up too late.
    GeneratorLag {
        /// 99th percentile of the lag, ms.
        lag_ms_p99: f64,
        /// Highest lag that is still valid, ms.
        bound_ms: f64,
    },
    /// The generator had no CPU to spare.
    GeneratorCpu {
        /// Share of its cores that it used, 0 to 1.
        share: f64,
    },
    /// The generator ran out of local ports.
    GeneratorPorts {
        /// Connections that failed for it.
        failures: u64,
    },
    /// The generator ran out of file descriptors.
    GeneratorDescriptors {
        /// Connections that failed for it.
        failures: u64,
    },
    /// The hypervisor gave this machine's CPU to others.
    Steal {
        /// Share of seconds with more than 5 % stolen.
        seconds_share: f64,
    },
    /// The CPU quota of its cgroup stopped the generator.
    Throttled {
        /// Share of seconds in which it did so in more than 5 % of its periods.
        seconds_share: f64,
    },
    /// No steady state was found, even after the trial was extended.
    NotSteady,
    /// Too few requests for the objective's quantile.
    TooFewRequests {
        /// Requests measured.
        requests: u64,
        /// Requests needed.
        needed: u64,
    },
    /// Requests in flight do not agree with throughput times response time (Little's law).
    LittlesLaw {
        /// Measured in flight over throughput × response time.
        ratio: f64,
    },
    /// The generator alone, against a server that does nothing, cannot offer twice the rate.
    SelfTest {
        /// Rate the generator reached, 1/s.
        reached: f64,
        /// Rate it would need, 1/s.
        needed: f64,
    },
    /// An external script had no CPU to spare: users waited for it, not for the target.
    ProcessCpu {
        /// Share of one CPU that the busiest of them used, 0 to 1.
        share: f64,
    },
    /// The browsers of the plan used CPU that was missing to others.
    BrowserCpu {
        /// Share of seconds in which they used more than 5 % of a machine that had none to spare.
        seconds_share: f64,
    },
    /// One of several hosts that carried the load, or its generator, was at fault.
    Worker {
        /// Its name.
        name: String,
        /// What was wrong there.
        reason: Box<VoidReason>,
    },
    /// The load, or a part of it, ended early.
    CutShort {
        /// What ended it.
        why: String,
    },
    /// The measurement was cut short.
    Interrupted,
}

impl VoidReason {
    /// Whether the generator lacked something, so that less load would remove the cause.
    pub fn is_of_generator(&self) -> bool {
        match self {
            Self::GeneratorLag { .. }
            | Self::GeneratorCpu { .. }
            | Self::GeneratorPorts { .. }
            | Self::GeneratorDescriptors { .. }
            | Self::Throttled { .. } => true,
            Self::Worker { reason, .. } => reason.is_of_generator(),
            _ => false,
        }
    }
}

impl std::fmt::Display for VoidReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::GeneratorLag {
                lag_ms_p99,
                bound_ms,
            } => write!(
                f,
                "the generator was late: p99 of the lag {lag_ms_p99:.1} ms, valid: at most {bound_ms:.1} ms; give \
                 it more cores (--cores), a machine of its own, or users who do not act in step (a range for \
                 `think`)"
            ),
            Self::GeneratorCpu { share } => write!(
                f,
                "the generator used {:.0} % of its CPU, valid: at most 85 %; give it more cores (--cores) or a \
                 machine of its own",
                share * 100.0
            ),
            Self::GeneratorPorts { failures } => write!(
                f,
                "the generator ran out of local ports {failures} times; keep connections alive, add source \
                 addresses (--source) or widen net.ipv4.ip_local_port_range"
            ),
            Self::GeneratorDescriptors { failures } => write!(
                f,
                "the generator ran out of file descriptors {failures} times; raise its limit (ulimit -n) or lower \
                 --max-connections"
            ),
            Self::Steal { seconds_share } => write!(
                f,
                "the hypervisor took more than 5 % of the CPU in {:.0} % of the seconds; use a machine of your own",
                seconds_share * 100.0
            ),
            Self::Throttled { seconds_share } => write!(
                f,
                "the CPU quota of its cgroup stopped the generator in more than 5 % of the quota's periods, in {:.0} % of the \
                 seconds; raise the quota (`cpu.max`, `limits.cpu`), or give the generator no more event loops (--cores) than the \
                 quota has CPUs",
                seconds_share * 100.0
            ),
            Self::NotSteady => {
                f.write_str("response times reached no steady state; measure longer (--thorough)")
            }
            Self::TooFewRequests { requests, needed } => write!(
                f,
                "{requests} requests are too few for the objective's quantile, {needed} are needed; measure longer"
            ),
            Self::LittlesLaw { ratio } => write!(
                f,
                "requests in flight are {ratio:.2} times throughput × response time, valid: 0.95 to 1.05; the clock \
                 or the machine was disturbed"
            ),
            Self::SelfTest { reached, needed } => write!(
                f,
                "the generator reaches {reached:.0}/s against a server that does nothing, {needed:.0}/s are \
                 needed; give it more cores (--cores) or a machine of its own"
            ),
            Self::ProcessCpu { share } => write!(
                f,
                "an external script used {:.0} % of a CPU, valid: at most 85 %: users waited for it, not for the \
                 target; give it less work, or start more of its processes (processes)",
                share * 100.0
            ),
            Self::BrowserCpu { seconds_share } => f.write_str(&browser_cpu_text(*seconds_share)),
            Self::Worker { name, reason } => write!(f, "worker {name}: {reason}"),
            Self::CutShort { why } => write!(f, "not all of the load was carried out: {why}"),
            Self::Interrupted => f.write_str("the measurement was interrupted"),
        }
    }
}

fn browser_cpu_text(seconds_share: f64) -> String {
    format!(
        "the browsers used more than 5 % of a machine that was busy for more than 85 %, in {:.0} % of the seconds; let \
         them pause longer (`think` below `browser`), take fewer of them (`users`), or run Plimsoll on another \
         machine than the target",
        seconds_share * 100.0
    )
}

/// Why a trial broke the objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailReason {
    /// Too many requests were slow or failed.
    Latency,
    /// Too many requests failed.
    Errors,
    /// The objective of a journey, step or group was missed.
    Threshold,
    /// Requests pile up: the number in flight grows steadily.
    Backlog,
    /// More requests in flight than the cap.
    InFlightCap,
}

/// Judgement of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum TrialVerdict {
    /// The objective was met.
    Pass,
    /// The objective was broken.
    Fail {
        /// First reason that held.
        reason: FailReason,
    },
    /// Neither: the measurement is not valid.
    Void {
        /// Every reason that held.
        reasons: Vec<VoidReason>,
    },
}

impl TrialVerdict {
    /// Whether the objective was met.
    pub fn is_pass(&self) -> bool {
        matches!(self, Self::Pass)
    }

    /// Whether the objective was broken.
    pub fn is_fail(&self) -> bool {
        matches!(self, Self::Fail { .. })
    }

    /// Whether the measurement is not valid.
    pub fn is_void(&self) -> bool {
        matches!(self, Self::Void { .. })
    }

    /// `pass`, `fail` or `void`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail { .. } => "fail",
            Self::Void { .. } => "void",
        }
    }
}

/// Judgement of a whole run; the command line maps it to an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Objective met, or nothing to judge.
    Met,
    /// Objective missed.
    Missed,
    /// Too little evidence either way.
    Undecided,
    /// Nothing ever connected.
    Unreachable,
    /// The measurement is not valid.
    Void,
    /// Stopped by the user.
    Interrupted,
}
