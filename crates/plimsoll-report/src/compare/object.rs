//! The object of `plimsoll compare --json`.

use std::collections::BTreeMap;

use plimsoll_analysis::experiment::comparison::ranking::RankedSide;
use plimsoll_analysis::experiment::comparison::{
    ComparedMetric, ComparedStep, Comparison, Evidence, PlanDifference,
};
use plimsoll_analysis::experiment::effect::{Direction, EffectVerdict};
use plimsoll_analysis::experiment::metrics::LOAD_LINE;
use plimsoll_analysis::experiment::trial::Scale;
use schemars::JsonSchema;
use serde::Serialize;

use super::capacity::{CapacityCost, line_per_core};
use super::sentence::{answer, evidence};
use super::{BlockCounts, ComparedRuns, ComparedSide};
use crate::cost::CostObject as LineCostObject;
use crate::json::judgement::FindingObject;
use crate::pretty;
use crate::report::Report;

/// The output of `plimsoll compare --json`. With several candidates the fields of `candidate` to `void` are those of the
/// one that decides the verdict; `comparisons` has all.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "plimsoll compare --json")]
pub struct CompareObject {
    /// Version of this object, `major.minor`.
    pub format_version: String,
    /// The result in a sentence.
    pub answer: String,
    /// A difference that does not matter, as a share: 0.03 is 3 %.
    pub margin: f64,
    /// `machines` when classes of machines are compared on purpose; null otherwise.
    pub across: Option<String>,
    /// What the intervals are made of, in a sentence.
    pub evidence: String,
    /// The side that the others are compared with.
    pub baseline: SideObject,
    /// The candidate that decides.
    #[serde(flatten)]
    pub comparison: ComparisonObject,
    /// Every candidate in the order given.
    pub comparisons: Vec<ComparisonObject>,
    /// All sides that can be compared, the best first.
    pub ranking: Vec<RankObject>,
    /// What rules in common use conclude from the same trials; empty where single runs are compared.
    pub usual_rules: Vec<UsualRuleObject>,
    /// Path of the page; null when none was written.
    pub report_file: Option<String>,
}

/// A rule in common use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "UsualRule")]
pub struct UsualRuleObject {
    /// The rule in words.
    pub rule: String,
    /// `better`, `worse` or `same`.
    pub verdict: String,
}

/// A run, or all trials, on a side.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Side")]
pub struct SideObject {
    /// Its short name.
    pub name: String,
    /// The run file; null where there are several.
    pub run_file: Option<String>,
    /// The URL without credentials; null where no trial was recorded.
    pub url: Option<String>,
    /// Wall-clock start, RFC 3339, UTC; null where no trial was recorded.
    pub started_at: Option<String>,
    /// The load line by core that may be used, in the unit of the line; null without a line.
    pub line_per_core: Option<f64>,
    /// Cost of a million requests at the load line, by the plan's `price`; null without either.
    pub cost_per_million: Option<CostObject>,
    /// All costs at the load line: also per thousand users, and per month at the demand of the price; null without either.
    pub cost: Option<LineCostObject>,
}

/// A cost with the 90 % interval of the load line carried through.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Cost")]
pub struct CostObject {
    /// At the median of the line.
    pub value: f64,
    /// At the upper end of the line.
    pub low: f64,
    /// At the lower end of the line.
    pub high: f64,
    /// Currency, as in the plan.
    pub currency: String,
}

/// A candidate compared with the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Comparison")]
pub struct ComparisonObject {
    /// The candidate.
    pub candidate: SideObject,
    /// `better`, `worse`, `same`, `undecided` or `incomparable`.
    pub verdict: String,
    /// Metrics by name: `load_line`, `throughput`, `p50`, `p95`, `p99`, `errors`, `cpu_per_request`, `memory`; those that
    /// neither side measured are missing.
    pub metrics: BTreeMap<String, MetricObject>,
    /// The same for each step of the journeys; empty without journeys.
    pub steps: Vec<StepComparisonObject>,
    /// Blocks of interleaved trials; null where single runs are compared.
    pub blocks: Option<BlocksObject>,
    /// Named limits of the baseline, best first.
    pub findings_before: Vec<FindingObject>,
    /// Named limits of the candidate, best first.
    pub findings_after: Vec<FindingObject>,
    /// What differs in what was measured; where it prevents the comparison, `verdict` is `incomparable`.
    pub differences: Vec<DifferenceObject>,
    /// Why nothing may be concluded (`verdict` is `undecided` then); null where the data is valid.
    pub void: Option<Vec<String>>,
}

/// A metric of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ComparedMetric")]
pub struct MetricObject {
    /// Value of the baseline; null where it was not measured.
    pub baseline: Option<f64>,
    /// Value of the candidate; null where it was not measured.
    pub candidate: Option<f64>,
    /// Unit of both values: `req/s`, `users` or `sessions/s` for a line, `1/s`, `ms`, `By`, or `1` for a share.
    pub unit: String,
    /// `higher` or `lower`: the direction that is better.
    pub better: String,
    /// Candidate over baseline; null for a metric that is compared by its difference, and where it is not known.
    pub ratio: Option<f64>,
    /// Candidate minus baseline, for a share such as `errors`; null for a metric that is compared by its ratio.
    pub difference: Option<f64>,
    /// Lower end of the 95 % interval of the ratio or difference; null where there is none.
    pub low: Option<f64>,
    /// Upper end; null where there is none.
    pub high: Option<f64>,
    /// Whether ratio and interval are those of the mean: a part of the values changed, and their median did not.
    pub of_mean: bool,
    /// `better`, `worse`, `same` or `undecided`.
    pub verdict: String,
    /// What the interval is made of: `lines` (those of two searches), `batches` (seconds of one run on each side),
    /// `blocks` (interleaved trials) or `none`.
    pub interval_of: String,
}

/// The metrics of a step.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ComparedStep")]
pub struct StepComparisonObject {
    /// Name of the journey.
    pub journey: String,
    /// Label of the step.
    pub step: String,
    /// Metrics by name: `p50`, `p95`, `p99`, `errors`.
    pub metrics: BTreeMap<String, MetricObject>,
}

/// Blocks of interleaved trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Blocks")]
pub struct BlocksObject {
    /// Blocks that count.
    pub valid: usize,
    /// Blocks that do not, because a trial in them was void or failed.
    pub void: usize,
    /// Trials of the baseline in which the service failed.
    pub failed_before: usize,
    /// Trials of the candidate in which the service failed.
    pub failed_after: usize,
}

/// Something in which two runs differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Difference")]
pub struct DifferenceObject {
    /// What differs, such as `objective` or `cores of the machine`.
    pub what: String,
    /// Its value in the baseline.
    pub baseline: String,
    /// Its value in the candidate.
    pub candidate: String,
    /// Whether it belongs to the class of machine (`--across machines`).
    pub of_machine: bool,
}

/// The place of a side.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Rank")]
pub struct RankObject {
    /// Its short name.
    pub name: String,
    /// Geometric mean of its ratios to the baseline, oriented so that higher is better.
    pub score: f64,
    /// Lower end of its interval; null where there is none.
    pub low: Option<f64>,
    /// Upper end; null where there is none.
    pub high: Option<f64>,
    /// The metric with the lowest ratio; null for the baseline.
    pub lowest_metric: Option<String>,
    /// That ratio; null for the baseline.
    pub lowest_ratio: Option<f64>,
}

impl CompareObject {
    /// Version of this object.
    pub const FORMAT_VERSION: &'static str = "1.0";

    /// The object of a comparison; `report_file` is the page that was written.
    pub fn of(runs: &ComparedRuns<'_>, report_file: Option<String>) -> Self {
        let object = |(side, comparison): &(ComparedSide<'_>, Comparison)| {
            ComparisonObject::of(&runs.baseline, side, comparison, runs.blocks)
        };
        Self {
            format_version: Self::FORMAT_VERSION.to_owned(),
            answer: answer(runs),
            margin: runs.deciding().1.margin(),
            across: runs.is_across_machines.then(|| "machines".to_owned()),
            evidence: evidence(runs),
            baseline: SideObject::of(&runs.baseline),
            comparison: object(runs.deciding()),
            comparisons: runs.candidates.iter().map(object).collect(),
            ranking: runs
                .ranking()
                .iter()
                .map(|side| RankObject::of(runs, side))
                .collect(),
            usual_rules: runs
                .usual
                .iter()
                .map(|usual| UsualRuleObject {
                    rule: usual.rule.to_owned(),
                    verdict: usual.verdict.name().to_owned(),
                })
                .collect(),
            report_file,
        }
    }

    /// As pretty JSON with a newline at the end.
    pub fn json(&self) -> String {
        pretty::object(self)
    }
}

/// The JSON schema of [`CompareObject`].
pub fn schema() -> String {
    pretty::schema::<CompareObject>()
}

impl SideObject {
    fn of(side: &ComparedSide<'_>) -> Self {
        let header = side.report.as_ref().map(|report| &report.run.header);
        Self {
            name: side.name.clone(),
            run_file: side
                .run_file
                .as_ref()
                .map(|path| path.to_string_lossy().into_owned()),
            url: header.map(|header| header.plan.target.url.clone()),
            started_at: header.map(|header| header.started_at.clone()),
            line_per_core: line_per_core(side),
            cost_per_million: CapacityCost::of(side).map(|cost| CostObject {
                value: cost.estimate.value,
                low: cost.estimate.low,
                high: cost.estimate.high,
                currency: cost.currency,
            }),
            cost: side.report.as_ref().and_then(LineCostObject::of),
        }
    }
}

impl ComparisonObject {
    fn of(
        baseline: &ComparedSide<'_>,
        candidate: &ComparedSide<'_>,
        comparison: &Comparison,
        blocks: Option<BlockCounts>,
    ) -> Self {
        let findings = |side: &ComparedSide<'_>| {
            let report = side.report.as_ref();
            report.map_or_else(Vec::new, |report| FindingObject::all(&report.run.findings))
        };
        let metrics = comparison.metrics().iter();
        Self {
            candidate: SideObject::of(candidate),
            verdict: comparison.verdict().name().to_owned(),
            metrics: metrics.map(|metric| named(metric, baseline)).collect(),
            steps: comparison
                .steps()
                .iter()
                .map(|step| StepComparisonObject::of(step, baseline))
                .collect(),
            blocks: blocks.map(BlocksObject::of),
            findings_before: findings(baseline),
            findings_after: findings(candidate),
            differences: comparison
                .differences()
                .iter()
                .map(DifferenceObject::of)
                .collect(),
            void: (!comparison.void().is_empty()).then(|| comparison.void().to_vec()),
        }
    }
}

impl StepComparisonObject {
    fn of(step: &ComparedStep, baseline: &ComparedSide<'_>) -> Self {
        let metrics = step.metrics.iter();
        Self {
            journey: step.key.0.clone(),
            step: step.key.1.clone(),
            metrics: metrics.map(|metric| named(metric, baseline)).collect(),
        }
    }
}

fn named(metric: &ComparedMetric, side: &ComparedSide<'_>) -> (String, MetricObject) {
    (metric.name.to_owned(), MetricObject::of(metric, side))
}

impl MetricObject {
    fn of(metric: &ComparedMetric, side: &ComparedSide<'_>) -> Self {
        let definition = &metric.definition;
        let is_ratio = definition.scale == Scale::Ratio;
        let line_unit = || side.report.as_ref().map(Report::unit).unwrap_or_default();
        Self {
            baseline: metric.baseline,
            candidate: metric.candidate,
            unit: if metric.name == LOAD_LINE {
                line_unit().symbol().to_owned()
            } else {
                definition.unit.to_owned()
            },
            better: match definition.direction {
                Direction::HigherIsBetter => "higher",
                Direction::LowerIsBetter => "lower",
            }
            .to_owned(),
            ratio: metric.estimate.filter(|_| is_ratio),
            difference: metric.estimate.filter(|_| !is_ratio),
            low: metric.low,
            high: metric.high,
            of_mean: metric.is_of_mean,
            verdict: match metric.verdict {
                EffectVerdict::Better => "better",
                EffectVerdict::Worse => "worse",
                EffectVerdict::Same => "same",
                EffectVerdict::Undecided | EffectVerdict::TooFew => "undecided",
            }
            .to_owned(),
            interval_of: match metric.evidence {
                Evidence::Lines => "lines",
                Evidence::Batches { .. } => "batches",
                Evidence::Blocks(_) => "blocks",
                Evidence::SingleValues => "none",
            }
            .to_owned(),
        }
    }
}

impl BlocksObject {
    fn of(blocks: BlockCounts) -> Self {
        Self {
            valid: blocks.valid,
            void: blocks.void,
            failed_before: blocks.failed.0,
            failed_after: blocks.failed.1,
        }
    }
}

impl DifferenceObject {
    fn of(difference: &PlanDifference) -> Self {
        Self {
            what: difference.what().to_owned(),
            baseline: difference.baseline().to_owned(),
            candidate: difference.candidate().to_owned(),
            of_machine: difference.is_of_machine(),
        }
    }
}

impl RankObject {
    fn of(runs: &ComparedRuns<'_>, side: &RankedSide) -> Self {
        let interval = side.interval;
        Self {
            name: runs.name_of(side).to_owned(),
            score: side.score,
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            lowest_metric: side.lowest.map(|(name, _)| name.to_owned()),
            lowest_ratio: side.lowest.map(|(_, ratio)| ratio),
        }
    }
}
