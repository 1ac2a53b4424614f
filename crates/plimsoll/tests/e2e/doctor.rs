//! `plimsoll doctor` and `plimsoll check` on this machine, whatever it has.

use crate::support::Sandbox;

#[test]
fn what_this_host_lacks_is_told_with_commands() {
    let place = Sandbox::new();
    let output = place.run(&["doctor", "--json"]);
    let json = output.json();
    place.assert_follows_schema("doctor", &json);
    let lacking = json["lacking"].as_u64().unwrap();
    assert_eq!(output.code, if lacking == 0 { 0 } else { 3 }, "{output:?}");
    let conditions = json["conditions"].as_array().unwrap();
    let of = |health: &str| {
        conditions
            .iter()
            .filter(|row| row["health"] == health)
            .count()
    };
    assert_eq!(of("lacking") as u64, lacking);
    assert_eq!(of("lacking") + of("weak") + of("good"), conditions.len());
    let has = |name: &str| conditions.iter().any(|row| row["name"] == name);
    for name in [
        "open files (hard limit)",
        "net.ipv4.ip_local_port_range",
        "busy neighbours",
        "CPUs",
    ] {
        assert!(has(name), "{name}: {json:#}");
    }
    for row in conditions.iter().filter(|row| row["area"] != "service") {
        let is_good = row["health"] == "good";
        assert_eq!(
            row["commands"].as_array().unwrap().is_empty(),
            is_good,
            "{row:#}"
        );
    }
}

#[test]
fn a_check_follows_its_schema() {
    let place = Sandbox::new();
    let output = place.run(&[
        "check",
        "--for",
        "3,000 users who pause ten seconds",
        "--json",
    ]);
    assert_eq!(output.code, 0, "{output:?}");
    let json = output.json();
    place.assert_follows_schema("check", &json);
    // 3,000 users with a cycle of 10.5 s.
    let rate = json["demand"]["requests_per_s"].as_f64().unwrap();
    assert!((rate - 3000.0 / 10.5).abs() < 1e-6, "{json:#}");
    let plan = "target: http://127.0.0.1:1/\nsteps:\n  - get: /\nload: { users: 3, hold: 1s }\n";
    std::fs::write(place.path().join("plan.yaml"), plan).unwrap();
    let output = place.run(&["check", "plan.yaml", "--json"]);
    assert_eq!(output.code, 0, "{output:?}");
    place.assert_follows_schema("check", &output.json());
}
