//! The plan file of a journey, with comments on what was left out and guessed.

use super::draft::{Drafted, Step};
use super::extract::Way;
use super::finder::Kept;
use super::fold::{Action, Folded};
use super::sift::Sifted;
use crate::Imported;
use crate::recording::Recording;
use crate::yaml::{self, Entry, Item, Node};

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
    notes.extend(recording.faults.iter().cloned());
    if !folded.has_timings {
        notes.push("the recording has no timings (`startedDateTime`): the plan has no think times, add `think: 2s` where people read".to_owned());
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
        Entry::new("target", Node::text(target)),
        Entry::new(
            "journeys",
            Node::Map(vec![Entry::new(
                "recorded",
                journey(folded, drafted, split),
            )]),
        ),
        load(sifted, folded),
    ];
    Imported {
        plan: yaml::document(&top, &entries),
        notes,
    }
}

fn header(recording: &Recording) -> String {
    if recording.recorder.is_empty() {
        "A recording of a browser as a plan.".to_owned()
    } else {
        format!("A recording by {} as a plan.", recording.recorder)
    }
}

/// Number of leading steps that a user takes once: up to the login, if something follows and nobody logs out.
fn once_ends(steps: &[Step]) -> usize {
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

fn journey(folded: &Folded, drafted: &Drafted, split: usize) -> Node {
    let mut once: Vec<Item> = Vec::new();
    let mut steps: Vec<Item> = Vec::new();
    for (at, ((action, step), kept)) in folded
        .actions
        .iter()
        .zip(&drafted.steps)
        .zip(&drafted.kept)
        .enumerate()
    {
        let list = if at < split { &mut once } else { &mut steps };
        if let Some(think) = action.think_ms {
            list.push(Node::Map(vec![Entry::new("think", Node::plain(think_time(think)))]).into());
        }
        list.push(step_item(action, step, kept));
    }
    let mut entries = Vec::new();
    if !once.is_empty() {
        let note = "Each user logs in once; what follows is repeated.".to_owned();
        entries.push(Entry::new("once", Node::List(once)).with_notes([note]));
    }
    entries.push(Entry::new("steps", Node::List(steps)));
    Node::Map(entries)
}

/// Milliseconds as people write them: to a tenth of a second, whole seconds from ten on.
fn think_time(ms: f64) -> String {
    let seconds = ms / 1e3;
    if seconds >= 10.0 {
        format!("{seconds:.0}s")
    } else {
        let tenths = format!("{seconds:.1}");
        format!("{}s", tenths.strip_suffix(".0").unwrap_or(&tenths))
    }
}

fn step_item(action: &Action, step: &Step, kept: &[Kept]) -> Item {
    let is_page = !step.resources.is_empty();
    let key = if is_page {
        "page"
    } else {
        step.method.as_str()
    };
    let mut entries = vec![Entry::new(key, Node::text(&step.url))];
    if !step.headers.is_empty() {
        let headers = step
            .headers
            .iter()
            .map(|(name, value)| Entry::new(name, Node::text(value)));
        entries.push(Entry::new("headers", Node::Map(headers.collect())));
    }
    entries.extend(step.body.clone());
    if !action.followed.is_empty() {
        entries.push(Entry::new("follow", Node::plain(action.followed.len())));
    }
    if !step.expect.is_empty() {
        entries.push(Entry::new("expect", Node::Map(step.expect.clone())));
    }
    if !kept.is_empty() {
        entries.push(Entry::new(
            "capture",
            Node::Map(kept.iter().map(capture).collect()),
        ));
    }
    if is_page {
        let resources = step.resources.iter().map(Node::text);
        entries.push(Entry::new("resources", Node::list(resources)));
    }
    Item {
        notes: step.notes.clone(),
        value: Node::Map(entries),
    }
}

fn capture(kept: &Kept) -> Entry {
    let mut ways = match &kept.found.way {
        Way::Css {
            selector,
            attribute,
        } => vec![
            Entry::new("css", Node::text(selector)),
            Entry::new("attribute", Node::text(attribute)),
        ],
        Way::Json(path) => vec![Entry::new("json", Node::text(path))],
        Way::Header(name) => vec![Entry::new("header", Node::text(name))],
        Way::Cookie(name) => vec![Entry::new("cookie", Node::text(name))],
        Way::Regex(pattern) if kept.found.pick == 1 => {
            return Entry::new(&kept.name, Node::text(pattern));
        }
        Way::Regex(pattern) => vec![Entry::new("regex", Node::text(pattern))],
    };
    if kept.found.pick > 1 {
        ways.push(Entry::new("pick", Node::plain(kept.found.pick)));
    }
    Entry::new(&kept.name, Node::Map(ways))
}

/// One user, once: a first run that repeats the recording.
fn load(sifted: &Sifted<'_>, folded: &Folded) -> Entry {
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
    // A day at most: a recording that was left open overnight is no reason to hold a run that long.
    let minutes = (seconds.min(86_400.0) / 60.0).ceil();
    let load = Node::Map(vec![
        Entry::new("users", Node::plain(1)),
        Entry::new("hold", Node::plain(format!("{minutes}m"))),
        Entry::new("iterations", Node::plain(1)),
    ]);
    let note =
        "One user who goes through once; then say how many: { users: 100, within: 1m, hold: 10m }"
            .to_owned();
    Entry::new("load", load).with_notes([note])
}
