//! `plimsoll check`: validates a plan file, or lists which limits of this host and of the components of the service on it
//! will bind first. Neither sends load.

mod demand;
pub(crate) mod json;
pub(crate) mod text;

use plimsoll_config::plan::{Http, PlanFile};
use plimsoll_probe::ProbePlan;
use plimsoll_probe::advice;
use plimsoll_report::pretty;

use crate::arguments::CheckArguments;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::planning::needs_tls;
use crate::screen::{Screen, eprint, print};
use crate::{plan_file, target};
use json::{CheckObject, PlanCheckObject};

/// Lists current and advised values.
pub(crate) fn check(arguments: &CheckArguments, screen: Screen) -> Result<Exit, CliError> {
    if let Some(url) = &arguments.url {
        if plan_file::is_plan(url) {
            if arguments.whom.is_some() || arguments.plan.is_some() || arguments.run.is_some() {
                return Err(CliError::usage(
                    "--for checks this machine and cannot be combined with a plan file".to_owned(),
                )
                .remedy(
                    "use plimsoll check --for 3000-users --plan FILE, with or without the URL of the service",
                ));
            }
            return check_plan(arguments, url);
        }
        if arguments.plan.is_none() {
            plan_file::read_if_plan(url, arguments.target.as_deref())?;
        }
    }
    let (demand, plan) = demand::of(arguments)?;
    let checked = advice::check(&probe_plan(arguments, plan)?, &demand);
    for note in &checked.notes {
        eprint(&format!("note: {note}"));
    }
    if arguments.json {
        print(&pretty::object(&CheckObject::of(&checked.advice, &demand)));
    } else {
        print(&text::table(
            &checked.advice,
            &demand,
            screen.colours_data(),
        ));
    }
    Ok(Exit::Met)
}

/// Validates a plan file: prints a summary line, or its problems with exit code 2.
fn check_plan(arguments: &CheckArguments, file: &str) -> Result<Exit, CliError> {
    let plan = plan_file::rehearse(file, arguments.target.as_deref())?;
    if !plan.variables_missing.is_empty() {
        eprint(&format!(
            "note: set before a run: {}",
            plan.variables_missing.join(", ")
        ));
    }
    let mut urls = plan
        .origins
        .iter()
        .map(|origin| &origin.url)
        .chain([&plan.target]);
    if plan.transport.http == Some(Http::Http2) && !urls.any(|url| url.starts_with("https:")) {
        return Err(needs_tls(&plan.target));
    }
    plan_file::report_unwatched(&plan.watch);
    for note in &plan.notes {
        eprint(&format!("note: {file}:{note}"));
    }
    let scenario = plan.scenario.unwrap_or_default();
    if arguments.json {
        print(&pretty::object(&PlanCheckObject::of(
            &plan.name,
            &plan.target,
            &scenario,
        )));
        return Ok(Exit::Met);
    }
    let counted =
        |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut segments = vec![
        counted(scenario.journeys.len(), "journey"),
        counted(scenario.steps.len(), "step"),
    ];
    for feed in &scenario.feeds {
        let rows = if feed.rows == 1 { "row" } else { "rows" };
        segments.push(format!("{} {rows} of {}", feed.rows, feed.name));
    }
    print(&format!(
        "{file} is a valid plan: {}\n",
        segments.join(", ")
    ));
    Ok(Exit::Met)
}

/// What is looked at: the service of the URL, or this machine; with the components that a plan names.
fn probe_plan(arguments: &CheckArguments, plan: Option<PlanFile>) -> Result<ProbePlan, CliError> {
    let target_address = match &arguments.unix_socket {
        Some(_) => None,
        None => arguments
            .url
            .as_deref()
            .map(target::first_address)
            .transpose()?,
    };
    let watch = plan.map(|plan| plan.watch).unwrap_or_default();
    Ok(ProbePlan {
        target_address,
        unix_socket: arguments.unix_socket.clone(),
        pids: arguments.pid.clone(),
        process_names: arguments.process.clone(),
        components: watch.components,
        ..ProbePlan::default()
    })
}
