//! Java programs whose threads and pools are properties: where they are changed, and why some are out of reach.

use super::*;

const THREADS: &str = "jvm_server_tomcat_threads_max";
const POOL: &str = "jvm_spring_datasource_hikari_maximum_pool_size";

/// A program of Spring Boot with these words and this file of properties.
fn shop(more: &[&str], properties: &str) -> MachineFolder {
    let machine = MachineFolder::new();
    let location = "--spring.config.location=file:/etc/shop.properties";
    let words = [&["java", "-jar", "shop.jar", location][..], more].concat();
    machine.process(9, 1, "java", &words);
    machine.put("etc/shop.properties", properties);
    machine
}

#[test]
fn properties_are_changed_in_their_file() {
    let text = "# shop\nserver.tomcat.threads.max = 50\nspring.datasource.hikari.maximumPoolSize: ${POOL:5}\n";
    let machine = shop(&[], text);
    is_out_of_reach(&machine.find(&[9]), POOL, "not a unit of systemd");
    machine.unit(9, "shop.service");
    let found = machine.find(&[9]);
    let pool = knob(&found, POOL);
    assert_eq!((pool.now.as_str(), pool.restart), ("5", true));
    let mut files = found.files.iter();
    let file = files.find(|file| file.path == Path::new("/etc/shop.properties"));
    let file = file.unwrap();
    assert_eq!(
        template(&file.text, &file.edits, &|_| true),
        format!(
            "# shop\nserver.tomcat.threads.max = {{{{ {THREADS} }}}}\n\
             spring.datasource.hikari.maximumPoolSize: {{{{ {POOL} }}}}\n"
        )
    );
    assert_eq!(
        file.restart.as_ref().unwrap().join(" "),
        "systemctl restart shop.service"
    );
}

/// Each connection of the pool is a session of the database.
#[test]
fn a_pool_is_bounded_by_the_sessions_of_the_database() {
    let machine = shop(&[], "spring.datasource.hikari.maximum-pool-size=5\n");
    machine.unit(9, "shop.service");
    machine.process(
        11,
        1,
        "postgres",
        &["/usr/bin/postgres", "-D", "/var/lib/pg"],
    );
    machine.put("var/lib/pg/postgresql.conf", "max_connections = 50\n");
    let found = machine.find(&[9, 11]);
    let texts = found.constraints.iter();
    let texts = texts.filter_map(|constraint| constraint.text(&|_| true));
    let texts: Vec<String> = texts.map(|constraint| constraint.text).collect();
    let own = format!("{POOL} <= postgres_max_connections - 10");
    assert!(texts.contains(&own), "{texts:?}");
}

#[test]
fn what_comes_before_the_file_is_named() {
    let text = "server.tomcat.threads.max=50\n";
    let machine = shop(&["--server.tomcat.threads.max=60"], text);
    machine.unit(9, "shop.service");
    let found = machine.find(&[9]);
    assert_eq!(knob(&found, THREADS).now, "60");
    is_out_of_reach(&found, THREADS, "its command line has it");
    // A variable of the unit's environment file.
    let machine = shop(&[], text);
    machine.unit(9, "shop.service");
    machine.put("proc/9/environ", "SERVER_TOMCAT_THREADS_MAX=70\0");
    is_out_of_reach(&machine.find(&[9]), THREADS, "SERVER_TOMCAT_THREADS_MAX");
    machine.put(
        "etc/systemd/system/shop.service",
        "[Service]\nEnvironmentFile=/etc/default/shop\n",
    );
    machine.put("etc/default/shop", "SERVER_TOMCAT_THREADS_MAX=70\n");
    let found = machine.find(&[9]);
    assert_eq!(knob(&found, THREADS).now, "70");
    let environment = template_of(&found, "/etc/default/shop");
    let edited = format!("SERVER_TOMCAT_THREADS_MAX={{{{ {THREADS} }}}}\n");
    assert_eq!(environment, edited);
}

/// Its jar may set another value, and a wrong one that stands makes a wrong gain.
#[test]
fn a_default_that_nobody_wrote_is_not_searched() {
    let machine = shop(&[], "");
    machine.unit(9, "shop.service");
    machine.put("proc/9/task/9/comm", "java\n");
    machine.put("proc/9/task/10/comm", "http-nio-8080-e\n");
    machine.put("proc/9/task/11/comm", "HikariPool-1 ho\n");
    let found = machine.find(&[9]);
    for (name, property) in [
        (THREADS, "server.tomcat.threads.max=200"),
        (POOL, "spring.datasource.hikari.maximum-pool-size=10"),
    ] {
        is_out_of_reach(&found, name, property);
    }
}

#[test]
fn an_experiment_starts_a_program_with_the_level_of_its_command_line() {
    let machine = shop(&["--server.tomcat.threads.max=60"], "");
    symlink("/usr/bin/java", machine.0.path().join("proc/9/exe")).unwrap();
    machine.put("usr/bin/java", "");
    machine.put("proc/9/environ", "PATH=/usr/bin\0");
    let found = machine.find(&[9]);
    let [start] = &found.starts[..] else {
        unreachable!("{:?}", found.starts)
    };
    let levels = start.levels.iter();
    let levels = levels.map(|level| format!("{} {}{}", level.word, level.before, level.knob));
    let levels: Vec<String> = levels.collect();
    let own = format!("4 --server.tomcat.threads.max={THREADS}");
    assert!(levels.contains(&own), "{levels:?}");
}
