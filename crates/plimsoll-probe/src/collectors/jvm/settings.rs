//! The settings of a JVM, for advice: its heap, the threads and connections of its server, and its pool of connections.

use std::collections::BTreeSet;

use super::spring::{self, SpringProperties};
use super::{discover, heap, tomcat};
use crate::collectors::FileSetting;
use crate::collectors::configuration::{ComponentConfig, Environment};
use crate::collectors::discovery::{text_for, text_named};
use crate::files::Files;

/// The file of a setting that is not written where it can be read: its program has this default.
pub(crate) const ASSUMED: &str = "by default, unless its jar sets another";
/// Threads of Jetty's pool, where its base sets them, and without that.
pub(crate) const JETTY_THREADS: &str = "jetty.threadPool.maxThreads";
const JETTY_DEFAULT: f64 = 200.0;
const JETTY_FILES: [&str; 3] = ["start.ini", "start.d/server.ini", "start.d/threadpool.ini"];
/// Connections of a pool of `HikariCP`.
const HIKARI_DEFAULT: f64 = 10.0;
/// Threads whose names are read.
const THREADS_MAX: usize = 4096;

/// Settings of a JVM.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let counters = discover::find(files, pid, false);
    let at = counters.map(|found| found.component.place.to_string());
    let environment = Environment::of(files, pid);
    let environment = environment.as_ref();
    let mut config = ComponentConfig {
        at: at.unwrap_or_else(|| format!("pid {pid}")),
        ..ComponentConfig::default()
    };
    let heap = heap::of_process(files, pid, words, environment);
    config.settings.extend(heap);
    let threads = RunningThreads::of(files, pid);
    let properties = SpringProperties::read(files, pid, words, environment);
    let is_known =
        tomcat_of(files, pid, words, &mut config) || jetty_of(files, pid, words, &mut config);
    if !is_known {
        embedded(&properties, &threads, &mut config);
    }
    let pool = properties.number(spring::POOL);
    let assumed = || FileSetting::number(spring::POOL, HIKARI_DEFAULT, ASSUMED);
    let pool = pool.or_else(|| threads.has_pool.then(assumed));
    config.settings.extend(pool);
    vec![config]
}

/// The value of a system property on the command line.
fn system_property<'w>(words: &[&'w str], name: &str) -> Option<&'w str> {
    let mut words = words.iter().rev();
    words.find_map(|word| {
        let (key, value) = word.strip_prefix("-D")?.split_once('=')?;
        (key == name).then_some(value)
    })
}

/// Adds the connectors of a Tomcat; whether it is one.
fn tomcat_of(files: &mut Files, pid: u32, words: &[&str], config: &mut ComponentConfig) -> bool {
    let Some(base) = system_property(words, "catalina.base") else {
        return false;
    };
    let path = format!("{}/conf/server.xml", base.trim_end_matches('/'));
    if let Some(text) = text_for(files, pid, &path) {
        let property = |name: &str| system_property(words, name).map(str::to_owned);
        for connector in tomcat::connectors(&text, &path, &property) {
            config.listens.push(connector.listen);
            config.settings.extend(connector.settings);
        }
    }
    true
}

/// Adds the threads of a Jetty that `start.jar` has started; whether it is one.
fn jetty_of(files: &mut Files, pid: u32, words: &[&str], config: &mut ComponentConfig) -> bool {
    let base = system_property(words, "jetty.base");
    let is_start = |word: &&str| word.rsplit('/').next() == Some("start.jar");
    let is_started = words.iter().any(is_start);
    if base.is_none() && !is_started {
        return false;
    }
    let mut given = words.iter().filter_map(|word| threads_in(word));
    if let Some(threads) = given.next_back() {
        let setting = FileSetting::number(JETTY_THREADS, threads, spring::COMMAND_LINE);
        config.settings.push(setting);
        return true;
    }
    let mut found = None;
    let mut is_read = false;
    for file in JETTY_FILES {
        // Without a base it is the folder in which it runs.
        let path = base.map_or_else(|| file.to_owned(), |base| format!("{base}/{file}"));
        let Some(text) = text_named(files, pid, &path) else {
            continue;
        };
        is_read = true;
        for (index, line) in text.lines().enumerate() {
            if let Some(threads) = threads_in(line.trim()) {
                let place = format!("{path}:{}", index + 1);
                found = Some(FileSetting::number(JETTY_THREADS, threads, place));
            }
        }
    }
    let default = || FileSetting::number(JETTY_THREADS, JETTY_DEFAULT, "");
    config
        .settings
        .extend(found.or_else(|| is_read.then(default)));
    true
}

/// The threads that a line or a word sets for Jetty.
fn threads_in(line: &str) -> Option<f64> {
    let (key, value) = line.split_once('=')?;
    let threads: u32 = value.trim().parse().ok()?;
    (key.trim() == JETTY_THREADS).then_some(f64::from(threads))
}

/// Adds the server that a program of Spring Boot has in itself.
fn embedded(
    properties: &SpringProperties<'_>,
    threads: &RunningThreads,
    config: &mut ComponentConfig,
) {
    let is_virtual = properties
        .get(spring::VIRTUAL_THREADS)
        .is_some_and(|(value, _)| value == "true");
    for (name, default, is_there) in [
        (spring::THREADS, tomcat::THREADS, threads.has_tomcat),
        (
            spring::ACCEPT_COUNT,
            tomcat::ACCEPT_COUNT,
            threads.has_tomcat,
        ),
        (spring::CONNECTIONS, tomcat::CONNECTIONS, threads.has_tomcat),
        (spring::JETTY_THREADS, JETTY_DEFAULT, threads.has_jetty),
    ] {
        // Each request then has a thread of its own, which is no thread of the system.
        if is_virtual && [spring::THREADS, spring::JETTY_THREADS].contains(&name) {
            continue;
        }
        let assumed = || FileSetting::number(name, default, ASSUMED);
        let found = properties.number(name);
        config
            .settings
            .extend(found.or_else(|| is_there.then(assumed)));
    }
    let listens = threads.ports.iter().map(|port| format!("*:{port}"));
    config.listens.extend(listens);
}

/// Servers and pools that a process runs, by the names of its threads, of which the kernel keeps fifteen characters.
#[derive(Debug, Default, PartialEq, Eq)]
struct RunningThreads {
    has_tomcat: bool,
    /// Ports of Tomcat's connectors that listen at every address.
    ports: BTreeSet<u16>,
    has_jetty: bool,
    /// `HikariCP`, with a name of its own.
    has_pool: bool,
}

impl RunningThreads {
    fn of(files: &mut Files, pid: u32) -> Self {
        let folder = format!("proc/{pid}/task");
        let threads = files.numbers_in(&folder).unwrap_or_default();
        let mut running = Self::default();
        for thread in threads.into_iter().take(THREADS_MAX) {
            let name = files.read(&format!("{folder}/{thread}/comm"));
            running.add(name.unwrap_or_default().trim_end());
        }
        running
    }

    fn add(&mut self, name: &str) {
        if name.starts_with("https-jsse-nio") {
            self.has_tomcat = true;
        } else if let Some(rest) = name.strip_prefix("http-nio-") {
            self.has_tomcat = true;
            // An address before the port leaves no room for it.
            let port = rest.split_once('-').map(|(port, _)| port.parse::<u16>());
            self.ports.extend(port.and_then(Result::ok));
        } else if let Some(rest) = name.strip_prefix("qtp") {
            self.has_jetty |= rest.starts_with(|sign: char| sign.is_ascii_digit());
        } else {
            // `POOL housekeeper`, of which the kernel keeps fifteen bytes.
            self.has_pool |= name.starts_with("HikariPool-") || name.contains(" housekeep");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of process 7 with these files below `/proc/7`: where it listens, and its settings but the heap.
    fn read(files: &[(&str, &str)], words: &[&str]) -> (Vec<String>, Vec<String>) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join("proc/7").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut files = Files::new(root.path().to_owned());
        let mut configs = of_process(&mut files, 7, words);
        assert_eq!(configs.len(), 1, "{configs:?}");
        let config = configs.remove(0);
        assert_eq!(config.at, "pid 7");
        let settings = config.settings.iter().filter(|own| own.name != "-Xmx");
        let settings = settings.map(|own| {
            let written = format!("{} {} {} {}", own.name, own.of, own.value, own.file);
            written.replace("  ", " ").trim_end().to_owned()
        });
        (config.listens.clone(), settings.collect())
    }

    #[test]
    fn a_tomcat_is_read_by_its_file() {
        let server = "<Server>\n<Service>\n<Connector port=\"8080\" maxThreads=\"40\"/>\n</Service>\n</Server>\n";
        let files = [
            ("root/opt/tomcat/conf/server.xml", server),
            ("environ", ""),
            ("task/7/comm", "java\n"),
            ("task/8/comm", "HikariPool-1 ho\n"),
        ];
        let words = [
            "java",
            "-Dcatalina.base=/opt/tomcat",
            "org.apache.catalina.startup.Bootstrap",
            "start",
        ];
        let (listens, settings) = read(&files, &words);
        assert_eq!(listens, ["*:8080"]);
        assert_eq!(
            settings,
            [
                "maxThreads 8080 40 /opt/tomcat/conf/server.xml:3",
                "acceptCount 8080 100",
                "maxConnections 8080 8192",
                "spring.datasource.hikari.maximum-pool-size 10 by default, unless its jar sets another",
            ]
        );
    }

    #[test]
    fn a_server_inside_of_a_program_is_known_by_its_threads() {
        let files = [
            ("environ", "SERVER_TOMCAT_THREADS_MAX=60\0"),
            (
                "cwd/application.properties",
                "spring.datasource.hikari.maximum-pool-size=30\n",
            ),
            ("task/7/comm", "java\n"),
            ("task/8/comm", "http-nio-8080-e\n"),
            ("task/9/comm", "http-nio-8080-P\n"),
            ("task/10/comm", "http-nio-127.0.\n"),
        ];
        let words = ["java", "-jar", "shop.jar"];
        let (listens, settings) = read(&files, &words);
        assert_eq!(listens, ["*:8080"]);
        assert_eq!(
            settings,
            [
                "server.tomcat.threads.max 60 SERVER_TOMCAT_THREADS_MAX in its environment",
                "server.tomcat.accept-count 100 by default, unless its jar sets another",
                "server.tomcat.max-connections 8192 by default, unless its jar sets another",
                "spring.datasource.hikari.maximum-pool-size 30 application.properties:1",
            ]
        );
        // Virtual threads have no number.
        let words = [
            "java",
            "-jar",
            "shop.jar",
            "--spring.threads.virtual.enabled=true",
        ];
        let (_, settings) = read(&files, &words);
        assert!(
            settings[0].starts_with("server.tomcat.accept-count"),
            "{settings:?}"
        );
        // A program that is not known has none.
        let (listens, settings) = read(&[("environ", "")], &["java", "Main"]);
        assert!(listens.is_empty() && settings.is_empty(), "{settings:?}");
    }

    #[test]
    fn jetty_is_read_by_its_base_or_known_by_its_threads() {
        let ini =
            "--module=server\n# jetty.threadPool.maxThreads=1\njetty.threadPool.maxThreads=120\n";
        let start = ["java", "-jar", "/opt/jetty/start.jar"];
        let (_, settings) = read(&[("cwd/start.d/server.ini", ini)], &start);
        assert_eq!(
            settings,
            ["jetty.threadPool.maxThreads 120 start.d/server.ini:3"]
        );
        let (_, settings) = read(&[("cwd/start.ini", "--module=http\n")], &start);
        assert_eq!(settings, ["jetty.threadPool.maxThreads 200"]);
        let given = [&start[..], &["jetty.threadPool.maxThreads=50"]].concat();
        let (_, settings) = read(&[("cwd/start.ini", ini)], &given);
        assert_eq!(
            settings,
            ["jetty.threadPool.maxThreads 50 its command line"]
        );
        let threads = [("task/8/comm", "qtp123456-12\n"), ("task/9/comm", "qtpx\n")];
        let (_, settings) = read(&threads, &["java", "-jar", "shop.jar"]);
        assert_eq!(
            settings,
            ["server.jetty.threads.max 200 by default, unless its jar sets another"]
        );
    }
}
