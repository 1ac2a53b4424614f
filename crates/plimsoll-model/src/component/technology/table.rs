//! The table of technologies: one row for each.
//!
//! A new technology begins here. The compiler then asks for its integration in the probe, and tests for the rest.

use serde::{Deserialize, Serialize};

use super::AddressForm::{
    Command, FastCgi, File, Host, Listener, MachinePage, MetricsPage, Page, Socket,
};
use super::ProcessName::{Begins, Contains, Is};
use super::{Credentials, SpanNames, Technology, TriedOn};

/// From one row for each: the enum, the list of its variants, and the rows in the same order.
macro_rules! technologies {
    ($($(#[doc = $doc:literal])* $kind:ident { $($field:ident: $value:expr,)* })*) => {
        /// A technology that a collector can scrape.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum ComponentKind {
            $(
                $(#[doc = $doc])*
                $kind,
            )*
        }

        impl ComponentKind {
            /// Every kind, in the order of the reference.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];
        }

        /// The row of each kind, at the place of its variant.
        pub(super) const TECHNOLOGIES: &[Technology] = &[$(Technology { $($field: $value,)* },)*];
    };
}

technologies! {
    /// nginx, by `stub_status`.
    Nginx {
        name: "nginx",
        words: &["nginx"],
        addresses: &[Page],
        credentials: Credentials::None,
        valid: "the address of its stub_status page, such as http://127.0.0.1:8080/nginx_status",
        reference: "`nginx: http://127.0.0.1:8080/nginx_status`, ",
        processes: &[Is("nginx")],
        series: &["nginx.", "plimsoll.nginx."],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// HAProxy, by its stats socket or the CSV of its stats page.
    Haproxy {
        name: "HAProxy",
        words: &["haproxy"],
        addresses: &[Socket, Page, Host { port: None, schemes: &[] }],
        credentials: Credentials::None,
        valid: "its stats socket, such as unix:/run/haproxy/admin.sock or 127.0.0.1:9999, or the CSV of its stats page, such as http://127.0.0.1:8404/stats;csv",
        reference: "`haproxy: unix:/run/haproxy/admin.sock`, ",
        processes: &[Is("haproxy")],
        series: &["haproxy.", "plimsoll.haproxy."],
        spans: SpanNames::None,
        tunables: &["maxconn"],
        tried_on: TriedOn::Program,
    }
    /// Redis or Valkey, by `INFO`.
    Redis {
        name: "Redis",
        words: &["redis", "valkey"],
        addresses: &[Socket, Host { port: Some(6379), schemes: &["redis://"] }],
        credentials: Credentials::Password,
        valid: "its address or socket, such as 127.0.0.1:6379 or unix:/run/redis/redis-server.sock; with a login { at: …, user: …, password: … }",
        reference: "`redis: 127.0.0.1:6379` (or `valkey`; with a login `{ at: …, user: …, password: … }`), ",
        processes: &[Is("redis-server"), Is("valkey-server")],
        series: &["redis.", "plimsoll.redis."],
        spans: SpanNames::Cache(&["redis", "valkey"]),
        tunables: &["maxclients", "maxmemory", "maxmemory-policy"],
        tried_on: TriedOn::Program,
    }
    /// memcached, by `stats`.
    Memcached {
        name: "memcached",
        words: &["memcached"],
        addresses: &[Socket, Host { port: Some(11211), schemes: &[] }],
        credentials: Credentials::None,
        valid: "its address or socket, such as 127.0.0.1:11211 or unix:/run/memcached.sock",
        reference: "`memcached: 127.0.0.1:11211`, ",
        processes: &[Is("memcached")],
        series: &["memcached.", "plimsoll.memcached."],
        spans: SpanNames::Cache(&["memcached", "memcache"]),
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// PostgreSQL, by its statistics views.
    Postgres {
        name: "PostgreSQL",
        words: &["postgres", "postgresql"],
        addresses: &[Socket, Host { port: Some(5432), schemes: &["postgres://", "postgresql://"] }],
        credentials: Credentials::UserAndDatabase,
        valid: "its address or socket, such as postgres://plimsoll:password@127.0.0.1:5432/shop or unix:/run/postgresql/.s.PGSQL.5432; or { at: …, user: …, password: …, database: … }",
        reference: "`postgres: postgres://plimsoll:…@127.0.0.1:5432` (a role in `pg_monitor`), ",
        processes: &[Is("postgres")],
        series: &["postgresql.", "plimsoll.postgresql."],
        spans: SpanNames::Database(&["postgresql"]),
        tunables: &["work_mem", "max_wal_size"],
        tried_on: TriedOn::Program,
    }
    /// MariaDB or MySQL, by its status variables.
    Mysql {
        name: "MariaDB",
        words: &["mariadb", "mysql"],
        addresses: &[Socket, Host { port: Some(3306), schemes: &["mysql://", "mariadb://"] }],
        credentials: Credentials::User,
        valid: "its address or socket, such as mysql://plimsoll:password@127.0.0.1:3306 or unix:/run/mysqld/mysqld.sock; or { at: …, user: …, password: … }",
        reference: "`mariadb: mysql://plimsoll:…@127.0.0.1:3306` (or `mysql`; an account with `PROCESS`); each also accepts a socket, `unix:PATH`; ",
        processes: &[Is("mariadbd"), Is("mysqld")],
        series: &["plimsoll.mysql."],
        spans: SpanNames::Database(&["mysql", "mariadb"]),
        tunables: &["max_connections", "innodb_buffer_pool_size", "innodb_log_buffer_size", "innodb_io_capacity", "innodb_flush_log_at_trx_commit", "thread_cache_size", "table_open_cache"],
        tried_on: TriedOn::Program,
    }
    /// PHP-FPM, by its status page over FastCGI.
    PhpFpm {
        name: "PHP-FPM",
        words: &["php-fpm"],
        addresses: &[FastCgi { port: 9000 }],
        credentials: Credentials::None,
        valid: "the address of a pool and its status page, such as unix:/run/php/php-fpm.sock:/status or 127.0.0.1:9001/status",
        reference: "`php-fpm: unix:/run/php/php-fpm.sock:/status`; ",
        processes: &[Begins("php-fpm")],
        series: &["plimsoll.php_fpm."],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// Puma, by its control server.
    Puma {
        name: "Puma",
        words: &["puma"],
        addresses: &[Socket, Host { port: Some(9293), schemes: &[] }],
        credentials: Credentials::Password,
        valid: "its control server, such as 127.0.0.1:9293 or unix:/run/puma.sock; with a token { at: …, password: … }",
        reference: "`puma: 127.0.0.1:9293` (its control server; the token as `password`); ",
        processes: &[Is("puma"), Is("ruby")],
        series: &["plimsoll.puma."],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// Node, by a module that is loaded before the application.
    Node {
        name: "Node",
        words: &["node"],
        addresses: &[Socket],
        credentials: Credentials::None,
        valid: "the socket of the module that `plimsoll watch --node-module` prints, such as unix:/tmp/plimsoll-node-4711.sock",
        reference: "`node: unix:/tmp/plimsoll-node-4711.sock` (after `plimsoll watch --node-module`); ",
        processes: &[Is("node")],
        series: &["plimsoll.node."],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// nginx, by its error log.
    NginxLog {
        name: "the error log of nginx",
        words: &["nginx-log"],
        addresses: &[File],
        credentials: Credentials::None,
        valid: "a file, such as /var/log/nginx/error.log",
        reference: "`nginx-log: /var/log/nginx/error.log`, ",
        processes: &[],
        series: &[],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// HAProxy, by its HTTP log.
    HaproxyLog {
        name: "the log of HAProxy",
        words: &["haproxy-log"],
        addresses: &[File],
        credentials: Credentials::None,
        valid: "a file, such as /var/log/haproxy.log",
        reference: "`haproxy-log: /var/log/haproxy.log`, ",
        processes: &[],
        series: &[],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// nginx, by its access log.
    NginxAccessLog {
        name: "the access log of nginx",
        words: &["nginx-access-log"],
        addresses: &[File],
        credentials: Credentials::None,
        valid: "a file, such as /var/log/nginx/access.log",
        reference: "`nginx-access-log: /var/log/nginx/access.log` (with `$request_time` and `$upstream_header_time` in its `log_format`), ",
        processes: &[],
        series: &["plimsoll.nginx.time", "plimsoll.nginx.errors"],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// PHP-FPM, by its log of slow requests.
    PhpFpmSlowlog {
        name: "the slow log of PHP-FPM",
        words: &["php-fpm-slowlog"],
        addresses: &[File],
        credentials: Credentials::None,
        valid: "a file, such as /var/log/php-fpm.slow.log (`slowlog` of the pool)",
        reference: "`php-fpm-slowlog: /var/log/php-fpm.slow.log` (log files are followed). ",
        processes: &[],
        series: &[],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// Apache's HTTP server, by `mod_status`.
    Apache {
        name: "Apache",
        words: &["apache"],
        addresses: &[Page],
        credentials: Credentials::None,
        valid: "the address of its status page, such as http://127.0.0.1/server-status",
        reference: "`apache: http://127.0.0.1/server-status`; ",
        processes: &[Is("apache2"), Is("httpd")],
        series: &["apache.", "plimsoll.apache."],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// pgbouncer, by the tables of its console.
    Pgbouncer {
        name: "pgbouncer",
        words: &["pgbouncer"],
        addresses: &[Socket, Host { port: Some(6432), schemes: &["pgbouncer://", "postgres://", "postgresql://"] }],
        credentials: Credentials::User,
        valid: "its address or socket with a login of its `stats_users`, such as pgbouncer://plimsoll:password@127.0.0.1:6432; or { at: …, user: …, password: … }",
        reference: "`pgbouncer: pgbouncer://plimsoll:…@127.0.0.1:6432` (one of its `stats_users`); ",
        processes: &[Is("pgbouncer")],
        series: &["plimsoll.pgbouncer."],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// gunicorn, by its processes and the connections to its listener.
    Gunicorn {
        name: "gunicorn",
        words: &["gunicorn"],
        addresses: &[Socket, Host { port: Some(8000), schemes: &[] }],
        credentials: Credentials::None,
        valid: "its listen address on this machine, such as 127.0.0.1:8000 or unix:/run/gunicorn.sock",
        reference: "`gunicorn: 127.0.0.1:8000` (its listen address on this machine); ",
        processes: &[Begins("gunicorn")],
        series: &["plimsoll.gunicorn."],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// uWSGI, by its stats server.
    Uwsgi {
        name: "uWSGI",
        words: &["uwsgi"],
        addresses: &[Socket, Page, Host { port: None, schemes: &[] }],
        credentials: Credentials::None,
        valid: "its stats server, such as 127.0.0.1:1717, unix:/run/uwsgi/stats.sock or, with `stats-http`, http://127.0.0.1:1717/",
        reference: "`uwsgi: 127.0.0.1:1717` (its stats server); ",
        processes: &[Begins("uwsgi")],
        series: &["plimsoll.uwsgi."],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// A Java virtual machine, by the counters that it keeps in a file, or by Jolokia.
    Jvm {
        name: "the JVM",
        words: &["jvm"],
        addresses: &[File, Page],
        credentials: Credentials::None,
        valid: "its hsperfdata file, such as /tmp/hsperfdata_shop/4711 (`ls /tmp/hsperfdata_*/`), or the address of its Jolokia agent, such as http://127.0.0.1:8778/jolokia",
        reference: "`jvm: /tmp/hsperfdata_shop/4711` (its hsperfdata file) or `jvm: http://127.0.0.1:8778/jolokia`; ",
        processes: &[Is("java")],
        series: &["plimsoll.jvm."],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// A program in Go, by `expvar` or a metrics page with the values of `runtime/metrics`.
    Go {
        name: "the Go program",
        words: &["go"],
        addresses: &[Page],
        credentials: Credentials::None,
        valid: "a metrics or debug URL, such as http://127.0.0.1:8080/debug/vars (expvar), http://127.0.0.1:8080/metrics or http://127.0.0.1:8080/debug/pprof/goroutine?debug=1",
        reference: "`go: http://127.0.0.1:8080/debug/vars` (or `/metrics`, or `/debug/pprof/goroutine?debug=1`); ",
        processes: &[],
        series: &["plimsoll.go."],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// Varnish, by the counters that a command prints.
    Varnish {
        name: "Varnish",
        words: &["varnish"],
        addresses: &[Command { of_pid: None }],
        credentials: Credentials::None,
        valid: "a command that prints its counters, without a shell, such as `varnishstat -j -t 0` or `varnishstat -j -t 0 -n NAME`",
        reference: "`varnish: varnishstat -j -t 0` (a command, without a shell); ",
        processes: &[Is("varnishd")],
        series: &["plimsoll.varnish."],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// A program in Python, by samples of its stacks.
    Python {
        name: "Python",
        words: &["python"],
        addresses: &[Command { of_pid: Some("py-spy dump --json --subprocesses --pid") }],
        credentials: Credentials::None,
        valid: "a process id, such as 4711, whose stacks `py-spy` reads; or a command that prints them, without a shell, such as `/opt/venv/bin/py-spy dump --json --pid 4711`",
        reference: "`python: 4711` (the id of a process whose stacks `py-spy` reads if it is installed, or a command that prints them); ",
        processes: &[],
        series: &["plimsoll.python."],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// MongoDB, by `serverStatus`.
    Mongo {
        name: "MongoDB",
        words: &["mongodb"],
        addresses: &[Socket, Host { port: Some(27017), schemes: &["mongodb://"] }],
        credentials: Credentials::User,
        valid: "its address, such as mongodb://plimsoll:password@127.0.0.1:27017; or { at: …, user: …, password: … }",
        reference: "`mongodb: mongodb://plimsoll:…@127.0.0.1:27017` (a user with `clusterMonitor`); ",
        processes: &[Is("mongod")],
        series: &["plimsoll.mongodb."],
        // Its one rule is about tickets: the rule about calls stays for whatever else makes it slow.
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Recordings("Debian has no package of MongoDB"),
    }
    /// Any program, by chosen series of a metrics page in the Prometheus format.
    Prometheus {
        name: "the metrics page",
        words: &["prometheus", "openmetrics"],
        addresses: &[MetricsPage],
        credentials: Credentials::None,
        valid: "a URL, and the series to scrape in addition to the known ones, such as { url: http://127.0.0.1:9100/metrics, series: [node_load1, 'http_requests_total{code=\"500\"}', 'go_gc_*'] }",
        reference: "`prometheus: { url: http://127.0.0.1:9100/metrics, series: [node_load1, 'http_requests_total{code=\"500\"}', 'go_gc_*'] }` (or `openmetrics`; series are selected by name, prefix and labels; series of connection pools and .NET threads are known and always scraped); ",
        processes: &[Contains("_exporte"), Begins("prometheus-")],
        series: &["dotnet."],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// Another machine, by the page of its `node_exporter`.
    NodeExporter {
        name: "node_exporter",
        words: &["node-exporter"],
        addresses: &[MachinePage],
        credentials: Credentials::None,
        valid: "the URL of its page, such as http://db1:9100/metrics; or { at: http://127.0.0.1:9100/metrics, name: db1 }",
        reference: "`node-exporter: http://db1:9100/metrics` (another machine, as its node_exporter shows it, evaluated by the same rules; with a name `{ at: …, name: db1 }`; as a Prometheus server scraped it `{ at: http://prometheus:9090, instance: db1:9100 }`), ",
        processes: &[],
        series: &[],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// The containers of another machine, by the page of its cAdvisor.
    Cadvisor {
        name: "cAdvisor",
        words: &["cadvisor"],
        addresses: &[MachinePage],
        credentials: Credentials::None,
        valid: "the URL of its page, such as http://node1:8080/metrics; or { at: http://127.0.0.1:8001/api/v1/nodes/node1/proxy/metrics/cadvisor, name: node1 }",
        reference: "`cadvisor: http://node1:8080/metrics` (the containers of another machine: their quotas, memory and threads; with a name `{ at: …, name: node1 }`), ",
        processes: &[],
        series: &[],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Recordings("Debian has no package of it"),
    }
    /// Anything with OpenTelemetry, by the spans and metrics that it sends here.
    Otlp {
        name: "the OTLP receiver",
        words: &["otlp"],
        addresses: &[Listener { port: 4318, scheme: "http://" }],
        credentials: Credentials::None,
        valid: "an address on this machine at which spans and metrics are received, such as 127.0.0.1:4318",
        reference: "`otlp: 127.0.0.1:4318` (address at which spans and metrics of services with OpenTelemetry are received), ",
        processes: &[],
        series: &["plimsoll.trace."],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// Anything that sends StatsD, by the meters that it sends here.
    Statsd {
        name: "the StatsD receiver",
        words: &["statsd"],
        addresses: &[Listener { port: 8125, scheme: "udp://" }],
        credentials: Credentials::None,
        valid: "an address on this machine at which meters are received over UDP, such as 127.0.0.1:8125",
        reference: "`statsd: 127.0.0.1:8125` (address at which meters of StatsD and DogStatsD are received over UDP), ",
        processes: &[],
        series: &["plimsoll.statsd."],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Program,
    }
    /// Another machine, by the page of Telegraf's output for Prometheus.
    Telegraf {
        name: "Telegraf",
        words: &["telegraf"],
        addresses: &[MachinePage],
        credentials: Credentials::None,
        valid: "the URL of its page, such as http://db1:9273/metrics; or { at: http://127.0.0.1:9273/metrics, name: db1 }",
        reference: "`telegraf: http://db1:9273/metrics` (another machine, as Telegraf's `prometheus_client` shows it; with a name `{ at: …, name: db1 }`). ",
        processes: &[],
        series: &[],
        spans: SpanNames::None,
        tunables: &[],
        tried_on: TriedOn::Recordings("Debian has no package of it"),
    }
}
