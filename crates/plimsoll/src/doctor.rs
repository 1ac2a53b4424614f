//! `plimsoll doctor`: what this host lacks to measure well. Nothing is changed.

use std::fmt::Write as _;
use std::sync::mpsc;
use std::time::Duration;

use plimsoll_analysis::verdict::{GENERATOR_CPU_MAX, STEAL_SHARE_MAX};
use plimsoll_probe::doctor::{Bounds, Condition, Examination, Health};
use plimsoll_report::pretty;
use schemars::JsonSchema;
use serde::Serialize;

use crate::arguments::DoctorArguments;
use crate::check::text::{add_wrapped, bold};
use crate::exit::Exit;
use crate::planning::CONNECTIONS_MAX_DEFAULT;
use crate::screen::{Screen, print};

/// How long others are watched.
const WATCHED: Duration = Duration::from_secs(1);
/// Version of the object. A field may be added (raise the minor number).
const FORMAT_VERSION: &str = "1.0";

/// Examines this host.
pub(crate) fn doctor(arguments: &DoctorArguments, screen: Screen) -> Exit {
    let examination = Examination::begin();
    // Nothing is ever sent: only the time passes.
    let (_sender, receiver) = mpsc::sync_channel::<()>(1);
    let _ = receiver.recv_timeout(WATCHED);
    let conditions = examination.finish(&Bounds {
        steal_max: STEAL_SHARE_MAX,
        cpu_max: GENERATOR_CPU_MAX,
        connections: u64::from(CONNECTIONS_MAX_DEFAULT),
    });
    if arguments.json {
        print(&pretty::object(&DoctorObject::of(&conditions)));
    } else {
        print(&text(&conditions, screen.colours_data()));
    }
    let is_lacking = count(&conditions, Health::Lacking) > 0;
    if is_lacking { Exit::Missed } else { Exit::Met }
}

fn count(conditions: &[Condition], health: Health) -> usize {
    let same = conditions
        .iter()
        .filter(|condition| condition.health == health);
    same.count()
}

/// What lacks with its commands; then what costs precision; what is good in one line at the end.
fn text(conditions: &[Condition], colour: bool) -> String {
    let (lacking, weak) = (
        count(conditions, Health::Lacking),
        count(conditions, Health::Weak),
    );
    let first = match (lacking, weak) {
        (0, 0) => "This host lacks nothing to measure well.".to_owned(),
        (0, weak) => format!("This host measures well; {weak} more would make it better."),
        (1, _) => "1 thing can make measurements on this host void or wrong.".to_owned(),
        (lacking, _) => {
            format!("{lacking} things can make measurements on this host void or wrong.")
        }
    };
    let mut text = format!("{}\n", bold(&first, colour));
    for (health, heading) in [
        (Health::Lacking, ""),
        (Health::Weak, "\nThese cost precision or findings only:\n"),
    ] {
        let mut same = conditions
            .iter()
            .filter(|condition| condition.health == health)
            .peekable();
        if same.peek().is_some() {
            text.push_str(heading);
        }
        for condition in same {
            add(&mut text, condition);
        }
    }
    let good: Vec<String> = conditions
        .iter()
        .filter(|condition| condition.health == Health::Good)
        .map(|condition| format!("{} {}", condition.name, condition.current))
        .collect();
    if !good.is_empty() {
        text.push_str("\ngood:\n");
        add_wrapped(&mut text, "  ", &good.join(" · "));
    }
    text
}

fn add(text: &mut String, condition: &Condition) {
    let _ = write!(
        text,
        "\n{}\n  now      {}\n  wanted   {}\n",
        condition.name, condition.current, condition.wanted
    );
    add_wrapped(text, "  ", &condition.why);
    for command in &condition.commands {
        let _ = writeln!(text, "  $ {command}");
    }
}

/// The output of `plimsoll doctor --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "plimsoll doctor --json")]
struct DoctorObject<'a> {
    /// Version of this object, `major.minor`.
    format_version: &'static str,
    /// Conditions that can make measurements void or wrong; the exit code is 3 where there is one.
    lacking: usize,
    /// Conditions that cost precision or findings.
    weak: usize,
    /// All conditions, what lacks first.
    conditions: Vec<ConditionObject<'a>>,
}

/// One condition of a good measurement.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Condition")]
struct ConditionObject<'a> {
    /// `generator`, `machine`, or `service`: access to what its components tell.
    area: &'static str,
    /// Its name, such as `net.core.somaxconn`.
    name: &'a str,
    /// `lacking`, `weak` or `good`.
    health: &'static str,
    /// What was read.
    current: &'a str,
    /// What is enough.
    wanted: &'a str,
    /// Why it matters.
    why: &'a str,
    /// What mends it, in order: commands, or lines of a configuration; empty when it is good.
    commands: &'a [String],
}

impl<'a> DoctorObject<'a> {
    fn of(conditions: &'a [Condition]) -> Self {
        let object = |condition: &'a Condition| ConditionObject {
            area: condition.area.name(),
            name: &condition.name,
            health: condition.health.name(),
            current: &condition.current,
            wanted: &condition.wanted,
            why: &condition.why,
            commands: &condition.commands,
        };
        Self {
            format_version: FORMAT_VERSION,
            lacking: count(conditions, Health::Lacking),
            weak: count(conditions, Health::Weak),
            conditions: conditions.iter().map(object).collect(),
        }
    }
}

/// The schema of `--json`.
pub(crate) fn schema() -> String {
    pretty::schema::<DoctorObject<'_>>()
}

#[cfg(test)]
mod tests {
    use plimsoll_probe::doctor::Area;

    use super::*;

    #[test]
    fn what_lacks_is_told_with_its_command() {
        let condition = |name: &str, health, command: &[&str]| Condition {
            area: Area::Machine,
            name: name.to_owned(),
            health,
            current: "1".to_owned(),
            wanted: "2".to_owned(),
            why: "because".to_owned(),
            commands: command.iter().map(|&command| command.to_owned()).collect(),
        };
        let conditions = [
            condition("ports", Health::Lacking, &["sudo sysctl -w ports=2"]),
            condition("governor", Health::Weak, &["echo fast"]),
            condition("CPUs", Health::Good, &[]),
        ];
        let right = "1 thing can make measurements on this host void or wrong.\n\
            \nports\n  now      1\n  wanted   2\n  because\n  $ sudo sysctl -w ports=2\n\
            \nThese cost precision or findings only:\n\
            \ngovernor\n  now      1\n  wanted   2\n  because\n  $ echo fast\n\
            \ngood:\n  CPUs 1\n";
        assert_eq!(text(&conditions, false), right);
        let good = text(&conditions[2..], false);
        assert!(good.starts_with("This host lacks nothing"), "{good}");
    }
}
