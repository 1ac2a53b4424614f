//! The one writer of report pages: title, machine, date, method, tables, requirements, failures and commands.

use std::fmt::{self, Write as _};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use jiff::Zoned;

use crate::machine::{BUSY_MAX, busy_share, facts};
use crate::workspace::Workspace;

/// A page being written.
pub struct ReportPage {
    text: String,
    /// Rows of the table of requirements.
    requirements: Table,
    commands: Vec<String>,
    failures: Vec<String>,
    remarks: Vec<String>,
    /// Nothing else shared the machine before the first run.
    is_quiet: bool,
}

/// A table in Markdown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    columns: usize,
    text: String,
}

impl ReportPage {
    /// A page of the task, by its words after `cargo xtask`, with how it was measured.
    ///
    /// # Errors
    ///
    /// If the kernel does not describe the machine.
    pub fn new(title: &str, task: &str, terms: &str) -> Result<Self> {
        let mut page = Self::blank(title);
        let (date, machine) = (Zoned::now().date(), facts()?);
        page.paragraph(&format!(
            "Written by `cargo xtask {task}` on {date}. {machine}. {}",
            terms.trim()
        ));
        Ok(page)
    }

    /// Names the data file, by its path in the project, that defines what is measured. The link is one from the pages of the
    /// project.
    pub fn defined_in(&mut self, file: &str) {
        self.paragraph(&format!("Defined in [{file}](../../{file})."));
    }

    /// A page about no machine.
    pub fn blank(title: &str) -> Self {
        Self {
            text: format!("# {title}\n\n"),
            requirements: Table::new(["asked", "measured", ""]),
            commands: Vec::new(),
            failures: Vec::new(),
            remarks: Vec::new(),
            is_quiet: true,
        }
    }

    /// Notes how busy the machine is before the first run; it must be idle unless that is waived.
    ///
    /// # Errors
    ///
    /// If it is busy and that is not waived.
    pub fn check_machine(&mut self, anyway: bool) -> Result<()> {
        let busy = busy_share()?;
        self.is_quiet = busy <= BUSY_MAX;
        ensure!(
            self.is_quiet || anyway,
            "the cores are {:.0} % busy, at most {:.0} % is valid: wait until nothing else runs, or add --anyway, which \
             marks the page",
            busy * 100.0,
            BUSY_MAX * 100.0
        );
        let busy = format!("Cores busy before the first run: {:.0} %.", busy * 100.0);
        self.paragraph(&busy);
        if !self.is_quiet {
            self.paragraph("**Other work shared the machine: what was measured is not valid, and ratios only roughly.**");
        }
        Ok(())
    }

    /// Adds the versions of the programs.
    pub fn versions(&mut self, versions: &[String]) {
        self.paragraph(&format!("Versions: {}.", versions.join(" · ")));
    }

    /// Adds a heading.
    pub fn chapter(&mut self, title: &str) {
        self.paragraph(&format!("## {title}"));
    }

    /// Adds a paragraph, or a table.
    pub fn paragraph(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.text += text.trim();
            self.text += "\n\n";
        }
    }

    /// Adds a table.
    pub fn table(&mut self, table: &Table) {
        self.paragraph(&table.text);
    }

    /// One thing asked, and whether it is met; `None` if it could not be measured.
    pub fn requirement(&mut self, what: &str, measured: Option<&str>, is_met: Option<bool>) {
        let verdict = match is_met {
            Some(true) => "met",
            Some(false) => "**missed**",
            None => "**open**",
        };
        self.requirements
            .row([what, measured.unwrap_or("not measured"), verdict]);
    }

    /// A command, listed once.
    pub fn command(&mut self, command: &str) {
        if !command.is_empty() && !self.commands.iter().any(|known| known == command) {
            self.commands.push(command.to_owned());
        }
    }

    /// What a client could not do; the first line of why.
    pub fn failure(&mut self, client: &str, why: &str) {
        let why = why.lines().next().unwrap_or_default();
        self.failures.push(format!("- {client}: {why}"));
    }

    /// A remark below everything.
    pub fn remark(&mut self, remark: &str) {
        self.remarks.push(remark.to_owned());
    }

    /// Whether the machine was ours and no client failed.
    pub fn is_valid(&self) -> bool {
        self.is_quiet && self.failures.is_empty()
    }

    /// The whole page: requirements before the tables, failures and commands behind; those only where something was asked or
    /// run.
    pub fn finish(self) -> String {
        let (head, tables) = self.text.split_once("## ").unwrap_or((&self.text, ""));
        let mut page = head.to_owned();
        if !self.requirements.is_empty() {
            let _ = write!(page, "## What is asked of it\n\n{}\n", self.requirements);
        }
        if !tables.is_empty() {
            let _ = write!(page, "## {tables}");
        }
        if !self.requirements.is_empty() || !self.failures.is_empty() {
            let failures = match self.failures.join("\n") {
                none if none.is_empty() => "No client failed.".to_owned(),
                failures => failures,
            };
            let _ = write!(page, "## Failures\n\n{failures}\n\n");
        }
        if !self.commands.is_empty() {
            let _ = write!(
                page,
                "## Commands\n\n    {}\n\n",
                self.commands.join("\n    ")
            );
        }
        for remark in &self.remarks {
            let _ = write!(page, "{remark}\n\n");
        }
        page.truncate(page.trim_end().len());
        page + "\n"
    }
}

impl Table {
    /// A table without rows.
    pub fn new<T: AsRef<str>>(head: impl IntoIterator<Item = T>) -> Self {
        let mut table = Self::default();
        table.row(head);
        table.columns = table.text.matches('|').count() - 1;
        table.text += "|";
        table.text += &"---|".repeat(table.columns);
        table.text += "\n";
        table
    }

    /// Adds a row; a bar within a cell becomes a slash.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.text += "|";
        for cell in cells {
            let cell = cell.as_ref();
            let _ = match cell {
                "" => write!(self.text, " |"),
                cell => write!(self.text, " {} |", cell.replace('|', "/")),
            };
        }
        self.text += "\n";
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.text.lines().count() <= 2
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A number with this many digits, or a dash.
pub fn cell(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
}

/// A share as percent with a digit.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Writes a page at a path of the repository.
///
/// # Errors
///
/// If it cannot be written.
pub fn write(workspace: &Workspace, path: &Path, page: &str) -> Result<()> {
    let path = workspace.root().join(path);
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// Writes a page to `--out`, else to the project's page if it is `whole`, else to the terminal.
///
/// # Errors
///
/// If it cannot be written.
pub fn deliver(
    workspace: &Workspace,
    out: Option<&Path>,
    whole: Option<&Path>,
    page: &str,
) -> Result<()> {
    if let Some(path) = out.or(whole) {
        return write(workspace, path, page);
    }
    println!("\n{page}");
    Ok(())
}

/// The first line with a digit of a program's version output.
pub fn version(program: &str, flag: &str) -> Option<String> {
    let output = Command::new(program).arg(flag).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines()
        .map(str::trim)
        .find(|line| line.contains(|c: char| c.is_ascii_digit()))
        .map(ToOwned::to_owned)
}

/// A command as a page shows it: the program without its folder, and names instead of what changes from day to day.
pub fn shown(words: &[String], names: &[(&str, &str)]) -> String {
    let words = words.iter().enumerate().map(|(place, word)| {
        let word = if place == 0 {
            word.rsplit('/').next().unwrap_or(word)
        } else {
            word
        };
        names.iter().fold(word.to_owned(), |word, (value, name)| {
            word.replace(value, name)
        })
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_stands_before_the_tables_and_failures_behind() {
        let mut page = ReportPage::blank("Title");
        page.paragraph("Text.");
        page.chapter("Table");
        let mut table = Table::new(["a", "b"]);
        table.row(["1", "x | y"]);
        page.table(&table);
        page.requirement("cheap", Some("2x"), Some(false));
        page.requirement("light", None, None);
        page.command("a URL");
        page.command("a URL");
        assert!(page.is_valid());
        page.failure("a", "it ended\nbadly");
        page.remark("Quick.");
        assert!(!page.is_valid());
        assert_eq!(
            page.finish(),
            "# Title\n\nText.\n\n## What is asked of it\n\n| asked | measured | |\n|---|---|---|\n\
             | cheap | 2x | **missed** |\n| light | not measured | **open** |\n\n## Table\n\n| a | b |\n|---|---|\n\
             | 1 | x / y |\n\n## Failures\n\n- a: it ended\n\n## Commands\n\n    a URL\n\nQuick.\n"
        );
    }

    #[test]
    fn a_command_is_shown_without_what_changes() {
        let words = ["/x/bin/k6", "run", "-e", "TARGET=http://127.0.0.1:1"].map(ToOwned::to_owned);
        assert_eq!(
            shown(&words, &[("http://127.0.0.1:1", "URL")]),
            "k6 run -e TARGET=URL"
        );
    }
}
