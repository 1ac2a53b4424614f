//! Users of a plan who give up, on the command line.

use plimsoll_testkit::origin::site;
use serde_json::json;

use crate::support::Sandbox;

#[test]
fn users_who_gave_up_are_reported_by_step_and_time() {
    let site = site::start().unwrap();
    let place = Sandbox::new();
    let plan = format!(
        "target: http://{}\njourneys:\n  reader:\n    gives_up: 200ms\n    steps:\n      - get: /items\n      - get: /slow/60000\n        label: search\nload: {{ users: 2, hold: 2s }}\n",
        site.address()
    );
    std::fs::write(place.path().join("plan.yaml"), plan).unwrap();
    let users = &place.run(&["run", "plan.yaml", "--json"]).json()["users"];
    let gave_up = users["gave_up"].as_u64().unwrap();
    assert!(gave_up >= 2, "{users:#}");
    assert_eq!(users["lost"], users["gave_up"], "{users:#}");
    let first = &users["gave_up_at"][0];
    assert_eq!(
        (&first["label"], &first["journey"], &first["once"]),
        (&json!("search"), &json!("reader"), &json!(false)),
        "{users:#}"
    );
    let soonest = first["waited_ms"]["p50"].as_f64().unwrap();
    assert!(soonest >= 200.0, "{users:#}");
    let check = place.run(&["check", "plan.yaml"]);
    assert_eq!(check.code, 0, "{check:?}");
}
