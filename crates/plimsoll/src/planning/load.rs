//! The load: from flags, or a plan file that flags override.

use std::time::Duration;

use plimsoll_config::load as config_load;
use plimsoll_config::plan::{LoadPlan, PlanFile};
use plimsoll_model::journey::UserPhase;
use plimsoll_model::plan::Load;
use plimsoll_model::schedule::{LoadPhase, Spacing};

use crate::arguments::{RunArguments, SpacingArgument};
use crate::explain::CliError;

/// Default duration of a run.
const LASTING_DEFAULT: Duration = Duration::from_secs(10);
/// Default users of a closed load.
pub(super) const CONNECTIONS_DEFAULT: u32 = 64;

fn spacing(argument: Option<SpacingArgument>) -> Spacing {
    match argument {
        Some(SpacingArgument::Even) => Spacing::Even,
        Some(SpacingArgument::Poisson) | None => Spacing::Poisson,
    }
}

/// The load of a search's trials; its rate is searched.
pub(super) fn of_trials(argument: Option<SpacingArgument>) -> Load {
    Load::Open {
        phases: Vec::new(),
        spacing: spacing(argument),
    }
}

/// Sets the distribution of arrivals from the flag, if given.
pub(super) fn spread(load: &mut Load, argument: Option<SpacingArgument>) {
    if let (Load::Open { spacing: of, .. } | Load::Sessions { spacing: of, .. }, Some(_)) =
        (load, argument)
    {
        *of = spacing(argument);
    }
}

/// Whether flags set the load.
pub(super) fn is_given(arguments: &RunArguments) -> bool {
    arguments.rate.is_some()
        || arguments.users.is_some()
        || arguments.connections.is_some()
        || !arguments.phase.is_empty()
}

/// The load of a URL.
pub(super) fn of_flags(arguments: &RunArguments) -> Result<Load, CliError> {
    if arguments.users.is_some() {
        return Err(
            CliError::usage("--users requires a plan file with journeys, not a URL")
                .remedy("use --connections N, or a plan file"),
        );
    }
    let lasting = arguments.lasting.unwrap_or(LASTING_DEFAULT);
    match phases(arguments, lasting)? {
        Some(phases) => Ok(Load::Open {
            phases,
            spacing: spacing(arguments.spacing),
        }),
        None => Ok(Load::Closed {
            connections: arguments.connections.unwrap_or(CONNECTIONS_DEFAULT),
            think: arguments.think,
            lasting,
        }),
    }
}

/// Phases of `--rate` or `--phase`.
fn phases(arguments: &RunArguments, lasting: Duration) -> Result<Option<Vec<LoadPhase>>, CliError> {
    if !arguments.phase.is_empty() {
        return Ok(Some(arguments.phase.clone()));
    }
    let Some(range) = arguments.rate else {
        return Ok(None);
    };
    let phases = match (arguments.step, arguments.every) {
        (Some(step), Some(every)) => {
            let text = format!("{}/s..{}/s", range.from, range.to);
            config_load::steps(&text, range, step, every)
                .map_err(|problem| CliError::usage(problem.to_string()))?
        }
        _ => vec![LoadPhase::ramp(range.from, range.to, lasting)],
    };
    Ok(Some(phases))
}

/// The load of a plan file: the flags', else its own, cut short by `--for`.
pub(super) fn of_file(arguments: &RunArguments, plan: &PlanFile) -> Result<Load, CliError> {
    let own = match &plan.load {
        Some(LoadPlan::Fixed(load)) => Some(load.clone()),
        Some(LoadPlan::Find(search)) => Some(search.load.clone()),
        None => None,
    };
    if is_given(arguments) {
        let lasting = arguments.lasting.or_else(|| {
            let whole = own.as_ref().map(Load::lasting);
            whole.filter(|whole| !whole.is_zero())
        });
        return given(arguments, plan, lasting.unwrap_or(LASTING_DEFAULT));
    }
    let Some(mut load) = own else {
        return Err(
            CliError::usage(format!("the plan {} has no load", plan.name))
                .remedy("add `load: { users: 10, hold: 1m }`, or use --users or --rate, and --for"),
        );
    };
    spread(&mut load, arguments.spacing);
    if let Some(lasting) = arguments.lasting {
        cut(&mut load, lasting);
    }
    Ok(load)
}

fn given(arguments: &RunArguments, plan: &PlanFile, lasting: Duration) -> Result<Load, CliError> {
    let has_steps = plan.scenario.is_some();
    if let Some(users) = arguments.users.map(f64::from) {
        if !has_steps {
            return Err(
                CliError::usage("--users requires journeys, and this plan has none")
                    .remedy("use --connections N, or add journeys to the plan"),
            );
        }
        let phase = UserPhase {
            from: users,
            to: users,
            lasting,
            mix: Vec::new(),
        };
        return Ok(Load::Users {
            phases: vec![phase],
            iterations: None,
        });
    }
    match phases(arguments, lasting)? {
        Some(phases) if has_steps => Ok(Load::Sessions {
            phases,
            spacing: spacing(arguments.spacing),
            mixes: Vec::new(),
        }),
        None if has_steps => Err(CliError::usage(
            "--connections requires a single URL, and the plan has journeys",
        )
        .remedy("use --users N or --rate R")),
        _ => of_flags(arguments),
    }
}

/// Ends a load after `lasting`, if it would last longer.
fn cut(load: &mut Load, lasting: Duration) {
    match load {
        Load::Open { phases, .. } | Load::Sessions { phases, .. } => {
            let mut left = u64::try_from(lasting.as_nanos()).unwrap_or(u64::MAX);
            phases.retain_mut(|phase| {
                let taken = phase.lasting_ns.min(left);
                if taken < phase.lasting_ns {
                    phase.to = phase.from
                        + (phase.to - phase.from) * (taken as f64 / phase.lasting_ns as f64);
                    phase.lasting_ns = taken;
                }
                left -= taken;
                taken > 0
            });
        }
        Load::Users { phases, .. } => {
            let mut left = lasting;
            phases.retain_mut(|phase| {
                let taken = phase.lasting.min(left);
                if taken < phase.lasting {
                    let share = taken.as_secs_f64() / phase.lasting.as_secs_f64();
                    phase.to = phase.from + (phase.to - phase.from) * share;
                    phase.lasting = taken;
                }
                left -= taken;
                !taken.is_zero()
            });
        }
        Load::Closed { lasting: whole, .. } => *whole = lasting.min(*whole),
        Load::WebSockets(load) => {
            load.hold = load.hold.min(lasting.saturating_sub(load.connecting()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_cut_within_a_phase() {
        let phase = |from, to, seconds| UserPhase {
            from,
            to,
            lasting: Duration::from_secs(seconds),
            mix: Vec::new(),
        };
        let mut load = Load::Users {
            phases: vec![phase(0.0, 100.0, 10), phase(100.0, 100.0, 60)],
            iterations: None,
        };
        cut(&mut load, Duration::from_secs(5));
        assert_eq!(
            load,
            Load::Users {
                phases: vec![phase(0.0, 50.0, 5)],
                iterations: None,
            }
        );
        let second = Duration::from_secs(1);
        let mut load = Load::Open {
            phases: vec![
                LoadPhase::constant(5.0, second),
                LoadPhase::ramp(0.0, 10.0, 2 * second),
            ],
            spacing: Spacing::Even,
        };
        cut(&mut load, 2 * second);
        let Load::Open { phases, .. } = &load else {
            panic!("{load:?}");
        };
        assert_eq!(phases[1], LoadPhase::ramp(0.0, 5.0, second));
        assert_eq!(load.lasting(), 2 * second);
        cut(&mut load, 60 * second);
        assert_eq!(load.lasting(), 2 * second, "a load is never extended");
    }
}
