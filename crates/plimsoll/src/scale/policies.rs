//! The policy, and those that it is compared with.

use std::path::Path;

use plimsoll_config::scale::ScalePolicy;
use plimsoll_scale::{PRESETS, preset};

use crate::arguments::ScaleArguments;
use crate::explain::CliError;
use crate::plan_file;

/// Policies that are compared at most.
const COMPARED_MAX: usize = 20;
/// What is compared with where nothing is named.
const USUAL: [&str; 2] = ["hpa", "kpa"];

/// The policy, and those that it is compared with in its world.
pub(super) struct ComparedPolicies {
    pub(super) own: ScalePolicy,
    pub(super) others: Vec<ScalePolicy>,
}

impl ComparedPolicies {
    pub(super) fn read(arguments: &ScaleArguments) -> Result<Self, CliError> {
        if arguments.others.len() > COMPARED_MAX {
            let message = format!("{} policies are too many", arguments.others.len());
            return Err(CliError::usage(message).remedy(format!("at most {COMPARED_MAX}")));
        }
        let (path, others) = match &arguments.policy {
            Some(path) => (path.clone(), &arguments.others[..]),
            // Without a policy of its own, the first that is a file takes its place.
            None => match arguments.others.split_first() {
                Some((first, rest)) if !PRESETS.contains(&first.as_str()) => (first.into(), rest),
                _ => return Err(without_file()),
            },
        };
        let own = plan_file::read_scale_policy(&path)?;
        let usual = USUAL.map(str::to_owned);
        let names = if others.is_empty() {
            &usual[..]
        } else {
            others
        };
        let others = names.iter().map(|name| other(name, &own));
        let others = others.collect::<Result<Vec<ScalePolicy>, CliError>>()?;
        Ok(Self { own, others })
    }

    /// Takes the measured load line of a replica, for all of them.
    pub(super) fn take_line(&mut self, line: f64) {
        for policy in std::iter::once(&mut self.own).chain(&mut self.others) {
            policy.replica.line = line;
        }
    }
}

fn without_file() -> CliError {
    CliError::usage("no policy has a file").remedy(
        "name one, with what a replica carries: plimsoll scale POLICY.yaml --replay TRACE --policy hpa",
    )
}

/// A policy by its name or its file, in the world of `own`.
fn other(name: &str, own: &ScalePolicy) -> Result<ScalePolicy, CliError> {
    if let Some(preset) = preset(name, own) {
        return Ok(preset);
    }
    let path = Path::new(name);
    if !path.is_file() && path.extension().is_none() {
        return Err(
            CliError::usage(format!("`{name}` is neither a policy nor a file"))
                .remedy(format!("valid: {}, or a policy file", PRESETS.join(", "))),
        );
    }
    let read = plan_file::read_scale_policy(path)?;
    Ok(ScalePolicy {
        replica: own.replica.clone(),
        world: own.world.clone(),
        price: own.price.clone(),
        ..read
    })
}
