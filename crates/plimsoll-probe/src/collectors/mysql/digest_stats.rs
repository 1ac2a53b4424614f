//! Statement statistics of the performance schema of MariaDB and MySQL.

use std::collections::BTreeMap;
use std::time::Duration;

use super::plans::Plans;
use super::wire::MysqlSession;
use crate::collectors::link::{ComponentLink, shortly};
use crate::collectors::metrics::MetricsRecorder;
use crate::collectors::query_error::QueryError;
use crate::collectors::statements::shapes::shape;
use crate::collectors::statements::{StatementTotals, Statements};

/// The statements that took most time since the counts began, with the time in µs.
const DIGESTS: &str = "SELECT DIGEST, COALESCE(SCHEMA_NAME, ''), COUNT_STAR, SUM_TIMER_WAIT DIV 1000000, \
    SUM_ROWS_SENT + SUM_ROWS_AFFECTED, SUM_ROWS_EXAMINED, SUM_NO_INDEX_USED, SUM_SORT_ROWS, SUM_CREATED_TMP_DISK_TABLES, \
    LEFT(DIGEST_TEXT, 600) FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST IS NOT NULL \
    ORDER BY SUM_TIMER_WAIT DESC LIMIT 200";
/// Statements that are read at most.
const DIGESTS_MAX: usize = 200;
/// Time that must remain before the deadline: the activity of sessions comes first.
const TIME_MIN: Duration = Duration::from_millis(400);
/// Error codes of denied access to a table.
const DENIED: [&str; 3] = ["1142", "1044", "1143"];

/// Whether statistics are available.
#[derive(Debug, Default)]
pub(super) struct DigestStats {
    statements: Statements,
    plans: Plans,
    /// Why there are no statistics.
    refused: Option<String>,
    is_reported: bool,
}

impl DigestStats {
    /// Samples once, if there is time for it.
    pub(super) fn sample(
        &mut self,
        session: &mut MysqlSession,
        link: &mut ComponentLink,
    ) -> Result<(), QueryError> {
        if self.refused.is_some() || !link.has_time(TIME_MIN) {
            return Ok(());
        }
        let mut lines = String::new();
        match session.query(link, DIGESTS, &mut lines) {
            Ok(()) => {}
            Err(QueryError::Rejected { code, message }) => {
                self.refused = Some(if DENIED.contains(&code.as_str()) {
                    "MariaDB does not show its statement statistics to this account; as an administrator: `GRANT \
                     SELECT ON performance_schema.* TO …`"
                        .to_owned()
                } else {
                    format!(
                        "MariaDB does not show its statement statistics ({})",
                        shortly(&message)
                    )
                });
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        let (mut digests, mut texts) = (Vec::new(), BTreeMap::new());
        for (id, totals, text) in lines.lines().filter_map(digest) {
            texts.insert(id.clone(), text);
            digests.push((id, totals));
        }
        self.statements
            .take(digests, DIGESTS_MAX, |id| texts.get(id).cloned());
        if !link.has_time(TIME_MIN) {
            return Ok(());
        }
        let Some(form) = self.plans.next(&self.statements.dearest()) else {
            return Ok(());
        };
        // Its name is that of its form and of the database.
        let mut named = texts.iter().filter(|(_, text)| shape(text) == form);
        match named.next().and_then(|(id, _)| id.split(' ').next()) {
            Some(digest) => self.plans.explain(session, link, form, digest),
            None => Ok(()),
        }
    }

    /// Records the last sample, or why there is none.
    pub(super) fn record(&mut self, is_off: bool, metrics: &mut MetricsRecorder<'_>) {
        self.statements.record(metrics);
        self.plans.record(metrics);
        if self.is_reported {
            return;
        }
        if let Some(refused) = &self.refused {
            metrics.note("not counted", refused);
            self.is_reported = true;
        } else if is_off {
            let text = "MariaDB does not count statements; set `performance_schema = ON` under `[mysqld]`, on \
                Debian in /etc/mysql/mariadb.conf.d/50-server.cnf, and restart it by `systemctl restart mariadb`";
            metrics.note("not counted", text);
            self.is_reported = true;
        }
    }
}

/// A digest with its database, its totals and its text.
fn digest(line: &str) -> Option<(String, StatementTotals, String)> {
    let values: Vec<&str> = line.split('\t').collect();
    let [id, schema, numbers @ .., text] = values.as_slice() else {
        return None;
    };
    let mut totals = StatementTotals::default();
    for (total, number) in totals.iter_mut().zip(numbers) {
        *total = Some(number.parse().ok()?);
    }
    totals[0]?;
    // Each word and sign has blanks around it, those in names too.
    let text = text.replace(" . ", ".").replace(" , ", ", ");
    let text = text.replace("( ", "(").replace(" )", ")");
    Some((format!("{id} {schema}"), totals, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectors::statements::TIME;

    #[test]
    fn digests_are_read() {
        // Of MariaDB 10.11.
        let line = "0f1e\tshop\t12\t40000\t12\t3600000\t12\t0\t0\tSELECT COUNT ( * ) FROM `shop` . `orders` WHERE `customer` = ?";
        let (id, totals, text) = digest(line).unwrap();
        assert_eq!(
            (id.as_str(), totals[0], totals[TIME]),
            ("0f1e shop", Some(12), Some(40_000))
        );
        assert_eq!(
            (totals[3], totals[4], totals[7]),
            (Some(3_600_000), Some(12), None)
        );
        let right = "SELECT COUNT (*) FROM `shop`.`orders` WHERE `customer` = ?";
        assert_eq!(text, right);
        assert_eq!(digest("a\tb\tc\td"), None);
        assert_eq!(digest("a"), None);
    }
}
