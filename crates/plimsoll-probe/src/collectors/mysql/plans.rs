//! Plans of the most expensive statements of MariaDB and MySQL, for values of real executions.

use std::collections::BTreeMap;

use plimsoll_model::metric;

use super::explain::{can_be_planned, plan};
use super::wire::MysqlSession;
use crate::collectors::link::ComponentLink;
use crate::collectors::metrics::MetricsRecorder;
use crate::collectors::query_error::QueryError;
use crate::collectors::statements::shapes::shape;

/// The last execution of a statement in a session, with its database. Longer texts were truncated.
const SAMPLE: &str = "SELECT COALESCE(CURRENT_SCHEMA, ''), SQL_TEXT FROM performance_schema.events_statements_current \
    WHERE SQL_TEXT IS NOT NULL AND LENGTH(SQL_TEXT) < 1000 AND DIGEST = ";
/// The sample that MySQL keeps of each form, since 8.0.
const SAMPLE_STORED: &str = "SELECT COALESCE(SCHEMA_NAME, ''), QUERY_SAMPLE_TEXT FROM \
    performance_schema.events_statements_summary_by_digest WHERE LENGTH(QUERY_SAMPLE_TEXT) < 1000 AND DIGEST = ";
/// Statements that run at this moment: where the performance schema keeps no texts.
const SAMPLE_RUNNING: &str = "SELECT COALESCE(DB, ''), INFO FROM information_schema.PROCESSLIST WHERE COMMAND IN ('Query', 'Execute') \
    AND ID <> CONNECTION_ID() AND INFO IS NOT NULL AND LENGTH(INFO) < 4000 LIMIT 50";
/// Seconds for which a statement is searched.
const TRIES_MAX: u32 = 20;
/// Plans of a run.
const PLANS_MAX: usize = 16;
/// Error codes of denied access to a table.
const DENIED: [&str; 3] = ["1142", "1044", "1143"];

/// State of the query plans.
#[derive(Debug, Default)]
pub(super) struct Plans {
    /// By form: steps and rows.
    known: BTreeMap<String, (String, f64)>,
    /// Search attempts by form.
    tries: BTreeMap<String, u32>,
    is_denied: bool,
    is_reported: bool,
}

impl Plans {
    /// The first of these forms that has no plan yet and may have one.
    pub(super) fn next(&self, forms: &[&str]) -> Option<String> {
        let is_wanted = |form: &&&str| {
            let tries = self.tries.get(**form).copied();
            !self.known.contains_key(**form)
                && tries.unwrap_or(0) < TRIES_MAX
                && (tries.is_some() || self.tries.len() < PLANS_MAX)
        };
        forms.iter().find(is_wanted).map(|form| (*form).to_owned())
    }

    /// Fetches the plan of the form with this digest. Nothing is executed, and no value is kept.
    pub(super) fn explain(
        &mut self,
        session: &mut MysqlSession,
        link: &mut ComponentLink,
        form: String,
        digest: &str,
    ) -> Result<(), QueryError> {
        let tries = self.tries.entry(form.clone()).or_default();
        *tries += 1;
        if !digest.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Ok(());
        }
        let Some((schema, text)) = sample(session, link, &form, digest)? else {
            return Ok(());
        };
        if !can_be_planned(&text) {
            *tries = TRIES_MAX;
            return Ok(());
        }
        match planned(session, link, &schema, &text) {
            Ok(lines) => {
                if let Some(plan) = plan(&lines) {
                    self.known.insert(form, plan);
                }
            }
            Err(QueryError::Rejected { code, .. }) => {
                self.is_denied |= DENIED.contains(&code.as_str());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Records them.
    pub(super) fn record(&mut self, metrics: &mut MetricsRecorder<'_>) {
        for (form, (plan, rows)) in &self.known {
            let of = [("statement", form.as_str()), ("plan", plan.as_str())];
            metrics.level(metric::STATEMENT_PLAN, &of, Some(*rows));
        }
        if self.is_denied && !self.is_reported {
            self.is_reported = true;
            let text = "MariaDB shows this account no query plans; as an administrator: `GRANT SELECT ON …` of the \
                database's tables to it";
            metrics.note("no plans", text);
        }
    }
}

/// The database of a statement, and its text with values.
fn sample(
    session: &mut MysqlSession,
    link: &mut ComponentLink,
    form: &str,
    digest: &str,
) -> Result<Option<(String, String)>, QueryError> {
    let of_digest = |question| format!("{question}'{digest}' LIMIT 1");
    for (question, is_sure) in [
        (of_digest(SAMPLE), true),
        (of_digest(SAMPLE_STORED), true),
        (SAMPLE_RUNNING.to_owned(), false),
    ] {
        let mut lines = String::new();
        match session.query(link, &question, &mut lines) {
            // Not every server has each of them.
            Ok(()) | Err(QueryError::Rejected { .. }) => {}
            Err(error) => return Err(error),
        }
        let mut samples = lines.lines().filter_map(|line| line.split_once('\t'));
        let found = samples.find(|(_, text)| is_sure || is_alike(&shape(text), form));
        if let Some((schema, text)) = found {
            return Ok(Some((schema.to_owned(), text.to_owned())));
        }
    }
    Ok(None)
}

/// Whether two forms are equal: a digest has its keywords in capitals, spaces around each operator, and `...` for a
/// list.
fn is_alike(digest: &str, other: &str) -> bool {
    let plain = |form: &str| {
        let form = form.replace("(...)", "(?)");
        let letters = form.chars().filter(|letter| !letter.is_whitespace());
        letters.collect::<String>().to_lowercase()
    };
    plain(digest) == plain(other)
}

fn planned(
    session: &mut MysqlSession,
    link: &mut ComponentLink,
    schema: &str,
    text: &str,
) -> Result<String, QueryError> {
    let mut lines = String::new();
    if !schema.is_empty() {
        let schema = schema.replace('`', "``");
        session.query(link, &format!("USE `{schema}`"), &mut String::new())?;
    }
    session.query(link, &format!("EXPLAIN {text}"), &mut lines)?;
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_and_what_a_session_says_are_one_form() {
        let digest = "SELECT COUNT (*) FROM orders WHERE customer = ? AND state IN (...)";
        let statement = shape("select count(*) from orders where customer = 7 and state in (1, 2)");
        assert!(is_alike(&statement, digest), "{statement}");
        assert!(!is_alike("SELECT a", "SELECT b"));
    }
}
