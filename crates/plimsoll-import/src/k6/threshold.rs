//! Thresholds, and the steps, groups and journeys that they are about.

use std::collections::HashSet;

use super::machine::Machine;
use super::value::Value;
use crate::script::PlanDraft;
use crate::script::draft::duration;
use crate::yaml::YamlNode;

/// Names that thresholds may be about.
pub(super) struct ThresholdScopes {
    pub(super) labels: HashSet<String>,
    pub(super) groups: HashSet<String>,
    pub(super) journeys: HashSet<String>,
    /// The only scenario, whose journey has no name in the plan.
    pub(super) only: Option<String>,
}

impl<'a> Machine<'a, '_> {
    /// Puts thresholds into the plan, those with tags under the step, group or journey that they are about.
    pub(super) fn thresholds(
        &mut self,
        thresholds: &Value<'a>,
        scopes: &ThresholdScopes,
        draft: &mut PlanDraft,
        at: u32,
    ) {
        let mut whole: Vec<String> = Vec::new();
        let mut by_scope: Vec<(String, Vec<String>)> = Vec::new();
        for (metric, list) in thresholds.entries() {
            let at = self.place_of(&metric, at);
            let list = match &list {
                Value::List(items) => items.items.borrow().clone(),
                candidate => vec![candidate.clone()],
            };
            let (name, tags) = metric_of(&metric);
            let Some(scope) = scope(&tags, scopes) else {
                self.lose(
                    at,
                    format!("the threshold on {metric}"),
                    "a plan has thresholds of everything, of a journey, a step or a group",
                    "label the step, and write `thresholds: { step LABEL: … }`",
                );
                continue;
            };
            for item in list {
                let Some(bound) = self.bound(name, &item, at) else {
                    continue;
                };
                if is_aborting(&item) {
                    self.abort(&bound, &item, scope.as_deref(), draft, at);
                }
                match &scope {
                    None => add_bound(&mut whole, bound),
                    Some(scope) => match by_scope.iter_mut().find(|(known, _)| known == scope) {
                        Some((_, bounds)) => add_bound(bounds, bound),
                        None => by_scope.push((scope.clone(), vec![bound])),
                    },
                }
            }
        }
        draft.thresholds = whole;
        draft.scoped_thresholds = by_scope;
    }

    /// One threshold as a plan has it.
    fn bound(&mut self, metric: &str, item: &Value<'a>, at: u32) -> Option<String> {
        let expression = item.field("threshold").unwrap_or_else(|| item.clone());
        let expression = self.known_text(&expression)?;
        let Some(bound) = converted(metric, &expression) else {
            self.lose(
                at,
                format!("the threshold {metric}: {expression}"),
                "a plan has bounds on response times and on the share of failed requests",
                "write `p95 < 500ms` or `errors < 1%` under `thresholds:`",
            );
            return None;
        };
        Some(bound)
    }

    /// `abortOnFail`: the run ends when the bound is exceeded.
    fn abort(
        &mut self,
        bound: &str,
        item: &Value<'a>,
        scope: Option<&str>,
        draft: &mut PlanDraft,
        at: u32,
    ) {
        if let Some(scope) = scope {
            self.lose(
                at,
                format!("abortOnFail of the threshold on the {scope}"),
                "a plan ends a run by a condition on everything",
                "write such a condition under `abort:`",
            );
            return;
        }
        let when = bound.replace("<=", ">").replace('<', ">");
        let mut entries = vec![("when", YamlNode::text(when))];
        let delay = item
            .field("delayAbortEval")
            .and_then(|delay| self.known_text(&delay));
        if let Some(delay) = delay.and_then(|delay| super::scenario::delay(&delay))
            && (1..=3600).contains(&delay.as_secs())
        {
            entries.push(("over", YamlNode::plain(duration(delay))));
        }
        draft.abort.push(YamlNode::map(entries));
    }
}

fn is_aborting(item: &Value<'_>) -> bool {
    item.field("abortOnFail")
        .is_some_and(|abort| abort.truth() == Some(true))
}

/// The metric of a threshold and its tags: `http_req_duration{name:list,status:200}`. A comma that begins no tag is
/// part of the value before it.
pub(super) fn metric_of(text: &str) -> (&str, Vec<(String, String)>) {
    let Some((metric, list)) = text.split_once('{') else {
        return (text.trim(), Vec::new());
    };
    let list = list.trim();
    let list = list.strip_suffix('}').unwrap_or(list);
    let mut tags: Vec<(String, String)> = Vec::new();
    for part in list.split(',') {
        let tag = part.split_once(':').filter(|(key, _)| is_key(key.trim()));
        if let Some((key, value)) = tag {
            tags.push((key.trim().to_owned(), value.to_owned()));
        } else if let Some((_, value)) = tags.last_mut() {
            value.push(',');
            value.push_str(part);
        }
    }
    for (_, value) in &mut tags {
        *value = value.trim().trim_matches(['"', '\'']).to_owned();
    }
    (metric.trim(), tags)
}

/// Whether a text may be the name of a tag; that of a URL's scheme is not one.
fn is_key(text: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    !text.is_empty() && text.chars().all(is_plain) && !matches!(text, "http" | "https")
}

/// The scope of tags; `Some(None)` for everything, `None` for one that a plan does not have.
#[expect(
    clippy::option_option,
    reason = "no scope, the scope of everything, and a scope are three answers"
)]
fn scope(tags: &[(String, String)], scopes: &ThresholdScopes) -> Option<Option<String>> {
    let mut scope = None;
    for (key, value) in tags {
        // Failed requests are not among the times of a plan either.
        if key == "expected_response" && value == "true" {
            continue;
        }
        let of_tag = match key.as_str() {
            "name" | "url" => {
                let is_known = scopes.labels.contains(value);
                is_known.then(|| format!("step {value}"))
            }
            "group" => {
                let group = value.rsplit("::").next().unwrap_or(value);
                let is_known = scopes.groups.contains(group);
                is_known.then(|| format!("group {group}"))
            }
            "scenario" if scopes.only.as_ref() == Some(value) => continue,
            "scenario" => {
                let is_known = scopes.journeys.contains(value);
                is_known.then(|| format!("journey {value}"))
            }
            _ => None,
        };
        // Two tags at once are an intersection, which a plan does not have.
        if scope.replace(of_tag?).is_some() {
            return None;
        }
    }
    Some(scope)
}

/// A threshold of k6 as a plan has it.
fn converted(metric: &str, expression: &str) -> Option<String> {
    let compact: String = expression.chars().filter(|c| !c.is_whitespace()).collect();
    let at = compact.find(['<', '>'])?;
    let (left, right) = compact.split_at(at);
    let value = right.trim_start_matches(['<', '>', '=']);
    let number: f64 = value.parse().ok()?;
    let is_below = right.starts_with('<');
    match metric {
        "http_req_duration" | "http_req_waiting" if is_below => {
            let is_known = ["avg", "min", "max", "med"].contains(&left)
                || (left.starts_with("p(") && left.ends_with(')'));
            is_known.then(|| format!("{left}<{value}"))
        }
        "http_req_failed" if is_below && left == "rate" => {
            let share = if number <= 0.0 { 0.0 } else { number };
            Some(format!("errors<{}%", percent(share)))
        }
        // A failed check is a failed request in the plan.
        "checks" if !is_below && left == "rate" => {
            Some(format!("errors<{}%", percent(1.0 - number)))
        }
        _ => None,
    }
}

/// A share in percent; zero errors are a very small share of them.
fn percent(share: f64) -> f64 {
    let percent = (share * 1e6).round() / 1e4;
    if percent <= 0.0 {
        0.001
    } else {
        percent.min(100.0)
    }
}

/// Adds a bound; of two on errors the narrower one counts.
fn add_bound(bounds: &mut Vec<String>, bound: String) {
    let share = |text: &str| -> Option<f64> {
        text.strip_prefix("errors<")?
            .strip_suffix('%')?
            .parse()
            .ok()
    };
    if let Some(new) = share(&bound)
        && let Some(old) = bounds.iter_mut().find(|text| share(text).is_some())
    {
        if share(old).is_some_and(|old| new < old) {
            *old = bound;
        }
        return;
    }
    // An average is one bound only.
    if bound.starts_with("avg<") && bounds.iter().any(|text| text.starts_with("avg<")) {
        return;
    }
    if !bounds.contains(&bound) {
        bounds.push(bound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_of_k6_are_those_of_plans() {
        for (metric, text, expected) in [
            ("http_req_duration", "p(95) < 500", Some("p(95)<500")),
            ("http_req_failed", "rate<0.01", Some("errors<1%")),
            ("http_req_failed", "rate==0", None),
            ("checks", "rate>0.95", Some("errors<5%")),
            ("http_reqs", "count>100", None),
            ("my_trend", "p(95)<500", None),
        ] {
            assert_eq!(
                converted(metric, text).as_deref(),
                expected,
                "{metric} {text}"
            );
        }
    }

    #[test]
    fn tags_are_read_with_spaces_quotes_and_commas() {
        let tags = |text| {
            let (metric, tags) = metric_of(text);
            let tags = tags.iter().map(|(key, value)| format!("{key}={value}"));
            (metric.to_owned(), tags.collect::<Vec<_>>().join(" "))
        };
        for (text, metric, expected) in [
            ("http_req_duration", "http_req_duration", ""),
            ("m{name:a}", "m", "name=a"),
            (
                "m{ name : \"a b\", status:200 }",
                "m",
                "name=a b status=200",
            ),
            ("m{group:::shop::cart}", "m", "group=::shop::cart"),
            ("m{name:a,b,http://c}", "m", "name=a,b,http://c"),
            ("m{name:/x/${}}", "m", "name=/x/${}"),
        ] {
            assert_eq!(tags(text), (metric.to_owned(), expected.to_owned()));
        }
    }

    #[test]
    fn of_two_bounds_on_errors_the_narrower_counts() {
        let mut bounds = Vec::new();
        for bound in ["errors<5%", "errors<1%", "errors<2%", "p(95)<1"] {
            add_bound(&mut bounds, bound.to_owned());
        }
        assert_eq!(bounds, ["errors<1%", "p(95)<1"]);
    }
}
