//! Limits of proxies, of application servers, and of caches.

use super::{Planted, PlantedService};
use crate::program::runtimes::{PhpFpm, Puma, TOKEN};
use crate::program::{Haproxy, Memcached, Nginx, Redis, Webdis};

pub(super) const PLANTED: &[Planted] = &[
    Planted {
        name: "HAProxy: a server with maxconn 4",
        rules: &["H1"],
        start: haproxy_server,
    },
    Planted {
        name: "HAProxy: a frontend with maxconn 8",
        rules: &["H7"],
        start: haproxy_frontend,
    },
    Planted {
        name: "nginx: worker_connections 24 before a slow application",
        rules: &["X1", "X2"],
        start: nginx_connections,
    },
    Planted {
        name: "PHP-FPM: pm.max_children 2, figures apart",
        rules: &["R3"],
        start: php_fpm,
    },
    Planted {
        name: "PHP-FPM: pm.max_children 2, figures through the same processes",
        rules: &["R3"],
        start: php_fpm_silent,
    },
    Planted {
        name: "Puma: 4 threads",
        rules: &["R1"],
        start: puma,
    },
    Planted {
        name: "Redis: maxmemory 3 MB",
        rules: &["K2"],
        start: redis_memory,
    },
    Planted {
        name: "Redis: KEYS over 120,000 keys",
        rules: &["K1", "K3"],
        start: redis_thread,
    },
    Planted {
        name: "memcached: 16 connections, one opened per request",
        rules: &["K6"],
        start: memcached_connections,
    },
    Planted {
        name: "healthy: nginx with an answer of its own",
        rules: &[],
        start: healthy,
    },
    Planted {
        name: "healthy: nginx, PHP-FPM",
        rules: &[],
        start: healthy_php,
    },
];

fn haproxy_server() -> PlantedService {
    let puma = Puma::sleeping(64, "0.1");
    let haproxy = Haproxy::start("", &format!("  server s1 {} maxconn 4", puma.address));
    let watch = format!("haproxy: {}\n", haproxy.socket.display());
    let url = format!("http://{}/", haproxy.address);
    PlantedService::new(url, watch, ["8/s:4s", "120/s:8s"])
        .holding(puma)
        .holding(haproxy)
}

fn haproxy_frontend() -> PlantedService {
    let puma = Puma::sleeping(64, "0.2");
    let haproxy = Haproxy::start("maxconn 8", &format!("  server s1 {}", puma.address));
    let watch = format!("haproxy: {}\n", haproxy.socket.display());
    let url = format!("http://{}/", haproxy.address);
    PlantedService::new(url, watch, ["8/s:4s", "120/s:8s"])
        .holding(puma)
        .holding(haproxy)
}

fn nginx_connections() -> PlantedService {
    let puma = Puma::sleeping(64, "0.2");
    let nginx = Nginx::start(
        24,
        true,
        &format!("location / {{ proxy_pass http://{}; }}", puma.address),
    );
    let watch = format!(
        "nginx: {}\nnginx-log: {}\n",
        nginx.page(),
        nginx.log().display()
    );
    let url = format!("http://{}/", nginx.address);
    PlantedService::new(url, watch, ["8/s:4s", "200/s:8s"])
        .holding(puma)
        .holding(nginx)
}

fn php(
    children: u32,
    has_status_listener: bool,
    script: &str,
    loads: [&'static str; 2],
) -> PlantedService {
    let fpm = PhpFpm::start(children, has_status_listener, script);
    let nginx = Nginx::start(1024, true, &fpm.location());
    let watch = format!("php-fpm: {}/status\nnginx: {}\n", fpm.status, nginx.page());
    let url = format!("http://{}/", nginx.address);
    PlantedService::new(url, watch, loads)
        .holding(fpm)
        .holding(nginx)
}

fn php_fpm() -> PlantedService {
    php(
        2,
        true,
        "usleep(100000); echo 'done';",
        ["5/s:4s", "80/s:8s"],
    )
}

fn php_fpm_silent() -> PlantedService {
    php(
        2,
        false,
        "usleep(100000); echo 'done';",
        ["5/s:4s", "80/s:8s"],
    )
}

fn puma() -> PlantedService {
    let puma = Puma::sleeping(4, "0.1");
    let watch = format!("puma: {{ at: '{}', password: {TOKEN} }}\n", puma.control);
    PlantedService::new(puma.url(), watch, ["8/s:4s", "120/s:8s"]).holding(puma)
}

fn redis_memory() -> PlantedService {
    let redis = Redis::start("maxmemory 3mb\nmaxmemory-policy allkeys-lru");
    let webdis = Webdis::start(redis.address);
    let value = "v".repeat(2000);
    let set = (1..=1500).map(|key| format!("/SET/k{key}/{value}"));
    let get = (1..=1500).map(|key| format!("/GET/k{key}.txt"));
    let urls: Vec<String> = set.chain(get).collect();
    let path = redis.program.path().join("urls");
    super::super::program::write(&path, &urls.join("\n"));
    let watch = format!("redis: {}\n", redis.address);
    let url = format!("http://{}/", webdis.address);
    let mut service = PlantedService::new(url, watch, ["50/s:4s", "500/s:8s"])
        .holding(redis)
        .holding(webdis);
    service.more = vec!["--urls".to_owned(), path.display().to_string()];
    service
}

fn redis_thread() -> PlantedService {
    let redis = Redis::start("enable-debug-command yes");
    let webdis = Webdis::start(redis.address);
    redis.execute("DEBUG POPULATE 120000");
    let watch = format!("redis: {}\n", redis.address);
    let url = format!("http://{}/KEYS/nothing*", webdis.address);
    PlantedService::new(url, watch, ["2/s:4s", "1000/s:8s"])
        .holding(redis)
        .holding(webdis)
}

fn memcached_connections() -> PlantedService {
    let memcached = Memcached::start(16);
    let location = format!(
        "location / {{ set $memcached_key $uri; memcached_pass {}; memcached_next_upstream off; error_page 404 = @made; }} \
         location @made {{ return 200 'made'; }}",
        memcached.address
    );
    let nginx = Nginx::start(2048, true, &location);
    let watch = format!("memcached: {}\n", memcached.address);
    let url = format!("http://{}/", nginx.address);
    PlantedService::new(url, watch, ["20/s:4s", "3000/s:8s"])
        .holding(memcached)
        .holding(nginx)
}

fn healthy() -> PlantedService {
    let nginx = Nginx::start(1024, true, "location / { return 200 'fine'; }");
    let watch = format!("nginx: {}\n", nginx.page());
    let url = format!("http://{}/", nginx.address);
    PlantedService::new(url, watch, ["20/s:4s", "100/s:8s"]).holding(nginx)
}

fn healthy_php() -> PlantedService {
    php(
        8,
        true,
        "usleep(20000); echo 'done';",
        ["5/s:4s", "40/s:8s"],
    )
}
