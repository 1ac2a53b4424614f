//! One run: a process under a low load, then strained; load engine, probe and rules as in a real run.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_analysis::findings::{Context, Stretches, find_in};
use plimsoll_model::finding::Finding;
use plimsoll_model::metric;
use plimsoll_model::objective::{LatencyBound, Objective};
use plimsoll_model::plan::{Load, Plan, Transport};
use plimsoll_model::reading::SeriesTable;
use plimsoll_model::schedule::{LoadPhase, Spacing};
use plimsoll_model::seed::Seed;
use plimsoll_model::window::Window;
use plimsoll_probe::{Probe, ProbePlan};
use plimsoll_testkit::plan::get_root;

use crate::clock;
use crate::strain;

/// Seconds of low load.
const BASE_S: u32 = 2;
/// Seconds of strain.
const FAILING_S: u32 = 4;
const BOUND: Duration = Duration::from_millis(500);
/// Share of all CPUs that may be busy before the strain where a case has the machine for itself.
const BUSY_MAX: f64 = 0.25;
/// Share of all CPUs that nobody of the case uses in any second then: the kernel counts work for the network as nobody's.
const OTHERS_MAX: f64 = 0.5;
/// Rules about what all programs of a machine share: its CPUs, memory and disks, and the time of the hypervisor. Other work
/// can bring each of them up at any time, and its finding is true then.
pub(crate) const SHARED: [&str; 8] = ["C1", "C4", "D1", "D2", "D3", "G1", "M1", "M3"];

/// The strained process.
pub(crate) struct Strained {
    child: Child,
    pub(crate) address: SocketAddr,
}

/// How the process is set up.
pub(crate) struct Setup<'a> {
    pub(crate) backlog: u32,
    /// 0 for any.
    pub(crate) port: u16,
    /// Limit of descriptors; 0 for the one inherited.
    pub(crate) files: u32,
    pub(crate) strain: &'a [&'a str],
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Self {
            backlog: 1024,
            port: 0,
            files: 0,
            strain: &["none"],
        }
    }
}

impl Strained {
    pub(crate) fn start(setup: &Setup<'_>) -> Self {
        let own = std::env::current_exe().expect("a process knows its program");
        let mut child = Command::new(own)
            .arg(strain::WORD)
            .args([
                setup.backlog.to_string(),
                setup.port.to_string(),
                setup.files.to_string(),
            ])
            .args(setup.strain)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the process starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("standard output is piped");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("the process says where it listens");
        let address = line.trim().parse().expect("it says an address");
        Self { child, address }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn begin(&mut self) {
        let stdin = self.child.stdin.as_mut().expect("standard input is piped");
        stdin.write_all(b"begin\n").expect("the process listens");
    }
}

impl Drop for Strained {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The load on it.
pub(crate) struct Offered {
    /// Requests per second while the process is strained; before, a tenth of it, at most 20.
    pub(crate) rate: f64,
    /// Requests on one connection; 0 for no bound.
    pub(crate) per_connection: u32,
    pub(crate) connections_max: u32,
}

impl Default for Offered {
    fn default() -> Self {
        Self {
            rate: 100.0,
            per_connection: 0,
            connections_max: 1000,
        }
    }
}

/// The observation.
pub(crate) struct Diagnosis {
    pub(crate) findings: Vec<Finding>,
    readings: SeriesTable,
    notes: Vec<String>,
}

/// Runs the scene.
pub(crate) fn play(process: &mut Strained, offered: &Offered) -> Diagnosis {
    let plan = Arc::new(plan(process.address, offered));
    let mut probe = Probe::open(ProbePlan {
        target_address: Some(process.address),
        ..ProbePlan::default()
    });
    assert_eq!(probe.target_pids(), [process.pid()], "{:?}", probe.notes());
    let mut running = plimsoll_load::start(plimsoll_load::Job {
        load: plan.load.clone(),
        seed: plan.seed,
        plan,
        epoch: clock::soon(),
        start_second: 0,
        inputs: Arc::default(),
    })
    .expect("the load starts");
    // Totals to which the first window's end is compared.
    probe.read(0);
    let mut readings = SeriesTable::default();
    let mut windows: Vec<Window> = Vec::new();
    while let Some(window) = running.next_window() {
        readings.push(&probe.read(window.second));
        if window.second + 1 == BASE_S {
            process.begin();
        }
        windows.push(window);
    }
    let stretches = Stretches {
        base: vec![(0, BASE_S)],
        passing: None,
        failing: Some((BASE_S, BASE_S + FAILING_S)),
    };
    let context = Context {
        target: process.address.to_string(),
        bound_us: Some(u64::try_from(BOUND.as_micros()).expect("a short time")),
        open: true,
        robbed: false,
    };
    Diagnosis {
        findings: find_in(&readings, &windows, &stretches, &context),
        readings,
        notes: probe.notes(),
    }
}

impl Diagnosis {
    /// Whether other work used this machine, so that its CPU readings are void.
    pub(crate) fn is_disturbed(&self) -> bool {
        let disturbed = self.is_beside_others();
        if disturbed {
            plimsoll_testkit::not_tried::not_tried(format_args!(
                "what needs CPUs of one's own: other work used {:.0} % of them",
                self.others() * 100.0
            ));
        }
        disturbed
    }

    fn is_beside_others(&self) -> bool {
        self.mean(metric::CPU_BUSY, 0, BASE_S) > BUSY_MAX || self.others() > OTHERS_MAX
    }

    /// The most of all CPUs that neither target nor generator used in a second.
    fn others(&self) -> f64 {
        let own = [metric::TARGET, metric::GENERATOR]
            .map(|process| metric::series(metric::PROCESS_CPU, &[("process", process)]));
        let at = |series: &str, second: u32| {
            let values = self.readings.between(series, second, second + 1);
            values.first().copied().unwrap_or(0.0)
        };
        let others = (0..BASE_S + FAILING_S).map(|second| {
            let own: f64 = own.iter().map(|series| at(series, second)).sum();
            at(metric::CPU_BUSY, second) - own
        });
        others.fold(0.0, f64::max)
    }

    /// The findings of what a case strains: without those that other work on the machine has brought up, where there was some.
    /// A late generator is always left out: any other thread can make it late for a moment.
    fn own_findings(&self) -> impl Iterator<Item = &Finding> {
        let is_beside_others = self.is_beside_others();
        self.findings.iter().filter(move |found| {
            let rule = found.rule.as_str();
            rule != "G1" && !(is_beside_others && SHARED.contains(&rule))
        })
    }

    /// What a finding is the consequence of, unless other work on the machine has brought that up.
    pub(crate) fn cause_of<'f>(&self, found: &'f Finding) -> Option<&'f str> {
        let cause = found.consequence_of.as_deref()?;
        let is_own = self.own_findings().any(|own| own.rule == cause);
        is_own.then_some(cause)
    }

    /// Mean of a series while the process was strained.
    pub(crate) fn strained(&self, series: &str) -> f64 {
        self.mean(series, BASE_S, BASE_S + FAILING_S)
    }

    fn mean(&self, series: &str, from: u32, to: u32) -> f64 {
        let values = self.readings.between(series, from, to);
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// The finding of a rule.
    pub(crate) fn finding(&self, rule: &str) -> &Finding {
        self.findings
            .iter()
            .find(|finding| finding.rule == rule)
            .unwrap_or_else(|| panic!("no {rule} in {:#?}; notes {:?}", self.findings, self.notes))
    }

    /// The best of its own findings must be of this rule and contain this text.
    pub(crate) fn best_is(&self, rule: &str, expected: &str) {
        let found = self.finding(rule);
        assert!(
            found.sentence.contains(expected),
            "{expected:?} not in {found:#?}"
        );
        assert_eq!(
            self.own_findings().next(),
            Some(found),
            "{:#?}",
            self.findings
        );
    }
}

fn plan(address: SocketAddr, offered: &Offered) -> Plan {
    let second = Duration::from_secs(1);
    let low = (offered.rate / 10.0).min(20.0);
    let base = get_root(address);
    Plan {
        transport: Transport {
            timeout: BOUND,
            connect_timeout: BOUND,
            connections_max: offered.connections_max,
            requests_per_connection: offered.per_connection,
            ..base.transport
        },
        load: Load::Open {
            phases: vec![
                LoadPhase::constant(low, BASE_S * second),
                LoadPhase::constant(offered.rate, FAILING_S * second),
            ],
            spacing: Spacing::Even,
        },
        objective: Some(Objective {
            latency: vec![LatencyBound {
                quantile: 0.95,
                within_us: u64::try_from(BOUND.as_micros()).expect("a short time"),
            }],
            errors_max: Some(0.01),
            ..Objective::default()
        }),
        seed: Seed(7),
        ..base
    }
}
