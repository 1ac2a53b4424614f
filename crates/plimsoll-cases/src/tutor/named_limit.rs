//! What `plimsoll limit` named beside the load line of a stack, and whether that is what was planted.

use anyhow::Result;
use plimsoll_harness::run_report::RunReport;
use serde::Deserialize;

use super::injected_fault::InjectedFault;

/// Share of the healthy line from which a fault does not bind: then there is nothing of it to name.
const BINDS_BELOW: f64 = 0.95;

/// What was named.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NamedLimits {
    /// The best first.
    findings: Vec<LimitFinding>,
    /// Observations about statements and answers.
    advice: Vec<String>,
}

#[derive(Deserialize)]
struct LimitObject {
    findings: Vec<LimitFinding>,
    #[serde(default)]
    advice: Vec<LimitAdvice>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct LimitFinding {
    rule: String,
    limit: String,
    sentence: String,
}

#[derive(Deserialize)]
struct LimitAdvice {
    reason: String,
    remedy: String,
}

impl NamedLimits {
    /// Reads the object of `plimsoll limit --json`.
    pub(super) fn of(report: &RunReport) -> Result<Self> {
        let object: LimitObject = report.read()?;
        let advice = object.advice.into_iter();
        Ok(Self {
            findings: object.findings,
            advice: advice
                .map(|it| format!("{}: {}", it.reason, it.remedy))
                .collect(),
        })
    }

    /// The limit that was named first.
    pub(super) fn first(&self) -> String {
        match self.findings.first() {
            Some(finding) => format!("{}: {}", finding.rule, finding.limit),
            None => "nothing".to_owned(),
        }
    }

    /// Whether this is what was planted, where the stack carries such a share of the healthy one.
    pub(super) fn verdict(&self, fault: InjectedFault, share: Option<f64>) -> String {
        let word = fault.word();
        let is_planted = |finding: &LimitFinding| {
            fault.rules().contains(&finding.rule.as_str())
                || word.is_some_and(|word| finding.sentence.contains(word))
        };
        let mut advice = self.advice.iter();
        let advised = word.and_then(|word| advice.find(|text| text.contains(word)));
        if self.findings.first().is_some_and(is_planted) {
            "right".to_owned()
        } else if let Some(place) = self.findings.iter().position(is_planted) {
            format!("right, as number {}", place + 1)
        } else if let Some(advice) = advised {
            format!("right, as advice: {advice}")
        } else if share.is_some_and(|share| share >= BINDS_BELOW) {
            "does not bind".to_owned()
        } else {
            "**wrong**".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_planted_is_named_first_or_later_or_not() {
        let named = |text: &str| NamedLimits::of(&RunReport::parse(text).unwrap()).unwrap();
        let queue = r#"{ "findings": [
            { "rule": "C1", "limit": "CPU", "sentence": "busy" }, { "rule": "H1", "limit": "maxconn 20", "sentence": "full" }],
            "advice": [{ "reason": "`SHOW TABLE STATUS` 900 times", "remedy": "not before each statement" }] }"#;
        let queue = named(queue);
        assert_eq!(queue.first(), "C1: CPU");
        let verdict = |fault| queue.verdict(fault, Some(0.5));
        assert_eq!(verdict(InjectedFault::ServerMaxconn), "right, as number 2");
        assert_eq!(
            verdict(InjectedFault::OrmQueries),
            "right, as advice: `SHOW TABLE STATUS` 900 times: not before each statement"
        );
        assert_eq!(verdict(InjectedFault::SyncBcrypt), "**wrong**");
        let tables = r#"{ "findings": [{ "rule": "Q5", "limit": "tables", "sentence": "by `SHOW TABLE STATUS`" }] }"#;
        assert_eq!(
            named(tables).verdict(InjectedFault::OrmQueries, None),
            "right"
        );
        let busy = r#"{ "findings": [{ "rule": "J1", "limit": "event loop", "sentence": "" }] }"#;
        let loop_busy = named(busy);
        assert_eq!(loop_busy.verdict(InjectedFault::SyncBcrypt, None), "right");
        let nothing = named(r#"{ "findings": [] }"#);
        assert_eq!(nothing.first(), "nothing");
        assert_eq!(
            nothing.verdict(InjectedFault::TemplatesPerRequest, Some(1.02)),
            "does not bind"
        );
    }
}
