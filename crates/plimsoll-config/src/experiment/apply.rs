//! Reads how levels are applied.

mod files;
mod sources;
mod workers;

use plimsoll_model::component::ComponentKind;
use plimsoll_model::experiment::{LevelText, Setup, TunableValue};

use super::commands::command;
use super::required;
use super::scope::ExperimentScope;
use crate::document::Shape::{Count, Either, Free, MapOf, Number, Of, OneOrMore, Size, Text};
use crate::document::{DocumentNode, KeywordTable, MapFields, word};
use crate::{Problem, units};
pub(super) use files::FILE;
use files::FileReader;
pub(super) use sources::SOURCE;
use sources::source;
pub(super) use workers::WORKERS;

/// Services of an experiment at most.
const SETUPS_MAX: usize = 16;
/// Variables, settings and files of a service at most.
const ITEMS_MAX: usize = 256;
const PROCESSES_MAX: u32 = 1024;
const CPUS_MAX: u32 = 1024;
/// Least memory of a service, bytes.
const MEMORY_MIN: u64 = 1 << 20;

/// Keys of a service.
pub(super) static APPLY: KeywordTable = KeywordTable {
    name: "apply",
    meaning: "How the levels of a cell are applied. Each value may contain `{{ AXIS }}`, the level of the cell. What \
              mentions an axis that is not varied in a cell is left out there. Everything is put back in the end.",
    words: &[
        word!(
            "command",
            OneOrMore(&Text),
            "Command that starts the service, without a shell, in a process group of its own; it is stopped after the \
             trial. Default: the service is not started."
        ),
        word!(
            "env",
            MapOf(&Text),
            "Environment variables of the command, in addition to those of Plimsoll."
        ),
        word!(
            "folder",
            Text,
            "Folder in which the command starts, relative to the folder of this file, or to that of `git`. Default: that \
             folder."
        ),
        word!(
            "processes",
            Either(&[Count(1, PROCESSES_MAX as u64), Text]),
            "How often the command is started. The variable PLIMSOLL_PROCESS has the number of a process, from 0. \
             Default: 1."
        ),
        word!(
            "cpus",
            Either(&[Number, Text]),
            "CPUs that all processes of the command share, by a control group; without rights to one, whole CPUs by \
             affinity. Default: all."
        ),
        word!(
            "memory",
            Size,
            "Memory that all processes of the command share, by a control group; without rights to one, address space \
             of each. Default: all."
        ),
        word!(
            "file",
            OneOrMore(&Of(&FILE)),
            "Files that are written from templates."
        ),
        word!(
            "set",
            OneOrMore(&Of(&TUNABLE)),
            "Settings of running components, as `--confirm` changes them."
        ),
        word!(
            "workers",
            OneOrMore(&Of(&WORKERS)),
            "Worker processes of a running server, by signals."
        ),
        word!(
            "git",
            Either(&[Text, Of(&SOURCE)]),
            "Commit, tag or branch that is checked out in a folder of its own, in which the command then starts; or a \
             map."
        ),
        word!(
            "edge",
            Text,
            "Configuration of an edge that is started in front of the service; `none` for no edge."
        ),
        word!(
            "kubernetes",
            Free,
            "Reserved for deployments of a cluster, which cannot be varied yet: a file with this key is refused."
        ),
    ],
};

/// Keys of a setting.
pub(super) static TUNABLE: KeywordTable = KeywordTable {
    name: "set",
    meaning: "A setting of a running component. It is put back after the trial.",
    words: &[
        word!(
            "component",
            Text,
            "Component, as in `watch` of a plan: `postgres`."
        ),
        word!("setting", Text, "Setting of the component: `work_mem`."),
        word!("to", Text, "Its value: `\"{{ work_mem }}\"`."),
    ],
};

/// Reads `apply:`.
pub(super) fn setups(scope: &ExperimentScope<'_, '_>, node: &DocumentNode) -> Vec<Setup> {
    let reader = scope.reader;
    let items = reader.one_or_more(node);
    if items.len() > SETUPS_MAX {
        let message = format!("there are {} services", items.len());
        reader.report(node, message, format!("at most {SETUPS_MAX}"));
    }
    let files = FileReader::new(scope);
    let items = items.iter().take(SETUPS_MAX);
    items
        .filter_map(|item| {
            let fields = reader.fields(item, &APPLY)?;
            Some(setup(scope, &files, &fields))
        })
        .collect()
}

fn setup(
    scope: &ExperimentScope<'_, '_>,
    files: &FileReader<'_, '_, '_>,
    fields: &MapFields<'_>,
) -> Setup {
    let reader = scope.reader;
    if let Some((key, _)) = fields.entry("kubernetes") {
        let message =
            "`kubernetes` is not supported yet: deployments of a cluster cannot be varied";
        let valid = "`command` with `processes`, `cpus` and `memory`, or `set`, on this machine";
        reader.report_at(key.span.start, message, valid, None);
    }
    if fields.get("command").is_none() && !fields.misspells(&["command"]) {
        for (key, _) in fields.among(&["env", "folder", "processes", "cpus", "memory"]) {
            let message = format!("`{}` has no effect without `command`", key.text);
            let valid = "command: [bin/server, --port, 8080], which starts the service";
            reader.report_at(key.span.start, message, valid, None);
        }
    }
    Setup {
        command: fields
            .get("command")
            .and_then(|node| command(scope, node))
            .unwrap_or_default(),
        env: fields
            .get("env")
            .map_or_else(Vec::new, |node| environment(scope, node)),
        folder: fields
            .get("folder")
            .and_then(|node| scope.text(node, "a folder")),
        processes: fields
            .get("processes")
            .and_then(|node| scope.each(node, PROCESSES_VALID, processes)),
        cpus: fields
            .get("cpus")
            .and_then(|node| scope.each(node, CPUS_VALID, cpus)),
        memory: fields
            .get("memory")
            .and_then(|node| scope.each(node, MEMORY_VALID, memory)),
        files: items(scope, fields, "file", |node| files.file(node)),
        tunables: items(scope, fields, "set", |node| tunable(scope, node)),
        workers: items(scope, fields, "workers", |node| {
            workers::signals(scope, node)
        }),
        source: fields.get("git").and_then(|node| source(scope, node)),
        edge: fields
            .get("edge")
            .and_then(|node| scope.text(node, "a configuration file of the edge, or none")),
    }
}

/// The items of a key, or its only item.
fn items<T>(
    scope: &ExperimentScope<'_, '_>,
    fields: &MapFields<'_>,
    key: &str,
    read: impl Fn(&DocumentNode) -> Option<T>,
) -> Vec<T> {
    let Some(node) = fields.get(key) else {
        return Vec::new();
    };
    let items = scope.reader.one_or_more(node);
    if items.len() > ITEMS_MAX {
        let message = format!("there are {} items", items.len());
        scope
            .reader
            .report(node, message, format!("at most {ITEMS_MAX}"));
    }
    items.iter().take(ITEMS_MAX).filter_map(read).collect()
}

fn environment(scope: &ExperimentScope<'_, '_>, node: &DocumentNode) -> Vec<(String, LevelText)> {
    const VALID: &str = "variables, such as WEB_CONCURRENCY: 4";
    let reader = scope.reader;
    let entries = reader.entries(node, VALID).unwrap_or_default();
    if entries.len() > ITEMS_MAX {
        let message = format!("there are {} variables", entries.len());
        reader.report(node, message, format!("at most {ITEMS_MAX}"));
    }
    let mut variables = Vec::new();
    for (key, value) in entries.iter().take(ITEMS_MAX) {
        let text = scope.text_or_empty(value, "a text");
        if key.text.is_empty() || key.text.contains(['=', '\0']) {
            let message = format!("`{}` is not the name of a variable", key.text);
            let valid = "a name without `=`, such as WEB_CONCURRENCY";
            reader.report_at(key.span.start, message, valid, None);
        } else if let Some(text) = text {
            variables.push((key.text.clone(), text));
        }
    }
    variables
}

fn tunable(scope: &ExperimentScope<'_, '_>, node: &DocumentNode) -> Option<TunableValue> {
    let reader = scope.reader;
    let fields = reader.fields(node, &TUNABLE)?;
    let to = required(reader, &fields, "to", "\"{{ AXIS }}\"");
    let to = to.and_then(|node| scope.text(node, "a value"));
    let component = required(reader, &fields, "component", "postgres");
    let setting = required(reader, &fields, "setting", "work_mem");
    let (component, setting) = (component?, setting?);
    let kinds = ComponentKind::ALL.iter();
    let tunable_kinds = kinds.filter(|kind| !kind.tunables().is_empty());
    let words: Vec<&str> = tunable_kinds
        .flat_map(|kind| kind.words())
        .copied()
        .collect();
    let word = reader.word(component, &words.join(", "))?;
    let kind = ComponentKind::of_word(&word).filter(|kind| !kind.tunables().is_empty());
    let Some(kind) = kind else {
        let what = "component with settings";
        reader.unknown(&component.span, what, &word, &words);
        return None;
    };
    let settings = kind.tunables();
    let name = reader.word(setting, &settings.join(", "))?;
    if !settings.contains(&name.as_str()) {
        let what = format!("setting of {}", kind.name());
        reader.unknown(&setting.span, &what, &name, settings);
        return None;
    }
    Some(TunableValue {
        kind,
        setting: name,
        to: to?,
    })
}

pub(super) const PROCESSES_VALID: &str = "a whole number from 1 to 1024";

pub(super) fn processes(text: &str) -> Result<u32, Problem> {
    match text.parse::<u32>() {
        Ok(count) if (1..=PROCESSES_MAX).contains(&count) => Ok(count),
        _ => {
            let message = "not a number of processes";
            Err(Problem::new(text, 0..text.len(), message, PROCESSES_VALID))
        }
    }
}

const CPUS_VALID: &str = "a number from 0.01 to 1024, such as 2 or 0.5";

fn cpus(text: &str) -> Result<f64, Problem> {
    match text.parse::<f64>() {
        Ok(count) if (0.01..=f64::from(CPUS_MAX)).contains(&count) => Ok(count),
        _ => {
            let message = "not a number of CPUs";
            Err(Problem::new(text, 0..text.len(), message, CPUS_VALID))
        }
    }
}

const MEMORY_VALID: &str = "a size from 1MiB, such as 4GiB";

fn memory(text: &str) -> Result<u64, Problem> {
    let size = units::size(text)?;
    if size < MEMORY_MIN {
        let message = "too little memory";
        return Err(Problem::new(text, 0..text.len(), message, MEMORY_VALID));
    }
    Ok(size)
}
