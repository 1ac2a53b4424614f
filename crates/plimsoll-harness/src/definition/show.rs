//! A chapter on the page: its table, its failures and commands, and how its requirements came out.

use anyhow::{Context as _, Result};

use super::{Chapter, PageDefinition, Requirement, TableDefinition};
use crate::expression::Scope;
use crate::page::{ReportPage, Table};
use crate::sample::Outcome;

impl PageDefinition {
    /// Adds the table of a chapter, its failures, its commands, and what is asked.
    ///
    /// # Errors
    ///
    /// If an expression of the data file is not valid.
    pub fn show(
        &self,
        page: &mut ReportPage,
        chapter: &Chapter,
        outcomes: &[Outcome],
    ) -> Result<()> {
        let wanted = |outcome: &&Outcome| chapter.subjects.iter().any(|it| it == outcome.subject());
        for outcome in outcomes.iter().filter(wanted) {
            if chapter.runs_of.is_none() {
                outcome.commands().for_each(|command| page.command(command));
                for why in outcome.failures() {
                    let place = chapter.title.as_deref().unwrap_or(&chapter.id);
                    page.failure(&self.name(outcome.subject()), &format!("{place}: {why}"));
                }
            }
        }
        if let Some(title) = &chapter.title {
            page.chapter(title);
            page.paragraph(&chapter.note);
        }
        if let Some(name) = &chapter.table {
            page.table(&self.table(self.table_named(name)?, chapter, outcomes)?);
        }
        chapter.asked.iter().try_for_each(|asked| {
            self.require(page, chapter, outcomes, asked)
                .with_context(|| format!("`{}`", asked.what))
        })
    }

    fn table(
        &self,
        definition: &TableDefinition,
        chapter: &Chapter,
        outcomes: &[Outcome],
    ) -> Result<Table> {
        let heads = definition.columns.iter().map(|[head, _]| head.as_str());
        let mut table = Table::new(std::iter::once(definition.head.as_str()).chain(heads));
        for subject in &chapter.subjects {
            let Some(outcome) = outcomes.iter().find(|it| it.subject() == subject) else {
                continue;
            };
            if !outcome.is_measured() {
                continue;
            }
            table.row(self.row(definition, chapter, outcomes, outcome)?);
        }
        Ok(table)
    }

    pub(super) fn row(
        &self,
        definition: &TableDefinition,
        chapter: &Chapter,
        outcomes: &[Outcome],
        outcome: &Outcome,
    ) -> Result<Vec<String>> {
        let mut row = vec![self.name(outcome.subject())];
        for [head, text] in &definition.columns {
            let filled = self.in_scope(chapter, outcomes, outcome, |scope| scope.fill(text));
            let filled = filled.with_context(|| format!("column `{head}`"))?;
            row.push(filled.unwrap_or_else(|| "–".to_owned()));
        }
        Ok(row)
    }

    fn require(
        &self,
        page: &mut ReportPage,
        chapter: &Chapter,
        outcomes: &[Outcome],
        asked: &Requirement,
    ) -> Result<()> {
        let subject = asked.of.as_deref().unwrap_or(&self.ours);
        let outcome = outcomes.iter().find(|it| it.subject() == subject);
        let nothing = Outcome::new(subject);
        self.in_scope(chapter, outcomes, outcome.unwrap_or(&nothing), |scope| {
            let what = scope.fill(&asked.what)?;
            let measured = scope.fill(&asked.measured)?;
            let mut is_met = Some(true);
            for condition in &asked.met {
                let holds = scope.holds(condition)?;
                is_met = is_met.zip(holds).map(|(met, holds)| met && holds);
            }
            page.requirement(
                what.as_deref().unwrap_or(&asked.what),
                measured.as_deref(),
                is_met.filter(|_| measured.is_some()),
            );
            Ok(())
        })
    }

    fn in_scope<T>(
        &self,
        chapter: &Chapter,
        all: &[Outcome],
        outcome: &Outcome,
        work: impl FnOnce(&Scope<'_>) -> T,
    ) -> T {
        work(&Scope {
            outcome,
            all,
            parameter: &|name| chapter.parameter(name),
            name: &|subject| self.name(subject),
        })
    }
}
