//! Score = strength × onset; then causes and consequences, and the order.

use plimsoll_model::finding::{Certainty, Finding, Strength, Tier};

use crate::diagnosis::measure::signs;
use crate::diagnosis::rule::{FindingRule, RuleMatch, Sign, Symptom};
use crate::diagnosis::rule_id::RuleId::{
    self, A0, C5, H4, J5, J6, J9, N5, R1, R3, R4, S1, S3, V1, X7,
};
use crate::diagnosis::stretch::{Stretch3, View};
use crate::rules::table_host::FOLLOWS;

/// A symptom that was already there at a passing load has grown when it is this much larger.
const GROWTH: f64 = 1.5;
/// A finding below this score is not certain enough to be suspected.
const SUSPECTED_MIN: f64 = 0.4;
/// A finding explains others from this score on.
const EXPLAINS_MIN: f64 = 0.3;

/// Rows that follow from every cause of an older row of their kind: workers of a runtime, threads of a proxy, a pool
/// or a script that waits, a proxy before a slow server.
const ALIKE: [(RuleId, RuleId); 7] = [
    (J5, R1),
    (J6, R1),
    (J9, R1),
    (R4, R3),
    (V1, A0),
    (X7, H4),
    (X7, R1),
];
/// Rules about the network whose symptom shows on the generator's machine.
const VISIBLE_REMOTELY: [RuleId; 1] = [N5];
/// Rules that describe how a service fails, and not why: they follow from the best finding that names a cause.
const SHAPES: [RuleId; 3] = [S1, S3, C5];
/// Of these, those reported only beside a cause: alone they would hide that the cause is unknown.
const NEVER_ALONE: [RuleId; 2] = [S1, S3];

struct Scored<'a> {
    rule: &'a FindingRule,
    finding: Finding,
}

/// Evaluates all rules; best first.
pub(super) fn findings(
    rules: impl Iterator<Item = &'static FindingRule>,
    over: &Stretch3<'_>,
) -> Vec<Finding> {
    if !over.failing.is_measured() {
        return Vec::new();
    }
    let local = over.failing.target_is_local();
    let mut scored: Vec<Scored<'_>> = rules
        // Of a remote target only the generator's machine was sampled. Components report their own metrics wherever
        // they are.
        .filter(|rule| {
            let is_read_here = !matches!(rule.tier, Tier::Network | Tier::Machine);
            local || is_read_here || VISIBLE_REMOTELY.contains(&rule.id)
        })
        .filter_map(|rule| best_of(rule, over))
        .collect();
    name_consequences(&mut scored);
    scored.retain(|candidate| {
        !NEVER_ALONE.contains(&candidate.rule.id) || candidate.finding.consequence_of.is_some()
    });
    scored.sort_by(|a, b| {
        let is_consequence = |scored: &Scored<'_>| scored.finding.consequence_of.is_some();
        is_consequence(a)
            .cmp(&is_consequence(b))
            .then(b.finding.score.total_cmp(&a.finding.score))
            .then(b.finding.certainty.cmp(&a.finding.certainty))
            .then(b.rule.tier.cmp(&a.rule.tier))
    });
    scored.into_iter().map(|scored| scored.finding).collect()
}

/// The finding of a rule for the subject that scores highest.
fn best_of<'a>(rule: &'a FindingRule, over: &Stretch3<'_>) -> Option<Scored<'a>> {
    let (failing, passing, base) = match rule.symptom {
        Symptom::Change(compare) => (compare(over), Some(Vec::new()), Some(Vec::new())),
        ref symptom => (
            signs(symptom, &over.failing),
            measured(rule, &over.passing),
            measured(rule, &over.base),
        ),
    };
    let (score, sign) = failing
        .iter()
        .filter(|sign| sign.present)
        .map(|sign| {
            let onset = onset(sign, passing.as_deref(), base.as_deref());
            (strength(rule.strength) * onset, sign)
        })
        .max_by(|a, b| {
            a.0.total_cmp(&b.0)
                .then(a.1.magnitude.total_cmp(&b.1.magnitude))
                .then(b.1.label_set.cmp(&a.1.label_set))
        })?;
    let words = (rule.words)(&RuleMatch {
        over,
        label_set: &sign.label_set,
    });
    let certainty = if score < SUSPECTED_MIN || words.doubtful {
        Certainty::Possible
    } else if rule.strength == Strength::Explicit {
        Certainty::Explicit
    } else {
        Certainty::Suspected
    };
    Some(Scored {
        rule,
        finding: Finding {
            rule: rule.id.to_string(),
            limit: words.limit,
            tier: Some(rule.tier),
            certainty,
            score,
            sentence: words.sentence,
            remedy: words.remedy.unwrap_or_else(|| rule.remedy.to_owned()),
            evidence: words.evidence,
            consequence_of: None,
            intervention: None,
        },
    })
}

/// Signs of a stretch; `None` when the stretch was not measured.
fn measured(rule: &FindingRule, view: &View<'_>) -> Option<Vec<Sign>> {
    view.is_measured().then(|| signs(&rule.symptom, view))
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

fn name_consequences(scored: &mut [Scored<'_>]) {
    let sure = scored.iter().filter(|candidate| {
        !SHAPES.contains(&candidate.rule.id) && candidate.finding.certainty >= Certainty::Suspected
    });
    let behind_shapes = sure
        .max_by(|a, b| a.finding.score.total_cmp(&b.finding.score))
        .map(|best| best.rule.id);
    let causes: Vec<(RuleId, f64, bool, &'static [RuleId])> = scored
        .iter()
        .map(|cause| {
            let finding = &cause.finding;
            let doubtful =
                finding.certainty == Certainty::Possible && finding.score >= SUSPECTED_MIN;
            (cause.rule.id, finding.score, doubtful, cause.rule.explains)
        })
        .collect();
    for scored in scored {
        let cause = causes
            .iter()
            .filter(|cause| cause.1 >= EXPLAINS_MIN && !cause.2)
            .find(|cause| explains((cause.0, cause.3), scored.rule.id))
            .map(|cause| cause.0)
            .or_else(|| behind_shapes.filter(|_| SHAPES.contains(&scored.rule.id)));
        scored.finding.consequence_of = cause.map(|rule| rule.to_string());
    }
}

/// Whether a cause, with the rules that its row explains, explains another rule too.
fn explains((by, listed): (RuleId, &[RuleId]), rule: RuleId) -> bool {
    let lists = |of: RuleId| {
        let mut follows = FOLLOWS.iter().filter(|(cause, _)| *cause == by);
        listed.contains(&of) || follows.any(|(_, all)| all.contains(&of))
    };
    let mut alike = ALIKE.iter().filter(|(id, _)| *id == rule);
    by != rule && (lists(rule) || alike.any(|(_, older)| lists(*older)))
}
