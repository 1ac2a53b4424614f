//! Statement statistics of PostgreSQL's extension `pg_stat_statements`, and the plans of the most expensive
//! statements.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use plimsoll_model::metric;
use plimsoll_sql::index::advised;

use super::collect::{DENIED, TOO_LONG};
use super::explain::{parameters, plan};
use super::wire::PostgresSession;
use crate::collectors::link::{ComponentLink, shortly};
use crate::collectors::metrics::MetricsRecorder;
use crate::collectors::query_error::QueryError;
use crate::collectors::statements::shapes::shape;
use crate::collectors::statements::{StatementTotals, Statements, TIME};

/// Whether statements are counted, and which indexes only cost.
const FOUND: &str = "\
SELECT 'database', current_database();
SELECT 'preloaded', setting FROM pg_settings WHERE name = 'shared_preload_libraries';
SELECT 'extension', quote_ident(n.nspname), e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'pg_stat_statements';
SELECT 'pretends', quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'hypopg';";
const INDEXES: &str = "\
SELECT 'twice', a.indexrelid::regclass, a.indrelid::regclass, b.indexrelid::regclass FROM pg_index a JOIN pg_index b
  ON a.indrelid = b.indrelid AND a.indexrelid <> b.indexrelid AND a.indkey::text = b.indkey::text
  AND a.indclass::text = b.indclass::text AND a.indoption::text = b.indoption::text
  WHERE a.indpred IS NULL AND b.indpred IS NULL AND a.indexprs IS NULL AND b.indexprs IS NULL AND NOT a.indisunique
  AND (b.indisunique OR a.indexrelid > b.indexrelid) AND a.indrelid >= 16384 LIMIT 3;
SELECT 'unused', quote_ident(s.schemaname) || '.' || quote_ident(s.indexrelname), s.relname,
  pg_relation_size(s.indexrelid) / 1048576 FROM pg_stat_user_indexes s JOIN pg_index i USING (indexrelid)
  WHERE s.idx_scan = 0 AND NOT i.indisunique AND pg_relation_size(s.indexrelid) > 10485760 ORDER BY 4 DESC LIMIT 3;";
/// Statements that are read at most.
const STATEMENTS_MAX: usize = 1000;
/// Texts that are fetched at once, and kept, at most.
const TEXTS_AT_ONCE: usize = 40;
const TEXTS_MAX: usize = 2000;
/// Longest text of a statement, characters; a longer one is truncated and has no plan.
const TEXT_LEN_MAX: usize = 2000;
/// Parameters of a statement that is planned at most.
const PARAMETERS_MAX: usize = 200;
/// Plans of a run.
const PLANS_MAX: usize = 16;
/// Time that must remain before the deadline: the activity of sessions comes first.
const TIME_MIN: Duration = Duration::from_millis(400);

/// Whether statistics are available.
#[derive(Debug, Default)]
pub(super) struct StatementStats {
    statements: Statements,
    /// The extension's schema; `None` without statistics.
    schema: Option<String>,
    /// Name of its time column.
    time: &'static str,
    /// By the number of a statement.
    texts: BTreeMap<String, String>,
    /// By form: steps and cost.
    plans: BTreeMap<String, (String, f64)>,
    /// Schema of the extension that pretends that indexes are there.
    pretends: Option<String>,
    /// By form: an index that would serve it, and the cost with that.
    with_index: BTreeMap<String, (String, f64)>,
    tried: BTreeSet<String>,
    /// Keys, each reported once, and texts.
    notes: Vec<(&'static str, String)>,
    are_indexes_checked: bool,
    /// The session has been checked for statistics.
    is_settled: bool,
}

impl StatementStats {
    /// Another session has begun.
    pub(super) fn renew(&mut self) {
        self.is_settled = false;
    }

    /// Checks a new session for statistics.
    fn begin(
        &mut self,
        session: &mut PostgresSession,
        link: &mut ComponentLink,
    ) -> Result<(), QueryError> {
        let mut lines = String::new();
        session.query(link, FOUND, &mut lines)?;
        if !self.are_indexes_checked {
            let before = lines.len();
            match session.query(link, INDEXES, &mut lines) {
                Ok(()) | Err(QueryError::Rejected { .. }) => {}
                Err(error) => return Err(error),
            }
            self.note_indexes(&lines[before..]);
            self.are_indexes_checked = true;
        }
        self.settle(&lines);
        if self.schema.is_some() && (12..16).contains(&session.version) {
            let plans = "SET plan_cache_mode = force_generic_plan";
            session.query(link, plans, &mut String::new())?;
        }
        Ok(())
    }

    /// The extension's name here, or the remedy that enables it.
    fn settle(&mut self, lines: &str) {
        let value = |word: &str| {
            lines
                .lines()
                .find_map(|line| line.strip_prefix(word)?.strip_prefix('\t'))
        };
        self.pretends = value("pretends").map(str::to_owned);
        let extension = value("extension").and_then(|rest| rest.split_once('\t'));
        if let Some((schema, version)) = extension {
            let minor = version
                .strip_prefix("1.")
                .and_then(|minor| minor.parse::<u32>().ok());
            self.time = if minor.is_some_and(|minor| minor < 8) {
                "total_time"
            } else {
                "total_exec_time"
            };
            self.schema = Some(schema.to_owned());
            return;
        }
        self.schema = None;
        let database = value("database").unwrap_or_default();
        let create = format!("in database {database} `CREATE EXTENSION pg_stat_statements`");
        let loaded = value("preloaded");
        let text = match loaded {
            Some(loaded) if loaded.contains("pg_stat_statements") => {
                format!(
                    "PostgreSQL counts statements, but does not show them in this database; as an administrator, \
                    {create}"
                )
            }
            _ => {
                let before = loaded
                    .unwrap_or_default()
                    .split(',')
                    .map(str::trim)
                    .filter(|name| !name.is_empty());
                let before: String = before.fold(String::new(), |mut text, name| {
                    let _ = write!(text, "'{name}', ");
                    text
                });
                format!(
                    "PostgreSQL does not count statements; as an administrator `ALTER SYSTEM SET shared_preload_libraries = \
                     {before}'pg_stat_statements'`, restart it by `systemctl restart postgresql`, then {create}"
                )
            }
        };
        self.notes.push(("not counted", text));
    }

    fn note_indexes(&mut self, lines: &str) {
        for line in lines.lines() {
            let values: Vec<&str> = line.split('\t').collect();
            match values[..] {
                ["twice", index, table, same] => self.notes.push((
                    "index twice",
                    format!(
                        "{table} has a duplicate index in PostgreSQL: {index} is the same as {same}, and each write \
                         updates both; `DROP INDEX CONCURRENTLY {index}`"
                    ),
                )),
                ["unused", index, table, mebibytes] => self.notes.push((
                    "index unused",
                    format!(
                        "no statement has used the index {index} of {table} ({mebibytes} MiB) since PostgreSQL's \
                         statistics were reset, and each write updates it; unless a replica uses it, `DROP INDEX \
                         CONCURRENTLY {index}`"
                    ),
                )),
                _ => {}
            }
        }
    }

    /// Samples once, if there is time for it.
    pub(super) fn sample(
        &mut self,
        session: &mut PostgresSession,
        link: &mut ComponentLink,
    ) -> Result<(), QueryError> {
        if !link.has_time(TIME_MIN) {
            return Ok(());
        }
        if !self.is_settled {
            match self.begin(session, link) {
                Ok(()) => self.is_settled = true,
                Err(QueryError::Rejected { .. }) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let Some(schema) = self.schema.clone() else {
            return Ok(());
        };
        match self.count(session, link, &schema) {
            Ok(()) => {}
            Err(QueryError::Rejected { code, .. }) if code == TOO_LONG => return Ok(()),
            Err(QueryError::Rejected { message, .. }) => {
                self.schema = None;
                let text = format!(
                    "PostgreSQL does not show its statement statistics ({})",
                    shortly(&message)
                );
                self.notes.push(("not counted", text));
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        if link.has_time(TIME_MIN) {
            self.explain(session, link)?;
        }
        Ok(())
    }

    fn count(
        &mut self,
        session: &mut PostgresSession,
        link: &mut ComponentLink,
        schema: &str,
    ) -> Result<(), QueryError> {
        let question = format!(
            "SELECT queryid, sum(calls)::bigint, (sum({}) * 1000)::bigint, sum(rows)::bigint, \
             sum(shared_blks_hit + shared_blks_read)::bigint, \
             (sum(temp_blks_written) * current_setting('block_size')::bigint)::bigint \
             FROM {schema}.pg_stat_statements(false) WHERE queryid IS NOT NULL GROUP BY 1 ORDER BY 3 DESC LIMIT {STATEMENTS_MAX}",
            self.time
        );
        let mut lines = String::new();
        session.query(link, &question, &mut lines)?;
        let rows: Vec<(String, StatementTotals)> = lines.lines().filter_map(totals).collect();
        let risen = self.statements.risen(&rows).into_iter();
        let unknown: Vec<&str> = risen
            .filter(|id| !self.texts.contains_key(*id))
            .take(TEXTS_AT_ONCE)
            .collect();
        if !unknown.is_empty() {
            let question = format!(
                "SELECT queryid, left(query, {TEXT_LEN_MAX}) FROM {schema}.pg_stat_statements(true) WHERE queryid IN ({}) LIMIT 200",
                unknown.join(", ")
            );
            let mut lines = String::new();
            session.query(link, &question, &mut lines)?;
            if self.texts.len() > TEXTS_MAX {
                self.texts.clear();
            }
            let read = lines.lines().filter_map(|line| line.split_once('\t'));
            self.texts
                .extend(read.map(|(id, text)| (id.to_owned(), text.to_owned())));
        }
        let texts = &self.texts;
        self.statements
            .take(rows, STATEMENTS_MAX, |id| texts.get(id).cloned());
        Ok(())
    }

    /// Fetches the plan of the most expensive statement that has none yet. Nothing is executed: it is planned
    /// generically.
    fn explain(
        &mut self,
        session: &mut PostgresSession,
        link: &mut ComponentLink,
    ) -> Result<(), QueryError> {
        let dearest = self.statements.dearest();
        let untried = dearest.iter().find(|form| !self.tried.contains(**form));
        let Some(form) = untried.map(|form| (*form).to_owned()) else {
            return Ok(());
        };
        if self.tried.len() >= PLANS_MAX {
            return Ok(());
        }
        let text = self
            .texts
            .values()
            .find(|text| can_be_planned(text) && shape(text) == form)
            .cloned();
        self.tried.insert(form.clone());
        let Some(text) = text else { return Ok(()) };
        match planned(session, link, &text) {
            Ok(lines) => {
                let Some(plan) = plan(&lines) else {
                    return Ok(());
                };
                let reads_all = plan.0.contains("Seq Scan");
                self.plans.insert(form.clone(), plan);
                if reads_all {
                    return self.pretend(session, link, form, &text);
                }
                Ok(())
            }
            Err(QueryError::Rejected { code, .. }) if DENIED.contains(&code.as_str()) => {
                let text = "PostgreSQL shows this role no query plans; as an administrator: `GRANT pg_read_all_data TO …`";
                self.notes.push(("no plans", text.to_owned()));
                Ok(())
            }
            // Not every statement can be planned without its values.
            Err(QueryError::Rejected { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Fetches the plan again with a hypothetical index that the statement lacks. Nothing is created.
    fn pretend(
        &mut self,
        session: &mut PostgresSession,
        link: &mut ComponentLink,
        form: String,
        text: &str,
    ) -> Result<(), QueryError> {
        let (Some(schema), Some(index)) = (&self.pretends, advised(&form)) else {
            return Ok(());
        };
        let index = format!("{} ({})", index.table, index.columns());
        let mut nothing = String::new();
        let pretend = format!("SELECT {schema}.hypopg_create_index('CREATE INDEX ON {index}')");
        let forget = format!("SELECT {schema}.hypopg_reset()");
        let made = session.query(link, &pretend, &mut nothing);
        let lines = made.and_then(|()| planned(session, link, text));
        if matches!(lines, Err(QueryError::Scrape(_))) {
            // The session has ended, and its hypothetical index with it.
            return lines.map(drop);
        }
        session.query(link, &forget, &mut nothing)?;
        if let Some((_, cost)) = lines.ok().and_then(|lines| plan(&lines)) {
            self.with_index.insert(form, (index, cost));
        }
        Ok(())
    }

    /// Records the last sample.
    pub(super) fn record(&mut self, metrics: &mut MetricsRecorder<'_>) {
        for (key, text) in self.notes.drain(..) {
            metrics.note(key, &text);
        }
        if self.schema.is_none() {
            return;
        }
        self.statements.record(metrics);
        for (form, (plan, cost)) in &self.plans {
            let of = [("statement", form.as_str()), ("plan", plan.as_str())];
            metrics.level(metric::STATEMENT_PLAN, &of, Some(*cost));
        }
        for (form, (index, cost)) in &self.with_index {
            let of = [("statement", form.as_str()), ("index", index.as_str())];
            metrics.level(metric::STATEMENT_WITH_INDEX, &of, Some(*cost));
        }
    }
}

/// A statement's number and totals.
fn totals(line: &str) -> Option<(String, StatementTotals)> {
    let mut values = line.split('\t');
    let id = values.next()?;
    id.parse::<i64>().ok()?;
    let mut number = || values.next()?.parse::<u64>().ok();
    let mut totals = StatementTotals::default();
    totals[0] = Some(number()?);
    totals[TIME] = Some(number()?);
    totals[2] = number();
    totals[7] = number();
    totals[8] = number();
    Some((id.to_owned(), totals))
}

/// Whether a statement reads rows, is whole, and is only one.
fn can_be_planned(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_single = !text.trim_end().trim_end_matches(';').contains(';') && !text.contains("--");
    let is_known = ["SELECT", "WITH"]
        .iter()
        .any(|word| first.eq_ignore_ascii_case(word));
    is_single
        && is_known
        && text.chars().count() < TEXT_LEN_MAX
        && parameters(text) <= PARAMETERS_MAX
}

/// The plan of a statement for any values.
fn planned(
    session: &mut PostgresSession,
    link: &mut ComponentLink,
    text: &str,
) -> Result<String, QueryError> {
    let (mut lines, mut nothing) = (String::new(), String::new());
    let count = parameters(text);
    if session.version >= 16 {
        session.query(link, &format!("EXPLAIN (GENERIC_PLAN) {text}"), &mut lines)?;
    } else if count == 0 {
        session.query(link, &format!("EXPLAIN {text}"), &mut lines)?;
    } else {
        session.query(
            link,
            &format!("PREPARE plimsoll_plan AS {text}"),
            &mut nothing,
        )?;
        let values = vec!["NULL"; count].join(", ");
        let asked = session.query(
            link,
            &format!("EXPLAIN EXECUTE plimsoll_plan({values})"),
            &mut lines,
        );
        let ended = session.query(link, "DEALLOCATE plimsoll_plan", &mut nothing);
        asked.and(ended)?;
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_count_statements_is_told_exactly() {
        let note_for = |lines: &str| {
            let mut counted = StatementStats::default();
            counted.settle(lines);
            counted.notes.pop().map(|(_, text)| text)
        };
        let not_loaded = note_for("database\tshop\npreloaded\tauto_explain, x\n").unwrap();
        let commands = [
            "`ALTER SYSTEM SET shared_preload_libraries = 'auto_explain', 'x', 'pg_stat_statements'`",
            "in database shop `CREATE EXTENSION pg_stat_statements`",
        ];
        assert!(
            commands.iter().all(|command| not_loaded.contains(command)),
            "{not_loaded}"
        );
        let not_made = note_for("database\tshop\npreloaded\tpg_stat_statements\n").unwrap();
        assert!(
            not_made.contains(commands[1]) && !not_made.contains("ALTER"),
            "{not_made}"
        );
        assert_eq!(note_for("extension\tpublic\t1.10\n"), None);
    }

    #[test]
    fn only_single_whole_statements_are_planned() {
        for (text, right) in [
            ("SELECT a FROM t WHERE b = $1", true),
            ("with x AS (SELECT 1) SELECT * FROM x;", true),
            ("UPDATE t SET n = $1", false),
            ("SELECT 1; DROP TABLE t", false),
            ("SELECT a -- not b", false),
            ("SELECT $99999999999", false),
            ("CALL x()", false),
            ("", false),
        ] {
            assert_eq!(can_be_planned(text), right, "{text}");
        }
    }
}
