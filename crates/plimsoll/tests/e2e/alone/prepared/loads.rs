//! Rates, times and objectives of loads that take little of the machine.

use std::time::Duration;

use plimsoll_testkit::origin::known_law::Service;
use plimsoll_testkit::turns::{measuring, quietly};

use crate::nginx::{NginxProcess, ONE_KILOBYTE};
use crate::run::origin;
use crate::support::{Sandbox, assert_near, count, is_late, number};

#[test]
fn an_even_rate_is_kept_and_counted() {
    let _turn = measuring();
    let nginx = NginxProcess::start(ONE_KILOBYTE);
    let (place, url) = (Sandbox::new(), nginx.url());
    let load = ["--rate", "500/s", "--spacing", "even", "--for", "3s"];
    let output = quietly(|| place.run(&[&["run", &url, "--json"][..], &load].concat()));
    let json = output.json();
    assert_near(number(&json, "offered"), 500.0, 0.01, "offered");
    assert_eq!(count(&json, "requests"), 1500);
    assert_eq!(count(&json, "outcomes.ok"), 1500);
    assert_eq!(count(&json, "status.200"), 1500);
    let Some(json) = output.measured() else {
        return;
    };
    assert_eq!(output.code, 0, "{output:?}");
    assert_near(number(&json, "completed"), 500.0, 0.02, "completed");
}

#[test]
fn an_objective_decides_the_exit_code() {
    let _turn = measuring();
    let origin = origin(Service::Deterministic(Duration::from_millis(20)));
    let place = Sandbox::new();
    let check = |objective: &str, bound_ms: f64| {
        let output = place.run(&[
            "run",
            &origin.url(),
            "--rate",
            "50/s",
            "--for",
            "1s",
            "--objective",
            objective,
            "--json",
        ]);
        let Some(json) = output.measured() else {
            assert_eq!(output.code, 6, "{output:?}");
            return;
        };
        let p95 = number(&json, "response_time_ms.p95");
        assert!(p95 > 19.0, "{json:#}");
        // An origin that got no CPU for so long misses two seconds as well.
        let code = if p95 < bound_ms { 0 } else { 3 };
        assert_eq!(output.code, code, "{output:?}");
    };
    quietly(|| {
        check("p95 < 2s, errors < 1%", 2000.0);
        check("p95 < 5ms", 5.0);
        check("p(95)<2000, rate<0.01", 2000.0);
    });
}

#[test]
fn service_times_are_those_of_the_origin() {
    let _turn = measuring();
    let origin = origin(Service::Deterministic(Duration::from_millis(50)));
    let (place, url) = (Sandbox::new(), origin.url());
    let load = ["run", &url, "--rate", "100/s", "--for", "2s", "--json"];
    let output = quietly(|| place.run(&load));
    let Some(json) = output.measured() else {
        return;
    };
    if is_late(origin.counts().late_mean(), Duration::from_millis(1)) {
        return;
    }
    assert_near(number(&json, "response_time_ms.p50"), 50.0, 0.1, "p50");
    assert_near(
        number(&json, "service_time_ms.p50"),
        50.0,
        0.1,
        "service p50",
    );
}
