//! What was checked, as text.

use std::fmt::Write as _;

use plimsoll_probe::advice::{Advice, Demand};

/// Columns of a line.
const WIDTH: usize = 76;

/// The limits in the order in which they will bind; then what costs something; the sufficient ones in one line at the end.
pub(super) fn table(advice: &[Advice], demand: &Demand, colour: bool) -> String {
    let (fine, rest): (Vec<&Advice>, Vec<&Advice>) = advice.iter().partition(|item| item.ok);
    let (hints, binding): (Vec<&Advice>, Vec<&Advice>) =
        rest.into_iter().partition(|item| item.is_hint);
    let first = match binding.first() {
        Some(first) => format!("{} binds first.", first.name),
        None if demand.is_given => format!("No limit binds for {} users.", demand.users),
        None => format!("No limit will bind early, below {} users.", demand.users),
    };
    let mut text = format!("{}\n", bold(&first, colour));
    add_wrapped(&mut text, "", &judged_for(demand));
    for item in &binding {
        add(&mut text, item);
    }
    if !hints.is_empty() {
        text.push_str("\nThese limit no number of users, but cost time or safety:\n");
    }
    for item in &hints {
        add(&mut text, item);
    }
    if !fine.is_empty() {
        let names: Vec<String> = fine
            .iter()
            .map(|item| format!("{} {}", item.name, item.current))
            .collect();
        text.push_str("\nsufficient:\n");
        add_wrapped(&mut text, "  ", &names.join(" · "));
    }
    text
}

/// The first line, bold where there are colours.
pub(crate) fn bold(text: &str, colour: bool) -> String {
    if colour {
        format!("\x1b[1m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// What the limits were compared with.
fn judged_for(demand: &Demand) -> String {
    let cpus = demand
        .cpus
        .map_or(String::new(), |cpus| format!(", {cpus:.1} CPUs"));
    let more = if demand.is_given {
        ""
    } else {
        ". --for, --plan and --run give another demand"
    };
    format!(
        "Judged for {} users ({}): {:.1} requests per second, {:.1} in progress at once, {:.0} connections{cpus}{more}.",
        demand.users, demand.source, demand.rate, demand.in_flight, demand.connections
    )
}

fn add(text: &mut String, item: &Advice) {
    let place = item
        .binds_at
        .map(|count| format!("  (at {count} users)"))
        .unwrap_or_default();
    let _ = write!(
        text,
        "\n{}\n  now      {}\n  advised  {}{place}\n",
        item.name, item.current, item.advised
    );
    add_wrapped(text, "  ", &item.why);
}

pub(crate) fn add_wrapped(text: &mut String, indent: &str, content: &str) {
    for line in wrapped(content, WIDTH) {
        text.push_str(indent);
        text.push_str(&line);
        text.push('\n');
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &str, binds_at: Option<u64>, ok: bool, is_hint: bool) -> Advice {
        Advice {
            name: name.to_owned(),
            current: "1".to_owned(),
            advised: "2".to_owned(),
            why: "because".to_owned(),
            binds_at,
            rank: 0,
            ok,
            is_hint,
        }
    }

    #[test]
    fn what_binds_comes_before_what_costs() {
        let advice = [
            item("pm.max_children", Some(20), false, false),
            item("opcache", None, false, true),
            item("somaxconn", Some(4096), true, false),
        ];
        let text = table(&advice, &Demand::early(), false);
        let right = "pm.max_children binds first.\n\
            Judged for 500 users (assumed: each sends a request every 10 s that takes\n\
            0.5 s): 50.0 requests per second, 25.0 in progress at once, 500 connections.\n\
            --for, --plan and --run give another demand.\n\
            \npm.max_children\n  now      1\n  advised  2  (at 20 users)\n  because\n\
            \nThese limit no number of users, but cost time or safety:\n\
            \nopcache\n  now      1\n  advised  2\n  because\n\
            \nsufficient:\n  somaxconn 1\n";
        assert_eq!(text, right);
        let only = table(&advice[1..], &Demand::early(), false);
        assert!(
            only.starts_with("No limit will bind early, below 500 users.\n"),
            "{only}"
        );
        let given = table(&[], &Demand::assumed(30), false);
        assert!(
            given.starts_with("No limit binds for 30 users.\n"),
            "{given}"
        );
    }
}
