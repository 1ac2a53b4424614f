//! Each row of the catalogue has a reader: on a machine that runs every program, all of them are found.

use super::*;

/// Programs beside those of [`stack`], each with the file that it names.
fn add_servers(machine: &MachineFolder) {
    machine.process(
        20,
        1,
        "haproxy",
        &["/usr/sbin/haproxy", "-Ws", "-f", "/etc/haproxy.cfg"],
    );
    machine.put(
        "etc/haproxy.cfg",
        "global\n  maxconn 500\ndefaults\n  timeout queue 5s\nbackend app\n  server a 127.0.0.1:1 maxconn 5\n",
    );
    machine.process(21, 1, "apache2", &["/usr/sbin/apache2", "-k", "start"]);
    machine.put(
        "etc/apache2/apache2.conf",
        "LoadModule mpm_prefork_module /usr/lib/m/mod_mpm_prefork.so\nLoadModule php_module /usr/lib/m/libphp8.2.so\n",
    );
    machine.put("etc/php/8.2/apache2/php.ini", "[PHP]\n");
    let title = "php-fpm: master process (/etc/php-fpm.conf)";
    machine.process(22, 1, "php-fpm8.2", &[title]);
    machine.put(
        "etc/php-fpm.conf",
        "[www]\npm = dynamic\npm.max_children = 9\npm.start_servers = 2\npm.min_spare_servers = 1\n\
         pm.max_spare_servers = 3\n",
    );
    machine.process(23, 1, "puma", &["puma 5.6.5 (tcp://127.0.0.1:3000) [shop]"]);
    machine.put("srv/config/puma.rb", "workers 1\nthreads 2, 2\n");
    machine.process(24, 1, "uwsgi", &["uwsgi", "--ini", "/etc/shop.ini"]);
    machine.put("etc/shop.ini", "[uwsgi]\nmaster = true\n");
    let title = "nginx: master process /usr/sbin/nginx -c /etc/nginx2.conf";
    machine.process(26, 1, "nginx", &[title]);
    machine.put(
        "etc/nginx2.conf",
        "events {}\nhttp {\n  proxy_http_version 1.1;\n  proxy_set_header Connection \"\";\n  upstream app { server 127.0.0.1:9; }\n  \
         server { listen 81; location / { proxy_pass http://app; } }\n}\n",
    );
    machine.process(25, 1, "node", &["node", "server.js"]);
    machine.put("proc/25/environ", "WEB_CONCURRENCY=1\0");
}

/// Java programs of each kind.
fn add_java(machine: &MachineFolder) {
    let tomcat = ["java", "-Xmx256m", "-Dcatalina.base=/opt/tomcat", "Main"];
    machine.process(30, 1, "java", &tomcat);
    machine.put(
        "opt/tomcat/conf/server.xml",
        "<Connector port=\"8080\" maxThreads=\"40\"/>\n",
    );
    let jetty = ["java", "-Djetty.base=/opt/jetty", "-jar", "start.jar"];
    machine.process(31, 1, "java", &jetty);
    machine.put("opt/jetty/start.ini", "jetty.threadPool.maxThreads=40\n");
    let location = "--spring.config.location=file:/etc/shop.properties";
    machine.process(32, 1, "java", &["java", "-jar", "shop.jar", location]);
    machine.put(
        "etc/shop.properties",
        "server.tomcat.threads.max=40\nserver.jetty.threads.max=40\n\
         spring.datasource.hikari.maximum-pool-size=5\n",
    );
}

fn add_stores(machine: &MachineFolder) {
    machine.process(40, 1, "mariadbd", &["/usr/sbin/mariadbd"]);
    machine.put("etc/my.cnf", "[mysqld]\n");
    machine.process(41, 1, "pgbouncer", &["pgbouncer", "/etc/pgbouncer.ini"]);
    machine.put(
        "etc/pgbouncer.ini",
        "[databases]\nshop = port=5432\n[pgbouncer]\n",
    );
    machine.process(42, 1, "redis-server", &["redis-server 127.0.0.1:6379"]);
    machine.put("etc/redis/redis.conf", "port 6379\n");
    machine.process(43, 1, "memcached", &["memcached", "-m", "128"]);
}

/// The settings of the kernel, each at a level that has others beside it.
fn add_kernel(machine: &MachineFolder) {
    for knob in all().iter().filter(|knob| knob.kind.is_none()) {
        let value = match knob.levels {
            KnobLevels::Number { least, .. } => (2 * least).to_string(),
            KnobLevels::Words(words) => (*words.first().unwrap_or(&"100 200 300")).to_owned(),
        };
        let path = format!("proc/sys/{}", knob.setting.replace('.', "/"));
        machine.put(&path, &value);
    }
}

#[test]
fn every_row_of_the_catalogue_is_found() {
    let machine = stack();
    add_servers(&machine);
    add_java(&machine);
    add_stores(&machine);
    add_kernel(&machine);
    let related: Vec<u32> = (7..=43).collect();
    let found = machine.find_with(&related, true);
    let own = |knob: &ReadyKnob| (knob.program(), knob.setting);
    let known: BTreeSet<_> = found.knobs.iter().map(|knob| own(knob.ready)).collect();
    let rows: BTreeSet<_> = all().iter().map(own).collect();
    let missing: Vec<_> = rows.difference(&known).collect();
    assert!(missing.is_empty(), "{missing:?}; {:#?}", found.notes);
}
