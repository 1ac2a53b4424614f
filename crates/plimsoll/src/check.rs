//! `plimsoll check`: what on this host will bind first, without sending any load.

use plimsoll_probe::ProbePlan;
use plimsoll_probe::advice::{self, Advice};

use serde_json::json;

use crate::arguments::CheckArguments;
use crate::exit::Exit;
use crate::explain::Fault;
use crate::screen::{Screen, print};
use crate::target;

/// Lists current and advised values.
pub(crate) fn check(arguments: &CheckArguments, screen: Screen) -> Result<Exit, Fault> {
    let plan = probe_plan(arguments)?;
    let advice = advice::check(&plan);
    if arguments.json {
        print(&format!("{:#}\n", json(&advice)));
    } else {
        print(&table(&advice, screen.colours_data()));
    }
    Ok(Exit::Met)
}

fn json(advice: &[Advice]) -> serde_json::Value {
    let row = |one: &Advice| {
        json!({
            "name": one.name,
            "current": one.current,
            "advised": one.advised,
            "why": one.why,
            "binds_at": one.binds_at,
            "ok": one.ok,
        })
    };
    json!({ "format_version": "1.0", "limits": advice.iter().map(row).collect::<Vec<_>>() })
}

/// The limits in the order in which they will bind; those that may stay as they are in one line at the end.
fn table(advice: &[Advice], colour: bool) -> String {
    let (fine, binding): (Vec<&Advice>, Vec<&Advice>) = advice.iter().partition(|one| one.ok);
    let mut text = match binding.first() {
        Some(first) => format!("{} binds first.\n", first.name),
        None => "Nothing on this host will bind early.\n".to_owned(),
    };
    if colour {
        text = format!("\x1b[1m{}\x1b[0m\n", text.trim_end());
    }
    for one in &binding {
        let place = one
            .binds_at
            .map(|count| format!("  (at {count} connections)"))
            .unwrap_or_default();
        let entry = format!(
            "\n{}\n  now      {}\n  advised  {}{place}\n",
            one.name, one.current, one.advised
        );
        text.push_str(&entry);
        for line in wrapped(&one.why, 76) {
            text.push_str("  ");
            text.push_str(&line);
            text.push('\n');
        }
    }
    if !fine.is_empty() {
        let names: Vec<String> = fine
            .iter()
            .map(|one| format!("{} {}", one.name, one.current))
            .collect();
        text.push_str("\nfine as they are:\n");
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

fn probe_plan(arguments: &CheckArguments) -> Result<ProbePlan, Fault> {
    let target_address = match &arguments.unix_socket {
        Some(_) => None,
        None => Some(target::first_address(&arguments.url)?),
    };
    Ok(ProbePlan {
        target_address,
        unix_socket: arguments.unix_socket.clone(),
        pids: arguments.pid.clone(),
        process_names: arguments.process.clone(),
        root: "/".into(),
    })
}
