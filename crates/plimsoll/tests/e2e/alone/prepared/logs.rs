//! Failures of every kind in the log of a real nginx, and the rules that find them. Those of HAProxy are among the overflows.

use plimsoll_testkit::port;
use plimsoll_testkit::program::Nginx;
use plimsoll_testkit::stuck::FullUnix;
use plimsoll_testkit::turns::measuring;

use crate::alone::failures;
use crate::found::{assert_field_contains, of};
use crate::support::Sandbox;

#[test]
fn nginx_tells_why_it_fails() {
    let _turn = measuring();
    let place = Sandbox::new();
    let path = place.path().join("full.sock");
    let _full = FullUnix::start(&path);
    let (dead, gone, lost) = (port::unused(), port::unused(), port::unused());
    let http = format!(
        "limit_req_zone $server_addr zone=few:1m rate=1r/s;\n\
         upstream gone {{ server {gone} fail_timeout=1s; server {lost} fail_timeout=1s; }}"
    );
    let locations = format!(
        "location = /refused {{ proxy_pass http://{dead}; }}\n\
         location = /gone {{ proxy_pass http://gone; }}\n\
         location = /full {{ proxy_pass http://unix:{}:/; }}\n\
         location = /rare {{ limit_req zone=few; root /; }}\n\
         location = /blob {{ alias /usr/sbin/nginx; }}\n\
         location = /large {{ proxy_pass http://$server_addr:$server_port/blob; limit_rate 50k;\n\
         proxy_buffer_size 4k; proxy_buffers 2 4k; proxy_busy_buffers_size 4k; }}",
        path.display()
    );
    let nginx = Nginx::start_with(256, false, ["warn", &http, &locations]);
    let watch = format!("nginx-log: {}\n", nginx.log().display());
    let paths = ["/refused", "/gone", "/full", "/rare", "/large"];
    let Some(found) = failures(&place, nginx.address, &watch, &paths) else {
        return;
    };
    let refused = of(&found, "X3");
    assert_field_contains(
        refused,
        "sentence",
        &["nginx could not connect to an upstream"],
    );
    let full = of(&found, "X4");
    assert_field_contains(full, "sentence", &["of it about", "full.sock"]);
    assert_field_contains(
        of(&found, "X5"),
        "limit",
        &["upstreams that nginx has marked as down"],
    );
    let limited = of(&found, "X6");
    assert_field_contains(limited, "sentence", &["100 % of it about zone few"]);
    assert_field_contains(limited, "remedy", &["raise `rate` and `burst`"]);
    assert_field_contains(of(&found, "X8"), "sentence", &["to a temporary file"]);
}
