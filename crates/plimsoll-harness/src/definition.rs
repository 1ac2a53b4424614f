//! A page as its data file defines it: chapters with their subjects and parameters, columns, and what is asked.

mod show;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::page::ReportPage;
use crate::running::ServerDefinition;
use crate::sample::Outcome;
use crate::template::{self, Values};

/// The data file of a comparison.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageDefinition {
    title: String,
    /// How it was measured, beside what holds for all pages.
    terms: String,
    /// Programs that need no server: nothing is sent, and runs end by themselves.
    #[serde(default)]
    without_server: bool,
    /// Programs it needs, in the order of their versions on the page.
    programs: Vec<String>,
    /// The subject that requirements are about.
    #[serde(default = "ours")]
    ours: String,
    /// The page is replaced only if no client failed on a machine without other work.
    #[serde(default)]
    only_valid: bool,
    /// Names of subjects on the page.
    names: BTreeMap<String, String>,
    #[serde(default)]
    tables: BTreeMap<String, TableDefinition>,
    /// Servers by name.
    #[serde(default)]
    servers: BTreeMap<String, ServerDefinition>,
    /// Command lines of clients, by subject and kind of load.
    #[serde(default)]
    clients: BTreeMap<String, BTreeMap<String, String>>,
    chapter: Vec<Chapter>,
}

/// Columns that several chapters may share.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableDefinition {
    /// Heading of the subjects.
    head: String,
    /// Headings with the texts of their cells.
    columns: Vec<[String; 2]>,
}

/// One thing that is measured.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chapter {
    /// Its word after `--only`, which several chapters may share.
    id: String,
    /// How it is measured; its id by default.
    kind: Option<String>,
    /// Shows the runs of the chapter of this kind instead of own ones.
    runs_of: Option<String>,
    /// Without it, there is no table.
    title: Option<String>,
    #[serde(default)]
    note: String,
    table: Option<String>,
    subjects: Vec<String>,
    /// Parameters.
    #[serde(default)]
    with: toml::Table,
    #[serde(default)]
    asked: Vec<Requirement>,
}

/// A requirement.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirement {
    what: String,
    measured: String,
    /// Conditions, all of which must hold.
    met: Vec<String>,
    /// Another subject than ours.
    of: Option<String>,
}

fn ours() -> String {
    "plimsoll".to_owned()
}

impl PageDefinition {
    /// Title of the page.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// How it was measured.
    pub fn terms(&self) -> &str {
        self.terms.trim()
    }

    /// Whether there is no server, and runs end by themselves.
    pub fn is_without_server(&self) -> bool {
        self.without_server
    }

    /// Programs it needs.
    pub fn programs(&self) -> &[String] {
        &self.programs
    }

    /// Whether only a valid measurement replaces the page.
    pub fn is_only_valid(&self) -> bool {
        self.only_valid
    }

    /// All chapters in their order.
    pub fn chapters(&self) -> &[Chapter] {
        &self.chapter
    }

    /// Sets a parameter of all chapters that have it.
    pub fn set(&mut self, name: &str, value: i64) {
        for chapter in &mut self.chapter {
            if let Some(parameter) = chapter.with.get_mut(name) {
                *parameter = toml::Value::Integer(value);
            }
        }
    }

    /// Fails if a chapter names what is not defined, or an expression is not valid: before anything is measured.
    ///
    /// # Errors
    ///
    /// With the chapter, and the column or requirement.
    pub fn check(&self) -> Result<()> {
        for chapter in &self.chapter {
            let nothing: Vec<_> = chapter.subjects.iter().map(|it| Outcome::new(it)).collect();
            let check = || {
                for subject in &chapter.subjects {
                    let is_named = self.names.contains_key(subject) || chapter.title.is_none();
                    ensure!(is_named, "[names] lacks `{subject}`");
                }
                if let Some(table) = &chapter.table {
                    for outcome in &nothing {
                        self.row(self.table_named(table)?, chapter, &nothing, outcome)?;
                    }
                }
                self.show(&mut ReportPage::blank(&self.title), chapter, &nothing)
            };
            check().with_context(|| format!("chapter `{}`", chapter.what()))?;
        }
        Ok(())
    }

    fn table_named(&self, name: &str) -> Result<&TableDefinition> {
        self.tables
            .get(name)
            .with_context(|| format!("no [tables.{name}] is defined"))
    }

    /// The name of a subject on the page.
    pub fn name(&self, subject: &str) -> String {
        let name = self.names.get(subject);
        name.map_or(subject, String::as_str).to_owned()
    }

    /// A server by its name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn server(&self, name: &str) -> Result<&ServerDefinition> {
        self.servers.get(name).with_context(|| {
            let names: Vec<_> = self.servers.keys().map(String::as_str).collect();
            format!(
                "no [servers.{name}] is defined; there are: {}",
                names.join(", ")
            )
        })
    }

    /// A line of a client that is no command, where it has one.
    pub fn setting(&self, subject: &str, name: &str) -> Option<&str> {
        self.clients.get(subject)?.get(name).map(String::as_str)
    }

    /// The command line of a client for a kind of load.
    ///
    /// # Errors
    ///
    /// If it has none, or asks for a value that there is not.
    pub fn client(&self, subject: &str, kind: &str, values: &Values) -> Result<Vec<String>> {
        let kinds = self.clients.get(subject);
        let line = kinds.and_then(|kinds| kinds.get(kind));
        let line =
            line.with_context(|| format!("no command line `{kind}` in [clients.{subject}]"))?;
        template::words(&format!("clients.{subject}.{kind}"), line, values)
    }
}

impl Chapter {
    /// Its word after `--only`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// How it is measured.
    pub fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or(&self.id)
    }

    /// The kind of the chapter whose runs it shows, if it has none of its own.
    pub fn runs_of(&self) -> Option<&str> {
        self.runs_of.as_deref()
    }

    /// What it is called while it is measured.
    pub fn what(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.id)
    }

    /// Who takes part.
    pub fn subjects(&self) -> &[String] {
        &self.subjects
    }

    /// A parameter as text.
    ///
    /// # Errors
    ///
    /// If it has none of this name.
    pub fn text(&self, name: &str) -> Result<String> {
        self.parameter(name)
            .with_context(|| format!("the chapter `{}` lacks `with.{name}`", self.what()))
    }

    /// A parameter as a number.
    ///
    /// # Errors
    ///
    /// If it has none of this name, or it is no such number.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T> {
        let text = self.text(name)?;
        let number = text.parse().ok();
        number.with_context(|| format!("`with.{name}` of the chapter `{}` is {text}", self.what()))
    }

    /// Whether a switch is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.with
            .get(name)
            .is_some_and(|value| value.as_bool() == Some(true))
    }

    /// All parameters, for templates.
    pub fn values(&self) -> Values {
        let set = self
            .with
            .keys()
            .filter(|name| self.with[*name].as_bool() != Some(false));
        set.fold(Values::default(), |values, name| {
            values.with(name, self.parameter(name).unwrap_or_default())
        })
    }

    fn parameter(&self, name: &str) -> Option<String> {
        if name == "title" {
            return self.title.clone();
        }
        Some(match self.with.get(name)? {
            toml::Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }
}

/// Fails unless all words after `--only` are chapters.
///
/// # Errors
///
/// With the valid words.
pub fn check_only(definition: &PageDefinition, only: &[String]) -> Result<()> {
    let mut ids: Vec<&str> = definition.chapters().iter().map(Chapter::id).collect();
    ids.dedup();
    for word in only {
        ensure!(
            ids.contains(&word.as_str()),
            "unknown chapter `{word}`; valid: {}",
            ids.join(", ")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    const TEXT: &str = r#"
        title = "A page"
        terms = "Measured."
        programs = []
        names = { plimsoll = "plimsoll edge", nginx = "nginx" }
        [tables.cost]
        head = "edge"
        columns = [["CPU µs", "{cpu_us spread 1}"], ["ratio to nginx", "{cpu_us/nginx spread 2}"]]
        [clients.wrk]
        closed = "wrk -c@connections@ @url@"
        [[chapter]]
        id = "pass"
        title = "Pass-through"
        note = "A note."
        table = "cost"
        subjects = ["plimsoll", "nginx"]
        with = { connections = 64, logs = true }
        asked = [
            { what = "{title}: at most 0.9x", measured = "{cpu_us/nginx 2}x", met = ["cpu_us/nginx median <= 0.9"] },
        ]
    "#;

    fn outcome(subject: &str, cost: Option<f64>) -> Outcome {
        let mut outcome = Outcome::new(subject);
        let sample = cost.map(|cost| Sample::of(format!("{subject} URL")).with("cpu_us", cost));
        outcome.take(1, sample.context("it ended"));
        outcome
    }

    fn shown(ours: Option<f64>) -> String {
        let definition: PageDefinition = toml::from_str(TEXT).unwrap();
        let mut page = ReportPage::blank(definition.title());
        let outcomes = [outcome("plimsoll", ours), outcome("nginx", Some(10.0))];
        definition
            .show(&mut page, &definition.chapters()[0], &outcomes)
            .unwrap();
        page.finish()
    }

    #[test]
    fn a_miss_is_called_a_miss_and_what_failed_is_open() {
        for (cost, row, verdict) in [
            (
                Some(8.0),
                "| plimsoll edge | 8.0 (8.0-8.0) | 0.80 (0.80-0.80) |",
                "| Pass-through: at most 0.9x | 0.80x | met |",
            ),
            (
                Some(9.5),
                "| nginx | 10.0 (10.0-10.0) | 1.00 (1.00-1.00) |",
                "| 0.95x | **missed** |",
            ),
            (
                None,
                "- plimsoll edge: Pass-through: round 1: it ended",
                "| not measured | **open** |",
            ),
        ] {
            let text = shown(cost);
            assert!(text.contains(row) && text.contains(verdict), "{text}");
            assert!(
                text.contains("## Pass-through\n\nA note.\n\n| edge | CPU µs | ratio to nginx |\n"),
                "{text}"
            );
        }
    }

    #[test]
    fn parameters_are_values_of_command_lines() {
        let definition: PageDefinition = toml::from_str(TEXT).unwrap();
        let chapter = &definition.chapters()[0];
        assert_eq!(chapter.number::<u32>("connections").unwrap(), 64);
        assert!(chapter.is_on("logs") && !chapter.is_on("tls"));
        let values = chapter.values().with("url", "URL");
        assert_eq!(
            definition.client("wrk", "closed", &values).unwrap(),
            ["wrk", "-c64", "URL"]
        );
        assert!(definition.client("wrk", "rate", &values).is_err());
        let error = chapter.text("x").unwrap_err().to_string();
        assert_eq!(error, "the chapter `Pass-through` lacks `with.x`");
        definition.check().unwrap();
        let wrong = TEXT.replace("spread 1}", "spreed 1}");
        let wrong: PageDefinition = toml::from_str(&wrong).unwrap();
        let error = format!("{:#}", wrong.check().unwrap_err());
        assert!(
            error.starts_with("chapter `Pass-through`: column `CPU µs`: `cpu_us spreed 1`"),
            "{error}"
        );
        let error = check_only(&definition, &["tls".to_owned()])
            .unwrap_err()
            .to_string();
        assert_eq!(error, "unknown chapter `tls`; valid: pass");
    }
}
