//! The text of a drafted tune file, with its templates and its plan.

mod starts;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use plimsoll_model::component::{Component, ComponentAddress};
use plimsoll_probe::knobs::{
    self, ConstraintText, FoundFile, FoundKnob, KERNEL_FILE, KnobPlace, KnobsFound,
};
use plimsoll_report::tune::AdvisedSetting;

use super::{DiscoverOptions, DraftFile};

/// Knobs that a draft searches: with more of them a search does not end in an evening.
const SEARCHED_MAX: usize = 8;
/// Of these, settings of the kernel where they are wanted: all others are likelier limits, and they would never be among them.
const OF_KERNEL: usize = 2;

/// Why a knob is not searched although it could be.
const BEYOND: &str = "less likely a limit than the knobs above; more than 8 of them take too long";

/// A draft of what was found.
pub(super) fn draft(options: &DiscoverOptions<'_>, found: &KnobsFound) -> DraftFile {
    let mut searched = searched(found);
    let mut notes = found.notes.clone();
    if searched.is_empty() {
        // Nothing but another start changes anything.
        searched = starts::searched(found, SEARCHED_MAX);
        notes.extend(starts::notes(found, &searched));
    }
    let settings = found.knobs.iter().map(|knob| setting(knob, &searched));
    let mut draft = DraftFile {
        files: Vec::new(),
        settings: settings.collect(),
        notes,
    };
    if searched.is_empty() {
        return draft;
    }
    let files = DraftRenderer {
        options,
        found,
        notes: &draft.notes,
        searched,
    }
    .files();
    draft.files = files;
    draft
}

/// The knobs that can be changed from here, the likeliest limits of them.
fn searched(found: &KnobsFound) -> BTreeSet<&str> {
    let usable = found.knobs.iter().filter(|knob| is_usable(knob));
    let (of_kernel, others): (Vec<_>, Vec<_>) = usable.partition(|knob| knob.ready.kind.is_none());
    let reserved = of_kernel.len().min(OF_KERNEL);
    let others = others.into_iter().take(SEARCHED_MAX - reserved);
    let all = others.chain(of_kernel).take(SEARCHED_MAX);
    all.map(|knob| knob.name.as_str()).collect()
}

/// Whether a search may change it without being told so.
fn is_usable(knob: &FoundKnob) -> bool {
    !matches!(knob.place, KnobPlace::Unreachable(_)) && knob.ready.caution.is_none()
}

fn setting(knob: &FoundKnob, searched: &BTreeSet<&str>) -> AdvisedSetting {
    let others = knob.levels.iter().filter(|level| **level != knob.now);
    AdvisedSetting {
        name: knob.name.clone(),
        from: knob.now.clone(),
        to: others.cloned().collect(),
        why: Some(meaning(knob)),
        restart: knob.restart,
        left_out: left_out(knob, searched),
    }
}

fn meaning(knob: &FoundKnob) -> String {
    format!(
        "{} of {}: {}",
        knob.ready.setting, knob.program, knob.ready.meaning
    )
}

fn left_out(knob: &FoundKnob, searched: &BTreeSet<&str>) -> Option<String> {
    if searched.contains(knob.name.as_str()) {
        return None;
    }
    let why = match (&knob.place, knob.ready.caution) {
        (KnobPlace::Unreachable(why), _) => why.as_str(),
        (_, Some(caution)) => caution,
        _ => BEYOND,
    };
    Some(why.to_owned())
}

struct DraftRenderer<'a> {
    options: &'a DiscoverOptions<'a>,
    found: &'a KnobsFound,
    notes: &'a [String],
    searched: BTreeSet<&'a str>,
}

impl DraftRenderer<'_> {
    fn is_searched(&self, name: &str) -> bool {
        self.searched.contains(name)
    }

    /// The tune file first, then what it needs.
    fn files(&self) -> Vec<(PathBuf, String)> {
        let name = self.options.file.file_name();
        let name = name.map_or_else(|| PathBuf::from("tune.yaml"), PathBuf::from);
        let stem = name
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let mut beside = Vec::new();
        let (mut services, mut names) = (String::new(), BTreeSet::new());
        for file in &self.found.files {
            if !file.edits.iter().any(|edit| self.is_searched(&edit.knob)) {
                continue;
            }
            let is_searched = |knob: &str| self.is_searched(knob);
            let template = template_name(&stem, &file.path, &mut names);
            self.add_file(&mut services, file, &template);
            let text = if file.path == Path::new(KERNEL_FILE) {
                let own = knobs::kernel_file(file, &is_searched);
                let text = knobs::template(&own.text, &own.edits, &is_searched);
                beside.push((own.path, own.text));
                text
            } else {
                knobs::template(&file.text, &file.edits, &is_searched)
            };
            beside.push((template.into(), text));
        }
        let settings = self.settings();
        let plan = (!settings.is_empty()).then(|| format!("{stem}-plan.yaml"));
        if let Some(plan) = &plan {
            beside.push((plan.into(), self.plan()));
        }
        let mut text = self.head(plan.as_deref());
        text.push_str("knobs:\n");
        self.add_knobs(&mut text);
        self.add_constraints(&mut text);
        text.push_str("\napply:\n");
        let mut mark = "-";
        for (key, items) in [("file", &services), ("set", &settings)] {
            if !items.is_empty() {
                let _ = writeln!(text, "  {mark} {key}:\n{}", items.trim_end());
                mark = " ";
            }
        }
        for start in &self.found.starts {
            self.add_start(&mut text, start);
        }
        self.add_rest(&mut text);
        beside.insert(0, (name, text));
        beside
    }

    fn head(&self, plan: Option<&str>) -> String {
        let url = quoted(self.options.url);
        let mut text = format!(
            "# Drafted by `plimsoll tune --discover` for {}. The likeliest limit is first.\n\
             # Read it before you run it: `plimsoll tune FILE` changes these settings and reloads these programs, and\n\
             # puts everything back. Delete knobs that must not change.\n",
            self.options.url
        );
        for note in self.notes {
            add_comment(&mut text, "", &format!("note: {note}"));
        }
        text.push_str("\nmeasure:\n");
        let target = match plan {
            Some(plan) => format!("  plan: {}\n", quoted(plan)),
            None => format!("  url: {url}\n"),
        };
        text.push_str(&target);
        text.push_str("  limit: 2m\n");
        if self.options.unix_socket.is_none() {
            text.push_str("ready: ");
            text.push_str(&url);
            text.push('\n');
        }
        text.push('\n');
        text
    }

    fn add_knobs(&self, text: &mut String) {
        for knob in self
            .found
            .knobs
            .iter()
            .filter(|knob| self.is_searched(&knob.name))
        {
            add_comment(text, "  ", &meaning(knob));
            add_knob(text, "  ", knob);
        }
    }

    fn add_constraints(&self, text: &mut String) {
        let constraints: Vec<ConstraintText> = self
            .found
            .constraints
            .iter()
            .filter_map(|constraint| constraint.text(&|knob| self.is_searched(knob)))
            .collect();
        if constraints.is_empty() {
            return;
        }
        let quantities: BTreeMap<&String, u64> = constraints
            .iter()
            .flat_map(|constraint| &constraint.quantities)
            .map(|(name, value)| (name, *value))
            .collect();
        if !quantities.is_empty() {
            text.push_str(
                "\n# Measured now: bytes of a process, or how many pools there are.\nquantities:\n",
            );
        }
        for (name, value) in quantities {
            let _ = writeln!(text, "  {name}: {value}");
        }
        text.push_str("constraints:\n");
        for constraint in &constraints {
            let _ = writeln!(text, "  - {}", quoted(&constraint.text));
        }
    }

    fn add_file(&self, text: &mut String, file: &FoundFile, template: &str) {
        let _ = writeln!(text, "      - template: {}", quoted(template));
        let _ = writeln!(
            text,
            "        to: {}",
            quoted(&file.path.display().to_string())
        );
        if let Some(check) = &file.check {
            let _ = writeln!(text, "        check: {}", list(check));
        }
        let is_restarted = self.found.knobs.iter().any(|knob| {
            let is_here = file.edits.iter().any(|edit| edit.knob == knob.name);
            knob.restart && is_here && self.is_searched(&knob.name)
        });
        let command = if is_restarted {
            file.restart.as_ref()
        } else {
            file.reload.as_ref().or(file.restart.as_ref())
        };
        if let Some(command) = command {
            let _ = writeln!(text, "        reload: {}", list(command));
        }
    }

    /// The settings that components change at run time.
    fn settings(&self) -> String {
        let mut text = String::new();
        for knob in self
            .found
            .knobs
            .iter()
            .filter(|knob| self.is_searched(&knob.name))
        {
            if let KnobPlace::Set { kind, setting } = knob.place {
                let word = kind.words().first().copied().unwrap_or_default();
                let to = quoted(&format!("{{{{ {} }}}}", knob.name));
                let _ = writeln!(
                    text,
                    "      - {{ component: {word}, setting: {setting}, to: {to} }}"
                );
            }
        }
        text
    }

    /// The plan, which names the components whose settings change.
    fn plan(&self) -> String {
        let mut text = format!("target: {}\nwatch:\n", quoted(self.options.url));
        for component in &self.found.watch {
            let word = component.kind.words().first().copied().unwrap_or_default();
            let _ = writeln!(text, "  {word}: {}", address(component));
        }
        text
    }

    /// What is not searched, and why.
    fn add_rest(&self, text: &mut String) {
        let rest = self.found.knobs.iter().filter_map(|knob| {
            let why = left_out(knob, &self.searched)?;
            Some((knob, why))
        });
        let rest: Vec<(&FoundKnob, String)> = rest.collect();
        if rest.is_empty() {
            return;
        }
        text.push_str(
            "\n# Found, and not searched. To add one, move its line to `knobs` and write {{ NAME }} where its value stands in\n\
             # the template.\n",
        );
        if rest.iter().any(|(knob, _)| knob.ready.kind.is_none()) {
            let more = format!(
                "A setting of the kernel also loses the # before its line, in the template and in {KERNEL_FILE}."
            );
            add_comment(text, "", &more);
        }
        for (knob, why) in rest {
            text.push_str("#\n");
            add_comment(text, "", &format!("{}. Left out: {why}.", meaning(knob)));
            if !knob.levels.is_empty() {
                add_knob(text, "#   ", knob);
            }
        }
    }
}

/// The line of a knob.
fn add_knob(text: &mut String, indent: &str, knob: &FoundKnob) {
    let levels: Vec<String> = knob.levels.iter().map(|level| scalar(level)).collect();
    let usual = knob.usual.as_deref();
    let usual = usual.map_or_else(String::new, |usual| format!(", usual: {}", scalar(usual)));
    let restart = if knob.restart { ", restart: true" } else { "" };
    let _ = writeln!(
        text,
        "{indent}{}: {{ values: [{}], default: {}{usual}{restart}, meaning: {} }}",
        knob.name,
        levels.join(", "),
        scalar(&knob.now),
        quoted(knob.ready.meaning)
    );
}

/// A name for a template that no other has.
fn template_name(stem: &str, path: &Path, names: &mut BTreeSet<String>) -> String {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let file: String = file
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    let file = file
        .strip_prefix(&format!("{stem}-"))
        .unwrap_or(&file)
        .to_owned();
    let mut name = format!("{stem}-{file}.in");
    let mut number = 2;
    while !names.insert(name.clone()) {
        name = format!("{stem}-{number}-{file}.in");
        number += 1;
    }
    name
}

/// The address of a component as `watch:` has it; a password is taken from the environment.
fn address(component: &Component) -> String {
    let at = match &component.place {
        ComponentAddress::Socket(path) => format!("unix:{}", path.display()),
        place => place.to_string(),
    };
    let Some(login) = &component.login else {
        return quoted(&at);
    };
    let mut text = format!("{{ at: {}", quoted(&at));
    if !login.user.is_empty() {
        let _ = write!(text, ", user: {}", quoted(&login.user));
    }
    if !login.password.is_empty() {
        text.push_str(", password: \"{{ env('PLIMSOLL_PASSWORD') }}\"");
    }
    if !login.database.is_empty() {
        let _ = write!(text, ", database: {}", quoted(&login.database));
    }
    text.push_str(" }");
    text
}

/// A text in double quotes, with the escapes that YAML and JSON share.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A number as it is, any other level in quotes: `on` is a truth value in YAML.
fn scalar(level: &str) -> String {
    if level.parse::<u64>().is_ok() {
        level.to_owned()
    } else {
        quoted(level)
    }
}

fn list(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("[{}]", words.join(", "))
}

/// Longest line of a comment, characters.
const COMMENT_WIDTH: usize = 110;

/// A comment in lines.
fn add_comment(text: &mut String, indent: &str, comment: &str) {
    let mut line = String::new();
    for word in comment.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > COMMENT_WIDTH {
            let _ = writeln!(text, "{indent}# {line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(text, "{indent}# {line}");
}

#[cfg(test)]
mod tests;
