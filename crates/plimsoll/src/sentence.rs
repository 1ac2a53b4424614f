//! The sentence of `--for`: for whom, as a load.

mod log;

use std::time::Duration;

use plimsoll_config::sentence::DemandSentence;
use plimsoll_config::units;
use plimsoll_model::journey::Scenario;
use plimsoll_model::plan::{LoadUnit, Plan, RequiredLoad};
use plimsoll_probe::advice::Demand;
use plimsoll_report::number::{count as count_text, short};

use crate::arguments::WrittenSentence;
use crate::explain::CliError;

/// From this time on a demand spread evenly hides its peaks.
const EVEN_MAX: Duration = Duration::from_hours(2);

/// The demand of a search as a load, and the unit in which the search counts for it.
///
/// # Errors
/// When the plan cannot carry such a demand out, or the log has no such day.
pub(crate) fn required(
    written: &WrittenSentence,
    plan: &Plan,
) -> Result<(RequiredLoad, Option<LoadUnit>), CliError> {
    let has_steps = plan.scenario.is_some();
    let subject = written.demand.to_string();
    let of = |load: f64, unit: LoadUnit, read_as: String| RequiredLoad {
        sentence: written.text.clone(),
        subject: subject.clone(),
        read_as,
        load,
        unit,
        pause: None,
    };
    Ok(match &written.demand {
        DemandSentence::Requests { count, within } => {
            let (rate, arithmetic) = spread_evenly(*count, "requests", *within);
            (of(rate, LoadUnit::RequestsPerSecond, arithmetic), None)
        }
        DemandSentence::Arrivals {
            count,
            event,
            within,
        } => {
            let (rate, arithmetic) = spread_evenly(*count, event, *within);
            let unit = has_steps.then_some(LoadUnit::SessionsPerSecond);
            let each = if has_steps {
                "each takes the steps of the plan once".to_owned()
            } else {
                format!("each is one {} request", plan.request.method)
            };
            let read_as = format!("{arithmetic}; {each}");
            (of(rate, unit.unwrap_or_default(), read_as), unit)
        }
        DemandSentence::Users { count, noun, pause } => {
            let required = users(written, (*count, noun), *pause, has_steps)?;
            (required, has_steps.then_some(LoadUnit::Users))
        }
        DemandSentence::Sockets {
            count,
            noun,
            lasting,
        } => {
            if !plan.scenario.as_ref().is_some_and(Scenario::has_sockets) {
                return Err(without_sockets(*count, *lasting, plan));
            }
            let read_as = format!(
                "{} {noun} at once, each with the WebSocket of the plan",
                count_text(u64::from(*count))
            );
            let required = of(f64::from(*count), LoadUnit::Users, read_as);
            (required, Some(LoadUnit::Users))
        }
        DemandSentence::OfLog(demand) => {
            let (rate, read_as) = log::rate(demand)?;
            (of(rate, LoadUnit::RequestsPerSecond, read_as), None)
        }
    })
}

/// Users at once, with a pause or with the steps of a plan.
fn users(
    written: &WrittenSentence,
    (count, noun): (u32, &str),
    pause: Option<Duration>,
    has_steps: bool,
) -> Result<RequiredLoad, CliError> {
    let number = count_text(u64::from(count));
    let read_as = match (pause, has_steps) {
        (None, true) => format!("{number} {noun} at once, each takes the steps of the plan"),
        (Some(pause), false) => {
            let most = f64::from(count) / pause.as_secs_f64();
            format!(
                "{number} {noun} at once, each with a pause of {} between a response and the next request: at most {} \
                 req/s, fewer the longer a response takes (Little's law)",
                units::duration_text(pause),
                short(most)
            )
        }
        (None, false) => {
            return Err(CliError::usage(format!(
                "how often does each of the {number} {noun} send a request? the sentence does not tell"
            ))
            .remedy(format!(
                "'{number} {noun} who pause ten seconds', or a plan with journeys instead of the URL"
            )));
        }
        (Some(_), true) => {
            return Err(CliError::usage(
                "the steps of the plan tell how long users pause, and so does the sentence",
            )
            .remedy(format!("'{number} {noun}'")));
        }
    };
    Ok(RequiredLoad {
        sentence: written.text.clone(),
        subject: written.demand.to_string(),
        read_as,
        load: f64::from(count),
        unit: LoadUnit::Users,
        pause,
    })
}

fn without_sockets(count: u32, lasting: Option<Duration>, plan: &Plan) -> CliError {
    let hold = lasting.map_or_else(|| "1m".to_owned(), units::duration_text);
    CliError::usage("a search holds WebSockets by the steps of a plan, and none of its steps opens one").remedy(
        format!(
            "name a plan with a step `ws: URL`; or hold them without a search: plimsoll run {} --ws --connections {count} \
             --hold {hold}",
            plan.target.url
        ),
    )
}

/// A rate, and the arithmetic behind it.
fn spread_evenly(count: f64, what: &str, within: Duration) -> (f64, String) {
    let rate = count / within.as_secs_f64();
    let peaks = if within >= EVEN_MAX {
        ", spread evenly, without the peaks of a real day: a log has them ('ten times a usual Monday from access.log')"
    } else {
        ", spread evenly"
    };
    let text = format!(
        "{} {what} in {} s = {} {what}/s{peaks}",
        short(count),
        short(within.as_secs_f64()),
        short(rate)
    );
    (rate, text)
}

/// The demand of `check`: users, their requests and connections.
///
/// # Errors
/// When the log has no such day.
pub(crate) fn demand(written: &WrittenSentence) -> Result<Demand, CliError> {
    Ok(match &written.demand {
        DemandSentence::Users {
            count,
            pause: Some(pause),
            ..
        } => Demand::pausing(u64::from(*count), *pause),
        DemandSentence::Users { count, .. } => Demand::assumed(u64::from(*count)),
        DemandSentence::Sockets { count, .. } => Demand::connected(u64::from(*count)),
        DemandSentence::Requests { count, within } => {
            let (rate, arithmetic) = spread_evenly(*count, "requests", *within);
            Demand::of_rate(rate, &arithmetic)
        }
        DemandSentence::Arrivals {
            count,
            event,
            within,
        } => {
            let (rate, arithmetic) = spread_evenly(*count, event, *within);
            Demand::arriving(*count, rate, &arithmetic)
        }
        DemandSentence::OfLog(demand) => {
            let (rate, read_as) = log::rate(demand)?;
            Demand::of_rate(rate, &read_as)
        }
    })
}
