//! Reads what a trial measures.

use std::ops::RangeInclusive;
use std::time::Duration;

use plimsoll_model::experiment::{
    FixedLoad, Measure, MeasureTarget, Measurement, PerCell, SearchEffort,
};
use plimsoll_model::objective::Objective;

use super::scope::ExperimentScope;
use crate::document::Shape::{Duration as DurationShape, Either, OneOf, OneOrMore, Text};
use crate::document::{
    DocumentNode, DocumentReader, MapFields, SettingsMap as _, Shape, settings, time,
};
use crate::{Problem, objective, units};

settings! {
    /// What a trial measures: a plan or a URL, with a search or fixed loads. A plan alone is measured with its own load.
    struct MeasureSettings, MEASURE "measure" {
        /// Plan file, relative to the folder of this file.
        "plan": Text;
        /// URL, instead of a plan.
        "url": Text;
        /// Search for the highest load that meets the objective: `quick` (at most 4 minutes), `standard` (15 minutes)
        /// or `thorough` (an hour); or quicker than quick, within a time from `1m` to `4m`, with wider intervals. Default
        /// with `knobs`: `2m`, for the first measurement and the last.
        limit: Option<SearchEffort> = None,
            "limit": Either(&[OneOf(&["quick", "standard", "thorough"]), DurationShape]) => effort;
        /// Fixed loads, one after the other: `300/s`, `200 users`, or `{{ users }} users`. Not with `knobs`.
        "loads": OneOrMore(&Text);
        /// Duration of each of the loads.
        each: Duration = Duration::from_mins(1), "for": time();
        /// Objective. Default: that of the plan.
        objective: Option<Objective> = None, "objective": Shape::Objective => objective_of;
    }
}

/// Time of a search that is quicker than quick: in less, nothing is confirmed.
const SEARCH_TIME: RangeInclusive<Duration> = Duration::from_mins(1)..=Duration::from_mins(4);
/// Time of the search of an experiment with knobs.
const TUNING_TIME: Duration = Duration::from_mins(2);
/// Fixed loads of a trial at most.
const LOADS_MAX: usize = 100;
/// Users of a fixed load at most.
const USERS_MAX: u32 = 10_000_000;
const LOAD_VALID: &str = "a rate such as 300/s, or 200 users";

fn effort(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<SearchEffort> {
    let words = [
        ("quick", SearchEffort::Quick),
        ("standard", SearchEffort::Standard),
        ("thorough", SearchEffort::Thorough),
    ];
    let text = reader.text(node, "quick, standard, thorough, or 1m to 4m")?;
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return reader.one_of(node, &words);
    }
    let budget = reader.duration_above_zero(node)?;
    if !SEARCH_TIME.contains(&budget) {
        let message = "the time of the search is out of range";
        reader.report(node, message, "1m to 4m, or quick, standard, thorough");
        return None;
    }
    Some(SearchEffort::Within(budget))
}

fn objective_of(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Objective> {
    let valid = "an objective such as p95 < 500ms, errors < 1%";
    reader.value(node, valid, objective::objective)
}

/// Reads `measure:`.
pub(super) fn measure(scope: &ExperimentScope<'_, '_>, node: &DocumentNode) -> Option<Measure> {
    let reader = scope.reader;
    let fields = reader.fields(node, &MEASURE)?;
    let settings = MeasureSettings::read(reader, &fields);
    let target = target(scope, &fields);
    if scope.is_tuning() {
        check_tuning(scope, &fields, target.as_ref());
    }
    let written = fields.get("loads").filter(|_| !scope.is_tuning());
    let loads = written.map(|node| loads(scope, node));
    if loads.is_none()
        && let Some((key, _)) = fields.entry("for")
    {
        let message = "`for` has no effect without `loads`";
        reader.report_at(key.span.start, message, "with `loads`", None);
    }
    let measurement = match (settings.limit, loads) {
        (Some(_), Some(_)) => {
            let message = "`limit` and `loads` are mutually exclusive";
            reader.report(node, message, "one of them");
            return None;
        }
        (Some(effort), None) => Measurement::Limit(effort),
        (None, Some(loads)) => Measurement::Loads {
            loads,
            each: settings.each,
        },
        (None, None) if scope.is_tuning() => Measurement::Limit(SearchEffort::Within(TUNING_TIME)),
        (None, None) if matches!(target, Some(MeasureTarget::Url(_))) => {
            // An invalid value has its own error.
            if fields.among(&["limit", "loads"]).is_empty()
                && !fields.misspells(&["limit", "loads"])
            {
                let message = "a URL has no load of its own";
                reader.report(node, message, "limit: standard, or loads: [300/s]");
            }
            return None;
        }
        (None, None) => Measurement::PlanLoad,
    };
    Some(Measure {
        target: target?,
        measurement,
        objective: settings.objective,
    })
}

/// Refuses what is no search for a load line, and loads that differ by the setting.
fn check_tuning(
    scope: &ExperimentScope<'_, '_>,
    fields: &MapFields<'_>,
    target: Option<&MeasureTarget>,
) {
    if let Some((key, _)) = fields.entry("loads") {
        let message =
            "`loads` has no effect on knobs: each setting is measured up to its load line";
        let valid = "limit: 2m, or quick, standard, thorough";
        scope.reader.report_at(key.span.start, message, valid, None);
    }
    let Some(MeasureTarget::Plan(text) | MeasureTarget::Url(text)) = target else {
        return;
    };
    if let [(_, node), ..] = fields.among(&["plan", "url"]).as_slice()
        && text.axes().next().is_some()
    {
        let message = "the load depends on a knob";
        let valid = "the same plan or URL for all settings; knobs in `apply`";
        scope.reader.report(node, message, valid);
    }
}

fn target(scope: &ExperimentScope<'_, '_>, fields: &MapFields<'_>) -> Option<MeasureTarget> {
    const URL_VALID: &str = "http://host:port/path or https://host/path";
    let reader = scope.reader;
    let (key, value) = reader.exactly_one(fields, &["plan", "url"])?;
    if key.text == "plan" {
        let plan = scope.text(value, "a plan file")?;
        return Some(MeasureTarget::Plan(plan));
    }
    let text = reader.scalar(value, URL_VALID)?;
    // A text with levels may be a URL only once they are inserted.
    let is_url = match url::Url::parse(text) {
        Ok(url) => matches!(url.scheme(), "http" | "https"),
        Err(_) => text.contains("{{"),
    };
    if !is_url {
        reader.report(value, format!("`{text}` is not a URL"), URL_VALID);
        return None;
    }
    scope.text(value, URL_VALID).map(MeasureTarget::Url)
}

fn loads(scope: &ExperimentScope<'_, '_>, node: &DocumentNode) -> Vec<PerCell<FixedLoad>> {
    let items = scope.reader.one_or_more(node);
    if items.is_empty() || items.len() > LOADS_MAX {
        let message = format!("there are {} loads", items.len());
        let valid = format!("1 to {LOADS_MAX}");
        scope.reader.report(node, message, valid);
    }
    let items = items.iter().take(LOADS_MAX);
    items
        .filter_map(|item| scope.each(item, LOAD_VALID, fixed_load))
        .collect()
}

/// `300/s`, or `200 users`.
fn fixed_load(text: &str) -> Result<FixedLoad, Problem> {
    if let Some(count) = text.trim_end().strip_suffix("users") {
        return match count.trim().replace('_', "").parse::<u32>() {
            Ok(users) if (1..=USERS_MAX).contains(&users) => Ok(FixedLoad::Users(users)),
            _ => {
                let valid = format!("1 to {USERS_MAX} users");
                let message = "not a number of users";
                Err(Problem::new(text, 0..text.len(), message, valid))
            }
        };
    }
    if !text.contains('/') {
        let message = "the unit is missing";
        return Err(Problem::new(
            text,
            text.len()..text.len(),
            message,
            LOAD_VALID,
        ));
    }
    units::rate_above_zero(text).map(FixedLoad::PerSecond)
}
