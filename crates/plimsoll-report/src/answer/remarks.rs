//! Remarks of a search, as sentences.

use plimsoll_model::load_line::Remark;
use plimsoll_model::plan::LoadUnit;

use crate::number::{load, percent, seconds, short};

/// The remarks of a search in this unit, in order. Recoveries from several overloads are one sentence.
pub fn remarks(remarks: &[Remark], unit: LoadUnit) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    let mut recoveries: Vec<(f64, u32)> = Vec::new();
    for each in remarks {
        match each {
            Remark::Recovery {
                rate,
                seconds: Some(after),
            } => recoveries.push((*rate, *after)),
            other => sentences.push(remark(other, unit)),
        }
    }
    if let Some(sentence) = recovered(&recoveries, unit) {
        sentences.insert(0, sentence);
    }
    sentences
}

/// Recovery times of the target after overloads (load in the unit, seconds).
fn recovered(recoveries: &[(f64, u32)], unit: LoadUnit) -> Option<String> {
    let rate = |value: f64| load(value, unit);
    let slowest = recoveries.iter().map(|&(_, after)| after).max()?;
    let lowest = recoveries
        .iter()
        .map(|&(at, _)| at)
        .fold(f64::MAX, f64::min);
    let highest = recoveries.iter().map(|&(at, _)| at).fold(0.0, f64::max);
    Some(if recoveries.len() == 1 {
        recovery(&rate(highest), Some(slowest))
    } else {
        let times = recoveries.len();
        let after = well_again(slowest);
        format!(
            "After each of {times} overloads, {} to {}, the target recovered {after}.",
            short(lowest),
            rate(highest)
        )
    })
}

fn recovery(rate: &str, seconds: Option<u32>) -> String {
    match seconds {
        Some(after) => {
            let after = well_again(after);
            format!("After an overload of {rate} the target recovered {after}.")
        }
        None => format!("After an overload of {rate} the target did not recover in time."),
    }
}

fn well_again(after_s: u32) -> String {
    match after_s {
        0 => "at once".to_owned(),
        after_s => format!("within {after_s} s"),
    }
}

fn remark(remark: &Remark, unit: LoadUnit) -> String {
    let rate = |value: f64| load(value, unit);
    match remark {
        Remark::NoisyMachine { variation } => format!(
            "The machine is noisy: equal trials differ by {} in their median; trials are longer and the interval \
             is wider.",
            percent(*variation)
        ),
        Remark::Drift { what, change } => {
            format!(
                "The target changed while it was measured: {what} by {}.",
                signed_percent(*change)
            )
        }
        Remark::Leak {
            what,
            per_thousand_requests,
            seconds_to_limit,
        } => {
            let end = seconds_to_limit.map_or_else(String::new, |left| {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a time is shown, and a float saturates"
                )]
                let left = left as u64;
                format!(
                    "; its limit is reached after {} at this load",
                    seconds(left)
                )
            });
            format!(
                "{what} grows by {} with every thousand requests{end}.",
                short(*per_thousand_requests)
            )
        }
        Remark::Recovery { rate: at, seconds } => recovery(&rate(*at), *seconds),
        Remark::Hysteresis {
            rate: at,
            from_below,
            from_above,
        } => format!(
            "At {} the result depends on the direction: from below it {}, from above it {}.",
            rate(*at),
            passes(*from_below),
            passes(*from_above)
        ),
        Remark::SharedMachine { generator_share } => format!(
            "Generator and target share this machine: the generator took {} of its CPU at the line.",
            percent(*generator_share)
        ),
        Remark::Note { text } => text.clone(),
    }
}

fn passes(passed: bool) -> &'static str {
    if passed { "passes" } else { "fails" }
}

fn signed_percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}
