//! A limit is raised at the failed load, and the change reverted: what the trials conclude about the finding.
//!
//! If the load passes with the raised limit and fails again without, the limit is confirmed. If it fails as before,
//! the finding is demoted. Anything else is undecided.

use plimsoll_model::finding::{
    Certainty, Finding, Intervention, InterventionOutcome as Outcome, TrialTally,
};
use plimsoll_model::trial::{Trial, TrialKind, TrialSpec};
use plimsoll_model::verdict::TrialVerdict;

/// Passed trials that suffice with the limit raised.
const PASSES: u32 = 3;
/// Failed trials that suffice, raised or reverted; passed ones that suffice after the revert.
const FEW: u32 = 2;
/// Trials that may be void before it stays open.
const VOID_MAX: u32 = 3;
/// Share of the bad requests that must turn good for a failed trial with the raised limit to count as an effect.
const MENDED: f64 = 0.5;

/// Trials of one kind at one load, until they suffice.
#[derive(Clone, Debug)]
pub struct Repeats {
    spec: TrialSpec,
    /// What they are for, in words.
    pub purpose: String,
    tally: TrialTally,
    void: u32,
    /// Bad requests of all requests, of the trials that count.
    bad: (u64, u64),
}

impl Repeats {
    /// Trials of `kind` at the load of a trial that failed.
    pub fn new(failed: &TrialSpec, kind: TrialKind, purpose: String) -> Self {
        Self {
            spec: TrialSpec {
                kind,
                stop_early: true,
                ..*failed
            },
            purpose,
            tally: TrialTally::default(),
            void: 0,
            bad: (0, 0),
        }
    }

    /// The next trial; `None` when those made suffice.
    pub fn next_step(&self) -> Option<TrialSpec> {
        let passes = match self.spec.kind {
            TrialKind::Mitigated => PASSES,
            _ => FEW,
        };
        let goes_on = self.tally.passed < passes && self.tally.failed < FEW && self.void < VOID_MAX;
        goes_on.then_some(self.spec)
    }

    /// Takes in a trial.
    pub fn record(&mut self, trial: &Trial) {
        match trial.verdict {
            TrialVerdict::Pass => self.tally.passed += 1,
            TrialVerdict::Fail { .. } => self.tally.failed += 1,
            TrialVerdict::Void { .. } => {
                self.void += 1;
                return;
            }
        }
        self.bad.0 += trial.bad;
        self.bad.1 += trial.requests;
    }

    /// What the trials came to.
    pub fn tally(&self) -> TrialTally {
        self.tally
    }

    /// Trials that may still be made.
    pub fn left(&self) -> u32 {
        match self.next_step() {
            Some(_) => PASSES.saturating_sub(self.tally.passed),
            None => 0,
        }
    }

    /// Seconds of one trial.
    pub fn trial_s(&self) -> u32 {
        self.spec.offered_s()
    }

    fn bad_share(&self) -> Option<f64> {
        (self.bad.1 > 0).then(|| self.bad.0 as f64 / self.bad.1 as f64)
    }
}

/// Whether trials with the raised limit suffice to revert it and reproduce the failure.
pub fn is_worth_restoring(mitigated: &Repeats) -> bool {
    mitigated.tally.passed >= PASSES
}

/// The conclusion of the trials. `restored` is `None` where none were made after the revert.
pub fn evaluate(
    change: &str,
    failed: &Trial,
    mitigated: &Repeats,
    restored: Option<&Repeats>,
) -> Intervention {
    let load = load_of(&failed.spec);
    let tally = mitigated.tally;
    let back = restored.map(Repeats::tally).unwrap_or_default();
    let before = failed.bad as f64 / failed.requests.max(1) as f64;
    let mended = mitigated
        .bad_share()
        .is_some_and(|now| now < (1.0 - MENDED) * before);
    let (outcome, sentence) = if tally.passed >= PASSES && back.failed >= FEW {
        (
            Outcome::Confirmed,
            format!(
                "with {change}, {} of {} trials at {load} passed; with the change reverted, {} of {} failed again",
                tally.passed,
                tally.passed + tally.failed,
                back.failed,
                back.passed + back.failed
            ),
        )
    } else if tally.passed >= PASSES && back.passed >= FEW {
        (
            Outcome::Undecided,
            format!(
                "{load} passed with {change}, and also with the change reverted: the earlier cause is gone"
            ),
        )
    } else if tally.failed >= FEW && mended {
        (
            Outcome::Undecided,
            format!(
                "with {change}, {:.0} % of the requests at {load} were bad instead of {:.0} %, but the objective was \
                 still missed: it was a limit, and another one is close behind it",
                mitigated.bad_share().unwrap_or(0.0) * 100.0,
                before * 100.0
            ),
        )
    } else if tally.failed >= FEW {
        (
            Outcome::Demoted,
            format!(
                "with {change}, {load} failed as before ({} of {} trials): something else sets the line",
                tally.failed,
                tally.passed + tally.failed
            ),
        )
    } else {
        (
            Outcome::Undecided,
            format!(
                "too few valid trials at {load} to judge the effect of {change}: this machine was disturbed, or the \
                 run was stopped"
            ),
        )
    };
    Intervention {
        change: change.to_owned(),
        outcome,
        load: failed.spec.rate,
        unit: failed.spec.unit,
        mitigated: tally,
        restored: back,
        sentence,
    }
}

/// A finding that nothing was changed for, and why.
pub fn not_tried(change: &str, failed: &Trial, why: &str) -> Intervention {
    Intervention {
        change: change.to_owned(),
        outcome: Outcome::NotTried,
        load: failed.spec.rate,
        unit: failed.spec.unit,
        mitigated: TrialTally::default(),
        restored: TrialTally::default(),
        sentence: why.to_owned(),
    }
}

/// A load in words.
fn load_of(spec: &TrialSpec) -> String {
    format!("{:.0} {}", spec.rate, spec.unit.symbol())
}

/// Writes the outcome of a test of the finding at `index` into the findings: its certainty, its consequences, and the
/// order.
pub fn settle(findings: &mut [Finding], index: usize, intervention: Intervention) {
    let Some(finding) = findings.get_mut(index) else {
        return;
    };
    let outcome = intervention.outcome;
    finding.intervention = Some(intervention);
    match outcome {
        Outcome::Confirmed => finding.certainty = Certainty::Confirmed,
        Outcome::Demoted => finding.certainty = Certainty::Demoted,
        Outcome::Undecided | Outcome::NotTried => return,
    }
    if outcome == Outcome::Demoted {
        let demoted = finding.clone();
        for other in findings.iter_mut() {
            // What sets no line brings nothing about.
            if other.follows_from(&demoted) {
                other.consequence_of = None;
                other.consequence_of_machine = None;
            }
        }
    }
    // Stable: untested findings keep their order.
    findings.sort_by_key(|finding| match finding.certainty {
        Certainty::Confirmed => 0,
        Certainty::Demoted => 3,
        _ if finding.consequence_of.is_some() => 2,
        _ => 1,
    });
}

#[cfg(test)]
mod tests {
    use plimsoll_model::plan::LoadUnit;
    use plimsoll_model::trial::Percentiles;
    use plimsoll_model::verdict::FailReason;

    use super::*;

    fn spec() -> TrialSpec {
        TrialSpec {
            kind: TrialKind::Bracket,
            rate: 300.0,
            unit: LoadUnit::default(),
            per_unit: 1.0,
            ramp_s: 2,
            warmup_s: 2,
            measure_s: 6,
            stop_early: false,
            in_flight_cap: 1000,
        }
    }

    fn trial(verdict: TrialVerdict, bad: u64) -> Trial {
        Trial {
            index: 0,
            spec: spec(),
            start_second: 0,
            measured: (4, 10),
            verdict,
            requests: 100,
            bad,
            errors: 0,
            throughput: 300.0,
            response_us: Percentiles::default(),
            objective_us: None,
            in_flight_mean: 1.0,
            lag_us_p99: 0,
            generator_cpu: 0.1,
            stolen_share: 0.0,
        }
    }

    fn pass() -> Trial {
        trial(TrialVerdict::Pass, 0)
    }

    fn fail(bad: u64) -> Trial {
        let reason = FailReason::Latency;
        trial(TrialVerdict::Fail { reason }, bad)
    }

    fn void() -> Trial {
        trial(
            TrialVerdict::Void {
                reasons: Vec::new(),
            },
            0,
        )
    }

    fn repeats(kind: TrialKind, trials: &[Trial]) -> Repeats {
        let mut repeats = Repeats::new(&spec(), kind, String::new());
        for trial in trials {
            let next = repeats.next_step();
            assert_eq!(next.map(|next| next.kind), Some(kind), "{trial:?}");
            repeats.record(trial);
        }
        assert_eq!(repeats.next_step(), None);
        repeats
    }

    fn outcome(mitigated: &[Trial], restored: Option<&[Trial]>) -> Intervention {
        let mitigated = repeats(TrialKind::Mitigated, mitigated);
        assert_eq!(is_worth_restoring(&mitigated), restored.is_some());
        let restored = restored.map(|trials| repeats(TrialKind::Restored, trials));
        evaluate(
            "maxconn from 20 to 80",
            &fail(80),
            &mitigated,
            restored.as_ref(),
        )
    }

    #[test]
    fn a_limit_is_confirmed_by_its_return() {
        let passes = [pass(), fail(80), pass(), void(), pass()];
        let confirmed = outcome(&passes, Some(&[fail(80), pass(), fail(80)]));
        assert_eq!(confirmed.outcome, Outcome::Confirmed);
        assert_eq!(
            confirmed.sentence,
            "with maxconn from 20 to 80, 3 of 4 trials at 300 req/s passed; with the change reverted, 2 of 3 failed again"
        );
        let gone = outcome(&passes, Some(&[pass(), pass()]));
        assert_eq!(gone.outcome, Outcome::Undecided);
    }

    #[test]
    fn what_fails_as_before_is_demoted() {
        let demoted = outcome(&[fail(80), fail(75)], None);
        assert_eq!(demoted.outcome, Outcome::Demoted);
        assert_eq!((demoted.mitigated.passed, demoted.mitigated.failed), (0, 2));
        let close = outcome(&[fail(20), fail(30)], None);
        assert_eq!(close.outcome, Outcome::Undecided);
        assert!(close.sentence.contains("25 % of the requests"), "{close:?}");
        let nothing = outcome(&[void(), pass(), void(), void()], None);
        assert_eq!(nothing.outcome, Outcome::Undecided);
    }

    fn finding(rule: &str, consequence_of: Option<&str>) -> Finding {
        Finding {
            rule: rule.to_owned(),
            limit: rule.to_owned(),
            machine: None,
            tier: None,
            certainty: Certainty::Suspected,
            score: 0.6,
            sentence: String::new(),
            remedy: String::new(),
            evidence: Vec::new(),
            consequence_of: consequence_of.map(str::to_owned),
            consequence_of_machine: None,
            intervention: None,
        }
    }

    #[test]
    fn findings_are_ordered_anew() {
        let order = |findings: &[Finding]| -> String {
            let rules = findings.iter().map(|finding| finding.rule.as_str());
            rules.collect::<Vec<_>>().join(" ")
        };
        let all = || {
            vec![
                finding("H1", None),
                finding("C3", None),
                finding("N1", Some("H1")),
                finding("X1", Some("C3")),
            ]
        };
        let mut demoted = all();
        settle(&mut demoted, 0, outcome(&[fail(80), fail(80)], None));
        assert_eq!(order(&demoted), "C3 N1 X1 H1");
        assert_eq!(demoted[1].consequence_of, None);
        assert_eq!(demoted[3].certainty, Certainty::Demoted);
        let mut confirmed = all();
        let passes = [pass(), pass(), pass()];
        settle(
            &mut confirmed,
            1,
            outcome(&passes, Some(&[fail(80), fail(80)])),
        );
        assert_eq!(order(&confirmed), "C3 H1 N1 X1");
        assert_eq!(confirmed[0].certainty, Certainty::Confirmed);
        let mut untouched = all();
        settle(
            &mut untouched,
            0,
            not_tried("", &fail(80), "it cannot be changed"),
        );
        assert_eq!(order(&untouched), "H1 C3 N1 X1");
        assert_eq!(untouched[0].certainty, Certainty::Suspected);
    }
}
