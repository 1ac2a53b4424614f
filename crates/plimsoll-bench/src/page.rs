//! The common parts of benchmark pages: machine and method, requirements and whether they are met, failures, and the
//! commands.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Result, ensure};
use jiff::Zoned;
use plimsoll_harness::machine::{BUSY_MAX, busy_share, facts};

use crate::context::BenchContext;

/// A page being written.
pub(crate) struct BenchmarkPage {
    text: String,
    /// Rows of the table of requirements.
    requirements: Vec<String>,
    commands: Vec<String>,
    failures: Vec<String>,
    /// Nothing else shared the machine before the first run.
    is_quiet: bool,
}

/// Introduction of a page.
pub(crate) struct Head<'a> {
    pub(crate) title: &'a str,
    /// The task that writes it, after `cargo xtask bench`.
    pub(crate) task: &'a str,
    /// How it was measured, beside what holds for all pages.
    pub(crate) terms: &'a str,
    pub(crate) versions: &'a [String],
}

impl BenchmarkPage {
    /// Checks the machine, which must be idle unless that is waived.
    pub(crate) fn new(ground: &BenchContext, head: &Head<'_>) -> Result<Self> {
        let machine = facts()?;
        let mut text = format!("# {}\n\n", head.title);
        writeln!(
            text,
            "Written by `cargo xtask bench {}` on {}, {} rounds of {} s. {machine}. Client pinned to core {}, server \
             to core {}, over loopback; rounds alternate between the clients. {} Medians, with the smallest and \
             largest in brackets. Runs spread by 10-30 %: a smaller gap is no gap, and only ratios carry over to other \
             machines.\n",
            head.task,
            Zoned::now().date(),
            ground.rounds,
            ground.seconds,
            ground.client_core,
            ground.server_core,
            head.terms,
        )?;
        let busy = busy_share()?;
        writeln!(
            text,
            "Cores busy before the first run: {:.0} %.",
            busy * 100.0
        )?;
        let is_quiet = busy <= BUSY_MAX;
        if !is_quiet {
            ensure!(
                ground.anyway,
                "the cores are {:.0} % busy, at most {:.0} % is valid: wait until nothing else runs, or add --anyway, \
                 which marks the page",
                busy * 100.0,
                BUSY_MAX * 100.0
            );
            writeln!(
                text,
                "**Other work shared the machine: lateness and requests/s on this page are not valid, and ratios only \
                 roughly.**"
            )?;
        }
        writeln!(text, "\nVersions: {}.\n", head.versions.join(" · "))?;
        Ok(Self {
            text,
            requirements: Vec::new(),
            commands: Vec::new(),
            failures: Vec::new(),
            is_quiet,
        })
    }

    /// A page about no machine.
    #[cfg(test)]
    pub(crate) fn blank() -> Self {
        Self {
            text: "# Title\n\nText.\n\n".to_owned(),
            requirements: Vec::new(),
            commands: Vec::new(),
            failures: Vec::new(),
            is_quiet: true,
        }
    }

    /// A chapter, which begins with its heading and ends with an empty line.
    pub(crate) fn chapter(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// One thing asked, and whether it is met; `None` if it could not be measured.
    pub(crate) fn requirement(&mut self, what: &str, measured: &str, is_met: Option<bool>) {
        let verdict = match is_met {
            Some(true) => "met",
            Some(false) => "**missed**",
            None => "**open**",
        };
        self.requirements
            .push(format!("| {what} | {measured} | {verdict} |"));
    }

    /// A command, listed once.
    pub(crate) fn command(&mut self, command: &str) {
        if !command.is_empty() && !self.commands.iter().any(|known| known == command) {
            self.commands.push(command.to_owned());
        }
    }

    /// What a client could not do; the first line of why.
    pub(crate) fn failure(&mut self, client: &str, why: &str) {
        self.failures.push(format!(
            "- {client}: {}",
            why.lines().next().unwrap_or_default()
        ));
    }

    /// Whether the machine was ours and no client failed.
    pub(crate) fn is_valid(&self) -> bool {
        self.is_quiet && self.failures.is_empty()
    }

    pub(crate) fn finish(self) -> String {
        let asked = format!(
            "## What is asked of it\n\n| asked | measured | |\n|---|---|---|\n{}\n\n",
            self.requirements.join("\n")
        );
        let failures = if self.failures.is_empty() {
            "No client failed.".to_owned()
        } else {
            self.failures.join("\n")
        };
        let commands: Vec<_> = self
            .commands
            .iter()
            .map(|command| format!("    {command}"))
            .collect();
        let (head, tables) = self.text.split_once("\n## ").unwrap_or((&self.text, ""));
        format!(
            "{head}\n{asked}## {tables}## Failures\n\n{failures}\n\n## Commands\n\n{}\n",
            commands.join("\n")
        )
    }
}

/// The first line with a digit of a program's version output.
pub(crate) fn version(program: &str, flag: &str) -> Option<String> {
    let output = Command::new(program).arg(flag).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines()
        .map(str::trim)
        .find(|line| line.contains(|c: char| c.is_ascii_digit()))
        .map(ToOwned::to_owned)
}

/// A command as a page shows it: the program without its folder, and names instead of what changes from day to day.
pub(crate) fn shown(words: &[String], names: &[(&str, &str)]) -> String {
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
        let mut page = BenchmarkPage::blank();
        page.chapter("## Table\n\n| a |\n\n");
        page.requirement("cheap", "2x", Some(false));
        page.requirement("light", "not measured", None);
        page.command("a URL");
        page.command("a URL");
        assert!(page.is_valid());
        page.failure("a", "it ended\nbadly");
        assert!(!page.is_valid());
        assert_eq!(
            page.finish(),
            "# Title\n\nText.\n\n## What is asked of it\n\n| asked | measured | |\n|---|---|---|\n\
             | cheap | 2x | **missed** |\n| light | not measured | **open** |\n\n## Table\n\n| a |\n\n\
             ## Failures\n\n- a: it ended\n\n## Commands\n\n    a URL\n"
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
