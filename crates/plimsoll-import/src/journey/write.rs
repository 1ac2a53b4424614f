//! The plan file of a journey, with comments on what was left out or guessed.

use super::draft::{Drafted, StepDraft};
use super::extract::ValueLocator;
use super::finder::PlannedCapture;
use super::fold::{Action, Folded};
use super::sift::Sifted;
use crate::Imported;
use crate::recording::Recording;
use crate::yaml::{self, YamlEntry, YamlItem, YamlNode};

/// Shortest load that is written, seconds.
const HOLD_MIN_S: f64 = 60.0;

pub(super) fn write(
    recording: &Recording,
    sifted: &Sifted<'_>,
    folded: &Folded,
    drafted: &Drafted,
) -> Imported {
    let split = once_ends(&drafted.steps);
    let mut notes = sifted.left_out.clone();
    notes.extend(recording.problems.iter().cloned());
    if !folded.has_timings {
        notes.push("the recording has no timings (`startedDateTime`): the plan has no think times, add `think: 2s` where users read".to_owned());
    }
    if folded.resources_left_out > 0 {
        notes.push(format!(
            "left out {} files of pages that failed or belong to no page",
            folded.resources_left_out
        ));
    }
    if drafted.began_with_cookies {
        notes.push("the recording began with cookies of an earlier visit, which the plan's users do not have: record in a private window if a login is missing".to_owned());
    }
    let dynamic: usize = drafted
        .steps
        .iter()
        .map(|step| {
            step.notes
                .iter()
                .filter(|note| note.contains("looks dynamic"))
                .count()
        })
        .sum();
    if dynamic > 0 {
        notes.push(format!("{dynamic} values look dynamic and have no source in the recording: see the comments at their steps"));
    }
    if !drafted.variables.is_empty() {
        notes.push(format!(
            "set before a run: {}",
            drafted.variables.join(", ")
        ));
    }
    let mut top = vec![header(recording)];
    top.extend(notes.iter().cloned());
    let target = sifted.target.as_str().trim_end_matches('/');
    let entries = [
        YamlEntry::new("target", YamlNode::text(target)),
        YamlEntry::new(
            "journeys",
            YamlNode::map([("recorded", journey(folded, drafted, split))]),
        ),
        load(sifted, folded),
    ];
    Imported {
        plan: yaml::document(&top, &entries),
        notes,
        losses: Vec::new(),
        files: Vec::new(),
    }
}

fn header(recording: &Recording) -> String {
    if recording.recorder.is_empty() {
        "A recording of a browser as a plan.".to_owned()
    } else {
        format!("A recording by {} as a plan.", recording.recorder)
    }
}

/// Number of leading steps that run once per user: up to the login, if steps follow and none logs out.
fn once_ends(steps: &[StepDraft]) -> usize {
    let Some(login) = steps
        .iter()
        .position(|step| step.logs_in && step.method != "get")
    else {
        return 0;
    };
    let rest = &steps[login + 1..];
    let forms = rest.iter().any(|step| step.logs_in);
    if rest.is_empty() || forms || rest.iter().any(|step| step.logs_out) {
        0
    } else {
        login + 1
    }
}

fn journey(folded: &Folded, drafted: &Drafted, split: usize) -> YamlNode {
    let mut once: Vec<YamlItem> = Vec::new();
    let mut steps: Vec<YamlItem> = Vec::new();
    for (at, ((action, step), kept)) in folded
        .actions
        .iter()
        .zip(&drafted.steps)
        .zip(&drafted.captures)
        .enumerate()
    {
        let list = if at < split { &mut once } else { &mut steps };
        if let Some(think) = action.think_ms {
            list.push(YamlNode::map([("think", YamlNode::plain(think_time(think)))]).into());
        }
        list.push(step_item(action, step, kept));
    }
    let mut entries = Vec::new();
    if !once.is_empty() {
        let note = "Each user logs in once; the steps below are repeated.".to_owned();
        entries.push(YamlEntry::new("once", YamlNode::List(once)).with_notes([note]));
    }
    entries.push(YamlEntry::new("steps", YamlNode::List(steps)));
    YamlNode::Map(entries)
}

/// Milliseconds as a readable duration: to a tenth of a second, whole seconds from ten on.
fn think_time(ms: f64) -> String {
    let seconds = ms / 1e3;
    if seconds >= 10.0 {
        format!("{seconds:.0}s")
    } else {
        let tenths = format!("{seconds:.1}");
        format!("{}s", tenths.strip_suffix(".0").unwrap_or(&tenths))
    }
}

fn step_item(action: &Action, step: &StepDraft, kept: &[PlannedCapture]) -> YamlItem {
    let is_page = !step.resources.is_empty();
    let key = if is_page {
        "page"
    } else {
        step.method.as_str()
    };
    let mut entries = vec![YamlEntry::new(key, YamlNode::text(&step.url))];
    if !step.headers.is_empty() {
        let headers = step.headers.iter();
        let headers = headers.map(|(name, value)| (name, YamlNode::text(value)));
        entries.push(YamlEntry::new("headers", YamlNode::map(headers)));
    }
    entries.extend(step.body.clone());
    if !action.followed.is_empty() {
        entries.push(YamlEntry::new(
            "follow",
            YamlNode::plain(action.followed.len()),
        ));
    }
    if !step.expect.is_empty() {
        entries.push(YamlEntry::new("expect", YamlNode::Map(step.expect.clone())));
    }
    if !kept.is_empty() {
        entries.push(YamlEntry::new(
            "capture",
            YamlNode::Map(kept.iter().map(capture).collect()),
        ));
    }
    if is_page {
        let resources = step.resources.iter().map(YamlNode::text);
        entries.push(YamlEntry::new("resources", YamlNode::list(resources)));
    }
    YamlItem {
        notes: step.notes.clone(),
        value: YamlNode::Map(entries),
    }
}

fn capture(kept: &PlannedCapture) -> YamlEntry {
    let mut ways = match &kept.found.way {
        ValueLocator::Css {
            selector,
            attribute,
        } => vec![
            YamlEntry::new("css", YamlNode::text(selector)),
            YamlEntry::new("attribute", YamlNode::text(attribute)),
        ],
        ValueLocator::Json(path) => vec![YamlEntry::new("json", YamlNode::text(path))],
        ValueLocator::Header(name) => vec![YamlEntry::new("header", YamlNode::text(name))],
        ValueLocator::Cookie(name) => vec![YamlEntry::new("cookie", YamlNode::text(name))],
        ValueLocator::Regex(pattern) if kept.found.pick == 1 => {
            return YamlEntry::new(&kept.name, YamlNode::text(pattern));
        }
        ValueLocator::Regex(pattern) => vec![YamlEntry::new("regex", YamlNode::text(pattern))],
    };
    if kept.found.pick > 1 {
        ways.push(YamlEntry::new("pick", YamlNode::plain(kept.found.pick)));
    }
    YamlEntry::new(&kept.name, YamlNode::Map(ways))
}

/// One user, once: a first run that repeats the recording.
fn load(sifted: &Sifted<'_>, folded: &Folded) -> YamlEntry {
    let mut seconds = HOLD_MIN_S;
    if folded.has_timings {
        let starts = sifted
            .exchanges
            .iter()
            .filter_map(|exchange| exchange.started_ms);
        let first = starts.fold(f64::INFINITY, f64::min);
        let last = sifted
            .exchanges
            .iter()
            .filter_map(|exchange| exchange.ended_ms())
            .fold(0.0, f64::max);
        seconds = seconds.max(2.0 * (last - first) / 1e3);
    }
    // At most a day: a recording left open overnight is no reason for such a long run.
    let minutes = (seconds.min(86_400.0) / 60.0).ceil();
    let load = YamlNode::map([
        ("users", YamlNode::plain(1)),
        ("hold", YamlNode::plain(format!("{minutes}m"))),
        ("iterations", YamlNode::plain(1)),
    ]);
    let note =
        "One user, one iteration; for more load: { users: 100, within: 1m, hold: 10m }".to_owned();
    YamlEntry::new("load", load).with_notes([note])
}
