//! Whether two runs measured the same thing on the same class of machine; every difference is named.
//!
//! The address of the service may differ (two servers are compared by their addresses), and so may name and seed. All that
//! makes the work of a request, the load or the judgement may not.

use std::fmt::Debug;

use plimsoll_model::event::Header;
use plimsoll_model::plan::{Load, LoadUnit, Plan, RequestPlan};
use plimsoll_model::run::Run;

/// Longest value that is quoted, characters.
const QUOTED_MAX: usize = 120;
/// Share by which the memory of equal machines differs: kernels reserve different parts of it.
const MEMORY_SHARE: f64 = 0.02;
/// Facts that make a class of machine, with their names for people.
const MACHINE_FACTS: [(&str, &str); 6] = [
    ("architecture", "processor architecture"),
    ("cpu_model", "processor"),
    ("cores", "cores of the machine"),
    ("cores_allowed", "cores that may be used"),
    ("cgroup_cpu_quota", "CPU quota of the cgroup"),
    ("memory_bytes", "memory of the machine, bytes"),
];
/// Headers that name the service, not the request.
const ADDRESS_HEADERS: [&str; 2] = ["host", "origin"];

/// Something in which two runs differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanDifference {
    what: String,
    baseline: String,
    candidate: String,
    is_of_machine: bool,
}

impl PlanDifference {
    /// What differs, such as `objective`.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Its value in the baseline.
    pub fn baseline(&self) -> &str {
        &self.baseline
    }

    /// Its value in the candidate.
    pub fn candidate(&self) -> &str {
        &self.candidate
    }

    /// Whether it belongs to the class of machine, which may differ on purpose.
    pub fn is_of_machine(&self) -> bool {
        self.is_of_machine
    }
}

/// All in which the runs differ so that their results differ with it.
pub fn differences(baseline: &Run, candidate: &Run) -> Vec<PlanDifference> {
    let (before, after) = (&baseline.header, &candidate.header);
    let mut list = DifferenceList::default();
    list.compare("command", &before.command, &after.command);
    if !list.0.is_empty() {
        // Everything else follows from it.
        return list.0;
    }
    request(&mut list, &before.plan.request, &after.plan.request);
    scenario(&mut list, &before.plan, &after.plan);
    load(&mut list, before, after);
    judgement(&mut list, &before.plan, &after.plan);
    transport(&mut list, &before.plan, &after.plan);
    machine(&mut list, before, after);
    list.0
}

#[derive(Default)]
struct DifferenceList(Vec<PlanDifference>);

impl DifferenceList {
    fn compare<T: PartialEq + ToString>(&mut self, what: &str, baseline: &T, candidate: &T) {
        if baseline != candidate {
            self.add(what, baseline.to_string(), candidate.to_string());
        }
    }

    /// The same of values that people know by their `Debug` form, or not at all.
    fn compare_debug<T: PartialEq + Debug>(&mut self, what: &str, baseline: &T, candidate: &T) {
        if baseline != candidate {
            self.add(what, format!("{baseline:?}"), format!("{candidate:?}"));
        }
    }

    fn add(&mut self, what: &str, baseline: String, candidate: String) {
        self.0.push(PlanDifference {
            what: what.to_owned(),
            baseline: quoted(baseline),
            candidate: quoted(candidate),
            is_of_machine: false,
        });
    }
}

fn quoted(text: String) -> String {
    match text.char_indices().nth(QUOTED_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn request(list: &mut DifferenceList, before: &RequestPlan, after: &RequestPlan) {
    list.compare("method", &before.method, &after.method);
    if before.paths != after.paths {
        let pair = before
            .paths
            .iter()
            .zip(&after.paths)
            .find(|(before, after)| before != after);
        if let Some((before, after)) = pair {
            list.add("path", before.clone(), after.clone());
        } else {
            let count = |paths: &[String]| format!("{} paths", paths.len());
            list.add("paths", count(&before.paths), count(&after.paths));
        }
    }
    list.compare_debug("order of the paths", &before.order, &after.order);
    if before.body != after.body {
        let text = |body: &[u8]| String::from_utf8_lossy(body).into_owned();
        list.add("body", text(&before.body), text(&after.body));
    }
    let (before_headers, after_headers) = (headers(before), headers(after));
    if before_headers != after_headers {
        let only = |these: &[String], others: &[String]| {
            let rest: Vec<&str> = these
                .iter()
                .filter(|header| !others.contains(header))
                .map(String::as_str)
                .collect();
            if rest.is_empty() {
                "none".to_owned()
            } else {
                rest.join(", ")
            }
        };
        list.add(
            "headers",
            only(&before_headers, &after_headers),
            only(&after_headers, &before_headers),
        );
    }
    list.compare(
        "redirects followed",
        &before.redirects_max,
        &after.redirects_max,
    );
}

fn headers(request: &RequestPlan) -> Vec<String> {
    request
        .headers
        .iter()
        .filter(|(name, _)| {
            !ADDRESS_HEADERS
                .iter()
                .any(|address| name.eq_ignore_ascii_case(address))
        })
        .map(|(name, value)| format!("{}: {value}", name.to_ascii_lowercase()))
        .collect()
}

/// Journeys are compared as wholes: their tables (steps, slots, feeds) follow from them, and steps that an external script
/// names are found in another order each time.
fn scenario(list: &mut DifferenceList, before: &Plan, after: &Plan) {
    let journeys = |plan: &Plan| -> Vec<String> {
        let scenario = plan.scenario.iter();
        scenario
            .flat_map(|scenario| &scenario.journeys)
            .map(|journey| journey.name.clone())
            .collect()
    };
    let (before_names, after_names) = (journeys(before), journeys(after));
    if before_names != after_names {
        let names = |names: &[String]| match names {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        list.add("journeys", names(&before_names), names(&after_names));
        return;
    }
    let (Some(before), Some(after)) = (&before.scenario, &after.scenario) else {
        return;
    };
    for (before, after) in before.journeys.iter().zip(&after.journeys) {
        if before == after {
            continue;
        }
        let steps = |count: usize| format!("{count} steps");
        let (count_before, count_after) = (before.steps.len(), after.steps.len());
        let what = format!("journey {}", before.name);
        if count_before == count_after {
            let text = "its steps or settings".to_owned();
            list.add(&what, text, "others".to_owned());
        } else {
            list.add(&what, steps(count_before), steps(count_after));
        }
    }
    if before.thresholds != after.thresholds {
        let count = |count: usize| format!("{count} objectives of journeys, steps and groups");
        list.add(
            "thresholds",
            count(before.thresholds.len()),
            count(after.thresholds.len()),
        );
    }
}

fn load(list: &mut DifferenceList, before: &Header, after: &Header) {
    if before.command == "limit" {
        let unit = |header: &Header| {
            header
                .plan
                .find
                .map_or(LoadUnit::default(), |find| find.unit)
        };
        let symbol = |header: &Header| unit(header).symbol().to_owned();
        list.compare("unit of the search", &symbol(before), &symbol(after));
        if unit(before) == LoadUnit::RequestsPerSecond {
            return;
        }
    }
    let (before, after) = (&before.plan.load, &after.plan.load);
    if before != after {
        list.add("load", load_text(before), load_text(after));
    }
}

/// A load in short; equal texts of different loads get their details.
fn load_text(load: &Load) -> String {
    let seconds = load.lasting().as_secs_f64();
    let rates = |phases: &[plimsoll_model::schedule::LoadPhase]| {
        let texts: Vec<String> = phases
            .iter()
            .map(|phase| {
                if (phase.from - phase.to).abs() < f64::EPSILON {
                    format!("{}/s", phase.from)
                } else {
                    format!("{}/s to {}/s", phase.from, phase.to)
                }
            })
            .collect();
        texts.join(", ")
    };
    match load {
        Load::Open { phases, spacing } => {
            format!("{} ({spacing:?}) for {seconds} s", rates(phases))
        }
        Load::Sessions { phases, .. } => format!("{} sessions for {seconds} s", rates(phases)),
        Load::Closed {
            connections, think, ..
        } => format!("{connections} connections, think {think:?}, for {seconds} s"),
        Load::Users { phases, .. } => {
            let users: Vec<String> = phases
                .iter()
                .map(|phase| format!("{} to {}", phase.from, phase.to))
                .collect();
            format!("{} users for {seconds} s", users.join(", "))
        }
        Load::WebSockets(_) => format!("WebSockets for {seconds} s"),
    }
}

fn judgement(list: &mut DifferenceList, before: &Plan, after: &Plan) {
    let objective = |plan: &Plan| {
        let objective = plan.objective.as_ref();
        objective.map_or_else(|| "none".to_owned(), ToString::to_string)
    };
    list.compare("objective", &objective(before), &objective(after));
    let good = |plan: &Plan| {
        let ranges = plan.good.ranges.iter();
        let texts: Vec<String> = ranges.map(|(low, high)| format!("{low}-{high}")).collect();
        texts.join(", ")
    };
    list.compare("good statuses", &good(before), &good(after));
    list.compare_debug("warm-up", &before.warmup, &after.warmup);
}

fn transport(list: &mut DifferenceList, before: &Plan, after: &Plan) {
    let (before, after) = (&before.transport, &after.transport);
    list.compare_debug("time-out", &before.timeout, &after.timeout);
    list.compare(
        "most connections",
        &before.connections_max,
        &after.connections_max,
    );
    list.compare(
        "requests by connection",
        &before.requests_per_connection,
        &after.requests_per_connection,
    );
    list.compare_debug("HTTP/2", &before.http2, &after.http2);
}

fn machine(list: &mut DifferenceList, before: &Header, after: &Header) {
    for (fact, what) in MACHINE_FACTS {
        let value = |header: &Header| header.host.get(fact).cloned().unwrap_or_default();
        let (before, after) = (value(before), value(after));
        if before == after || (fact == "memory_bytes" && is_near(&before, &after)) {
            continue;
        }
        let text = |value: String| {
            if value.is_empty() {
                "not known".to_owned()
            } else {
                quoted(value)
            }
        };
        list.0.push(PlanDifference {
            what: what.to_owned(),
            baseline: text(before),
            candidate: text(after),
            is_of_machine: true,
        });
    }
}

fn is_near(before: &str, after: &str) -> bool {
    match (before.parse::<f64>(), after.parse::<f64>()) {
        (Ok(before), Ok(after)) => (before - after).abs() <= MEMORY_SHARE * before.max(after),
        _ => false,
    }
}
