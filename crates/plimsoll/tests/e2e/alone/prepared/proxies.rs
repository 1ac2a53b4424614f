//! Proxies and stores at their limits: the first finding.

use plimsoll_testkit::program::{Haproxy, Redis, Webdis};
use plimsoll_testkit::turns::measuring;

use crate::alone::origin;
use crate::found::{assert_field_contains, best, found};
use crate::support::Sandbox;

#[test]
fn haproxy_lets_requests_wait_for_a_server_that_may_have_few() {
    let _turn = measuring();
    let (_origin, address) = origin(100);
    let haproxy = Haproxy::start("", &format!("  server s1 {address} maxconn 20"));
    let watch = format!("haproxy: {}\n", haproxy.socket.display());
    let url = format!("http://{}/", haproxy.address);
    let Some(found) = found(&Sandbox::new(), &url, &watch, ["60/s:3s", "320/s:4s"], &[]) else {
        return;
    };
    let best = best(&found, "H1");
    assert_field_contains(&best, "limit", &["maxconn of server s1 in HAProxy's app"]);
    assert_field_contains(&best, "tier", &["proxy"]);
    assert_field_contains(&best, "certainty", &["explicit"]);
    let file = format!("{}:13", haproxy.configuration.display());
    assert_field_contains(
        &best,
        "remedy",
        &["raise `maxconn` of server s1 in app (now 20)", &file],
    );
    assert_field_contains(&best, "sentence", &["had all its 20 sessions in use"]);
}

#[test]
fn redis_throws_away_what_is_asked_for() {
    let _turn = measuring();
    let redis = Redis::start("maxmemory 3mb\nmaxmemory-policy allkeys-lru");
    let webdis = Webdis::start(redis.address);
    let place = Sandbox::new();
    let value = "v".repeat(2000);
    let keys = 1..=1500;
    let mut urls: Vec<String> = keys
        .clone()
        .map(|key| format!("/SET/k{key}/{value}"))
        .collect();
    urls.extend(keys.map(|key| format!("/GET/k{key}.txt")));
    std::fs::write(place.path().join("urls"), urls.join("\n")).unwrap();
    let watch = format!("redis: {}\n", redis.address);
    let url = format!("http://{}/", webdis.address);
    let load = ["50/s:3s", "500/s:6s"];
    let Some(found) = found(&place, &url, &watch, load, &["--urls", "urls"]) else {
        return;
    };
    let best = best(&found, "K2");
    assert_field_contains(&best, "limit", &["maxmemory of Redis"]);
    assert_field_contains(&best, "tier", &["store"]);
    let file = redis
        .program
        .path()
        .join("redis.conf")
        .display()
        .to_string();
    assert_field_contains(&best, "remedy", &["raise `maxmemory` (now 3.0 MiB)", &file]);
    assert_field_contains(&best, "sentence", &["evicted", "of the lookups were hits"]);
}
