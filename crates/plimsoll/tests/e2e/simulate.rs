//! `plimsoll simulate`: the smallest world, what changes of a world do, and what is refused.

use crate::support::{Sandbox, assert_near, count, number};

const SMALLEST: &str =
    "tiers: { web: { service: exponential 8ms, servers: 1 } }\nload: { rate: 100/s }\n";

fn with_world(text: &str) -> Sandbox {
    let place = Sandbox::new();
    std::fs::write(place.path().join("world.yaml"), text).unwrap();
    place
}

#[test]
fn the_smallest_world_has_the_law_of_its_queue() {
    let place = with_world(SMALLEST);
    let output = place.run(&["simulate", "world.yaml", "--seed", "3", "--json"]);
    assert_eq!(output.code, 0, "{output:?}");
    let json = output.json();
    place.assert_follows_schema("simulate", &json);
    // M/M/1 at ρ = 0.8: the response is exponential with a mean of 8 ms / 0.2.
    assert_near(
        number(&json, "tiers.web.response_ms.mean"),
        40.0,
        0.01,
        "mean",
    );
    for (quantile, name) in [(0.5_f64, "p50"), (0.95, "p95"), (0.99, "p99")] {
        let expected = -(1.0 - quantile).ln() * 40.0;
        let found = number(&json, &format!("tiers.web.response_ms.{name}"));
        assert_near(found, expected, 0.02, name);
    }
    assert_near(number(&json, "tiers.web.busy"), 0.8, 0.01, "busy share");
    assert_near(number(&json, "tiers.web.wait_ms.mean"), 32.0, 0.02, "wait");
    assert!(number(&json, "precision") <= 0.005, "{json:#}");
    assert_eq!(json["ending"], "precise");
    // p95 < 500 ms holds up to 125/s − ln 20 / 0.5 s.
    assert_near(
        number(&json, "line.load"),
        125.0 - 20.0_f64.ln() / 0.5,
        0.02,
        "line",
    );
    assert_eq!(json["first_limit"]["tier"], "web");
    assert_eq!(json["first_limit"]["kind"], "servers");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let place = with_world(SMALLEST);
    let run = |seed: &str| {
        place
            .run(&[
                "simulate",
                "world.yaml",
                "--for",
                "5m",
                "--seed",
                seed,
                "--json",
            ])
            .stdout
    };
    assert_eq!(run("5"), run("5"));
    assert_ne!(run("5"), run("6"));
}

const FAR: &str = "\
tiers:
  web: { service: 10ms, servers: 32, region: north-europe, calls: { to: db, times: 14 } }
  db: { service: 1ms, servers: 8, region: east-us }
load: { rate: 20/s, regions: { north-europe: 100% } }
objective: p95 < 2s
";

#[test]
fn changes_are_compared() {
    let place = with_world(FAR);
    let flags = ["--for", "5m", "--seed", "1"];
    let changes = [
        "--what-if",
        "query async",
        "--what-if",
        "store moved to north-europe",
        "--what-if",
        "load x2",
    ];
    let command = [&["simulate", "world.yaml"][..], &flags[..], &changes[..]].concat();
    let output = place.run(&command);
    assert_eq!(output.code, 0, "{output:?}");
    for expected in [
        "The objective p95 < 2000ms holds",
        "14 blocking calls",
        "What if query async (calls to db keep no server)",
        "What if store moved to north-europe (db: east-us → north-europe)",
        "before",
    ] {
        assert!(output.stdout.contains(expected), "{expected}\n{output:?}");
    }
    let json = place.run(&[&command[..], &["--json"][..]].concat()).json();
    place.assert_follows_schema("simulate", &json);
    assert!(
        json["round_trips_of"]
            .as_str()
            .unwrap()
            .contains("2026-07-30"),
        "{json:#}"
    );
    let mean = |of: &serde_json::Value| number(of, "tiers.web.response_ms.mean");
    let (away, home) = (mean(&json), mean(&json["what_if"][1]["after"]));
    // 14 round trips of 73 ms, and 24 ms beside the store.
    assert!((1_000.0..1_100.0).contains(&away), "{away}");
    assert_near(home, 24.0, 0.02, "beside the store");
    assert!(number(&json["what_if"][0]["after"], "line.load") > 10.0 * number(&json, "line.load"));
    assert!(
        json["what_if"][2]["refused"].is_null(),
        "a given time shows the backlog: {json:#}"
    );
    assert!(count(&json["what_if"][2]["after"], "requests") > 0);
}

#[test]
fn what_cannot_be_is_named_with_its_remedy() {
    let cases: [(&str, &[&str], &str); 6] = [
        (
            "tiers: { web: { service: 10ms } }\nload: { rate: 200/s }\n",
            &[],
            "tier `web` is to serve 200.0 requests a second and carries 100.0 at most",
        ),
        (
            "tiers: { web: { service: 10ms, calls: db }, db: { service: 1ms, calls: web } }\nload: { rate: 1/s, to: web }\n",
            &[],
            "world.yaml:1:15: blocking calls go in a circle",
        ),
        (
            "tiers: { web: { service: 10ms, region: moon } }\nload: { rate: 1/s, regions: { east-us: 100% } }\n",
            &[],
            "there is no round trip from region `east-us` to region `moon`",
        ),
        (
            SMALLEST,
            &["--what-if", "wbe replicas +2"],
            "did you mean `web`?",
        ),
        (SMALLEST, &["--what-if", "cdn off"], "unknown tier `cdn`"),
        (SMALLEST, &["--for", "0s"], "must be above zero"),
    ];
    for (text, arguments, expected) in cases {
        let place = with_world(text);
        let output = place.run(&[&["simulate", "world.yaml"][..], arguments].concat());
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains(expected), "{expected}\n{output:?}");
    }
    let missing = Sandbox::new().run(&["simulate", "nothing.yaml"]);
    assert_eq!(missing.code, 2, "{missing:?}");
    assert!(
        missing
            .stderr
            .contains("cannot read the world nothing.yaml"),
        "{missing:?}"
    );
}

#[test]
fn a_load_beyond_the_capacity_is_shown_for_a_time() {
    let place = with_world("tiers: { web: { service: 10ms } }\nload: { rate: 200/s }\n");
    let output = place.run(&["simulate", "world.yaml", "--for", "60s", "--seed", "1"]);
    assert_eq!(output.code, 3, "{output:?}");
    assert!(output.stdout.contains("does not hold"), "{output:?}");
    assert!(
        output
            .stderr
            .contains("the world carries 100 req/s at most"),
        "{output:?}"
    );
}
