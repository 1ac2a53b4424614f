//! `plimsoll limit --through`: a pair of searches, alone and behind an edge started for it.

use std::num::NonZeroU32;
use std::time::Duration;

use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};

use crate::support::Sandbox;

/// A server that never meets the objective: both searches end with the first loads, and say so.
#[test]
fn a_pair_is_told_and_the_edges_figures_are_in_its_run() {
    let origin = KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::new(64).unwrap(),
        service: Service::Deterministic(Duration::from_millis(120)),
        ..KnownLawPlan::default()
    })
    .unwrap();
    let place = Sandbox::new();
    let configuration = format!(
        "listen: 127.0.0.1:1\naccess_log: off\ncores: 1\n\
         pools: {{ app: {{ servers: [\"http://{}\"] }} }}\n",
        origin.address()
    );
    std::fs::write(place.path().join("edge.yaml"), configuration).unwrap();
    let output = place.run(&[
        "limit",
        &origin.url(),
        "--through",
        "edge.yaml",
        "--objective",
        "p95 < 60ms",
        "--quick",
        "--json",
    ]);
    assert!(
        output.stderr.contains("measuring the target alone"),
        "{output:?}"
    );
    assert!(
        output
            .stderr
            .contains("measuring behind the edge at 127.0.0.1:"),
        "{output:?}"
    );
    let json = output.json();
    assert!(json["load_line"].is_null(), "{json:#}");
    let behind = &json["through_edge"];
    assert_eq!(behind["configuration"], "edge.yaml");
    assert!(behind["load_line"].is_null(), "{json:#}");
    assert!(behind["reason"].is_string(), "{json:#}");
    assert_ne!(json["run_file"], behind["run_file"]);
    let run = behind["run_file"].as_str().unwrap();
    let exported = place.run(&["export", "--csv", run, "--out", "tables"]);
    assert_eq!(exported.code, 0, "{exported:?}");
    let readings = std::fs::read_to_string(place.path().join("tables/readings.csv")).unwrap();
    for metric in ["plimsoll.edge.requests", "plimsoll.edge.server_answers"] {
        assert!(readings.contains(metric), "{metric} was not read");
    }
}

#[test]
fn a_broken_configuration_is_told_before_anything_is_measured() {
    let place = Sandbox::new();
    std::fs::write(place.path().join("edge.yaml"), "pools: { app: {} }").unwrap();
    let output = place.run(&["limit", "http://127.0.0.1:1", "--through", "edge.yaml"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("edge.yaml:1:"), "{output:?}");
    assert!(place.run_files().is_empty());
}
