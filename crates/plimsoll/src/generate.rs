//! `plimsoll generate`: completions, man pages and the reference, generated from the definitions in the code.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use plimsoll_analysis::findings::{self, TriedOn};
use plimsoll_model::reading::SeriesKind;

use crate::arguments::{Cli, GenerateArguments, Generated};
use crate::exit::Exit;
use crate::explain::CliError;
use crate::screen::print;

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
    man_page(&root, "plimsoll", folder)?;
    for command in root
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        man_page(command, &format!("plimsoll-{}", command.get_name()), folder)?;
    }
    Ok(())
}

fn man_page(command: &Command, name: &str, folder: &Path) -> Result<(), CliError> {
    let named = command
        .clone()
        .name(name.to_owned())
        .bin_name(name.replacen('-', " ", 1));
    let mut page = Vec::new();
    let path = folder.join(format!("{name}.1"));
    clap_mangen::Man::new(named)
        .render(&mut page)
        .map_err(|error| write_error(&path, &error))?;
    write(&path, page)
}

/// Name of the schema of plan files, as of the others.
const PLAN_SCHEMA: &str = "plan.schema.json";

/// Name of the schema of experiment files.
const EXPERIMENT_SCHEMA: &str = "experiment.schema.json";

/// Name of the schema of `log --json`.
const LOG_SCHEMA: &str = "log.schema.json";

/// Name of the schema of `compare --json`.
const COMPARE_SCHEMA: &str = "compare.schema.json";

/// Name of the schema of `matrix --json`.
const MATRIX_SCHEMA: &str = "matrix.schema.json";

/// Prints one schema.
fn schema(name: &str) -> Result<Exit, CliError> {
    let wanted = format!("{name}.schema.json");
    if wanted == PLAN_SCHEMA {
        print(&plimsoll_config::plan::schema());
        return Ok(Exit::Met);
    }
    if wanted == EXPERIMENT_SCHEMA {
        print(&plimsoll_config::experiment::schema());
        return Ok(Exit::Met);
    }
    if wanted == LOG_SCHEMA {
        print(&plimsoll_report::log_page::schema());
        return Ok(Exit::Met);
    }
    if wanted == COMPARE_SCHEMA {
        print(&plimsoll_report::compare::schema());
        return Ok(Exit::Met);
    }
    if wanted == MATRIX_SCHEMA {
        print(&plimsoll_report::matrix::schema());
        return Ok(Exit::Met);
    }
    match plimsoll_report::json::schemas()
        .into_iter()
        .find(|(have, _)| *have == wanted)
    {
        Some((_, schema)) => {
            print(&schema);
            Ok(Exit::Met)
        }
        None => Err(CliError::usage(format!("unknown schema `{name}`"))
            .remedy("valid: plan, experiment, run, limit, compare, matrix or log")),
    }
}

fn reference(folder: &Path) -> Result<(), CliError> {
    for (name, schema) in plimsoll_report::json::schemas() {
        write(&folder.join(name), schema)?;
    }
    write(&folder.join(PLAN_SCHEMA), plimsoll_config::plan::schema())?;
    write(
        &folder.join(EXPERIMENT_SCHEMA),
        plimsoll_config::experiment::schema(),
    )?;
    write(
        &folder.join(LOG_SCHEMA),
        plimsoll_report::log_page::schema(),
    )?;
    write(
        &folder.join(COMPARE_SCHEMA),
        plimsoll_report::compare::schema(),
    )?;
    write(
        &folder.join(MATRIX_SCHEMA),
        plimsoll_report::matrix::schema(),
    )?;
    write(&folder.join("plan.md"), plimsoll_config::plan::reference())?;
    write(
        &folder.join("experiment.md"),
        plimsoll_config::experiment::reference(),
    )?;
    write(&folder.join("edge.md"), plimsoll_config::edge::reference())?;
    write(&folder.join("commands.md"), commands())?;
    write(&folder.join("series.md"), series())?;
    write(&folder.join("rules.md"), rules())
}

fn commands() -> String {
    let mut text = String::from(
        "# Commands\n\nGenerated from the program's own definitions by `plimsoll generate reference`; do not edit.\n",
    );
    let mut root = Cli::command().term_width(100);
    root.build();
    section(&mut text, &mut root.clone());
    for command in root
        .get_subcommands_mut()
        .filter(|command| !command.is_hide_set())
    {
        if command.get_name() != "help" {
            section(&mut text, command);
        }
    }
    text
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
