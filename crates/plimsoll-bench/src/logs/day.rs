//! A day of a site that does not exist, as nginx would have logged it: the same for the same number of requests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::Result;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

const SEED: u64 = 20;
const DAY_S: u32 = 86_400;
/// How much the busiest hour is above the mean, as a share of it.
const SWING: f64 = 0.8;
/// Visits at the same time.
const VISITS: usize = 400;
const VISIT_REQUESTS_MAX: u32 = 40;
const ARTICLES: f64 = 50_000.0;
const FILES: f64 = 300.0;

/// Totals of a log that was written.
pub(super) struct GeneratedDay {
    len: u64,
    statuses: BTreeMap<u16, u64>,
}

impl GeneratedDay {
    /// Its bytes.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Requests by status.
    pub(super) fn statuses(&self) -> &BTreeMap<u16, u64> {
        &self.statuses
    }
}

/// A client under way.
#[derive(Clone, Default)]
struct Visit {
    address: String,
    agent: String,
    /// Requests that are left.
    left: u32,
}

impl Visit {
    fn begin(&mut self, random: &mut Xoshiro256PlusPlus) {
        let bytes: [u8; 3] = random.random();
        let [first, second, third] = bytes;
        self.address = format!("10.{first}.{second}.{third}");
        let version = random.random_range(110..132_u32);
        self.agent = if random.random_bool(0.6) {
            format!(
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Safari/537.36"
            )
        } else {
            format!(
                "Mozilla/5.0 (X11; Linux x86_64; rv:{version}.0) Gecko/20100101 Firefox/{version}.0"
            )
        };
        self.left = random.random_range(1..=VISIT_REQUESTS_MAX);
    }
}

/// Writes a day of so many requests.
pub(super) fn generate(path: &Path, requests: u32) -> Result<GeneratedDay> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut out = BufWriter::new(File::create(path)?);
    let mut visits = vec![Visit::default(); VISITS];
    let mut day = GeneratedDay {
        len: 0,
        statuses: BTreeMap::new(),
    };
    let (mut written, mut line) = (0, String::new());
    for second in 0..DAY_S {
        let due = until(second + 1, requests);
        while written < due {
            written += 1;
            let visit = &mut visits[random.random_range(0..VISITS)];
            if visit.left == 0 {
                visit.begin(&mut random);
            }
            visit.left -= 1;
            line.clear();
            let status = write_request(&mut line, second, visit, &mut random)?;
            *day.statuses.entry(status).or_default() += 1;
            day.len += line.len() as u64;
            out.write_all(line.as_bytes())?;
        }
    }
    out.flush()?;
    Ok(day)
}

/// Requests before this second: fewest at midnight, most at noon.
fn until(second: u32, requests: u32) -> u32 {
    let share = f64::from(second) / f64::from(DAY_S);
    let turn = std::f64::consts::TAU;
    let share = share - SWING * (turn * share).sin() / turn;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of requests"
    )]
    let until = (share * f64::from(requests)).round() as u32;
    until.min(requests)
}

/// Writes a line; returns its status.
fn write_request(
    line: &mut String,
    second: u32,
    visit: &Visit,
    random: &mut Xoshiro256PlusPlus,
) -> Result<u16> {
    let is_article = random.random_bool(0.3);
    // Zipf's law with exponent 1: the logarithm of the rank is uniform.
    let ranks: f64 = if is_article { ARTICLES } else { FILES };
    let rank = (random.random::<f64>() * ranks.ln()).exp().floor();
    let (status, bytes) = match random.random_range(0..1000_u32) {
        0..920 => (200, random.random_range(300..60_000_u32)),
        920..970 => (304, 0),
        970..990 => (404, 1_234),
        990..995 => (301, 178),
        _ => (500, 0),
    };
    let (hour, minute) = (second / 3600, second / 60 % 60);
    write!(
        line,
        "{} - - [26/Nov/2026:{hour:02}:{minute:02}:{:02} +0000] \"GET ",
        visit.address,
        second % 60
    )?;
    if is_article {
        write!(line, "/articles/{rank}/a-title-of-some-words?page=1")?;
    } else {
        write!(line, "/static/build/{rank}.css")?;
    }
    let referer = if is_article {
        "-"
    } else {
        "https://site.example/"
    };
    writeln!(
        line,
        " HTTP/1.1\" {status} {bytes} \"{referer}\" \"{}\"",
        visit.agent
    )?;
    Ok(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_requests_are_written_with_their_statuses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let day = generate(&path, 5_000).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 5_000);
        assert_eq!(text.len() as u64, day.len());
        assert_eq!(day.statuses().values().sum::<u64>(), 5_000);
        for (status, count) in day.statuses() {
            let status = format!("\" {status} ");
            let lines = text.lines().filter(|line| line.contains(&status));
            assert_eq!(lines.count() as u64, *count, "{status}");
        }
    }

    #[test]
    fn noon_has_more_than_midnight() {
        let hour =
            |begin: u32| until((begin + 1) * 3600, 1_000_000) - until(begin * 3600, 1_000_000);
        assert!(hour(12) > 5 * hour(0), "{} {}", hour(12), hour(0));
        assert_eq!((until(0, 7), until(DAY_S, 7)), (0, 7));
    }
}
