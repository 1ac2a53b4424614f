//! Limits of unnamed components: autodiscovery has to find them, and measure them from outside.

use super::machine::NODE_LOOP;
use super::{Planted, PlantedService};
use crate::program::Nginx;
use crate::program::runtimes::{PhpFpm, Script};

pub(super) const PLANTED: &[Planted] = &[
    Planted {
        name: "found by itself: PHP-FPM with pm.max_children 2 and no page",
        rules: &["R3"],
        start: php_fpm,
    },
    Planted {
        name: "found by itself: a Node program that computes, behind nginx",
        rules: &["C3", "J1"],
        start: node,
    },
    Planted {
        name: "healthy: nginx, PHP-FPM, found by themselves",
        rules: &[],
        start: healthy,
    },
];

const AUTO: &str = "auto: true\n";

fn php(children: u32, loads: [&'static str; 2]) -> PlantedService {
    let fpm = PhpFpm::without_page(children, "usleep(100000); echo 'done';");
    let nginx = Nginx::start(1024, true, &fpm.location());
    let url = format!("http://{}/", nginx.address);
    PlantedService::new(url, AUTO.to_owned(), loads)
        .holding(fpm)
        .holding(nginx)
}

fn php_fpm() -> PlantedService {
    php(2, ["5/s:4s", "80/s:8s"])
}

fn healthy() -> PlantedService {
    php(32, ["5/s:4s", "60/s:8s"])
}

fn node() -> PlantedService {
    let script = Script::start("node", NODE_LOOP);
    let nginx = Nginx::start(
        1024,
        true,
        &format!("location / {{ proxy_pass http://{}; }}", script.address),
    );
    let url = format!("http://{}/", nginx.address);
    PlantedService::new(url, AUTO.to_owned(), ["5/s:4s", "120/s:8s"])
        .holding(script)
        .holding(nginx)
}
