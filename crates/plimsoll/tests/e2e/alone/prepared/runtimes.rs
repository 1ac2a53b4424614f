//! Application servers, and proxies in front of them, at their limits: the first finding.

use plimsoll_testkit::program::Nginx;
use plimsoll_testkit::program::runtimes::{PhpFpm, Puma, TOKEN};
use plimsoll_testkit::turns::measuring;

use crate::found::{assert_field_contains, best, found, found_computing, node};
use crate::support::Sandbox;

#[test]
fn php_fpm_has_few_processes() {
    let _turn = measuring();
    let fpm = PhpFpm::start(2, true, "usleep(100000); echo 'done';");
    let nginx = Nginx::start(1024, false, &fpm.location());
    let watch = format!("php-fpm: {}/status\n", fpm.status);
    let url = format!("http://{}/", nginx.address);
    let Some(found) = found(&Sandbox::new(), &url, &watch, ["5/s:3s", "80/s:4s"], &[]) else {
        return;
    };
    let best = best(&found, "R3");
    assert_field_contains(&best, "limit", &["pm.max_children of PHP-FPM"]);
    assert_field_contains(&best, "tier", &["runtime"]);
    assert_field_contains(
        &best,
        "sentence",
        &[
            "all 2 processes of PHP-FPM were busy",
            "requests waited for one",
        ],
    );
    let file = format!("{}:", fpm.configuration.display());
    assert_field_contains(&best, "remedy", &["raise `pm.max_children` (now 2)", &file]);
}

#[test]
fn puma_has_few_threads() {
    let _turn = measuring();
    let puma = Puma::sleeping(4, "0.1");
    let watch = format!("puma: {{ at: '{}', password: {TOKEN} }}\n", puma.control);
    let Some(found) = found(
        &Sandbox::new(),
        &puma.url(),
        &watch,
        ["8/s:3s", "120/s:4s"],
        &[],
    ) else {
        return;
    };
    let best = best(&found, "R1");
    assert_field_contains(&best, "limit", &["threads of Puma"]);
    assert_field_contains(&best, "sentence", &["all 4 threads of Puma were busy"]);
    assert_field_contains(&best, "remedy", &["now 4 in all"]);
}

/// Computes for 20 ms per request.
const APPLICATION: &str = "require('http').createServer((q, a) => { const end = Date.now() + 20; \
    while (Date.now() < end); a.end('done'); }).listen(+process.argv[2], '127.0.0.1', 511, () => console.log('ready'));";

#[test]
fn nodes_event_loop_is_blocked() {
    let _turn = measuring();
    let place = Sandbox::new();
    let (node, watch) = node(&place, "", APPLICATION);
    let url = format!("http://{}/", node.address);
    let Some(found) = found_computing(&place, &url, &watch, ["5/s:3s", "150/s:6s"]) else {
        return;
    };
    let best = best(&found, "J1");
    assert_field_contains(&best, "limit", &["the event loop of Node"]);
    assert_field_contains(&best, "remedy", &["worker threads"]);
}

#[test]
fn nginx_has_no_place_for_connections_to_upstreams() {
    let _turn = measuring();
    let puma = Puma::sleeping(64, "0.2");
    let locations = format!("location / {{ proxy_pass http://{}; }}", puma.address);
    let nginx = Nginx::start(24, true, &locations);
    let watch = format!(
        "nginx: {}\nnginx-log: {}\n",
        nginx.page(),
        nginx.log().display()
    );
    let url = format!("http://{}/", nginx.address);
    let Some(found) = found(&Sandbox::new(), &url, &watch, ["8/s:3s", "200/s:4s"], &[]) else {
        return;
    };
    let best = best(&found, "X1");
    assert_field_contains(&best, "limit", &["worker_connections of nginx"]);
    let file = format!("{}:3", nginx.configuration.display());
    assert_field_contains(&best, "remedy", &["(now 24)", &file]);
}
