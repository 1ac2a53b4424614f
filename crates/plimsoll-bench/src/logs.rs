//! `cargo xtask bench logs`: the day of a log by `plimsoll log` and by `GoAccess`. `benchmarks/logs.toml` has the command lines.

mod day;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::page::shown;
use plimsoll_harness::sample::{Outcome, Sample};
use plimsoll_harness::step::execute;
use serde_json::Value;

use self::day::{GeneratedDay, generate};
use crate::bench::{Bench, mib, unknown};

/// How often memory is read: a run may take less than a second.
const POLL: Duration = Duration::from_millis(10);

/// Requests by status.
type Statuses = BTreeMap<u16, u64>;

pub(crate) fn measure(bench: &Bench, chapter: &Chapter) -> Result<Vec<Outcome>> {
    if chapter.kind() != "read" {
        return unknown(chapter);
    }
    let plain = bench.folder().join("access.log");
    let day = generate(&plain, chapter.number("requests")?)?;
    let log = if chapter.number("gzip").unwrap_or(0) == 1 {
        compressed(&plain)?
    } else {
        plain
    };
    Ok(bench
        .rounds()
        .alternate(chapter.what(), chapter.subjects(), |subject, _| {
            read(bench, chapter, subject, (&log, &day))
        }))
}

fn compressed(log: &Path) -> Result<PathBuf> {
    execute(Command::new("gzip").arg("-kf").arg(log))?;
    Ok(log.with_extension("log.gz"))
}

/// One program reads the log.
fn read(
    bench: &Bench,
    chapter: &Chapter,
    subject: &str,
    (log, day): (&Path, &GeneratedDay),
) -> Result<Sample> {
    let report = bench.folder().join("report.json");
    let values = bench.values(chapter).with("log", log.display());
    let values = values.with("report", report.display());
    let words = bench.definition.client(subject, "read", &values)?;
    let weighed = bench.weigh(&words, POLL, |_, _| ())?;
    let (requests, statuses) = if subject == "goaccess" {
        goaccess(&std::fs::read_to_string(&report)?)?
    } else {
        ours(&weighed.stdout)?
    };
    let folder = format!("{}/", bench.folder().display());
    let cpu_s = weighed.cpu.as_secs_f64();
    ensure!(cpu_s > 0.0, "it used no CPU");
    Ok(Sample::of(shown(&words, &[(&folder, "")]))
        .with("mb_s", day.len() as f64 / 1e6 / cpu_s)
        .with("cpu_s", cpu_s)
        .with("rss_mib", mib(weighed.rss))
        .with("requests", requests as f64)
        .with("wrong", wrong(day.statuses(), &statuses) as f64))
}

/// How far counts are from those that were written, all statuses together.
fn wrong(written: &Statuses, counted: &Statuses) -> u64 {
    let all = written.keys().chain(counted.keys());
    let all: std::collections::BTreeSet<&u16> = all.collect();
    let count = |of: &Statuses, status: &u16| of.get(status).copied().unwrap_or(0);
    all.into_iter()
        .map(|status| count(written, status).abs_diff(count(counted, status)))
        .sum()
}

fn ours(text: &str) -> Result<(u64, Statuses)> {
    let json: Value = serde_json::from_str(text).context("plimsoll printed no JSON")?;
    let counts = json["statuses"].as_object().context("no `statuses`")?;
    let statuses = counts
        .iter()
        .map(|(status, count)| Ok((status.parse()?, count.as_u64().context("no count")?)))
        .collect::<Result<Statuses>>()?;
    let lines = json["lines"].as_u64().context("no `lines`")?;
    let unreadable = json["unreadable"].as_u64().context("no `unreadable`")?;
    Ok((lines - unreadable, statuses))
}

/// Its statuses are items of their classes, such as `404 - Not Found: …`.
fn goaccess(text: &str) -> Result<(u64, Statuses)> {
    let json: Value = serde_json::from_str(text).context("GoAccess wrote no JSON")?;
    let classes = json["status_codes"]["data"].as_array();
    let items = classes
        .context("no `status_codes.data`")?
        .iter()
        .filter_map(|class| class["items"].as_array())
        .flatten();
    let mut statuses = Statuses::new();
    for item in items {
        let name = item["data"].as_str().unwrap_or_default();
        let status = name.split(' ').next().unwrap_or_default();
        let (Ok(status), Some(count)) = (status.parse(), item["hits"]["count"].as_u64()) else {
            bail!("cannot read its status `{name}`");
        };
        statuses.insert(status, count);
    }
    let requests = json["general"]["valid_requests"].as_u64();
    Ok((requests.context("no `general.valid_requests`")?, statuses))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_of_both_are_read() {
        let ours = ours(r#"{"lines": 7, "unreadable": 1, "statuses": {"200": 5, "404": 1}}"#);
        let statuses = Statuses::from([(200, 5), (404, 1)]);
        assert_eq!(ours.unwrap(), (6, statuses.clone()));
        let theirs = goaccess(
            r#"{"general": {"total_requests": 7, "valid_requests": 6}, "status_codes": {"data": [
                {"hits": {"count": 5}, "data": "2xx Success", "items": [
                    {"hits": {"count": 5}, "data": "200 - OK: The request sent by the client was successful"}]},
                {"hits": {"count": 1}, "data": "4xx Client Errors", "items": [
                    {"hits": {"count": 1}, "data": "404 - Not Found: Requested resource could not be found"}]}]}}"#,
        );
        assert_eq!(theirs.unwrap(), (6, statuses));
    }

    #[test]
    fn what_is_missing_and_what_is_too_much_is_wrong() {
        let written = Statuses::from([(200, 5), (404, 1)]);
        assert_eq!(wrong(&written, &written), 0);
        assert_eq!(wrong(&written, &Statuses::from([(200, 7), (500, 2)])), 5);
    }
}
