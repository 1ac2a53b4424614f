//! Score = strength × onset; then causes and consequences, and the order.

use plimsoll_model::finding::{Certainty, Finding, Strength};

use crate::diagnosis::measure::signs;
use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom};
use crate::diagnosis::rule_id::RuleId;
use crate::diagnosis::stretch::{Stretch3, View};

/// A symptom that was already there at a passing load has grown when it is this much larger.
const GROWTH: f64 = 1.5;
/// A finding below this score is not certain enough to be suspected.
const SUSPECTED_MIN: f64 = 0.4;
/// A finding explains others from this score on.
const EXPLAINS_MIN: f64 = 0.3;

struct Scored {
    rule: &'static Rule,
    check: &'static Check,
    finding: Finding,
}

/// Evaluates all checks; best first.
pub(crate) fn findings(
    checks: impl Iterator<Item = (&'static Rule, &'static Check)>,
    over: &Stretch3<'_>,
) -> Vec<Finding> {
    if !over.failing.is_measured() {
        return Vec::new();
    }
    let local = over.failing.target_is_local();
    let mut scored: Vec<Scored> = checks
        .filter(|(rule, check)| local || rule.applies_remotely(check))
        .filter_map(|(rule, check)| best_of(rule, check, over))
        .collect();
    name_consequences(&mut scored);
    scored.retain(|candidate| {
        candidate.rule.role() != Role::FailureModeBesideCause
            || candidate.finding.consequence_of.is_some()
    });
    scored.sort_by(|a, b| {
        let is_consequence = |scored: &Scored| scored.finding.consequence_of.is_some();
        is_consequence(a)
            .cmp(&is_consequence(b))
            .then(b.finding.score.total_cmp(&a.finding.score))
            .then(b.finding.certainty.cmp(&a.finding.certainty))
            .then(b.check.tier.cmp(&a.check.tier))
    });
    scored.into_iter().map(|scored| scored.finding).collect()
}

/// The finding of a check for the subject that scores highest.
fn best_of(rule: &'static Rule, check: &'static Check, over: &Stretch3<'_>) -> Option<Scored> {
    let (failing, passing, base) = match check.symptom {
        Symptom::Change(compare) => (compare(over), Some(Vec::new()), Some(Vec::new())),
        ref symptom => (
            signs(symptom, &over.failing),
            measured(check, &over.passing),
            measured(check, &over.base),
        ),
    };
    let (score, sign) = failing
        .iter()
        .filter(|sign| sign.present)
        .map(|sign| {
            let onset = onset(sign, passing.as_deref(), base.as_deref());
            (strength(check.strength) * onset, sign)
        })
        .max_by(|a, b| {
            a.0.total_cmp(&b.0)
                .then(a.1.magnitude.total_cmp(&b.1.magnitude))
                .then(b.1.label_set.cmp(&a.1.label_set))
        })?;
    let words = (check.words)(&RuleMatch {
        over,
        label_set: &sign.label_set,
    });
    let certainty = if score < SUSPECTED_MIN || words.doubtful {
        Certainty::Possible
    } else if check.strength == Strength::Explicit {
        Certainty::Explicit
    } else {
        Certainty::Suspected
    };
    Some(Scored {
        rule,
        check,
        finding: Finding {
            rule: rule.id().to_string(),
            limit: words.limit,
            tier: Some(check.tier),
            certainty,
            score,
            sentence: words.sentence,
            remedy: words.remedy.unwrap_or_else(|| check.remedy.to_owned()),
            evidence: words.evidence,
            consequence_of: None,
            intervention: None,
        },
    })
}

/// Signs of a stretch; `None` when the stretch was not measured.
fn measured(check: &Check, view: &View<'_>) -> Option<Vec<Sign>> {
    view.is_measured().then(|| signs(&check.symptom, view))
}

fn strength(strength: Strength) -> f64 {
    match strength {
        Strength::Explicit => 1.0,
        Strength::Queue => 0.8,
        Strength::Utilisation => 0.6,
        Strength::Decomposition => 0.4,
    }
}

/// How much the symptom came with the load: absent in P 1.0; grown since P 0.7; unchanged since B 0.2.
///
/// Where P was not measured B replaces it; without either it is unknown whether load caused the symptom: 0.7.
/// A symptom of P that neither grew nor was present in B came with load, if not with the failure: 0.5.
fn onset(failing: &Sign, passing: Option<&[Sign]>, base: Option<&[Sign]>) -> f64 {
    let same = |signs: Option<&[Sign]>| {
        // A subject that did not exist yet had no symptom.
        let sign = signs?
            .iter()
            .find(|sign| sign.label_set == failing.label_set);
        Some(
            sign.filter(|sign| sign.present)
                .map_or(0.0, |sign| sign.magnitude),
        )
    };
    let grew = |before: f64| failing.magnitude >= GROWTH * before;
    let unchanged_since_base = same(base).is_some_and(|base| base > 0.0 && !grew(base));
    match same(passing).or(same(base)) {
        None => 0.7,
        Some(before) if before <= 0.0 && !unchanged_since_base => 1.0,
        Some(_) if unchanged_since_base => 0.2,
        Some(before) if grew(before) => 0.7,
        Some(_) => 0.5,
    }
}

fn name_consequences(scored: &mut [Scored]) {
    let sure = scored.iter().filter(|candidate| {
        !candidate.rule.role().is_failure_mode()
            && candidate.finding.certainty >= Certainty::Suspected
    });
    let behind_failure_modes = sure
        .max_by(|a, b| a.finding.score.total_cmp(&b.finding.score))
        .map(|best| best.rule.id());
    let causes: Vec<(RuleId, &Check)> = scored
        .iter()
        .filter(|cause| {
            let finding = &cause.finding;
            let doubtful =
                finding.certainty == Certainty::Possible && finding.score >= SUSPECTED_MIN;
            finding.score >= EXPLAINS_MIN && !doubtful
        })
        .map(|cause| (cause.rule.id(), cause.check))
        .collect();
    for Scored { rule, finding, .. } in scored {
        let mut explaining = causes.iter();
        let cause = explaining
            .find(|(id, check)| rule.follows_from(*id, check))
            .map(|(id, _)| *id)
            .or_else(|| behind_failure_modes.filter(|_| rule.role().is_failure_mode()));
        finding.consequence_of = cause.map(|rule| rule.to_string());
    }
}
