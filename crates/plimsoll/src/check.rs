//! `plimsoll check`: validates a plan file, or lists which limits of this host will bind first. Neither sends load.

use std::collections::BTreeMap;

use plimsoll_config::plan::Http;
use plimsoll_probe::ProbePlan;
use plimsoll_probe::advice::{self, Advice};

use serde_json::json;

use crate::arguments::CheckArguments;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::planning::needs_tls;
use crate::screen::{Screen, eprint, print};
use crate::{plan_file, target};

/// Lists current and advised values.
pub(crate) fn check(arguments: &CheckArguments, screen: Screen) -> Result<Exit, CliError> {
    if let Some(url) = &arguments.url {
        if plan_file::is_plan(url) {
            if arguments.users.is_some() {
                return Err(CliError::usage(
                    "--for checks this machine and cannot be combined with a plan file".to_owned(),
                )
                .remedy(
                    "use plimsoll check --for 3000-users, with or without the URL of the service",
                ));
            }
            return check_plan(arguments, url);
        }
        plan_file::read_if_plan(url, arguments.target.as_deref())?;
    }
    let plan = probe_plan(arguments)?;
    let advice = match arguments.users {
        Some(users) => {
            let (advice, notes) = advice::check_for(&plan, users);
            for note in notes {
                eprint(&format!("note: {note}"));
            }
            advice
        }
        None => advice::check(&plan),
    };
    if arguments.json {
        print(&format!("{:#}\n", json(&advice, arguments.users)));
    } else {
        print(&table(&advice, screen.colours_data()));
    }
    Ok(Exit::Met)
}

fn json(advice: &[Advice], users: Option<u64>) -> serde_json::Value {
    let row = |advice_row: &Advice| {
        json!({
            "name": advice_row.name,
            "current": advice_row.current,
            "advised": advice_row.advised,
            "why": advice_row.why,
            "binds_at": advice_row.binds_at,
            "ok": advice_row.ok,
        })
    };
    let mut whole =
        json!({ "format_version": "1.0", "limits": advice.iter().map(row).collect::<Vec<_>>() });
    if let Some(users) = users {
        whole["users"] = json!(users);
    }
    whole
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
        let whole = json!({
            "format_version": "1.0",
            "plan": plan.name,
            "target": plan.target,
            "journeys": scenario.journeys.iter().map(|journey| &journey.name).collect::<Vec<_>>(),
            "steps": scenario.steps.iter().map(|step| &step.label).collect::<Vec<_>>(),
            "data": scenario.feeds.iter().map(|feed| (feed.name.clone(), feed.rows)).collect::<BTreeMap<_, _>>(),
        });
        print(&format!("{whole:#}\n"));
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

/// The limits in the order in which they will bind; the sufficient ones in one line at the end.
fn table(advice: &[Advice], colour: bool) -> String {
    let (fine, binding): (Vec<&Advice>, Vec<&Advice>) = advice.iter().partition(|item| item.ok);
    let mut text = match binding.first() {
        Some(first) => format!("{} binds first.\n", first.name),
        None => "No limit of this host will bind early.\n".to_owned(),
    };
    if colour {
        text = format!("\x1b[1m{}\x1b[0m\n", text.trim_end());
    }
    for item in &binding {
        let place = item
            .binds_at
            .map(|count| format!("  (at {count} connections)"))
            .unwrap_or_default();
        let entry = format!(
            "\n{}\n  now      {}\n  advised  {}{place}\n",
            item.name, item.current, item.advised
        );
        text.push_str(&entry);
        for line in wrapped(&item.why, 76) {
            text.push_str("  ");
            text.push_str(&line);
            text.push('\n');
        }
    }
    if !fine.is_empty() {
        let names: Vec<String> = fine
            .iter()
            .map(|item| format!("{} {}", item.name, item.current))
            .collect();
        text.push_str("\nsufficient:\n");
        for line in wrapped(&names.join(" · "), 76) {
            text.push_str("  ");
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

/// Lines of at most `width` columns, broken between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

fn probe_plan(arguments: &CheckArguments) -> Result<ProbePlan, CliError> {
    let target_address = match &arguments.unix_socket {
        Some(_) => None,
        None => arguments
            .url
            .as_deref()
            .map(target::first_address)
            .transpose()?,
    };
    Ok(ProbePlan {
        target_address,
        unix_socket: arguments.unix_socket.clone(),
        pids: arguments.pid.clone(),
        process_names: arguments.process.clone(),
        ..ProbePlan::default()
    })
}
