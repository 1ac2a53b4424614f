//! Worlds that are read, and what is refused, each with its place.

use std::time::Duration;

use plimsoll_model::distribution::DurationDistribution;
use proptest::prelude::*;

use super::*;
use crate::document::TestSurroundings;

const SMALLEST: &str =
    "tiers: { web: { service: exponential 8ms, servers: 1 } }\nload: { rate: 100/s }\n";

fn world(text: &str) -> World {
    read(text, &TestSurroundings::default()).unwrap()
}

/// The errors of a world, one a line.
fn errors(text: &str) -> String {
    let errors = read(text, &TestSurroundings::default()).unwrap_err();
    errors.lines("w").join("\n")
}

fn ms(ms: u64) -> DurationDistribution {
    DurationDistribution::Fixed(Duration::from_millis(ms))
}

#[test]
fn the_smallest_world_is_valid() {
    let world = world(SMALLEST);
    let web = &world.tiers[0];
    assert_eq!(web.name, "web");
    let mean = Duration::from_millis(8);
    assert_eq!(web.service, DurationDistribution::Exponential(mean));
    assert_eq!((web.servers, web.replicas, web.queue), (1, 1, None));
    assert_eq!(world.load.demand, WorldDemand::Rate(100.0));
    assert_eq!(world.load.groups.len(), 1);
    assert_eq!(world.objective, objective::objective(OBJECTIVE).unwrap());
}

const MARKET: &str = "\
tiers:
  web: { service: 2ms, servers: 16, region: north-europe, queue: 100, timeout: 2s, calls: [ { to: db, times: 14 } ] }
  db: { service: lognormal 1ms 0.5, servers: 8, region: east-us, cache: { hit: 10%, service: 100us } }
load:
  users: 500
  think: { exponential: 10s }
  patience: 8s
  retries: 2
  regions: { north-europe: 40%, japan-east: { share: 60%, to: web } }
objective: p99 < 1s
links:
  - { between: [web, db], round_trip: 90ms }
";

#[test]
fn a_world_with_everything_is_read() {
    let world = world(MARKET);
    let (web, db) = (&world.tiers[0], &world.tiers[1]);
    assert_eq!(web.calls[0].to, [1]);
    assert_eq!((web.calls[0].times, web.calls[0].blocking), (14, true));
    assert_eq!(
        (web.queue, web.timeout),
        (Some(100), Some(Duration::from_secs(2)))
    );
    assert!((db.hit_share() - 0.1).abs() < 1e-12);
    assert_eq!(world.distances.of_call(web, db), Ok(ms(90)));
    let from = |region| world.distances.of_clients(Some(region), web);
    assert_eq!(from("japan-east"), Ok(ms(227)));
    assert_eq!(from("north-europe"), Ok(ms(0)));
    assert_eq!(world.load.groups[1].to, 0);
    assert_eq!(world.load.retries, 2);
    assert_eq!(world.objective.to_string(), "p99 < 1000ms");
}

#[test]
fn laws_are_written_in_words() {
    let mean = Duration::from_millis(8);
    for (text, expected) in [
        ("8ms", ms(8)),
        ("fixed 8ms", ms(8)),
        ("exponential 8ms", DurationDistribution::Exponential(mean)),
        ("exponential: 8ms", DurationDistribution::Exponential(mean)),
        (
            "uniform 8ms..9ms",
            DurationDistribution::Uniform(mean, Duration::from_millis(9)),
        ),
        (
            "8ms..9ms",
            DurationDistribution::Uniform(mean, Duration::from_millis(9)),
        ),
        (
            "normal  8ms 1ms",
            DurationDistribution::Normal(mean, Duration::from_millis(1)),
        ),
        (
            "lognormal 8ms 0.5",
            DurationDistribution::LogNormal(mean, 0.5),
        ),
        (
            "lognormal: [8ms, 0.5]",
            DurationDistribution::LogNormal(mean, 0.5),
        ),
    ] {
        assert_eq!(law_of_text(text), Ok(expected), "{text}");
    }
    for (wrong, at, message) in [
        ("exponentail 8ms", 0, "unknown distribution"),
        ("exponential", 11, "the mean is missing"),
        ("exponential 8", 13, "the unit is missing"),
        ("exponential 8ms 9ms", 16, "unexpected text"),
        ("lognormal 8ms wide", 14, "not a number from 0 to 5"),
        ("exponential 2h", 0, "too long"),
        ("normal 8ms", 10, "the standard deviation is missing"),
    ] {
        let problem = law_of_text(wrong).unwrap_err();
        assert_eq!(problem.span.start, at, "{problem}");
        assert!(problem.message.contains(message), "{problem}");
    }
}

#[test]
fn worlds_that_cannot_be_are_named_with_their_remedy() {
    for (text, expected) in [
        ("", "the world is empty"),
        (
            "tiers: { web: { service: 8ms } }",
            "`load` is missing; valid: load: { rate: 100/s }",
        ),
        ("tiers: {}\nload: { rate: 1/s }", "the world has 0 tiers"),
        (
            "tiers: { web: { servers: 1 } }\nload: { rate: 1/s }",
            "w:1:15: `service` is missing",
        ),
        (
            "tiers: { Web: { service: 1ms } }\nload: { rate: 1/s }",
            "not a valid name of a tier",
        ),
        (
            "tiers: { web: { service: 1ms } }\nload: { rat: 1/s }",
            "did you mean `rate`?",
        ),
        (
            "tiers: { web: { service: 1ms } }\nload: { users: 5 }",
            "`think` is missing",
        ),
        (
            "tiers: { web: { service: 1ms } }\nload: { users: 5, think: 0 }",
            "must be above zero",
        ),
        (
            "tiers: { web: { service: 1ms, calls: bd }, db: { service: 1ms } }\nload: { rate: 1/s, to: web }",
            "unknown tier `bd`; valid: web, db; did you mean `db`?",
        ),
        (
            "tiers: { web: { service: 1ms, calls: db }, db: { service: 1ms, calls: web } }\nload: { rate: 1/s, to: web }",
            "blocking calls go in a circle, and each waits for itself: web → db → web; valid: calls in one direction",
        ),
        (
            "tiers: { a: { service: 1ms }, b: { service: 1ms } }\nload: { rate: 1/s }",
            "`to` is missing, and several tiers are called by no other: a, b; valid: to: a",
        ),
        (
            "tiers: { web: { service: 1ms, servers: 4, threads: 2 } }\nload: { rate: 1/s }",
            "2 threads cannot keep 4 servers busy",
        ),
        (
            "tiers: { a: { service: 1ms, calls: { to: b, times: 9999 } }, b: { service: 1ms, calls: { to: c, times: 9999 } }, \
             c: { service: 1ms } }\nload: { rate: 1/s }",
            "requests; valid: at most 100000",
        ),
        (
            "tiers: { web: { service: 1ms } }\nload: { rate: 1/s }\nobjective: broadcast p99 < 1s",
            "broadcasts are not simulated",
        ),
    ] {
        let errors = errors(text);
        assert!(errors.contains(expected), "{text}\n{errors}");
    }
}

#[test]
fn distances_that_are_not_known_are_named_with_their_remedy() {
    for (text, expected) in [
        (
            "tiers: { web: { service: 1ms, region: mars, calls: db }, db: { service: 1ms, region: east-us } }\nload: { rate: 1/s }",
            "there is no round trip from region `mars` to region `east-us`; valid: a link such as { between: [mars, east-us]",
        ),
        (
            "tiers: { web: { service: 1ms, region: east-us } }\nload: { rate: 1/s, regions: { mars: 100% } }",
            "there is no round trip from region `mars` to region `east-us`",
        ),
        (
            "tiers: { web: { service: 1ms } }\nload: { rate: 1/s, regions: east-us }",
            "how far is `web` from clients in `east-us`?",
        ),
        (
            "tiers: { web: { service: 1ms, region: east-us } }\nload: { rate: 1/s, regions: { east-us: 50% } }",
            "the shares of the regions add up to 50.0%; valid: 100% in all",
        ),
    ] {
        let errors = errors(text);
        assert!(errors.contains(expected), "{text}\n{errors}");
    }
}

#[test]
fn a_table_of_ones_own_goes_before_the_built_in() {
    let csv = b"from,here,there\nhere,,10\nthere,12,\n";
    let files = TestSurroundings::with_files([("ways.csv", &csv[..])]);
    let text = "tiers: { web: { service: 1ms, region: here } }\nload: { rate: 1/s, regions: there }\nregions: ways.csv\n";
    let world = read(text, &files).unwrap();
    let way = world.distances.of_clients(Some("there"), &world.tiers[0]);
    assert_eq!(way, Ok(ms(12)));
    assert!(errors(text).contains("`ways.csv` cannot be read"));
}

#[test]
fn changes_are_lines() {
    let before = world(MARKET);
    let after = |text: &str| {
        let change = WhatIf::read(text, &before).unwrap();
        assert_eq!(change.text(), text);
        (change.applied(&before).unwrap(), change.describe(&before))
    };
    let (world, words) = after("replicas +2");
    assert_eq!(
        (world.tiers[0].replicas, words.as_str()),
        (3, "web: replicas 1 → 3")
    );
    assert_eq!(after("db servers 16").0.tiers[1].servers, 16);
    assert_eq!(after("cache busted").0.tiers[1].cache, None);
    assert_eq!(after("cdn off").0.tiers[1].cache, None);
    assert!(!after("query async").0.tiers[0].calls[0].blocking);
    assert!(!after("db async").0.tiers[0].calls[0].blocking);
    assert_eq!(after("client retries 5").0.load.retries, 5);
    let WorldDemand::Users { count, .. } = after("client retries x3").0.load.demand else {
        panic!("users remain users");
    };
    assert_eq!(count, 1500);
    assert_eq!(after("load x0.5").1, "0.5 times the load");
    // The link that was written for the old place is gone with the move.
    let (world, words) = after("store moved to north-europe");
    let way = world.distances.of_call(&world.tiers[0], &world.tiers[1]);
    assert_eq!(
        (way, words.as_str()),
        (Ok(ms(0)), "db: east-us → north-europe")
    );
}

#[test]
fn what_is_no_change_is_named_with_its_place() {
    let world = world(MARKET);
    for (wrong, at, message) in [
        ("", 0, "empty"),
        ("web replica +2", 4, "not a change"),
        ("wbe replicas +2", 0, "unknown tier"),
        ("web replicas many", 13, "not a number"),
        ("web replicas -1", 13, "out of range"),
        ("web replicas 1", 13, "there are 1 already"),
        ("web off", 0, "has no cache"),
        ("web async", 0, "no call blocks there"),
        ("db moved to mars", 12, "unknown region"),
        ("client retries often", 15, "not a number of retries"),
        ("load x0", 5, "not a factor"),
    ] {
        let problem = WhatIf::read(wrong, &world).unwrap_err();
        assert_eq!(problem.span.start, at, "{problem}");
        assert!(problem.message.contains(message), "{problem}");
    }
    let mut many = world.clone();
    if let WorldDemand::Users { count, .. } = &mut many.load.demand {
        *count = 20_000;
    }
    let problem = WhatIf::read("load x1000", &many).unwrap_err();
    assert_eq!(problem.span.start, 5, "{problem}");
    assert!(
        problem.message.contains("the load would be 20000000 users"),
        "{problem}"
    );
    let smallest = read(SMALLEST, &TestSurroundings::default()).unwrap();
    let nowhere = WhatIf::read("web moved to east-us", &smallest).unwrap_err();
    assert!(
        nowhere.message.contains("nothing else has a region"),
        "{nowhere}"
    );
}

#[test]
fn the_schema_accepts_what_is_read() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let value = serde_json::json!({
        "tiers": { "web": { "service": "exponential 8ms", "servers": 1, "cache": "90%", "calls": ["db"] }, "db": { "service": "1ms" } },
        "load": { "rate": "100/s", "regions": { "east-us": "40%", "west-us": { "share": "60%", "to": "web" } } },
        "links": [{ "between": ["web", "db"], "round_trip": { "lognormal": ["85ms", 0.5] } }],
    });
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new());
    assert!(!validator.is_valid(&serde_json::json!({ "tires": {} })));
    assert!(reference().contains("## `world-load`"));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
        let _ = read(&text, &TestSurroundings::default());
        let _ = law_of_text(&text);
        let _ = WhatIf::read(&text, &world(MARKET));
    }
}
