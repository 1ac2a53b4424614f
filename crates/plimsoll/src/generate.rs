//! `plimsoll generate`: completions, man pages and the reference, generated from the definitions in the code.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use plimsoll_analysis::findings::{self, TriedOn};
use plimsoll_model::reading::SeriesKind;

use crate::arguments::{Cli, GenerateArguments, Generated, examples};
use crate::exit::Exit;
use crate::explain::CliError;
use crate::screen::print;
use crate::{check, doctor, link, simulate};

/// How names of files with a schema end.
const SCHEMA_ENDING: &str = ".schema.json";

/// Writes into the folder.
pub(crate) fn generate(arguments: &GenerateArguments) -> Result<Exit, CliError> {
    let folder = &arguments.folder;
    if arguments.what == Generated::Schema {
        return schema(&folder.to_string_lossy());
    }
    std::fs::create_dir_all(folder).map_err(|error| write_error(folder, &error))?;
    match arguments.what {
        Generated::Completions => completions(folder)?,
        Generated::Man => man_pages(folder)?,
        Generated::Reference => reference(folder)?,
        Generated::Schema => {}
    }
    Ok(Exit::Met)
}

fn write_error(path: &Path, error: &std::io::Error) -> CliError {
    CliError::usage(format!("cannot write {}: {error}", path.display()))
}

fn write(path: &PathBuf, content: impl AsRef<[u8]>) -> Result<(), CliError> {
    std::fs::write(path, content).map_err(|error| write_error(path, &error))
}

fn completions(folder: &Path) -> Result<(), CliError> {
    for shell in [
        Shell::Bash,
        Shell::Zsh,
        Shell::Fish,
        Shell::Elvish,
        Shell::PowerShell,
    ] {
        clap_complete::generate_to(shell, &mut Cli::command(), "plimsoll", folder)
            .map_err(|error| write_error(folder, &error))?;
    }
    Ok(())
}

fn man_pages(folder: &Path) -> Result<(), CliError> {
    let root = Cli::command();
    man_page(&root, "plimsoll", "", folder)?;
    for command in root
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        let name = command.get_name();
        man_page(command, &format!("plimsoll-{name}"), name, folder)?;
    }
    Ok(())
}

/// Writes the page of a command: an example first.
fn man_page(command: &Command, name: &str, of: &str, folder: &Path) -> Result<(), CliError> {
    let named = command
        .clone()
        .name(name.to_owned())
        .bin_name(name.replacen('-', " ", 1));
    let mut page = Vec::new();
    let path = folder.join(format!("{name}.1"));
    render_man(named, examples::of(of), &mut page).map_err(|error| write_error(&path, &error))?;
    write(&path, page)
}

fn render_man(command: Command, examples: &[&str], page: &mut Vec<u8>) -> std::io::Result<()> {
    let has_subcommands = command.get_subcommands().any(|sub| !sub.is_hide_set());
    let has_more = command.get_after_help().is_some();
    let has_version = command.get_version().is_some();
    let man = clap_mangen::Man::new(command);
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    page.extend_from_slice(b".SH EXAMPLES\n.nf\n");
    for example in examples {
        // A quote at the beginning of a line would be a request of troff; a hyphen is a minus.
        page.extend_from_slice(format!("\\&{}\n", example.replace('-', "\\-")).as_bytes());
    }
    page.extend_from_slice(b".fi\n");
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    if has_subcommands {
        man.render_subcommands_section(page)?;
    }
    if has_more {
        man.render_extra_section(page)?;
    }
    if has_version {
        man.render_version_section(page)?;
    }
    Ok(())
}

/// Every schema: the name of its file, and its text.
fn schemas() -> Vec<(String, String)> {
    let further: [(&str, String); 21] = [
        ("plan", plimsoll_config::plan::schema()),
        ("experiment", plimsoll_config::experiment::schema()),
        ("world", plimsoll_config::world::schema()),
        ("hosts", plimsoll_config::hosts::schema()),
        ("check", check::json::schema()),
        ("doctor", doctor::schema()),
        ("compare", plimsoll_report::compare::schema()),
        ("matrix", plimsoll_report::matrix::schema()),
        ("matrix-dry-run", plimsoll_report::matrix::forecast_schema()),
        ("tune", plimsoll_report::tune::schema()),
        ("tune-advice", plimsoll_report::tune::advice_schema()),
        ("log", plimsoll_report::log_page::schema()),
        ("availability", plimsoll_report::availability::schema()),
        ("history", plimsoll_report::history_page::schema()),
        ("ledger", plimsoll_report::cycle_record::schema()),
        ("repeat", plimsoll_report::repeated::schema()),
        ("edge-status", plimsoll_edge::status_schema()),
        ("link", link::schema()),
        ("scale-policy", plimsoll_config::scale::schema()),
        ("scale", plimsoll_report::scale_page::schema()),
        ("simulate", simulate::schema()),
    ];
    let further = further.map(|(name, schema)| (format!("{name}{SCHEMA_ENDING}"), schema));
    let mut schemas = plimsoll_report::json::schemas();
    schemas.extend(further);
    schemas
}

/// Prints one schema.
fn schema(name: &str) -> Result<Exit, CliError> {
    let wanted = format!("{name}{SCHEMA_ENDING}");
    let schemas = schemas();
    if let Some((_, schema)) = schemas.iter().find(|(have, _)| *have == wanted) {
        print(schema);
        return Ok(Exit::Met);
    }
    let mut names: Vec<&str> = schemas
        .iter()
        .filter_map(|(file, _)| file.strip_suffix(SCHEMA_ENDING))
        .collect();
    names.sort_unstable();
    Err(CliError::usage(format!("unknown schema `{name}`"))
        .remedy(format!("valid: {}", names.join(", "))))
}

fn reference(folder: &Path) -> Result<(), CliError> {
    for (name, schema) in schemas() {
        write(&folder.join(name), schema)?;
    }
    write(&folder.join("plan.md"), plimsoll_config::plan::reference())?;
    write(
        &folder.join("experiment.md"),
        plimsoll_config::experiment::reference(),
    )?;
    write(
        &folder.join("hosts.md"),
        plimsoll_config::hosts::reference(),
    )?;
    write(
        &folder.join("world.md"),
        plimsoll_config::world::reference(),
    )?;
    write(
        &folder.join("scale-policy.md"),
        plimsoll_config::scale::reference(),
    )?;
    write(&folder.join("edge.md"), plimsoll_config::edge::reference())?;
    write(&folder.join("commands.md"), commands())?;
    write(&folder.join("series.md"), series())?;
    write(&folder.join("rules.md"), rules())?;
    write(&folder.join("knobs.md"), knobs())
}

fn commands() -> String {
    let mut text = String::from(
        "# Commands\n\nGenerated from the program's own definitions by `plimsoll generate reference`; do not edit.\n",
    );
    let mut root = examples::command().term_width(100);
    root.build();
    section(&mut text, &mut root.clone());
    sections_below(&mut text, &mut root);
    text
}

/// A section for each command below a command, `import log` after `import`.
fn sections_below(text: &mut String, command: &mut Command) {
    for command in command.get_subcommands_mut() {
        if !command.is_hide_set() && command.get_name() != "help" {
            section(text, command);
            sections_below(text, command);
        }
    }
}

fn section(text: &mut String, command: &mut Command) {
    let name = command
        .get_bin_name()
        .unwrap_or(command.get_name())
        .to_owned();
    let help = command.render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let body = help.join("\n");
    let section = format!("\n## `{name}`\n\n```text\n{}\n```\n", body.trim_end());
    text.push_str(&section);
}

/// Every series the probes write.
fn series() -> String {
    let mut text = String::from(
        "# Series\n\nAll series that the probes collect, once per second. Generated by `plimsoll generate reference`; do \
         not edit.\n\n| metric | labels | kind | unit | meaning | source |\n|---|---|---|---|---|---|\n",
    );
    for definition in plimsoll_probe::series::all() {
        let kind = match definition.kind {
            SeriesKind::Gauge => "level",
            SeriesKind::Delta => "increase",
        };
        let row = format!(
            "| `{}` | {} | {kind} | `{}` | {} | {} |\n",
            definition.metric,
            definition.labels.join(", "),
            definition.unit,
            definition.meaning,
            definition.source,
        );
        text.push_str(&row);
    }
    text
}

/// Every ready-made knob.
fn knobs() -> String {
    let mut text = String::from(
        "# Knobs\n\nSettings that `plimsoll tune --discover` finds in a running service, with the range in which it searches. \
         Around the value that stands, a search tries at most eight levels. Generated by `plimsoll generate reference`; do \
         not edit.\n\n| program | setting | levels | changed by | meaning |\n|---|---|---|---|---|\n",
    );
    for knob in plimsoll_probe::knobs::all() {
        let caution = knob.caution.map_or_else(String::new, |caution| {
            format!(" Not searched unless you add it: {caution}.")
        });
        let row = format!(
            "| {} | `{}` | {} | {} | {}.{caution} |\n",
            knob.program(),
            knob.setting,
            knob.levels.words(),
            knob.means.words(),
            knob.meaning,
        );
        text.push_str(&row);
    }
    text
}

/// Every rule, and what its tests try it on.
fn rules() -> String {
    let all = findings::rules;
    let built = || all().filter(|rule| rule.is_built());
    let tried_on = |wanted: TriedOn| built().filter(|rule| rule.tried_on() == wanted).count();
    let mut text = format!(
        "# Rules\n\nEvery rule by which `plimsoll` names a limit, and what it is tried on. Made from the code and its tests by \
         `cargo xtask reference`; do not edit.\n\n{} of {} rules are built: {} are tried on a real program that is brought to \
         that limit, {} on series that were made up or recorded.\n\n\
         | Rule | Limit | Built | Tried on |\n|---|---|---|---|\n",
        built().count(),
        all().count(),
        tried_on(TriedOn::RealProgram),
        tried_on(TriedOn::Series),
    );
    for rule in all() {
        let (is_built, tried_on) = match (rule.is_built(), rule.tried_on()) {
            (false, _) => ("not built", "–"),
            (true, TriedOn::RealProgram) => ("yes", "real program"),
            (true, TriedOn::Series) => ("yes", "made-up or recorded series"),
        };
        let row = format!(
            "| {} | {} | {is_built} | {tried_on} |\n",
            rule.id(),
            rule.limit()
        );
        text.push_str(&row);
    }
    text
}
