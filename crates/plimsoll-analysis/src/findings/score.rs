//! Score = strength × onset; then causes and consequences, and the order.

use plimsoll_model::finding::{Certainty, Evidence, Finding, Strength, Tier};
use plimsoll_model::machine::on_machine;

use super::placed;
use crate::diagnosis::measure::signs;
use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId;
use crate::diagnosis::stretch::{Stretch3, View};
use crate::machines::MachineTier;
use crate::rules::in_front::ACROSS_MACHINES;

/// A symptom that was already there at a passing load has grown when it is this much larger.
const GROWTH: f64 = 1.5;
/// A finding below this score is not certain enough to be suspected.
const SUSPECTED_MIN: f64 = 0.4;
/// A finding explains others from this score on.
const EXPLAINS_MIN: f64 = 0.3;

struct Scored {
    rule: &'static Rule,
    check: &'static Check,
    place: Place,
    finding: Finding,
}

/// Where a limit is.
#[derive(Clone, Debug)]
struct Place {
    /// As in [`Finding::machine`].
    machine: Option<String>,
    tier: MachineTier,
    /// It is of a component that was scraped from the generator's machine over the network: on which machine it runs is not
    /// known.
    is_elsewhere: bool,
}

impl Place {
    fn of(rule: &Rule, check: &Check, view: &View<'_>) -> Self {
        let is_of_component = matches!(check.tier, Tier::Proxy | Tier::Runtime | Tier::Store);
        Self {
            machine: view.machine().map(str::to_owned),
            tier: view.tier(),
            is_elsewhere: is_of_component && !rule.is_of_load() && !view.serves_requests(),
        }
    }

    /// Whether a limit here can be the cause of a finding there. On another machine that is so where the finding is about
    /// something that waits, and this machine stands behind that one.
    fn reaches(&self, there: &Self, rule: &Rule) -> bool {
        let waits = || ACROSS_MACHINES.iter().any(|&id| rule.is_like(id));
        self.machine == there.machine || self.is_elsewhere || self.tier > there.tier && waits()
    }
}

/// Evaluates all checks on each machine, the generator's own first; best first.
pub(crate) fn findings(
    checks: impl Iterator<Item = (&'static Rule, &'static Check)>,
    machines: &[Stretch3<'_>],
) -> Vec<Finding> {
    if !machines.iter().any(|over| over.failing.is_measured()) {
        return Vec::new();
    }
    let mut scored: Vec<Scored> = checks
        .flat_map(|(rule, check)| {
            let on_each = machines.iter();
            let on_each = on_each.filter(move |over| applies(rule, check, &over.failing));
            on_each.filter_map(move |over| best_of(rule, check, over))
        })
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
            .then(b.place.tier.cmp(&a.place.tier))
    });
    scored.into_iter().map(|scored| scored.finding).collect()
}

/// Whether a check is evaluated on a machine. Of the generator's own, where the target is on another one, what it shows of
/// the target; of machines that agents watch, all that is not about the load.
fn applies(rule: &Rule, check: &Check, view: &View<'_>) -> bool {
    if view.machine().is_some() {
        return !rule.is_of_load();
    }
    view.target_is_local() || rule.applies_remotely(check)
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
    let words = placed_words(words, &over.failing);
    let certainty = if score < SUSPECTED_MIN || words.doubtful {
        Certainty::Possible
    } else if check.strength == Strength::Explicit {
        Certainty::Explicit
    } else {
        Certainty::Suspected
    };
    let place = Place::of(rule, check, &over.failing);
    Some(Scored {
        rule,
        check,
        finding: Finding {
            rule: rule.id().to_string(),
            limit: words.limit,
            machine: place.machine.clone(),
            tier: Some(check.tier),
            certainty,
            score,
            sentence: words.sentence,
            remedy: words.remedy.unwrap_or_else(|| check.remedy.to_owned()),
            evidence: words.evidence,
            consequence_of: None,
            consequence_of_machine: None,
            intervention: None,
        },
        place,
    })
}

/// The texts with the machine that they are about, where that is not the generator's own; evidence names the series as the
/// run has them.
fn placed_words(words: Words, view: &View<'_>) -> Words {
    let Some(machine) = view.machine() else {
        return words;
    };
    let evidence = words.evidence.into_iter().map(|line| Evidence {
        // What is made of windows is of no machine.
        series: if view.has_series(&line.series) {
            on_machine(&line.series, machine)
        } else {
            line.series
        },
        label: placed::label(&line.label, machine),
        ..line
    });
    Words {
        limit: placed::limit(&words.limit, machine),
        sentence: placed::sentence(&words.sentence, machine),
        evidence: evidence.collect(),
        ..words
    }
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

/// A finding that explains others.
struct Cause {
    id: RuleId,
    check: &'static Check,
    place: Place,
}

fn name_consequences(scored: &mut [Scored]) {
    let sure = scored.iter().filter(|candidate| {
        !candidate.rule.role().is_failure_mode()
            && candidate.finding.certainty >= Certainty::Suspected
    });
    let behind_failure_modes = sure
        .max_by(|a, b| a.finding.score.total_cmp(&b.finding.score))
        .map(|best| (best.rule.id(), best.place.machine.clone()));
    let causes: Vec<Cause> = scored
        .iter()
        .filter(|cause| {
            let finding = &cause.finding;
            let doubtful =
                finding.certainty == Certainty::Possible && finding.score >= SUSPECTED_MIN;
            finding.score >= EXPLAINS_MIN && !doubtful
        })
        .map(|cause| Cause {
            id: cause.rule.id(),
            check: cause.check,
            place: cause.place.clone(),
        })
        .collect();
    for candidate in scored {
        let (rule, place) = (candidate.rule, &candidate.place);
        let explaining = || {
            let all = causes.iter();
            all.filter(move |cause| rule.follows_from(cause.id, cause.check))
        };
        // What is near is more likely than what is far.
        let cause = explaining()
            .find(|cause| cause.place.machine == place.machine)
            .or_else(|| explaining().find(|cause| cause.place.reaches(place, rule)))
            .map(|cause| (cause.id, cause.place.machine.clone()))
            .or_else(|| {
                let is_failure_mode = rule.role().is_failure_mode();
                behind_failure_modes.clone().filter(|_| is_failure_mode)
            });
        let (cause, machine) = cause.unzip();
        candidate.finding.consequence_of = cause.map(|rule| rule.to_string());
        candidate.finding.consequence_of_machine = machine.flatten();
    }
}
