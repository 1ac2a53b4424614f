//! What browsers measured beside the load: by page, over the visits that ended in judged seconds.
//!
//! Visits are few, so quantiles are values that were measured (nearest rank), and not buckets of a histogram. The field
//! judges pages by their 75th percentile (Core Web Vitals).

use std::collections::BTreeMap;

use plimsoll_model::browser::{BrowserPlan, PageVisit, PageWeight};
use plimsoll_model::metric;
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::run::Run;
use plimsoll_model::trial::Trial;

use super::{MeasuredSpan, is_trial_judged};

/// Kinds of failed resources of a page that are shown.
const FAILED_RESOURCES_MAX: usize = 5;

/// What the browsers of a run measured.
#[derive(Clone, Debug, PartialEq)]
pub struct BrowserSummary {
    /// Users of the plan.
    pub users: u32,
    /// All pages together.
    pub all: PageSummary,
    /// Each page, in the order of the plan; empty with one page.
    pub pages: Vec<(String, PageSummary)>,
    /// All pages at each load of valid trials, or of steps, in ascending order; empty without trials.
    pub loads: Vec<LoadPages>,
    /// Share of all CPUs that the browsers used on average, 0 to 1; `None` without readings.
    pub cpu: Option<f64>,
    /// The same in the second in which it was most.
    pub cpu_max: Option<f64>,
}

/// What browsers measured at a load.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPages {
    /// The load, in its unit.
    pub load: f64,
    /// Unit of the load.
    pub unit: LoadUnit,
    /// All pages together.
    pub pages: PageSummary,
}

/// What browsers measured on a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageSummary {
    /// Visits that ended.
    pub visits: u64,
    /// Of these, visits whose page was not ready, by reason.
    pub failures: BTreeMap<String, u64>,
    /// From the beginning of a visit until the page was ready, µs. This and what follows is of ready pages alone.
    pub ready_us: Option<VisitQuantiles>,
    /// Until the first byte of the document, µs.
    pub first_byte_us: Option<VisitQuantiles>,
    /// Until the first contentful paint, µs.
    pub first_contentful_paint_us: Option<VisitQuantiles>,
    /// Until the largest contentful paint, µs.
    pub largest_contentful_paint_us: Option<VisitQuantiles>,
    /// Total blocking time: of each long task the part beyond 50 ms, µs.
    pub blocking_us: Option<VisitQuantiles>,
    /// Cumulative layout shift, millionths; `None` for logs of older versions.
    pub layout_shift_ppm: Option<VisitQuantiles>,
    /// Long tasks of all visits.
    pub long_tasks: u64,
    /// The median of each part of the weight; `None` without a ready page.
    pub weight: Option<PageWeight>,
    /// Resources that failed in all visits, those of failed visits included.
    pub resources_failed: u64,
    /// Resources of hosts that the plan does not name.
    pub resources_blocked: u64,
    /// The most frequent ones of the failed: URL, reason, visits.
    pub failed: Vec<(String, String, u64)>,
}

/// Quantiles of few values, each of them a value that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisitQuantiles {
    /// Values.
    pub count: u64,
    /// Median.
    pub p50: u64,
    /// 75th percentile.
    pub p75: u64,
    /// 95th percentile.
    pub p95: u64,
    /// Highest.
    pub max: u64,
}

impl BrowserSummary {
    /// What the browsers of `run` measured in `spans`; `None` without a browser.
    pub(super) fn of(run: &Run, spans: &[MeasuredSpan]) -> Option<Self> {
        let plan = run.header.plan.browser.as_deref()?;
        let is_judged = |visit: &&PageVisit| {
            let mut spans = spans.iter();
            spans.any(|span| (span.from..span.until).contains(&visit.second))
        };
        let visits: Vec<&PageVisit> = run.visits.iter().filter(is_judged).collect();
        let cpu: Vec<f64> = spans
            .iter()
            .flat_map(|span| {
                run.readings
                    .between(metric::BROWSER_CPU, span.from, span.until)
            })
            .collect();
        let mean = cpu.iter().sum::<f64>() / cpu.len().max(1) as f64;
        Some(Self {
            users: plan.users,
            all: PageSummary::of(&visits),
            pages: by_page(plan, &visits),
            loads: by_load(run),
            cpu: (!cpu.is_empty()).then_some(mean),
            cpu_max: cpu.into_iter().reduce(f64::max),
        })
    }
}

fn by_page(plan: &BrowserPlan, visits: &[&PageVisit]) -> Vec<(String, PageSummary)> {
    if plan.pages.len() < 2 {
        return Vec::new();
    }
    let pages = (0_u32..).zip(&plan.pages);
    pages
        .map(|(index, page)| {
            let of_page = visits.iter().copied();
            let of_page: Vec<&PageVisit> = of_page.filter(|visit| visit.page == index).collect();
            (page.clone(), PageSummary::of(&of_page))
        })
        .collect()
}

/// The visits that ended in the judged seconds of trials, by the load of these.
fn by_load(run: &Run) -> Vec<LoadPages> {
    let mut trials: Vec<&Trial> = run.trials.iter().filter(|it| is_trial_judged(it)).collect();
    trials.sort_by(|a, b| a.spec.rate.total_cmp(&b.spec.rate));
    let of_one_load = trials.chunk_by(|a, b| a.spec.rate.total_cmp(&b.spec.rate).is_eq());
    let loads = of_one_load.filter_map(|trials| {
        let spec = &trials.first()?.spec;
        let visits = run.visits.iter().filter(|visit| {
            let mut trials = trials.iter();
            trials.any(|it| (it.measured.0..it.measured.1).contains(&visit.second))
        });
        Some(LoadPages {
            load: spec.rate,
            unit: spec.unit,
            pages: PageSummary::of(&visits.collect::<Vec<_>>()),
        })
    });
    loads.filter(|load| load.pages.visits > 0).collect()
}

impl PageSummary {
    /// What these visits measured.
    pub fn of(visits: &[&PageVisit]) -> Self {
        let ready: Vec<&PageVisit> = visits
            .iter()
            .copied()
            .filter(|visit| visit.is_ready())
            .collect();
        let times = |pick: fn(&PageVisit) -> Option<u64>| {
            VisitQuantiles::of(ready.iter().filter_map(|visit| pick(visit)).collect())
        };
        let mut failures = BTreeMap::<String, u64>::new();
        for failure in visits.iter().filter_map(|visit| visit.failure.as_ref()) {
            *failures.entry(failure.to_string()).or_default() += 1;
        }
        let sum = |pick: fn(&PageVisit) -> u32| {
            visits
                .iter()
                .map(|visit| u64::from(pick(visit)))
                .sum::<u64>()
        };
        Self {
            visits: visits.len() as u64,
            failures,
            ready_us: times(|visit| visit.times.ready_us),
            first_byte_us: times(|visit| visit.times.first_byte_us),
            first_contentful_paint_us: times(|visit| visit.times.first_contentful_paint_us),
            largest_contentful_paint_us: times(|visit| visit.times.largest_contentful_paint_us),
            blocking_us: times(|visit| Some(visit.times.blocking_us)),
            layout_shift_ppm: times(|visit| visit.times.layout_shift_ppm),
            long_tasks: ready
                .iter()
                .map(|visit| u64::from(visit.times.long_tasks))
                .sum(),
            weight: median_weight(&ready),
            resources_failed: sum(|visit| visit.resources_failed),
            resources_blocked: sum(|visit| visit.resources_blocked),
            failed: most_frequent(visits),
        }
    }

    /// Long tasks of a ready page on average; `None` without any ready page.
    pub fn long_tasks_per_visit(&self) -> Option<f64> {
        let ready = self.visits.saturating_sub(self.failed_visits());
        (ready > 0).then(|| self.long_tasks as f64 / ready as f64)
    }

    /// Visits whose page was not ready.
    pub fn failed_visits(&self) -> u64 {
        self.failures.values().sum()
    }
}

/// The median of each part.
pub(crate) fn median_weight(visits: &[&PageVisit]) -> Option<PageWeight> {
    let median = |pick: fn(&PageWeight) -> u64| {
        let values = visits.iter().map(|visit| pick(&visit.weight)).collect();
        VisitQuantiles::of(values).map(|quantiles| quantiles.p50)
    };
    Some(PageWeight {
        nodes: median(|weight| weight.nodes)?,
        requests: median(|weight| weight.requests)?,
        bytes: median(|weight| weight.bytes)?,
        document_bytes: median(|weight| weight.document_bytes)?,
        document_nodes: median(|weight| weight.document_nodes)?,
    })
}

/// Failed resources by URL and reason, the most frequent first.
fn most_frequent(visits: &[&PageVisit]) -> Vec<(String, String, u64)> {
    let mut counts = BTreeMap::<(&str, &str), u64>::new();
    for resource in visits.iter().flat_map(|visit| &visit.failed) {
        *counts.entry((&resource.url, &resource.reason)).or_default() += 1;
    }
    let mut counts: Vec<(String, String, u64)> = counts
        .into_iter()
        .map(|((url, reason), count)| (url.to_owned(), reason.to_owned(), count))
        .collect();
    counts.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
    counts.truncate(FAILED_RESOURCES_MAX);
    counts
}

impl VisitQuantiles {
    /// Quantiles of values; `None` without any.
    pub fn of(mut values: Vec<u64>) -> Option<Self> {
        values.sort_unstable();
        let max = *values.last()?;
        // The nearest rank: the smallest value that at least so many of a hundred are not above.
        let at = |percent: usize| {
            let rank = (values.len() * percent).div_ceil(100).max(1);
            values.get(rank - 1).copied().unwrap_or(max)
        };
        Some(Self {
            count: values.len() as u64,
            p50: at(50),
            p75: at(75),
            p95: at(95),
            max,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::browser::{FailedResource, PageTimes, VisitFailure};
    use plimsoll_model::reading::Readings;
    use plimsoll_model::trial::{Percentiles, TrialKind, TrialSpec};
    use plimsoll_model::verdict::TrialVerdict;
    use plimsoll_model::window::Window;

    use super::*;
    use crate::summary::Summary;
    use crate::summary::tests::run;

    fn visit(second: u32, page: u32, ready_ms: u64) -> PageVisit {
        PageVisit {
            second,
            page,
            times: PageTimes {
                ready_us: Some(ready_ms * 1000),
                long_tasks: 1,
                blocking_us: 10_000,
                layout_shift_ppm: Some(ready_ms),
                ..PageTimes::default()
            },
            weight: PageWeight {
                nodes: 600 + u64::from(page),
                requests: 3,
                bytes: 4000,
                document_bytes: 3000,
                document_nodes: 500,
            },
            ..PageVisit::default()
        }
    }

    fn visited() -> Run {
        let mut run = run(Duration::from_secs(4));
        run.windows = (0..4)
            .map(|second| Window {
                offered: 1,
                ..Window::new(second)
            })
            .collect();
        run.header.plan.browser = Some(Box::new(BrowserPlan {
            users: 2,
            pages: vec!["/".to_owned(), "/news".to_owned()],
            think: Duration::from_secs(1),
            timeout: Duration::from_secs(30),
            hosts: Vec::new(),
            program: "/usr/bin/chromium".into(),
        }));
        run
    }

    #[test]
    fn quantiles_are_values_that_were_measured() {
        assert_eq!(VisitQuantiles::of(Vec::new()), None);
        let quantiles = VisitQuantiles::of(vec![400, 100, 300, 200]).unwrap();
        assert_eq!(
            (quantiles.p50, quantiles.p75, quantiles.p95, quantiles.max),
            (200, 300, 400, 400)
        );
        let single = VisitQuantiles::of(vec![7]).unwrap();
        assert_eq!(
            (single.count, single.p50, single.p75, single.p95),
            (1, 7, 7, 7)
        );
    }

    #[test]
    fn pages_are_summed_over_judged_seconds() {
        let mut run = visited();
        assert!(Summary::of(&run).browser.is_some(), "without a visit");
        run.header.plan.warmup = Duration::from_secs(1);
        run.visits = vec![
            visit(0, 0, 9000),
            visit(1, 0, 100),
            visit(2, 1, 300),
            PageVisit {
                failure: Some(VisitFailure::Status { status: 503 }),
                resources_failed: 2,
                failed: vec![FailedResource {
                    url: "http://a/x".to_owned(),
                    reason: "status 404".to_owned(),
                }],
                ..visit(3, 1, 1)
            },
        ];
        for (second, share) in [(0, 0.9), (1, 0.1), (2, 0.3)] {
            run.readings.push(&Readings {
                second,
                values: [(metric::BROWSER_CPU.to_owned(), share)].into(),
                ..Readings::default()
            });
        }
        let browser = Summary::of(&run).browser.unwrap();
        assert_eq!(browser.all.visits, 3, "the warm-up is left out");
        assert_eq!(browser.all.failed_visits(), 1);
        assert_eq!(browser.all.failures["status 503"], 1);
        assert_eq!(browser.all.ready_us.unwrap().max, 300_000);
        assert_eq!(browser.all.layout_shift_ppm.unwrap().max, 300);
        assert_eq!(browser.all.long_tasks, 2);
        assert_eq!(browser.all.resources_failed, 2);
        assert_eq!(browser.all.failed[0].2, 1);
        assert_eq!(browser.pages[1].0, "/news");
        assert_eq!(browser.pages[1].1.weight.as_ref().unwrap().nodes, 601);
        assert!((browser.cpu.unwrap() - 0.2).abs() < 1e-9);
        assert!((browser.cpu_max.unwrap() - 0.3).abs() < 1e-9);
    }

    #[test]
    fn visits_belong_to_the_load_of_their_trial() {
        let mut run = visited();
        run.visits = vec![visit(0, 0, 100), visit(2, 0, 900), visit(3, 0, 800)];
        let trial = |rate: f64, measured: (u32, u32)| Trial {
            spec: TrialSpec {
                kind: TrialKind::Step,
                rate,
                unit: LoadUnit::RequestsPerSecond,
                per_unit: 1.0,
                ramp_s: 0,
                warmup_s: 0,
                measure_s: 1,
                stop_early: false,
                in_flight_cap: u64::MAX,
            },
            index: 0,
            start_second: measured.0,
            measured,
            verdict: TrialVerdict::Pass,
            requests: 1,
            bad: 0,
            errors: 0,
            throughput: rate,
            response_us: Percentiles::default(),
            objective_us: None,
            in_flight_mean: 0.0,
            lag_us_p99: 0,
            generator_cpu: 0.0,
            stolen_share: 0.0,
        };
        run.trials = vec![
            trial(40.0, (2, 3)),
            trial(10.0, (0, 2)),
            trial(40.0, (3, 4)),
        ];
        let loads = Summary::of(&run).browser.unwrap().loads;
        let known: Vec<(f64, u64, u64)> = loads
            .iter()
            .map(|at| (at.load, at.pages.visits, at.pages.ready_us.unwrap().max))
            .collect();
        assert_eq!(known, [(10.0, 1, 100_000), (40.0, 2, 900_000)]);
    }

    #[test]
    fn a_run_without_a_browser_has_no_such_part() {
        let run = run(Duration::from_secs(4));
        assert_eq!(Summary::of(&run).browser, None);
    }
}
