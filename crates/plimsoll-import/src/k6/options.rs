//! Options of a script: transport, thresholds, and what has no counterpart.

use super::http::REDIRECTS;
use super::machine::Machine;
use super::number;
use super::threshold::{ThresholdScopes, metric_of};
use super::value::Value;
use crate::script::PlanDraft;
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

impl<'a> Machine<'a, '_> {
    /// Options that requests depend on: they are read before the functions are followed.
    pub(super) fn early_options(&mut self, options: &Value<'a>) {
        let thresholds = options.field("thresholds");
        for (metric, _) in thresholds.map(|list| list.entries()).unwrap_or_default() {
            for (_, value) in metric_of(&metric).1 {
                self.threshold_names.insert(value);
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
    }

    /// Whether k6 resets the cookies of a user after each iteration, as it does by default.
    pub(super) fn resets_cookies(options: &Value<'a>) -> bool {
        let kept = options.field("noCookiesReset");
        kept.is_none_or(|value| value.truth() != Some(true))
    }

    fn lost_option(&mut self, name: &str, at: u32) {
        let (why, remedy) = match name {
            "rps" => (
                "a plan limits no requests per second of users",
                "write N/s as `sessions` under `load`",
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
}
