//! Traces of real services: OpenTelemetry's SDK for Node, PostgreSQL, and a called service.

use plimsoll_testkit::port;
use plimsoll_testkit::program::databases::Postgres;
use plimsoll_testkit::program::traced::Traced;
use plimsoll_testkit::turns::{measuring, quietly};
use serde_json::Value;

use crate::support::Sandbox;

fn number(of: &Value, name: &str) -> f64 {
    of[name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name}: {of:#}"))
}

#[track_caller]
fn route<'a>(routes: &'a Value, service: &str, name: &str) -> &'a Value {
    let mut all = routes.as_array().unwrap().iter();
    all.find(|route| route["service"] == service && route["route"] == name)
        .unwrap_or_else(|| panic!("no {name} of {service}: {routes:#}"))
}

#[track_caller]
fn component<'a>(route: &'a Value, kind: &str, name: &str) -> &'a Value {
    let mut all = route["components"].as_array().unwrap().iter();
    all.find(|candidate| candidate["kind"] == kind && candidate["component"] == name)
        .unwrap_or_else(|| panic!("no {kind} {name}: {route:#}"))
}

#[test]
fn spans_tell_what_requests_spend_their_time_on() {
    let _turn = measuring();
    let (database, otlp) = (Postgres::start(""), port::unused());
    let rates = Traced::rates(otlp, 20, 1000, 1_000_000);
    let shop = Traced::shop(otlp, &database, 8, rates.address);
    let place = Sandbox::new();
    std::fs::write(place.path().join("watch.yaml"), format!("otlp: {otlp}\n")).unwrap();
    let url = shop.url("orders/4711");
    let words = ["run", &url, "--rate", "20/s", "--for", "5s"];
    let watch = ["--watch", "watch.yaml", "--json", "--report"];
    let output = quietly(|| place.run(&[&words[..], &watch].concat()));
    let Some(json) = output.measured() else {
        return;
    };

    let orders = route(&json["traces"], "shop", "GET /orders/:id");
    let near = |value: f64, right: f64| (value - right).abs() < 0.3;
    // Of twelve statements three forms; a request at the end may have come without what belongs to it.
    assert!(near(number(orders, "queries"), 12.0), "{orders:#}");
    assert!(near(number(orders, "query_forms"), 3.0), "{orders:#}");
    let repeated = &orders["repeated"][0];
    assert_eq!(repeated["statement"], "SELECT name FROM items WHERE id = ?");
    assert!(near(number(repeated, "calls"), 10.0), "{orders:#}");
    let name = format!("postgresql {}", database.address);
    let statements = component(orders, "database", &name);
    assert!(near(number(statements, "calls"), 12.0), "{orders:#}");
    // Two calls side by side share the time that each of them takes.
    let asked = component(orders, "http", &rates.address.to_string());
    assert!(near(number(asked, "calls"), 2.0), "{orders:#}");
    assert!(number(asked, "each_ms") >= 19.0, "{orders:#}");
    let spent = number(asked, "share") * number(orders, "each_ms");
    let both = number(asked, "each_ms") * number(asked, "calls");
    assert!(spent < 0.9 * both, "{orders:#}");
    let components = orders["components"].as_array().unwrap().iter();
    let sum: f64 = components.map(|entry| number(entry, "share")).sum();
    assert!((sum - 1.0).abs() < 0.02, "{orders:#}");
    let own = route(&json["traces"], "rates", "GET /rates/eur");
    assert!(number(own, "each_ms") >= 19.0, "{own:#}");
    let report = place.path().join(json["report_file"].as_str().unwrap());
    let html = std::fs::read_to_string(report).unwrap();
    assert!(html.contains("What requests spend their time on") && html.contains(&name));
}
