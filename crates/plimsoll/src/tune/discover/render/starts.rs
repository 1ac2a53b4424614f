//! Programs that only another start changes: as comments of a draft, or, where nothing else can be changed, as what the
//! experiment starts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use plimsoll_model::redact::REDACTED;
use plimsoll_probe::knobs::{self, FoundKnob, FoundStart, KnobMeans, KnobPlace, KnobsFound};

use super::{DraftRenderer, add_comment, list, quoted};

/// The knobs with whose levels an experiment can start their programs, at most so many.
pub(super) fn searched(found: &KnobsFound, most: usize) -> BTreeSet<&str> {
    let own = found.knobs.iter().filter(|knob| {
        let mut starts = found.starts.iter();
        starts.any(|start| is_started_with(knob, start))
    });
    own.take(most).map(|knob| knob.name.as_str()).collect()
}

/// What to do before an experiment that starts these programs.
pub(super) fn notes(found: &KnobsFound, searched: &BTreeSet<&str>) -> Vec<String> {
    let started = found.starts.iter().filter(|start| {
        let mut own = found.knobs.iter();
        own.any(|knob| searched.contains(knob.name.as_str()) && is_started_with(knob, start))
    });
    let notes = started.map(|start| {
        format!(
            "no setting can be changed while {} runs, so the experiment starts it with each level: stop it before, with \
             `kill -TERM {}`",
            start.program, start.pid
        )
    });
    notes.collect()
}

/// Whether a setting that nothing here changes is one of how a program is started, so that the experiment can start it with
/// each level.
fn is_started_with(knob: &FoundKnob, start: &FoundStart) -> bool {
    let is_known =
        start.variables.is_some() && !start.command.iter().any(|word| word.contains(REDACTED));
    let in_command = || start.levels.iter().any(|level| level.knob == knob.name);
    is_known
        && matches!(knob.place, KnobPlace::Unreachable(_))
        && knob.ready.caution.is_none()
        && knob.levels.len() > 1
        && knob.program == start.program
        && (in_command() || is_variable(knob))
}

/// Whether a setting is a variable of its program's environment.
fn is_variable(knob: &FoundKnob) -> bool {
    let mut letters = knob.ready.setting.bytes();
    knob.ready.means == KnobMeans::Environment
        && letters.all(|letter| letter.is_ascii_uppercase() || letter == b'_')
}

impl DraftRenderer<'_> {
    /// Whether the experiment starts a program with the levels that it searches.
    fn is_started(&self, start: &FoundStart) -> bool {
        let mut knobs = self.found.knobs.iter();
        knobs.any(|knob| self.is_searched(&knob.name) && is_started_with(knob, start))
    }

    /// How to start a program whose settings need it, as a further item of `apply`: a comment, unless the experiment does it.
    pub(super) fn add_start(&self, text: &mut String, start: &FoundStart) {
        let is_started = self.is_started(start);
        add_comment(text, "", &start_comment(start, is_started));
        let command = start.command.iter().enumerate().map(|(index, word)| {
            let mut levels = start.levels.iter();
            let level = levels.find(|level| level.word == index);
            match level.filter(|level| !is_started || self.is_searched(&level.knob)) {
                Some(level) => {
                    format!("{}{{{{ {} }}}}", knobs::literal(&level.before), level.knob)
                }
                None => knobs::literal(word),
            }
        });
        let command: Vec<String> = command.collect();
        let begin = if is_started { "  " } else { "#   " };
        let _ = writeln!(text, "{begin}- command: {}", list(&command));
        let folder = knobs::literal(&start.folder);
        let _ = writeln!(text, "{begin}  folder: {}", quoted(&folder));
        let variables = self.variables(start, is_started);
        if !variables.is_empty() {
            let _ = writeln!(text, "{begin}  env:");
        }
        for (name, value) in variables {
            let _ = writeln!(text, "{begin}    {}: {}", quoted(name), quoted(&value));
        }
    }

    /// The environment with which a program is started: levels of its knobs, what it has today, and references to secrets.
    fn variables<'s>(
        &'s self,
        start: &'s FoundStart,
        is_started: bool,
    ) -> BTreeMap<&'s str, String> {
        let known = start.variables.as_deref().unwrap_or_default().iter();
        let known = known.map(|variable| {
            let name = variable.name.as_str();
            let secret = || format!("{{{{ env('{name}') }}}}");
            let value = variable.value.as_deref();
            (name, value.map_or_else(secret, knobs::literal))
        });
        let own = self.found.knobs.iter().filter(|knob| {
            let is_level = !is_started || self.is_searched(&knob.name);
            knob.program == start.program && is_variable(knob) && is_level
        });
        let own = own.map(|knob| (knob.ready.setting, format!("{{{{ {} }}}}", knob.name)));
        known.chain(own).collect()
    }
}

/// What a reader must know of the start of a program.
fn start_comment(start: &FoundStart, is_started: bool) -> String {
    let (program, pid) = (&start.program, start.pid);
    if is_started {
        return format!(
            "{program} is not a systemd unit: the experiment starts it, and stops it after each trial. Stop it before, with \
             `kill -TERM {pid}`. It must stay in the foreground."
        );
    }
    let mut comment = format!(
        "{program} is not a systemd unit. To search settings that need its restart, move their lines to `knobs`, remove `reload` \
         from its files above, stop it with `kill -TERM {pid}`, and uncomment what follows: the experiment then starts it \
         with their levels, and stops it after each trial. It must stay in the foreground."
    );
    if start.variables.is_none() {
        comment.push_str(" Its environment cannot be read: add `env` with what it needs.");
    }
    if start.command.iter().any(|word| word.contains(REDACTED)) {
        comment.push_str(" Its command has secrets: write {{ env('NAME') }} in their place.");
    }
    comment
}
