//! Options of a script: transport, thresholds, and what has no counterpart.

use std::collections::HashSet;

use super::http::REDIRECTS;
use super::machine::Machine;
use super::number;
use super::value::Value;
use crate::script::PlanDraft;
use crate::script::draft::duration;
use crate::yaml::{YamlEntry, YamlNode};

/// Options that change nothing that a plan measures or sends.
const WITHOUT_EFFECT: [&str; 24] = [
    "scenarios",
    "vus",
    "duration",
    "iterations",
    "stages",
    "discardResponseBodies",
    "summaryTrendStats",
    "summaryTimeUnit",
    "systemTags",
    "tags",
    "cloud",
    "ext",
    "noUsageReport",
    "httpDebug",
    "paused",
    "linger",
    "setupTimeout",
    "teardownTimeout",
    "batch",
    "batchPerHost",
    "noColor",
    "throw",
    "blacklistIPs",
    "maxVUs",
];

/// Names that thresholds may be about.
pub(super) struct ThresholdScopes {
    pub(super) labels: HashSet<String>,
    pub(super) groups: HashSet<String>,
    pub(super) journeys: HashSet<String>,
}

impl<'a> Machine<'a, '_> {
    /// Options that requests depend on: they are read before the functions are followed.
    pub(super) fn early_options(&mut self, options: &Value<'a>) {
        let thresholds = options.field("thresholds");
        for (metric, _) in thresholds.map(|list| list.entries()).unwrap_or_default() {
            let tag = metric
                .split_once('{')
                .map(|(_, tag)| tag.trim_end_matches('}'));
            if let Some((_, name)) = tag.and_then(|tag| tag.split_once(':')) {
                self.threshold_names.insert(name.trim().to_owned());
            }
        }
        let redirects = options
            .field("maxRedirects")
            .and_then(|count| self.number(&count));
        self.redirects = redirects
            .and_then(number::index)
            .and_then(|count| u32::try_from(count).ok())
            .map_or(REDIRECTS, |count| count.min(50));
    }

    /// Puts options into the plan.
    pub(super) fn options(
        &mut self,
        options: &Value<'a>,
        scopes: &ThresholdScopes,
        draft: &mut PlanDraft,
        at: u32,
    ) {
        // k6 gives a request a minute.
        draft
            .transport
            .push(YamlEntry::new("timeout", YamlNode::text("60s")));
        for (name, value) in options.entries() {
            let is_on = value.truth() == Some(true);
            match name.as_str() {
                "thresholds" => self.thresholds(&value, scopes, draft, at),
                "insecureSkipTLSVerify" if is_on => {
                    draft
                        .transport
                        .push(YamlEntry::new("insecure", YamlNode::plain(true)));
                }
                "noConnectionReuse" if is_on => {
                    draft.transport.push(YamlEntry::new(
                        "requests_per_connection",
                        YamlNode::plain(1),
                    ));
                }
                "userAgent" => {
                    let text = self.text_of(&value, at);
                    let template = self.template(&text);
                    draft.headers.push(("User-Agent".to_owned(), template));
                }
                "noCookiesReset"
                | "maxRedirects"
                | "insecureSkipTLSVerify"
                | "noConnectionReuse"
                | "noVUConnectionReuse" => {}
                other if WITHOUT_EFFECT.contains(&other) => {}
                other => {
                    let at = self.place_of(other, at);
                    self.lost_option(other, at);
                }
            }
        }
        let keeps_cookies = options
            .field("noCookiesReset")
            .is_some_and(|value| value.truth() == Some(true));
        if !keeps_cookies {
            self.note("k6 forgets the cookies of a user after each iteration; users of the plan keep them");
        }
    }

    fn lost_option(&mut self, name: &str, at: u32) {
        let (why, remedy) = match name {
            "rps" => (
                "a plan limits no requests per second of users",
                "write `load: { sessions: N/s, for: TIME }`",
            ),
            "hosts" => (
                "a plan looks names up as the machine does",
                "write the address as `target:` with a header Host, or into /etc/hosts",
            ),
            "minIterationDuration" => (
                "an iteration of a plan has no least time",
                "write a `think` at its end",
            ),
            "tlsAuth" => (
                "a plan has no certificates of clients",
                "test behind the point that asks for them",
            ),
            "tlsVersion" | "tlsCipherSuites" => (
                "a plan negotiates TLS with its own settings",
                "leave it out",
            ),
            "localIPs" => (
                "k6 writes it otherwise",
                "write the addresses as `transport: { sources: […] }`",
            ),
            "dns" => ("a plan looks names up once", "leave it out"),
            _ => ("a plan has no such option", "leave it out"),
        };
        self.lose(at, format!("the option {name}"), why, remedy);
    }

    fn thresholds(
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
            let (name, tag) = match metric.split_once('{') {
                Some((name, tag)) => (name, Some(tag.trim_end_matches('}'))),
                None => (metric.as_str(), None),
            };
            let scope = match tag.map(|tag| scope(tag, scopes)) {
                None => None,
                Some(Some(scope)) => scope,
                Some(None) => {
                    self.lose(
                        at,
                        format!("the threshold on {metric}"),
                        "a plan has thresholds of everything, of a journey, a step or a group",
                        "label the step, and write `thresholds: { step LABEL: … }`",
                    );
                    continue;
                }
            };
            for item in list {
                let Some(bound) = self.bound(name, &item, draft, at) else {
                    continue;
                };
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
    fn bound(
        &mut self,
        metric: &str,
        item: &Value<'a>,
        draft: &mut PlanDraft,
        at: u32,
    ) -> Option<String> {
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
        if item
            .field("abortOnFail")
            .is_some_and(|abort| abort.truth() == Some(true))
        {
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
        Some(bound)
    }
}

/// The scope of a tag; `Some(None)` for everything, `None` for one that a plan does not have.
#[expect(
    clippy::option_option,
    reason = "no scope, the scope of everything, and a scope are three answers"
)]
fn scope(tag: &str, scopes: &ThresholdScopes) -> Option<Option<String>> {
    let (key, value) = tag.split_once(':')?;
    let (key, value) = (key.trim(), value.trim().trim_matches(['"', '\'']));
    match key {
        "expected_response" | "type" => Some(None),
        "name" | "url" => scopes
            .labels
            .contains(value)
            .then(|| Some(format!("step {value}"))),
        "group" => {
            let group = value.rsplit("::").next().unwrap_or(value);
            scopes
                .groups
                .contains(group)
                .then(|| Some(format!("group {group}")))
        }
        "scenario" => scopes
            .journeys
            .contains(value)
            .then(|| Some(format!("journey {value}"))),
        _ => None,
    }
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
    fn of_two_bounds_on_errors_the_narrower_counts() {
        let mut bounds = Vec::new();
        for bound in ["errors<5%", "errors<1%", "errors<2%", "p(95)<1"] {
            add_bound(&mut bounds, bound.to_owned());
        }
        assert_eq!(bounds, ["errors<1%", "p(95)<1"]);
    }
}
