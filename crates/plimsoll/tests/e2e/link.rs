//! `plimsoll link`: a load through it, what it reports, and what it refuses.

use std::io::{BufRead as _, BufReader, Read as _};
use std::num::NonZeroU32;
use std::process::{Child, ChildStderr};
use std::time::Duration;

use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};
use plimsoll_testkit::port;

use crate::support::{CommandOutput, Sandbox, count, interrupt, is_late, number};

/// Links that carry, until they are ended.
struct RunningLinks {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// What they have printed before they carried.
    introduction: String,
}

impl RunningLinks {
    fn start(place: &Sandbox, arguments: &[&str]) -> Self {
        let mut child = place.start(&[&["link"], arguments].concat());
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut introduction = String::new();
        while !introduction.contains("Ctrl-C") {
            let read = stderr.read_line(&mut introduction).unwrap();
            assert!(read > 0, "{introduction}");
        }
        Self {
            child,
            stderr,
            introduction,
        }
    }

    /// Where the links listen, in their order.
    fn addresses(&self) -> Vec<&str> {
        let links = self.introduction.lines();
        links
            .filter_map(|line| Some(line.strip_prefix("link ")?.split_once(" → ")?.0))
            .collect()
    }

    /// Interrupts them.
    fn end(mut self) -> CommandOutput {
        interrupt(&self.child);
        let mut stderr = String::new();
        self.stderr.read_to_string(&mut stderr).unwrap();
        CommandOutput {
            stderr,
            ..self.child.wait_with_output().unwrap().into()
        }
    }
}

fn origin() -> KnownLaw {
    KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::new(4096).unwrap(),
        service: Service::Deterministic(Duration::from_millis(2)),
        ..KnownLawPlan::default()
    })
    .unwrap()
}

fn to(origin: &KnownLaw) -> String {
    let url = origin.url();
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    address.to_owned()
}

#[test]
fn a_load_through_a_link_takes_a_round_trip_more() {
    let origin = origin();
    let place = Sandbox::new();
    let pair = format!("127.0.0.1:0={}", to(&origin));
    let links = RunningLinks::start(&place, &[&pair, "--delay", "80ms", "--seed", "7", "--json"]);
    let url = format!("http://{}/", links.addresses()[0]);
    let load = place.run(&[
        "run", &url, "--rate", "40/s", "--for", "2s", "--json", "--quiet",
    ]);
    load.assert_sent();
    let output = links.end();
    assert_eq!(output.code, 0, "{output:?}");
    let json = output.json();
    place.assert_follows_schema("link", &json);
    assert_eq!(json["seed"], 7);
    let link = &json["links"][0];
    assert_eq!(link["round_trip"], "80ms");
    assert!(count(link, "connections") > 0, "{json:#}");
    assert_eq!(count(link, "unreachable"), 0, "{json:#}");
    // At its end the load resets its connections, so that their ports are free; how many resets are through by now is open.
    assert!(
        count(link, "reset") <= count(link, "connections"),
        "{json:#}"
    );
    let Some(run) = load.measured() else {
        return;
    };
    let answered = count(&run, "outcomes.ok");
    assert!(answered > 0, "{run:#}");
    assert!(count(link, "to_target.bytes") > 40 * answered, "{json:#}");
    assert!(
        count(link, "from_target.bytes") > 100 * answered,
        "{json:#}"
    );
    // No request is answered sooner than after 80 ms on the way and 2 ms of service.
    let median_ms = number(&run, "response_time_ms.p50");
    assert!(median_ms >= 81.9, "{median_ms} ms");
    let late = |direction: &str| number(&link[direction], "late_ms_p50");
    let late_ms = late("to_target") + late("from_target");
    if late_ms > 2.0 {
        plimsoll_testkit::not_tried::disturbed(format_args!("the link was {late_ms} ms late"));
        return;
    }
    if is_late(origin.counts().delay_mean(), Duration::from_millis(5)) {
        return;
    }
    // Two round trips would be 162 ms.
    assert!(median_ms < 100.0, "{median_ms} ms");
}

#[test]
fn regions_have_their_distances_and_their_source() {
    let origin = origin();
    let place = Sandbox::new();
    let to = to(&origin);
    let far = format!("127.0.0.1:0={to}@japan-east");
    let near = format!("127.0.0.1:0={to}@5ms");
    let flags = ["--service-in", "west-europe", "--bandwidth", "10Mbit/s"];
    let links = RunningLinks::start(
        &place,
        &[&[far.as_str(), near.as_str()], &flags[..]].concat(),
    );
    let introduction = links.introduction.clone();
    for expected in [
        "round trip 234ms (japan-east to west-europe), 10 Mbit/s with a burst of 6.1 KiB",
        "round trip 5ms, 10 Mbit/s",
        "Microsoft, Azure network round-trip latency statistics",
        "2026-07-30",
        "seed ",
    ] {
        assert!(introduction.contains(expected), "{introduction}");
    }
    assert_eq!(links.addresses().len(), 2);
    let output = links.end();
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("connections  0"), "{output:?}");

    let table = "# source: our own\nfrom,b\na,7\n";
    std::fs::write(place.path().join("own.csv"), table).unwrap();
    let own = format!("127.0.0.1:0={to}@a");
    let flags = ["--service-in", "b", "--regions", "own.csv"];
    let links = RunningLinks::start(&place, &[&[own.as_str()], &flags[..]].concat());
    assert!(
        links.introduction.contains("round trip 7ms (a to b)"),
        "{}",
        links.introduction
    );
    assert!(
        links.introduction.contains("our own"),
        "{}",
        links.introduction
    );
    links.end();
}

#[test]
fn what_would_be_no_link_or_a_danger_is_refused() {
    let place = Sandbox::new();
    let circle = port::unused();
    let circle = format!("{circle}={circle}");
    let delay = ["--delay", "80ms"];
    let region = "127.0.0.1:0=127.0.0.1:1@atlantis";
    for (arguments, expected) in [
        (&["127.0.0.1:0=127.0.0.1:1"][..], "--delay 80ms"),
        (&["127.0.0.1:0"], "LISTEN=TO"),
        (&[&circle, delay[0], delay[1]], "leads back to itself"),
        (
            &["0.0.0.0:0=127.0.0.1:1", delay[0], delay[1]],
            "--allow-public",
        ),
        (
            &["127.0.0.1:0=192.0.2.1:80", delay[0], delay[1]],
            "--i-own-this",
        ),
        (&[region], "--service-in"),
        (
            &[region, "--service-in", "west-europe"],
            "unknown region `atlantis`",
        ),
        (
            &[region, "--service-in", "a", "--regions", "nowhere.csv"],
            "nowhere.csv",
        ),
        (
            &["127.0.0.1:0=127.0.0.1:1", "--bandwidth", "10Mbps"],
            "100Mbit/s",
        ),
    ] {
        let output = place.run(&[&["link"], arguments].concat());
        assert_eq!(output.code, 2, "{arguments:?}: {output:?}");
        assert!(
            output.stderr.contains(expected),
            "{arguments:?}: {output:?}"
        );
    }
}
