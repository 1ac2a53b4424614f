//! Whether the service carries the demand that was asked about.

use plimsoll_analysis::whole_search::{Carries, Margin, RequiredAnswer, required};

use crate::number::short;
use crate::report::Report;

/// The answer to the demand of a search; `None` without one, and before the search ended.
pub(crate) fn required_answer<'a>(report: &Report<'a>) -> Option<RequiredAnswer<'a>> {
    required(report.run, report.run.search.as_ref()?)
}

/// The answer as the beginning of the result.
pub(crate) fn required_sentence(answer: &RequiredAnswer<'_>) -> String {
    let subject = &answer.required.subject;
    let margin = answer.margin.as_ref();
    match answer.carries {
        Carries::Yes => {
            let margin = margin.map_or_else(String::new, |margin| {
                format!(", with a margin of {}", margin_text(margin))
            });
            format!("Yes, it carries {subject}{margin}.")
        }
        Carries::No => {
            let share = margin.map_or_else(String::new, |margin| {
                format!(": it carries {} times as much", interval(margin))
            });
            format!("No, it does not carry {subject}{share}.")
        }
        Carries::WithinInterval => {
            let why = margin.map_or_else(
                || ", because the load line is not known".to_owned(),
                |margin| format!(": it may carry {} times as much", interval(margin)),
            );
            format!("Undecided whether it carries {subject}{why}.")
        }
    }
}

/// `2.1 times (90 % interval 1.9 to 2.3)`, or `2.1 times or more` where nothing broke the objective.
pub(crate) fn margin_text(margin: &Margin) -> String {
    match margin.high {
        Some(high) => format!(
            "{} times (90 % interval {} to {})",
            short(margin.median),
            short(margin.low),
            short(high)
        ),
        None => format!("{} times or more", short(margin.low)),
    }
}

/// `0.51 (90 % interval 0.5 to 0.53)`, or `0.9 or more`.
fn interval(margin: &Margin) -> String {
    match margin.high {
        Some(high) => format!(
            "{} (90 % interval {} to {})",
            short(margin.median),
            short(margin.low),
            short(high)
        ),
        None => format!("{} or more", short(margin.low)),
    }
}
