//! Valid addresses by kind of component, for error messages.

use plimsoll_model::component::ComponentKind;

/// By kind.
const VALID: [(ComponentKind, &str); 24] = [
    (
        ComponentKind::Nginx,
        "the address of its stub_status page, such as http://127.0.0.1:8080/nginx_status",
    ),
    (
        ComponentKind::Haproxy,
        "its stats socket, such as unix:/run/haproxy/admin.sock or 127.0.0.1:9999, or the CSV of its stats page, \
             such as http://127.0.0.1:8404/stats;csv",
    ),
    (
        ComponentKind::Redis,
        "its address or socket, such as 127.0.0.1:6379 or unix:/run/redis/redis-server.sock; with a login \
             { at: …, user: …, password: … }",
    ),
    (
        ComponentKind::Postgres,
        "its address or socket, such as postgres://plimsoll:password@127.0.0.1:5432/shop or \
             unix:/run/postgresql/.s.PGSQL.5432; or { at: …, user: …, password: …, database: … }",
    ),
    (
        ComponentKind::PhpFpm,
        "the address of a pool and its status page, such as unix:/run/php/php-fpm.sock:/status or 127.0.0.1:9001/status",
    ),
    (
        ComponentKind::NginxLog,
        "a file, such as /var/log/nginx/error.log",
    ),
    (
        ComponentKind::NginxAccessLog,
        "a file, such as /var/log/nginx/access.log",
    ),
    (
        ComponentKind::HaproxyLog,
        "a file, such as /var/log/haproxy.log",
    ),
    (
        ComponentKind::PhpFpmSlowlog,
        "a file, such as /var/log/php-fpm.slow.log (`slowlog` of the pool)",
    ),
    (
        ComponentKind::Node,
        "the socket of the module that `plimsoll watch --node-module` prints, such as unix:/tmp/plimsoll-node-4711.sock",
    ),
    (
        ComponentKind::Puma,
        "its control server, such as 127.0.0.1:9293 or unix:/run/puma.sock; with a token { at: …, password: … }",
    ),
    (
        ComponentKind::Mysql,
        "its address or socket, such as mysql://plimsoll:password@127.0.0.1:3306 or unix:/run/mysqld/mysqld.sock; or \
             { at: …, user: …, password: … }",
    ),
    (
        ComponentKind::Memcached,
        "its address or socket, such as 127.0.0.1:11211 or unix:/run/memcached.sock",
    ),
    (
        ComponentKind::Apache,
        "the address of its status page, such as http://127.0.0.1/server-status",
    ),
    (
        ComponentKind::Pgbouncer,
        "its address or socket with a login of its `stats_users`, such as pgbouncer://plimsoll:password@127.0.0.1:6432; or \
             { at: …, user: …, password: … }",
    ),
    (
        ComponentKind::Gunicorn,
        "its listen address on this machine, such as 127.0.0.1:8000 or unix:/run/gunicorn.sock",
    ),
    (
        ComponentKind::Mongo,
        "its address, such as mongodb://plimsoll:password@127.0.0.1:27017; or { at: …, user: …, password: … }",
    ),
    (
        ComponentKind::Jvm,
        "its hsperfdata file, such as /tmp/hsperfdata_shop/4711 (`ls /tmp/hsperfdata_*/`), or the address of its Jolokia agent, such as http://127.0.0.1:8778/jolokia",
    ),
    (
        ComponentKind::Uwsgi,
        "its stats server, such as 127.0.0.1:1717, unix:/run/uwsgi/stats.sock or, with `stats-http`, http://127.0.0.1:1717/",
    ),
    (
        ComponentKind::Go,
        "a metrics or debug URL, such as http://127.0.0.1:8080/debug/vars (expvar), http://127.0.0.1:8080/metrics or http://127.0.0.1:8080/debug/pprof/goroutine?debug=1",
    ),
    (
        ComponentKind::Varnish,
        "a command that prints its counters, without a shell, such as `varnishstat -j -t 0` or `varnishstat -j -t 0 -n NAME`",
    ),
    (
        ComponentKind::Python,
        "a process id, such as 4711, whose stacks `py-spy` reads; or a command that prints them, without a shell, such as `/opt/venv/bin/py-spy dump --json --pid 4711`",
    ),
    (
        ComponentKind::Otlp,
        "an address on this machine at which spans are received, such as 127.0.0.1:4318",
    ),
    (
        ComponentKind::Prometheus,
        "a URL, and the series to scrape in addition to the known ones, such as { url: http://127.0.0.1:9100/metrics, series: [node_load1, 'http_requests_total{code=\"500\"}', 'go_gc_*'] }",
    ),
];

/// The valid addresses of a kind of component.
pub(super) fn valid(kind: ComponentKind) -> &'static str {
    let mut kinds = VALID.iter();
    let found = kinds.find(|(of, _)| *of == kind);
    found.map_or("its address", |(_, valid)| valid)
}

#[cfg(test)]
mod tests {
    use super::super::component::COMPONENTS;
    use super::*;

    #[test]
    fn every_part_says_what_would_be_right() {
        for (word, kind) in COMPONENTS {
            assert!(
                valid(kind).contains("such as") || valid(kind).contains("as `"),
                "{word}"
            );
        }
    }
}
