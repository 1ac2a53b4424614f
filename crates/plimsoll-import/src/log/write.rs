//! The plan file of a log.

use std::collections::BTreeMap;

use super::clients::Identity;
use super::paths::{PathStats, Pattern};
use super::rates::Stretch;
use super::sessions::Summary;
use super::tally::LogTally;
use super::{LogError, Replay};
use crate::heuristics;
use crate::yaml::{self, YamlEntry, YamlItem, YamlNode};
use crate::{Imported, counted};

/// Most paths in a plan.
const PATHS_MAX: usize = 200;
/// A host named by less than one in this many requests is not the site: any client can request a whole URL of any host.
const HOST_SHARE_MIN: u64 = 10;
/// Placeholder for an unknown site.
pub(super) const TARGET_UNKNOWN: &str = "https://example.invalid";

pub(super) fn write(mut tally: LogTally) -> Result<Imported, LogError> {
    check_usable(&tally)?;
    let mut notes = tally.left_out();
    let target = tally.target(&mut notes);
    let summary = tally.visits();
    let window = tally.window();
    let (ranked, rare) = std::mem::take(&mut tally.paths).ranked();
    let (pages, assets) = chosen(ranked, rare, &mut notes);
    if pages.is_empty() {
        return Err(LogError::NothingUsable {
            lines: tally.read,
            reason: "every path was answered with an error, or is a file of a page".to_owned(),
        });
    }
    let Some((summary, (from_ms, to_ms))) = summary.zip(window) else {
        return Err(LogError::NothingUsable {
            lines: tally.read,
            reason: "no page has a successful response".to_owned(),
        });
    };
    let mut feeds = Feeds::default();
    let visit = visit(&tally, summary, &pages, &assets, &mut feeds);
    let iterations = iterations(summary);
    let mut entries = vec![
        YamlEntry::new("target", YamlNode::text(target)),
        YamlEntry::new("journeys", YamlNode::map([("visitor", visit)])),
    ];
    if !feeds.entries.is_empty() {
        entries.push(
            YamlEntry::new("data", YamlNode::Map(feeds.entries))
                .with_notes(["Values from the log, each as frequent as in the log.".to_owned()]),
        );
    }
    let stretches = tally.rates.stretches(from_ms, to_ms);
    entries.push(load(
        &stretches,
        iterations,
        tally.options.busiest_hour,
        (from_ms, to_ms),
    ));
    let mut top = vec![format!(
        "A log of {} ({}) as a plan: {}{}, {} of pages.",
        counted(tally.read, "request"),
        tally.options.formats,
        counted(tally.pages, "page"),
        if tally.clients.identity() == Identity::Unknown {
            String::new()
        } else {
            format!(" of {}", counted(summary.count, "visit"))
        },
        counted(tally.assets, "file")
    )];
    top.extend(notes.iter().cloned());
    Ok(Imported {
        plan: yaml::document(&top, &entries),
        notes,
        losses: Vec::new(),
        files: Vec::new(),
    })
}

/// Fails when there is nothing to write.
fn check_usable(tally: &LogTally) -> Result<(), LogError> {
    if tally.read > 0 && tally.pages + tally.assets > 0 {
        return Ok(());
    }
    if tally.read > 0 {
        let methods: Vec<&str> = tally.unsafe_methods.keys().map(String::as_str).collect();
        let reason = if methods.is_empty() {
            "all were answered with an error".to_owned()
        } else {
            format!(
                "their methods are unsafe ({}); include them with --with-unsafe",
                methods.join(", ")
            )
        };
        return Err(LogError::NothingUsable {
            lines: tally.read,
            reason,
        });
    }
    Err(LogError::Empty)
}

impl LogTally {
    /// How long visits are. Where clients are unknown, each page is a visit.
    fn visits(&mut self) -> Option<Summary> {
        if self.clients.identity() == Identity::Unknown {
            return (self.pages > 0).then_some(Summary {
                count: self.pages,
                pages_mean: 1.0,
                pages_median: 1,
                pages_p90: 1,
            });
        }
        self.sessions.summary()
    }

    fn left_out(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.pages > 0 {
            notes.extend(self.clients.notes());
        }
        notes.extend(self.order.note());
        let changing: u64 = self.unsafe_methods.values().sum();
        if changing > 0 {
            let named: Vec<String> = self
                .unsafe_methods
                .iter()
                .map(|(method, count)| format!("{method} {count}"))
                .collect();
            notes.push(if self.options.with_unsafe {
                format!("requests with unsafe methods are included without their bodies, which a log does not contain: {}", named.join(", "))
            } else {
                format!(
                    "left out {} with unsafe methods: {} (--with-unsafe includes such requests)",
                    counted(changing, "request"),
                    named.join(", ")
                )
            });
        }
        if self.paths.secrets > 0 {
            notes.push(format!(
                "left out {} query parameters whose names mark them as secrets",
                self.paths.secrets
            ));
        }
        if self.rates.beyond > 0 {
            notes.push(format!(
                "left out {} requests outside a span of two years",
                self.rates.beyond
            ));
        }
        notes
    }

    /// The site: from the options, else the most frequent host of the log.
    pub(super) fn target(&self, notes: &mut Vec<String>) -> String {
        if let Some(target) = &self.options.target {
            return target.clone();
        }
        let Some((host, count)) = self.hosts.iter().max_by_key(|&(_, count)| *count) else {
            notes.push("the log does not name the site: set it with --target URL".to_owned());
            return TARGET_UNKNOWN.to_owned();
        };
        if count * HOST_SHARE_MIN < self.good {
            notes.push(format!(
                "the site is unknown: {host} is named by only {count} of {} requests, as scanners for open proxies do; set it with --target URL",
                self.good
            ));
            return TARGET_UNKNOWN.to_owned();
        }
        if self.hosts.len() > 1 {
            let others = self.hosts.len() - 1;
            notes.push(format!(
                "the log names {others} hosts besides {host} ({count} requests): all requests go to {host}; set another with --target URL"
            ));
        }
        let scheme = if host.contains(':') { "http" } else { "https" };
        format!("{scheme}://{host}")
    }
}

type Ranked = Vec<(Pattern, PathStats)>;

/// The most frequent successful paths, pages and resources separately.
fn chosen(ranked: Ranked, rare: u64, notes: &mut Vec<String>) -> (Ranked, Ranked) {
    let total: u64 = ranked.iter().map(|(_, stat)| stat.count).sum::<u64>() + rare;
    let (bad, good): (Ranked, Ranked) = ranked
        .into_iter()
        .partition(|(_, stat)| stat.bad * 2 > stat.count);
    let bad_count: u64 = bad.iter().map(|(_, stat)| stat.count).sum();
    if bad_count > 0 {
        notes.push(format!(
            "left out {} for {} that mostly had an error or no response",
            counted(bad_count, "request"),
            counted(bad.len(), "path")
        ));
    }
    let mut kept = good;
    let over = kept.split_off(kept.len().min(PATHS_MAX));
    let over_count: u64 = over.iter().map(|(_, stat)| stat.count).sum::<u64>() + rare;
    if over_count > 0 {
        let share = 100.0 * over_count as f64 / total.max(1) as f64;
        notes.push(format!("left out {over_count} requests ({share:.1} %) for paths rarer than the {PATHS_MAX} most frequent"));
    }
    kept.into_iter()
        .partition(|(pattern, _)| !pattern.is_asset())
}

/// Pages per visit, as a whole number.
fn iterations(summary: Summary) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a mean of counts"
    )]
    let rounded = summary.pages_mean.round() as u64;
    rounded.max(1)
}

fn visit(
    tally: &LogTally,
    summary: Summary,
    pages: &Ranked,
    assets: &Ranked,
    feeds: &mut Feeds,
) -> YamlNode {
    let mut steps: Vec<YamlItem> = vec![ways(pages, feeds)];
    if !assets.is_empty() {
        steps.push(files(tally, assets, feeds));
    }
    let is_known = tally.clients.identity() != Identity::Unknown;
    if let Some((median, sigma)) = tally.sessions.thinks.fit().filter(|_| is_known) {
        let think = YamlNode::map([(
            "lognormal",
            YamlNode::list([
                YamlNode::plain(format!("{median:.1}s")),
                YamlNode::plain(format!("{sigma:.2}")),
            ]),
        )]);
        steps.push(YamlItem {
            notes: vec![format!("Fitted to {} gaps of at least one second within visits: median, and spread of the logarithm.", tally.sessions.thinks.count())],
            value: YamlNode::map([("think", think)]),
        });
    }
    let mut lengths = format!(
        "Pages per visit: mean {:.2}; half of the visits have at most {}, nine of ten at most {}.",
        summary.pages_mean, summary.pages_median, summary.pages_p90
    );
    if !is_known {
        "The log does not tell clients apart: each page is a visit.".clone_into(&mut lengths);
    }
    YamlNode::Map(vec![
        YamlEntry::new("iterations", YamlNode::plain(iterations(summary))).with_notes([lengths]),
        YamlEntry::new("steps", YamlNode::List(steps)),
    ])
}

/// One of the paths, by frequency.
fn ways(ranked: &Ranked, feeds: &mut Feeds) -> YamlItem {
    if let [(pattern, stat)] = ranked.as_slice() {
        return YamlItem::from(request(pattern, stat, feeds));
    }
    let ways = ranked.iter().map(|(pattern, stat)| {
        YamlNode::map([
            ("weight", YamlNode::plain(stat.count)),
            ("steps", YamlNode::list([request(pattern, stat, feeds)])),
        ])
    });
    let list = YamlNode::list(ways);
    YamlItem::from(YamlNode::map([("choose", list)]))
}

/// The resources of a page.
fn files(tally: &LogTally, assets: &Ranked, feeds: &mut Feeds) -> YamlItem {
    let mean = tally.assets as f64 / tally.pages.max(1) as f64;
    let choice = ways(assets, feeds);
    let note = format!("Files per page: {mean:.2}.");
    let value = if mean < 1.0 {
        let way = |weight: f64, steps: YamlNode| {
            YamlNode::map([
                ("weight", YamlNode::plain(format!("{weight:.3}"))),
                ("steps", steps),
            ])
        };
        let some = way(mean.max(0.001), YamlNode::List(vec![choice]));
        let nothing = way((1.0 - mean).max(0.001), YamlNode::List(Vec::new()));
        YamlNode::map([("choose", YamlNode::list([some, nothing]))])
    } else {
        // All numbers of a range are equally likely: its middle is the mean.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a mean of counts"
        )]
        let high = (2.0 * mean - 1.0).round() as u64;
        YamlNode::map([
            ("repeat", YamlNode::plain(format!("1..{}", high.max(1)))),
            ("steps", YamlNode::List(vec![choice])),
        ])
    };
    YamlItem {
        notes: vec![note],
        value,
    }
}

fn request(pattern: &Pattern, stat: &PathStats, feeds: &mut Feeds) -> YamlNode {
    let url = feeds.url(pattern, stat);
    let mut entries = vec![YamlEntry::new(
        pattern.method.to_ascii_lowercase(),
        YamlNode::text(url),
    )];
    if !pattern.names.is_empty() {
        entries.push(YamlEntry::new("label", YamlNode::text(pattern.label())));
    }
    YamlNode::Map(entries)
}

/// Lists of placeholder values.
#[derive(Default)]
struct Feeds {
    entries: Vec<YamlEntry>,
    names: BTreeMap<String, usize>,
}

impl Feeds {
    /// The URL with a placeholder for each variable value; the values become a list.
    fn url(&mut self, pattern: &Pattern, stat: &PathStats) -> String {
        let varies: Vec<bool> = (0..pattern.names.len())
            .map(|at| {
                stat.sample
                    .iter()
                    .any(|row| row.get(at) != stat.sample[0].get(at))
            })
            .collect();
        let columns = varies.iter().filter(|varies| **varies).count();
        let feed = (columns > 0).then(|| self.name(pattern));
        let mut url = String::new();
        for (at, literal) in pattern.literals.iter().enumerate() {
            url.push_str(&heuristics::literal(literal));
            let Some(name) = pattern.names.get(at) else {
                continue;
            };
            if let Some(feed) = feed.as_deref().filter(|_| varies[at]) {
                let column = if columns == 1 { "value" } else { name };
                url.push_str("{{ ");
                url.push_str(feed);
                url.push('.');
                url.push_str(column);
                url.push_str(" }}");
            } else {
                let value = stat.sample.first().and_then(|row| row.get(at));
                url.push_str(&heuristics::literal(value.map_or("", String::as_str)));
            }
        }
        if let Some(feed) = feed {
            self.entries
                .push(YamlEntry::new(feed, feed_of(pattern, stat, &varies)));
        }
        url
    }

    fn name(&mut self, pattern: &Pattern) -> String {
        let first = pattern.names.first().map_or("value", String::as_str);
        let uses = self.names.entry(first.to_owned()).or_default();
        *uses += 1;
        let name = if *uses == 1 {
            first.to_owned()
        } else {
            format!("{first}_{uses}")
        };
        // `a_2` may be the first name of another path.
        if *uses > 1 {
            *self.names.entry(name.clone()).or_default() += 1;
        }
        if self.entries.iter().any(|entry| entry.key == name) {
            return self.name(pattern);
        }
        name
    }
}

fn feed_of(pattern: &Pattern, stat: &PathStats, varies: &[bool]) -> YamlNode {
    let columns: Vec<usize> = (0..varies.len()).filter(|&at| varies[at]).collect();
    let mut sample = stat.sample.clone();
    sample.sort();
    let value =
        |row: &[String], at: usize| YamlNode::text(row.get(at).cloned().unwrap_or_default());
    let rows = sample.iter().map(|row| match columns.as_slice() {
        [at] => value(row, *at),
        columns => {
            let column = |&at: &usize| (&pattern.names[at], value(row, at));
            YamlNode::map(columns.iter().map(column))
        }
    });
    YamlNode::map([
        ("pick", YamlNode::text("random")),
        ("each", YamlNode::text("iteration")),
        ("rows", YamlNode::list(rows)),
    ])
}

fn load(
    stretches: &[Stretch],
    iterations: u64,
    busiest_hour: bool,
    (from_ms, to_ms): (i64, i64),
) -> YamlEntry {
    let mut phases: Vec<(String, f64)> = Vec::new();
    for stretch in stretches {
        let rate = rate(stretch.pages as f64 / stretch.seconds / iterations as f64);
        match phases.last_mut() {
            Some((last, seconds)) if *last == rate => *seconds += stretch.seconds,
            _ => phases.push((rate, stretch.seconds)),
        }
    }
    let nodes = phases.iter().map(|(rate, seconds)| {
        YamlNode::map([
            ("rate", YamlNode::plain(rate)),
            ("for", YamlNode::plain(format!("{seconds}s"))),
        ])
    });
    let what = if busiest_hour {
        "the busiest hour of the log"
    } else {
        "the log"
    };
    let comment = format!(
        "Arriving users, from {} to {}: pages of {what}, divided by pages per visit.",
        Replay::moment(from_ms),
        Replay::moment(to_ms)
    );
    YamlEntry::new("load", YamlNode::map([("phases", YamlNode::list(nodes))])).with_notes([comment])
}

/// Arrivals per second in readable form.
pub(super) fn rate(per_second: f64) -> String {
    let (value, unit) = if per_second >= 1.0 || per_second <= 0.0 {
        (per_second, "s")
    } else {
        (per_second * 60.0, "m")
    };
    let digits = format!("{value:.3}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    let digits = if digits == "0" && value > 0.0 {
        "0.001"
    } else {
        digits
    };
    format!("{digits}/{unit}")
}
