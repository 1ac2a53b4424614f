//! Days made from known laws give these laws back.

use std::borrow::Cow;
use std::collections::BTreeSet;

use proptest::prelude::*;

use super::hash::join;
use super::summary::DaySummary;
use super::*;
use crate::entry::{HaproxyDetails, UpstreamTimes};

/// 2026-11-26 00:00 UTC.
const MIDNIGHT_MS: i64 = 1_795_651_200_000;

/// Uniform numbers in [0, 1).
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 = join(self.0, 1);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Of an exponential law with this mean.
    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.next()).ln()
    }
}

fn request(at_ms: i64, path: &str) -> LogEntry<'_> {
    LogEntry {
        at_ms,
        method: "GET".into(),
        path: path.into(),
        status: 200,
        bytes: Some(10_000),
        address: Some("192.0.2.1".into()),
        agent: Some("Firefox".into()),
        ..LogEntry::default()
    }
}

fn options() -> DayOptions {
    DayOptions {
        cache_sizes: vec![16 << 20, 64 << 20],
        ..DayOptions::default()
    }
}

fn summary<'a>(entries: impl IntoIterator<Item = LogEntry<'a>>) -> DaySummary {
    let mut day = Day::new(options()).unwrap();
    for entry in entries {
        day.take(&entry);
    }
    day.finish().unwrap()
}

/// Visits begin by a Poisson process, 61 of 100 on the front page, and go on with probability 0.6 after each page.
#[test]
fn visits_of_a_known_process_are_counted() {
    let mut uniform = Uniform(5);
    let mut entries: Vec<LogEntry<'static>> = Vec::new();
    let (mut visits, mut on_front, mut views) = (0_u64, 0_u64, 0_u64);
    let mut at_ms = MIDNIGHT_MS as f64;
    for number in 0..20_000_u32 {
        at_ms += uniform.exponential(2_000.0);
        visits += 1;
        let agent = if number % 2 == 0 { "Firefox" } else { "Chrome" };
        // Two agents share an address, and are two clients.
        let address = format!("10.0.{}.{}", number / 2 / 250, number / 2 % 250);
        let mut view_ms = at_ms;
        let mut is_first = true;
        loop {
            let is_front = is_first && uniform.next() < 0.61;
            on_front += u64::from(is_front);
            views += 1;
            let path = if is_front {
                "/?utm=x".to_owned()
            } else {
                format!("/article/{}", whole(uniform.next() * 5_000.0))
            };
            for path in [path, "/style.css".to_owned()] {
                entries.push(LogEntry {
                    address: Some(Cow::Owned(address.clone())),
                    agent: Some(agent.into()),
                    ..request(millis(view_ms), &path).into_owned_for_test()
                });
            }
            if uniform.next() >= 0.6 {
                break;
            }
            is_first = false;
            view_ms += uniform.exponential(60_000.0).min(1_700_000.0);
        }
    }
    entries.sort_by_key(|entry| entry.at_ms);
    let day = summary(entries);
    assert_eq!(day.visits, Some(visits));
    assert_eq!(day.funnel.page_views, views);
    let share = on_front as f64 / visits as f64;
    assert!((day.landing_share.unwrap() - share).abs() < 1e-9);
    assert_eq!(day.funnel.landing_page.as_deref(), Some("/"));
    let details = day.visit_details.unwrap();
    let off = (details.clients as f64 / 20_000.0 - 1.0).abs();
    assert!(off < details.clients_error, "{}", details.clients);
    assert!((details.page_views_per_visit.unwrap() - views as f64 / visits as f64).abs() < 1e-9);
    assert_eq!(day.kinds["page"], views);
    assert_eq!(day.kinds["asset"], views);
}

fn millis(ms: f64) -> i64 {
    i64::try_from(whole(ms)).unwrap()
}

trait IntoOwned {
    fn into_owned_for_test(self) -> LogEntry<'static>;
}

impl IntoOwned for LogEntry<'_> {
    fn into_owned_for_test(self) -> LogEntry<'static> {
        LogEntry {
            at_ms: self.at_ms,
            method: "GET".into(),
            path: Cow::Owned(self.path.into_owned()),
            status: self.status,
            bytes: self.bytes,
            ..LogEntry::default()
        }
    }
}

#[test]
fn popularity_of_a_known_law_gives_its_exponent_back() {
    let (texts, exponent) = (20_000, 0.9);
    let mut sums = Vec::with_capacity(texts);
    let mut sum = 0.0;
    for rank in 1..=texts {
        sum += (rank as f64).powf(-exponent);
        sums.push(sum);
    }
    let mut uniform = Uniform(11);
    let mut day = Day::new(options()).unwrap();
    let (mut distinct, mut first) = (BTreeSet::new(), 0_u32);
    for number in 0..300_000_i64 {
        let at = uniform.next() * sum;
        let rank = sums.partition_point(|sum| *sum <= at) + 1;
        first += u32::from(rank == 1);
        distinct.insert(rank);
        day.take(&request(
            MIDNIGHT_MS + number * 10,
            &format!("/article/{rank}"),
        ));
        // Assets are not part of it.
        day.take(&request(MIDNIGHT_MS + number * 10, "/app.js"));
    }
    let day = day.finish().unwrap();
    let zipf = day.popularity.zipf.as_ref().unwrap();
    assert!(
        (zipf.exponent - exponent).abs() <= 1.5 * zipf.error,
        "{zipf:?}"
    );
    assert!(zipf.error < 0.03 && zipf.deviation < 0.01, "{zipf:?}");
    assert_eq!(day.zipf_exponent, Some(zipf.exponent));
    let top = &day.popularity.top[0];
    assert_eq!(
        (top.url.as_str(), top.requests),
        ("/article/1", u64::from(first))
    );
    let counted = day.popularity.distinct_urls as f64 / (distinct.len() + 1) as f64;
    assert!((counted - 1.0).abs() < day.popularity.distinct_urls_error);
    assert_eq!(day.popularity.of, "pages");
}

#[test]
fn times_count_from_beginnings() {
    let end = LogEntry {
        is_end: true,
        lasted_ms: Some(90_000.0),
        ..request(MIDNIGHT_MS + 100_000, "/slow")
    };
    let day = summary([end]);
    assert_eq!(day.from, "2026-11-26T00:00:10Z");
    assert_eq!(day.requests_by_minute[0].at, "2026-11-26T00:00:00Z");
    let times = day.response_time_ms.unwrap();
    assert!((times.p50 - 90_000.0).abs() < 90.0);
}

#[test]
fn the_funnel_ends_where_the_log_tells_what_reached_the_service() {
    use CacheOutcome::{Bypass, Hit, Miss, Revalidated, Stale};

    let with_cache = |cache| LogEntry {
        cache: Some(cache),
        ..request(MIDNIGHT_MS, "/")
    };
    let day = summary([Hit, Hit, Hit, Stale, Revalidated, Miss, Miss, Bypass].map(with_cache));
    assert_eq!(day.funnel.cache_misses, Some(2));
    assert_eq!(day.funnel.reach_service, 4);
    assert!((day.cache.unwrap().hit_share - 5.0 / 8.0).abs() < 1e-9);
    assert_eq!(day.requests_by_minute[0].reach_service, 4);

    let behind = |upstream| LogEntry {
        upstream,
        ..request(MIDNIGHT_MS, "/")
    };
    let times = UpstreamTimes {
        tries: 2,
        header_ms: Some(5.0),
        ..UpstreamTimes::default()
    };
    let day = summary([behind(Some(times)), behind(None)]);
    assert_eq!(
        (day.funnel.reach_service, day.funnel.cache_misses),
        (1, None)
    );
    assert_eq!(day.upstream.unwrap().tried_several, 1);

    let state = |server, termination| LogEntry {
        haproxy: Some(HaproxyDetails {
            server,
            termination,
            ..HaproxyDetails::default()
        }),
        ..request(MIDNIGHT_MS, "/")
    };
    let day = summary([state("a", "----"), state("<NOSRV>", "LR--")]);
    assert_eq!(day.funnel.reach_service, 1);
    assert_eq!(day.termination.unwrap()["LR"].count, 1);

    let day = summary([request(MIDNIGHT_MS, "/"), request(MIDNIGHT_MS, "/a.css")]);
    assert_eq!(day.funnel.reach_service, 2);
}

#[test]
fn without_addresses_there_are_no_visits() {
    let day = summary([LogEntry {
        address: None,
        ..request(MIDNIGHT_MS, "/")
    }]);
    assert_eq!((day.visits, day.landing_share), (None, None));
    assert!(day.visit_details.is_none() && day.crawlers.is_none());
    assert!(Day::new(options()).unwrap().finish().is_none());
}

#[test]
fn an_interface_without_pages_has_visits_too() {
    let call = |at_ms, address: &'static str| LogEntry {
        address: Some(address.into()),
        ..request(at_ms, "/api/items")
    };
    let day = summary([
        call(MIDNIGHT_MS, "192.0.2.1"),
        call(MIDNIGHT_MS + 1000, "192.0.2.1"),
        call(MIDNIGHT_MS + 7_200_000, "192.0.2.1"),
        call(MIDNIGHT_MS, "192.0.2.2"),
    ]);
    assert_eq!(day.visits, Some(3));
    assert!(!day.visit_details.unwrap().of_pages);
    assert_eq!(day.popularity.of, "requests");
}

#[test]
fn crawlers_are_neither_visits_nor_page_views_of_people() {
    let bot = LogEntry {
        agent: Some("Mozilla/5.0 (compatible; Googlebot/2.1)".into()),
        ..request(MIDNIGHT_MS, "/")
    };
    let day = summary([bot.clone(), bot, request(MIDNIGHT_MS, "/")]);
    assert_eq!((day.visits, day.funnel.page_views), (Some(1), 1));
    let crawlers = day.crawlers.unwrap();
    assert_eq!((crawlers.by_agent, crawlers.names["Googlebot"]), (2, 2));
}

/// A flood of different clients and URLs: tables stay at their bounds.
#[test]
fn memory_is_bounded() {
    let mut day = Day::new(options()).unwrap();
    for number in 0..1_500_000_u32 {
        let path = format!("/{}?q={number}", "x".repeat(100));
        let address = std::net::Ipv4Addr::from(number).to_string();
        let entry = LogEntry {
            address: Some(address.into()),
            host: Some(format!("host{}", number % 5000).into()),
            ..request(MIDNIGHT_MS + i64::from(number / 1000), &path)
        };
        day.take(&entry);
    }
    let day = day.finish().unwrap();
    let details = day.visit_details.unwrap();
    let off = (day.visits.unwrap() as f64 / 1_500_000.0 - 1.0).abs();
    assert!(off <= details.error && details.error < 0.01, "{off}");
    let off = (day.popularity.distinct_urls as f64 / 1_500_000.0 - 1.0).abs();
    assert!(off <= day.popularity.distinct_urls_error, "{off}");
}

fn entry() -> impl Strategy<Value = LogEntry<'static>> {
    let text = prop_oneof![Just("/".to_owned()), "/[a-z0-9./?=&;%#-]{0,30}", ".{0,20}"];
    let number = prop_oneof![Just(f64::NAN), Just(f64::INFINITY), -1e9..1e18_f64];
    (
        (
            any::<i64>(),
            any::<bool>(),
            prop::option::of(number.clone()),
            any::<u16>(),
        ),
        (
            text.clone(),
            prop::option::of(text.clone()),
            prop::option::of(text.clone()),
            text,
        ),
        (
            prop::option::of(any::<u64>()),
            prop::option::of(any::<f32>()),
            any::<bool>(),
        ),
    )
        .prop_map(|(moment, texts, sizes)| {
            let (at_ms, is_end, lasted_ms, status) = moment;
            let (path, address, agent, method) = texts;
            LogEntry {
                at_ms: at_ms / 4,
                is_end,
                lasted_ms,
                status,
                path: path.into(),
                address: address.map(Cow::Owned),
                agent: agent.map(Cow::Owned),
                method: method.into(),
                bytes: sizes.0,
                compression_ratio: sizes.1,
                cache: sizes.2.then_some(CacheOutcome::Hit),
                upstream: sizes.2.then(|| UpstreamTimes {
                    connect_ms: lasted_ms,
                    ..UpstreamTimes::default()
                }),
                haproxy: (!sizes.2).then(|| HaproxyDetails {
                    queue_ms: lasted_ms,
                    termination: "sé",
                    ..HaproxyDetails::default()
                }),
                ..LogEntry::default()
            }
        })
}

proptest! {
    #[test]
    fn any_entries_sum_up(entries in prop::collection::vec(entry(), 1..60)) {
        let number = entries.len() as u64;
        let day = summary(entries);
        prop_assert_eq!(day.requests, number);
        prop_assert_eq!(day.kinds.values().sum::<u64>(), number);
        prop_assert_eq!(day.statuses.values().sum::<u64>(), number);
        let minutes: u64 = day.requests_by_minute.iter().map(|minute| minute.requests).sum();
        prop_assert_eq!(minutes + day.requests_outside, number);
        let text = serde_json::to_string(&day).unwrap();
        prop_assert!(!text.contains("NaN"));
    }

    #[test]
    fn the_order_of_two_logs_of_different_clients_changes_no_counts(seed in any::<u64>()) {
        let mut uniform = Uniform(seed);
        let entries: Vec<LogEntry<'static>> = (0..200_u64)
            .map(|number| {
                let path = format!("/{}", whole(uniform.next() * 20.0));
                let at_ms = MIDNIGHT_MS + millis(uniform.next() * 1e7);
                LogEntry {
                    address: Some(Cow::Owned(format!("10.0.0.{number}"))),
                    ..request(at_ms, &path).into_owned_for_test()
                }
            })
            .collect();
        let mut other = entries.clone();
        other.reverse();
        let (single, two) = (summary(entries), summary(other));
        prop_assert_eq!(single.requests_by_minute, two.requests_by_minute);
        prop_assert_eq!((single.visits, single.busiest, single.popularity), (two.visits, two.busiest, two.popularity));
    }
}
