//! What a search found, from its observations.

use super::confirm::{ConfirmTrials, Confirmation, MARGIN};
use super::course::Course;
use super::evidence::{SettingEvidence, log_carried};
use super::observation::{Observation, Phase, Score};
use super::outcome::{BestSetting, Rejected, RejectedWhy, RevertedKnob, TuneOutcome};
use super::race::is_unstable;
use super::space::Levels;
use super::{IMPORTANCE, TuneSearch};
use crate::stats::line::mean;

/// A candidate and its trials beside the default.
struct Compared {
    levels: Levels,
    trials: ConfirmTrials,
    state: Confirmation,
}

pub(super) fn outcome(search: &TuneSearch, observations: &[Observation]) -> TuneOutcome {
    let course = search.course(observations);
    let compared: Vec<Compared> = course
        .candidates()
        .into_iter()
        .map(|levels| {
            let trials = search.confirm_trials(observations, &levels);
            Compared {
                state: trials.state(),
                levels,
                trials,
            }
        })
        .collect();
    let confirmed = compared
        .iter()
        .find(|candidate| candidate.state == Confirmation::Confirmed);
    let baseline = baseline(search, observations, &course);
    let best = confirmed
        .or_else(|| best_compared(&compared))
        .and_then(|candidate| best_setting(candidate, &course));
    let samples = course.evidence().samples();
    let seed = search.seed.derive(IMPORTANCE);
    let evaluated = || {
        observations
            .iter()
            .filter(|trial| trial.phase != Phase::Baseline)
    };
    let count = |score: Score| evaluated().filter(|trial| trial.score == score).count();
    let adopt = confirmed.is_some();
    let adopted = best.as_ref().filter(|_| adopt);
    TuneOutcome {
        baseline,
        adopt,
        reason: reason(&compared, best.as_ref(), &course, baseline),
        importance: course.forest().importance(&search.space, &samples, seed),
        reverted: reverted(&course, best.as_ref(), &compared),
        unshown: adopted.map_or_else(Vec::new, |best| course.unshown(&best.levels)),
        rejected: rejected(search, &course, &compared, best.as_ref(), adopt),
        best,
        evaluations: evaluated().count(),
        failed: count(Score::Failed),
        void: count(Score::Void),
    }
}

/// The load line of the default: by its full search, else by its trials of the search.
fn baseline(search: &TuneSearch, observations: &[Observation], course: &Course<'_>) -> Option<f64> {
    let measured: Vec<f64> = observations
        .iter()
        .filter(|trial| trial.phase == Phase::Baseline)
        .filter_map(|trial| log_carried(&trial.score))
        .collect();
    let default = search.space.default_levels();
    let lines = if measured.is_empty() {
        course.evidence().get(&default)?.lines.clone()
    } else {
        measured
    };
    mean(&lines).map(f64::exp)
}

/// The candidate with the highest gain that was not refuted; before the confirmation, the first.
fn best_compared(compared: &[Compared]) -> Option<&Compared> {
    let open = compared
        .iter()
        .find(|candidate| candidate.state == Confirmation::Open);
    let gain = |candidate: &Compared| candidate.trials.gain().map(|gain| gain.value);
    let is_gain = |candidate: &&Compared| {
        candidate.state == Confirmation::Rejected(RejectedWhy::NotConfirmed)
            && gain(candidate).is_some_and(|gain| gain > 1.0)
    };
    let refuted = compared.iter().filter(is_gain);
    open.or_else(|| {
        refuted.max_by(|a, b| {
            let (a, b) = (gain(a).unwrap_or(0.0), gain(b).unwrap_or(0.0));
            a.total_cmp(&b)
        })
    })
}

/// A candidate by its pairs; before the first, by its trials of the search, where they have the default beside them.
fn best_setting(candidate: &Compared, course: &Course<'_>) -> Option<BestSetting> {
    let levels = candidate.levels.clone();
    let Some(gain) = candidate.trials.gain() else {
        let setting = course.evidence().get(&levels)?;
        let (ratio, is_at_least) = setting.carried()?;
        let line = setting.line()?;
        return Some(BestSetting {
            levels,
            line,
            default_line: line / ratio.exp(),
            default_low: 0.0,
            default_high: f64::INFINITY,
            is_at_least,
            low: 0.0,
            high: f64::INFINITY,
            gain: ratio.exp_m1(),
            gain_low: -1.0,
            gain_high: f64::INFINITY,
            pairs: 0,
        });
    };
    let line = candidate.trials.line()?;
    let default = candidate.trials.default_line()?;
    Some(BestSetting {
        levels,
        line: line.value,
        default_line: default.value,
        default_low: default.low,
        default_high: default.high,
        is_at_least: candidate.trials.is_at_least,
        low: line.low,
        high: line.high,
        gain: gain.value - 1.0,
        gain_low: gain.low - 1.0,
        gain_high: gain.high - 1.0,
        pairs: candidate.trials.pairs(),
    })
}

/// The changes that went back, when the best setting is the one without them.
fn reverted(
    course: &Course<'_>,
    best: Option<&BestSetting>,
    compared: &[Compared],
) -> Vec<RevertedKnob> {
    let is_first = match (best, compared.first()) {
        (Some(best), Some(first)) => best.levels == first.levels,
        _ => false,
    };
    if !is_first {
        return Vec::new();
    }
    let changes = course.reverted_knobs().into_iter();
    changes
        .map(|change| RevertedKnob {
            knob: change.knob,
            cost: -(-change.cost).exp_m1(),
            together: change.together,
        })
        .collect()
}

fn rejected(
    search: &TuneSearch,
    course: &Course<'_>,
    compared: &[Compared],
    best: Option<&BestSetting>,
    adopt: bool,
) -> Vec<Rejected> {
    let evidence = course.evidence();
    let why = |levels: &Levels, setting: &SettingEvidence| {
        let candidate = compared
            .iter()
            .find(|candidate| candidate.levels == *levels);
        match candidate.map(|candidate| candidate.state) {
            Some(Confirmation::Rejected(why)) => Some(why),
            _ if setting.failed > 0 => Some(RejectedWhy::Failed),
            _ if setting.lines.is_empty() => None,
            _ if is_unstable(&search.space, evidence, setting) => Some(RejectedWhy::Unstable),
            _ if adopt || setting.mean().is_some_and(|mean| mean <= 0.0) => {
                Some(RejectedWhy::Slower)
            }
            _ => Some(RejectedWhy::NotConfirmed),
        }
    };
    let is_best = |levels: &Levels| adopt && best.is_some_and(|best| best.levels == *levels);
    let mut rejected: Vec<Rejected> = evidence
        .settings()
        .filter(|(levels, _)| !search.space.is_default(levels) && !is_best(levels))
        .filter_map(|(levels, setting)| {
            Some(Rejected {
                levels: levels.clone(),
                why: why(levels, setting)?,
                ratio: setting.carried().map(|(ratio, _)| ratio.exp()),
                is_at_least: setting.carried().is_some_and(|(_, more)| more),
            })
        })
        .collect();
    let order = |rejected: &Rejected| rejected.ratio.unwrap_or(0.0);
    rejected.sort_by(|a, b| {
        order(b)
            .total_cmp(&order(a))
            .then_with(|| a.levels.cmp(&b.levels))
    });
    rejected
}

/// Why the best setting is adopted or not.
fn reason(
    compared: &[Compared],
    best: Option<&BestSetting>,
    course: &Course<'_>,
    baseline: Option<f64>,
) -> String {
    if baseline.is_none() {
        return "The default was never measured, so nothing can be compared with it.".to_owned();
    }
    let Some(candidate) = best
        .and_then(|best| compared.iter().find(|other| other.levels == best.levels))
        .or_else(|| compared.first())
    else {
        let (measured, ratios) = (
            course.evidence().measured().count(),
            course.evidence().sound().count(),
        );
        if measured > 0 && ratios == 0 {
            return format!(
                "The default is kept: no trial of it counts beside the {measured} other settings that were measured, so none can \
                 be compared with it."
            );
        }
        return format!(
            "The default is kept: of {measured} other settings that were measured, none is expected to carry more than 3 % \
             above it."
        );
    };
    match (candidate.state, best) {
        (Confirmation::Confirmed, Some(best)) => format!(
            "The gain is confirmed: {}, at least {} with 95 % confidence, from {} pairs of trials.",
            more(best.gain),
            more(best.gain_low),
            best.pairs
        ),
        (Confirmation::Rejected(why), _) => refusal(why, best),
        (_, Some(best)) if best.pairs == 0 && best.gain > 0.0 => format!(
            "The default is kept: in the search the best setting carried {}{}, and nothing of that was confirmed before the \
             search ended.",
            if best.is_at_least { "at least " } else { "" },
            more(best.gain)
        ),
        (_, Some(best)) if best.pairs > 0 => format!(
            "The default is kept: the best setting carried {} in {} of trials, and the search ended before that was enough to \
             tell a gain of more than {} from chance.",
            more(best.gain),
            match best.pairs {
                1 => "1 pair".to_owned(),
                pairs => format!("{pairs} pairs"),
            },
            percent(MARGIN)
        ),
        _ => "The default is kept: the search ended before the best setting was confirmed."
            .to_owned(),
    }
}

fn refusal(why: RejectedWhy, best: Option<&BestSetting>) -> String {
    let kept = "The default is kept";
    match (why, best) {
        (RejectedWhy::Failed, _) => {
            format!("{kept}: the service failed with the best setting while it was compared.")
        }
        (RejectedWhy::WorseErrors, _) => {
            format!("{kept}: the best setting makes more errors than the default.")
        }
        (RejectedWhy::WorseMemory, _) => {
            format!("{kept}: the best setting uses more memory than is allowed.")
        }
        (RejectedWhy::WorsePrice, _) => {
            format!("{kept}: the best setting costs more than the default.")
        }
        (_, Some(best)) if best.gain_low > -1.0 => format!(
            "{kept}: the best setting carries {}, between {} and {} with 95 % confidence; only a gain of more than {} is \
             adopted.",
            more(best.gain),
            more(best.gain_low),
            more(best.gain_high),
            percent(MARGIN)
        ),
        _ => format!("{kept}: no gain was confirmed."),
    }
}

/// A gain, or a loss: from twice as much on as a factor.
fn more(gain: f64) -> String {
    if gain >= 1.0 {
        format!("{:.1} times as much", gain + 1.0)
    } else if gain < 0.0 {
        format!("{} less", percent(-gain))
    } else {
        format!("{} more", percent(gain))
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::more;

    #[test]
    fn a_loss_is_not_a_negative_gain() {
        assert_eq!(more(-0.067), "6.7 % less");
        assert_eq!(more(0.0), "0.0 % more");
        assert_eq!(more(0.25), "25.0 % more");
        assert_eq!(more(1.5), "2.5 times as much");
    }
}
