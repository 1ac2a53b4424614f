//! Programs that the tests start, and their Debian packages.

use anyhow::Result;

use crate::packages::{Tool, see_to};

const TOOLS: [Tool<'_>; 44] = [
    Tool::new("curl", "curl"),
    Tool::new("openssl", "openssl"),
    Tool::new("nginx", "nginx-light"),
    Tool::new("apache2", "apache2"),
    Tool::new("haproxy", "haproxy"),
    Tool::new("redis-server", "redis-server"),
    Tool::new("nats-server", "nats-server"),
    Tool::new("webdis", "webdis"),
    Tool::new("memcached", "memcached"),
    Tool::new("setpriv", "util-linux"),
    Tool::new("chromium", "chromium"),
    Tool::new("node", "nodejs"),
    Tool::new("npm", "npm"),
    Tool::new("python3", "python3"),
    Tool::new("go", "golang-go"),
    Tool::new("dnsmasq", "dnsmasq-base"),
    Tool::new("systemd-socket-activate", "systemd"),
    Tool::new("pebble", "pebble"),
    Tool::new("ip", "iproute2"),
    Tool::new("nft", "nftables"),
    Tool::new("ps", "procps"),
    Tool::new("taskset", "util-linux"),
    Tool::new("prlimit", "util-linux"),
    Tool::new("pg_ctlcluster", "postgresql"),
    Tool::new("psql", "postgresql-client"),
    Tool::new("mariadbd", "mariadb-server"),
    Tool::new("pgbouncer", "pgbouncer"),
    Tool::new("gunicorn", "gunicorn"),
    Tool::new("puma", "puma"),
    Tool::new("/usr/lib/ruby/vendor_ruby/pg.rb", "ruby-pg"),
    Tool::new("/usr/lib/ruby/vendor_ruby/mysql2.rb", "ruby-mysql2"),
    Tool::new("/usr/share/doc/php-fpm/copyright", "php-fpm"),
    Tool::new("cc", "gcc"),
    Tool::new("java", "default-jdk-headless"),
    Tool::new("javac", "default-jdk-headless"),
    Tool::new("/usr/share/java/HikariCP.jar", "libhikaricp-java"),
    Tool::new("/usr/share/java/jolokia-core.jar", "libjolokia-core-java"),
    Tool::new("/usr/share/java/postgresql.jar", "libpostgresql-jdbc-java"),
    Tool::new("/usr/share/java/slf4j-nop.jar", "libslf4j-java"),
    Tool::new("/usr/share/java/tomcat10-catalina.jar", "libtomcat10-java"),
    Tool::new("/usr/share/java/jetty9-server.jar", "libjetty9-java"),
    Tool::new("uwsgi", "uwsgi-core"),
    Tool::new(
        "/usr/lib/uwsgi/plugins/python3_plugin.so",
        "uwsgi-plugin-python3",
    ),
    Tool::new("varnishd", "varnish"),
];

/// Installs missing programs, or fails with one line that lists them.
///
/// # Errors
///
/// If programs are missing, and this process may not install them or the installation fails.
pub fn install() -> Result<()> {
    see_to(&TOOLS)
}
