//! `plimsoll scale`: a scaling policy over a recorded load, beside other policies.

mod measured;
mod policies;
mod trace;

use std::path::Path;

use plimsoll_config::scale::ScalePolicy;
use plimsoll_lab::output;
use plimsoll_report::scale_page::{self, ScaleObject, ScaleSubject, ScalerRun};
use plimsoll_scale::{ScaleTrace, SharedTier, must_oscillate, replay};

use crate::arguments::ScaleArguments;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::screen::{Screen, eprint, print};
use policies::ComparedPolicies;

/// Replays the policies and prints their judgement.
pub(crate) fn scale(arguments: &ScaleArguments, screen: Screen) -> Result<Exit, CliError> {
    let mut policies = ComparedPolicies::read(arguments)?;
    let load = trace::read(&arguments.replay)?;
    let mut shared = load.shared;
    if let Some(run) = &arguments.from {
        let measured = measured::read(run)?;
        policies.take_line(measured.line);
        eprint(&format!(
            "{}: one replica carries {} req/s",
            run.display(),
            plimsoll_report::number::short(measured.line)
        ));
        shared = measured.shared;
    }
    if let Some(shared) = &shared {
        eprint(&format!(
            "note: {} is shared by all replicas: {} does not grow beyond its minimum",
            shared.name, policies.own.name
        ));
    }
    let warnings = warnings(&policies);
    for warning in &warnings {
        eprint(&format!("warning: {warning}"));
    }
    let scalers = replayed(&policies, &load.trace, shared.as_ref())?;
    let subject = ScaleSubject {
        policy: policies.own.name.clone(),
        trace: arguments.replay.display().to_string(),
        line: policies.own.replica.line,
        currency: policies
            .own
            .price
            .as_ref()
            .map(|price| price.currency.clone()),
        warnings,
    };
    let object = ScaleObject::of(subject, &scalers);
    present(&object, &scalers, arguments, screen)?;
    Ok(if load.is_damaged {
        Exit::Usage
    } else {
        Exit::Met
    })
}

/// Policies that cannot come to rest. Whoever would start something refuses them.
fn warnings(policies: &ComparedPolicies) -> Vec<String> {
    let all = std::iter::once(&policies.own).chain(&policies.others);
    all.flat_map(|policy| {
        must_oscillate(policy)
            .into_iter()
            .map(|oscillation| format!("policy {}: {oscillation}", policy.name))
    })
    .collect()
}

fn replayed(
    policies: &ComparedPolicies,
    trace: &ScaleTrace,
    shared: Option<&SharedTier>,
) -> Result<Vec<ScalerRun>, CliError> {
    let run = |policy: &ScalePolicy| {
        let result = replay(policy, trace, shared).map_err(|error| {
            CliError::usage(error.to_string()).remedy("give a trace with at least a second")
        })?;
        Ok::<_, CliError>(ScalerRun::replayed(&policy.name, result))
    };
    let own = run(&policies.own)?;
    let recorded = trace
        .supply()
        .and_then(|supply| ScalerRun::recorded(supply, &own.seconds));
    let mut scalers = vec![own];
    for other in &policies.others {
        scalers.push(run(other)?);
    }
    scalers.extend(recorded);
    Ok(scalers)
}

fn present(
    object: &ScaleObject,
    scalers: &[ScalerRun],
    arguments: &ScaleArguments,
    screen: Screen,
) -> Result<(), CliError> {
    if let Some(path) = &arguments.html {
        write_page(path, &scale_page::render(object, scalers))?;
    }
    if arguments.json {
        print(&object.json());
    } else {
        print(&scale_page::summary(object, screen.colours_data()));
    }
    Ok(())
}

fn write_page(path: &Path, page: &str) -> Result<(), CliError> {
    output::write_whole(path, page.as_bytes()).map_err(|error| {
        CliError::usage(format!("cannot write {}: {error}", path.display()))
            .remedy("name a file in a folder that can be written")
    })?;
    eprint(&format!("wrote {}", path.display()));
    Ok(())
}
