//! CPU by minute: from the file of a run or of `watch`, or from `sadf -d` of sysstat.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_lab::input;
use plimsoll_lab::run_log::{self, LoadedReadings};
use plimsoll_model::{labels, metric};
use plimsoll_report::log_page::{CpuMinute, CpuSeries};

use crate::explain::{CliError, chain};
use crate::screen::eprint;

/// First bytes of a run file, and of that of `watch`.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Time-out for a silent pipe.
const PATIENCE: Duration = Duration::from_mins(1);
/// Most of a text that is read, bytes: a month of seconds of many machines.
const TEXT_LEN_MAX: u64 = 1 << 30;
/// Series of one file.
const SERIES_MAX: usize = 50;

/// Sums of a series by minute since 1970.
type ByMinute = BTreeMap<i64, (f64, u32)>;

/// The series of a file by name.
#[derive(Debug)]
struct CpuFile {
    series: BTreeMap<String, ByMinute>,
    /// Those of `sadf` do.
    names_machines: bool,
}

/// Reads files: their series by name. Series of the same name in several files of `watch` are of several machines; those of
/// `sadf` have the name of the machine.
pub(super) fn read_all(paths: &[PathBuf]) -> Result<BTreeMap<String, ByMinute>, CliError> {
    let mut all: BTreeMap<String, ByMinute> = BTreeMap::new();
    for path in paths {
        let file = read(path)?;
        let is_ambiguous = paths.len() > 1 && !file.names_machines;
        for (name, by_minute) in file.series {
            let name = if is_ambiguous {
                format!("{}: {name}", path.display())
            } else {
                name
            };
            let sums = all.entry(name).or_default();
            for (minute, (sum, count)) in by_minute {
                let known = sums.entry(minute).or_insert((0.0, 0));
                known.0 += sum;
                known.1 += count;
            }
        }
    }
    Ok(all)
}

/// Reads a file. A text may be a pipe; a run file is opened again.
fn read(path: &Path) -> Result<CpuFile, CliError> {
    let file = open(path)?;
    let is_regular = file.len().is_some();
    let mut reader = BufReader::new(file);
    let start = reader
        .fill_buf()
        .map_err(|error| CliError::usage(format!("cannot read {}: {error}", path.display())))?;
    let is_packed = start.starts_with(&GZIP);
    let series = if is_packed && !is_regular {
        let text = format!("{} is a compressed pipe", path.display());
        return Err(CliError::usage(text)
            .remedy("give a run file by its name, and the output of sadf uncompressed"));
    } else if is_packed {
        of_log(path)?
    } else {
        of_sadf(path, reader)?
    };
    if series.is_empty() {
        let text = format!("{} has no CPU", path.display());
        return Err(CliError::usage(text).remedy(
            "valid: a run file, the file of `plimsoll watch --out`, or the output of `sadf -d -- -u` (with the columns %user to %idle)",
        ));
    }
    Ok(CpuFile {
        series,
        names_machines: !is_packed,
    })
}

/// The series of a run file, or of that of `watch`.
fn of_log(path: &Path) -> Result<BTreeMap<String, ByMinute>, CliError> {
    let loaded = run_log::read_readings(path)?;
    if let Some(reason) = &loaded.cut {
        let name = path.display();
        eprint(&format!(
            "note: {name}: {reason}; everything before it is used"
        ));
    }
    Ok(of_readings(&loaded))
}

fn open(path: &Path) -> Result<input::InputFile, CliError> {
    input::open(path, PATIENCE)
        .map_err(|error| CliError::usage(format!("cannot read {}: {error}", path.display())))
}

/// Host, and processes of the target and behind it.
fn of_readings(loaded: &LoadedReadings) -> BTreeMap<String, ByMinute> {
    let mut series = BTreeMap::new();
    let Ok(started) = loaded.started_at.parse::<jiff::Timestamp>() else {
        return series;
    };
    let table = &loaded.readings;
    let shown = table.names().filter(|name| match labels::metric(name) {
        metric::CPU_BUSY => true,
        // One of several processes is part of the whole.
        metric::PROCESS_CPU => {
            labels::label(name, "pid").is_none()
                && !matches!(
                    labels::label(name, "process"),
                    Some(metric::GENERATOR | metric::AGENT)
                )
        }
        _ => false,
    });
    for name in shown.take(SERIES_MAX) {
        let mut by_minute = ByMinute::new();
        for (second, value) in table
            .seconds()
            .iter()
            .zip(table.values(name).unwrap_or(&[]))
        {
            if value.is_finite() {
                let at_s = started.as_second() + i64::from(*second);
                add(&mut by_minute, at_s, *value);
            }
        }
        series.insert(name.to_owned(), by_minute);
    }
    series
}

fn add(by_minute: &mut ByMinute, at_s: i64, busy: f64) {
    let sum = by_minute.entry(at_s.div_euclid(60)).or_insert((0.0, 0));
    sum.0 += busy;
    sum.1 += 1;
}

/// Columns of `sadf -d -- -u`.
#[derive(Clone, Copy, Debug)]
struct SadfColumns {
    cpu: Option<usize>,
    idle: usize,
    /// I/O wait and stolen time are not busy.
    others: [Option<usize>; 2],
}

impl SadfColumns {
    fn of(header: &str) -> Option<Self> {
        let names: Vec<&str> = header.trim_start_matches(['#', ' ']).split(';').collect();
        let at = |wanted: &str| names.iter().position(|name| name.trim() == wanted);
        Some(Self {
            cpu: at("CPU"),
            idle: at("%idle")?,
            others: [at("%iowait"), at("%steal")],
        })
    }
}

fn of_sadf(path: &Path, reader: impl BufRead) -> Result<BTreeMap<String, ByMinute>, CliError> {
    let wrong = |number: usize, what: &str| {
        CliError::usage(format!("{}, line {number}: {what}", path.display())).remedy(
            "valid: lines of `sadf -d -- -u`, such as `web1;60;2026-11-26 10:01:00 UTC;-1;12.0;0.0;3.0;0.5;0.0;84.5`",
        )
    };
    let mut series: BTreeMap<String, ByMinute> = BTreeMap::new();
    let mut columns = None;
    for (index, line) in reader.take(TEXT_LEN_MAX).lines().enumerate() {
        let line = line.map_err(|error| wrong(index + 1, &chain(&error)))?;
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.starts_with('#') || line.starts_with("hostname;") {
            // Other activities have headers of their own, and are skipped.
            columns = SadfColumns::of(line);
            continue;
        }
        let fields: Vec<&str> = line.split(';').collect();
        if line.is_empty() || line.contains("LINUX-RESTART") {
            continue;
        }
        let Some(columns) = columns else {
            if index == 0 {
                return Err(wrong(
                    1,
                    "expected a header that begins with `# hostname;interval;timestamp`",
                ));
            }
            continue;
        };
        let all = columns
            .cpu
            .and_then(|at| fields.get(at))
            .is_none_or(|cpu| matches!(*cpu, "-1" | "all"));
        if !all {
            continue;
        }
        let (at_s, busy) = of_line(&fields, columns).map_err(|what| wrong(index + 1, what))?;
        let name = fields[0].to_owned();
        if series.len() < SERIES_MAX || series.contains_key(&name) {
            add(series.entry(name).or_default(), at_s, busy);
        }
    }
    Ok(series)
}

/// The moment at the end of the interval, and the busy share.
fn of_line(fields: &[&str], columns: SadfColumns) -> Result<(i64, f64), &'static str> {
    let number = |at: usize| {
        fields
            .get(at)
            .and_then(|text| text.replace(',', ".").parse::<f64>().ok())
    };
    let idle = number(columns.idle).ok_or("%idle is not a number")?;
    let others: f64 = columns
        .others
        .into_iter()
        .flatten()
        .filter_map(number)
        .sum();
    let timestamp = fields.get(2).ok_or("the timestamp is missing")?;
    let interval = fields
        .get(1)
        .and_then(|text| text.parse::<i64>().ok())
        .unwrap_or(0);
    let end_s = moment(timestamp).ok_or("the timestamp is not valid")?;
    // The middle of the interval belongs to the minute that was measured.
    let at_s = end_s - interval.clamp(0, 86_400) / 2;
    Ok((at_s, ((100.0 - idle - others) / 100.0).clamp(0.0, 1.0)))
}

/// Seconds since 1970 of `2026-11-26 10:01:00 UTC`, or of seconds as `sadf -U` writes them. Without a zone it is UTC.
fn moment(text: &str) -> Option<i64> {
    if let Ok(seconds) = text.parse::<i64>() {
        return Some(seconds);
    }
    let civil: jiff::civil::DateTime = text.trim_end_matches(" UTC").trim().parse().ok()?;
    let zoned = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_second())
}

/// The series beside the requests of the same minutes, by minute since 1970.
pub(super) fn beside(
    series: BTreeMap<String, ByMinute>,
    requests: &BTreeMap<i64, u64>,
) -> Vec<CpuSeries> {
    let series = series.into_iter().map(|(name, by_minute)| {
        let minutes: Vec<(i64, f64, u64)> = by_minute
            .into_iter()
            .filter_map(|(minute, (sum, count))| {
                let requests = requests.get(&minute)?;
                Some((minute, sum / f64::from(count.max(1)), *requests))
            })
            .collect();
        CpuSeries {
            name,
            correlation: correlation(&minutes),
            minutes: minutes
                .into_iter()
                .map(|(minute, busy, requests)| CpuMinute {
                    at: jiff::Timestamp::from_second(minute * 60)
                        .unwrap_or_default()
                        .to_string(),
                    busy,
                    requests,
                })
                .collect(),
        }
    });
    series.collect()
}

fn correlation(minutes: &[(i64, f64, u64)]) -> Option<f64> {
    let number = minutes.len() as f64;
    if minutes.len() < 3 {
        return None;
    }
    let mean_busy = minutes.iter().map(|minute| minute.1).sum::<f64>() / number;
    let mean_requests = minutes.iter().map(|minute| minute.2 as f64).sum::<f64>() / number;
    let (mut both, mut busy, mut requests) = (0.0, 0.0, 0.0);
    for minute in minutes {
        let (x, y) = (minute.1 - mean_busy, minute.2 as f64 - mean_requests);
        both += x * y;
        busy += x * x;
        requests += y * y;
    }
    (busy > 0.0 && requests > 0.0).then(|| both / (busy * requests).sqrt())
}

#[cfg(test)]
mod tests {
    use plimsoll_lab::run_log::Followers;

    use super::*;

    const SADF: &str = "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\n\
        web1;60;2026-11-26 10:01:00 UTC;-1;12.00;0.00;3.00;5.00;1.00;79.00\n\
        web1;60;2026-11-26 10:01:00 UTC;0;50.00;0.00;3.00;0.50;0.00;46.50\n\
        web1;60;2026-11-26 10:02:00 UTC;-1;40,00;0.00;10.00;0.00;0.00;50,00\n\
        web1;-1;2026-11-26 10:03:00 UTC;LINUX-RESTART\t(2 CPU)\n\
        # hostname;interval;timestamp;kbmemfree\n\
        web1;60;2026-11-26 10:03:00 UTC;123\n";

    #[test]
    fn the_file_of_watch_is_read_by_the_minute() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.run");
        let started = "2026-11-26T10:00:30Z".to_owned();
        let mut log = plimsoll_lab::watch::WatchLog::create(
            &path,
            None,
            started,
            BTreeMap::new(),
            Followers::default(),
        )
        .unwrap();
        for second in 0..90_u32 {
            // Idle in the first half minute, busy from 10:01 on.
            let busy = if second < 30 { 0.0 } else { 0.5 };
            let values = BTreeMap::from([
                (metric::CPU_BUSY.to_owned(), busy),
                (metric::MEMORY_AVAILABLE.to_owned(), 1e9),
            ]);
            let readings = plimsoll_model::reading::Readings {
                second,
                values,
                new_series: BTreeMap::new(),
            };
            log.append(Some(&readings), &[]);
        }
        assert_eq!(log.close(), None);
        let series = read(&path).unwrap().series;
        let minute = moment("2026-11-26 10:00:00").unwrap() / 60;
        let expected = ByMinute::from([(minute, (0.0, 30)), (minute + 1, (30.0, 60))]);
        assert_eq!(
            series,
            BTreeMap::from([(metric::CPU_BUSY.to_owned(), expected)])
        );
    }

    #[test]
    fn machines_of_several_files_stay_apart() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["app.run", "db.run"].map(|name| folder.path().join(name));
        for (path, busy) in paths.iter().zip([0.25, 0.75]) {
            let started = "2026-11-26T10:00:00Z".to_owned();
            let mut log = plimsoll_lab::watch::WatchLog::create(
                path,
                None,
                started,
                BTreeMap::new(),
                Followers::default(),
            )
            .unwrap();
            let readings = plimsoll_model::reading::Readings {
                second: 0,
                values: BTreeMap::from([(metric::CPU_BUSY.to_owned(), busy)]),
                new_series: BTreeMap::new(),
            };
            log.append(Some(&readings), &[]);
            assert_eq!(log.close(), None);
        }
        let sums: Vec<f64> = read_all(&paths)
            .unwrap()
            .into_values()
            .map(|by_minute| by_minute.values().map(|(sum, _)| sum).sum())
            .collect();
        assert_eq!(sums, [0.25, 0.75]);
        // Two days of one machine are one series.
        let files = [SADF, &SADF.replace("2026-11-26", "2026-11-27")].map(written);
        let paths: Vec<PathBuf> = files.iter().map(|file| file.path().to_owned()).collect();
        let series = read_all(&paths).unwrap();
        assert_eq!(series["web1"].len(), 4);
    }

    fn written(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn sadf_is_read_by_its_columns() {
        let file = written(SADF);
        let series = read(file.path()).unwrap().series;
        let minute = moment("2026-11-26 10:00:00 UTC").unwrap() / 60;
        let requests = BTreeMap::from([(minute, 600), (minute + 1, 1200), (minute + 5, 7)]);
        let beside = beside(series, &requests);
        assert_eq!((beside.len(), beside[0].minutes.len()), (1, 2));
        assert_eq!(beside[0].name, "web1");
        assert!(
            (beside[0].minutes[0].busy - 0.15).abs() < 1e-9,
            "{beside:?}"
        );
        assert!((beside[0].minutes[1].busy - 0.5).abs() < 1e-9);
        assert_eq!(beside[0].minutes[1].requests, 1200);
    }

    #[test]
    fn another_text_is_refused_with_its_line() {
        for (text, expected) in [
            ("hello\n", "line 1: expected a header"),
            ("", "has no CPU"),
            (
                "# hostname;interval;timestamp;CPU;%idle\na;60;yesterday;-1;90\n",
                "line 2: the timestamp is not valid",
            ),
        ] {
            let file = written(text);
            let error = read(file.path()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn correlation_of_a_line_is_one() {
        let minutes: Vec<(i64, f64, u64)> = (0..10_u32)
            .map(|minute| {
                (
                    i64::from(minute),
                    f64::from(minute) / 10.0,
                    u64::from(minute) * 100,
                )
            })
            .collect();
        assert!((correlation(&minutes).unwrap() - 1.0).abs() < 1e-9);
        assert_eq!(correlation(&minutes[..2]), None);
    }
}
