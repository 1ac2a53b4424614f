//! Rules about MariaDB and MySQL, from their own metrics.

pub(crate) mod innodb;
pub(crate) mod sessions;
pub(crate) mod statements;

#[cfg(test)]
mod tests;

use plimsoll_model::metric;

use crate::diagnosis::component::{place, subjects, written};
use crate::diagnosis::measure::sustained;
use crate::diagnosis::rule::{RuleMatch, Sign};
use crate::diagnosis::stretch::{SecondValues, View};

/// The collector's own session is running at each sample.
pub(crate) const OWN: f64 = 1.0;

/// A condition on single seconds that must hold in a fifth of them.
pub(crate) fn in_seconds(
    view: &View<'_>,
    holds: impl Fn(&str, SecondValues<'_>) -> Option<bool>,
) -> Vec<Sign> {
    let signs = subjects(view, metric::MYSQL_COLLECTOR_REFUSED)
        .into_iter()
        .filter_map(|label_set| {
            let share = view.share_of_seconds(|row| holds(&label_set, row));
            sustained(&label_set, share)
        });
    signs.collect()
}

/// A condition on the stretch: how much of it there is, and whether it holds.
pub(crate) fn over_all(
    view: &View<'_>,
    measure: impl Fn(&str) -> Option<(f64, bool)>,
) -> Vec<Sign> {
    let signs = subjects(view, metric::MYSQL_COLLECTOR_REFUSED)
        .into_iter()
        .filter_map(|label_set| {
            let (magnitude, present) = measure(&label_set)?;
            Some(Sign {
                label_set,
                magnitude,
                present,
            })
        });
    signs.collect()
}

/// ` (now 151) in FILE`, as far as it is known, and how it is changed.
pub(crate) fn now(case: &RuleMatch<'_>, name: &str, is_bytes: bool) -> String {
    let setting = case.failing().setting(place(case.label_set), name, "");
    let known = setting.map(|(now, file)| {
        let now = if is_bytes {
            format!("{:.1} MiB", now / 1_048_576.0)
        } else {
            format!("{now:.0}")
        };
        let file = written(file);
        let file = if file.is_empty() {
            " under `[mysqld]`, on Debian in /etc/mysql/mariadb.conf.d/50-server.cnf,".to_owned()
        } else {
            file
        };
        format!(" (now {now}){file}")
    });
    format!(
        "{} or by `SET GLOBAL {name} = …`",
        known.unwrap_or_default()
    )
}
