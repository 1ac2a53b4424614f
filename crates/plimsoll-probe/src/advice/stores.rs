//! Redis and memcached: connections, and what they do when they are full.

use plimsoll_model::component::ComponentKind;
use plimsoll_model::reading::Readings;

use super::chains::holders;
use super::component_readings::{ComponentReadings, places_of, written};
use super::service::Service;
use super::{Advice, Demand};
use crate::collectors::discovery::text_for;
use crate::files::Files;

/// Descriptors that memcached 1.6 takes of `-c` for itself, and for each of its threads.
const OF_MEMCACHED: f64 = 8.0;
const OF_ITS_THREAD: f64 = 4.0;
/// Its threads by default.
const THREADS: f64 = 4.0;

/// Settings of the stores that bind, or cost something.
pub(super) fn advice(
    readings: &Readings,
    service: &Service,
    files: &mut Files,
    demand: &Demand,
) -> Vec<Advice> {
    let of = |kind| ComponentReadings::of(readings, kind);
    let mut advice = Vec::new();
    for component in of(ComponentKind::Memcached) {
        if let Some(clients) = Clients::of(&component) {
            advice.push(clients.for_users(component.at, demand));
        }
    }
    advice.extend(workers_before_memcached(readings));
    for component in of(ComponentKind::Redis) {
        advice.extend(eviction(&component));
        advice.extend(snapshots(&component, service, files));
    }
    advice
}

/// Connections of a memcached.
#[derive(Clone, Copy, Debug)]
struct Clients<'a> {
    /// `-c`.
    limit: f64,
    /// How many of them it needs itself.
    own: f64,
    file: &'a str,
}

impl<'a> Clients<'a> {
    fn of(component: &ComponentReadings<'a>) -> Option<Self> {
        let (limit, file) = component.setting("max_connections", "")?;
        let threads = component.setting("threads", "");
        let threads = threads.map_or(THREADS, |found| found.0);
        Some(Self {
            limit,
            own: OF_MEMCACHED + OF_ITS_THREAD * threads,
            file,
        })
    }

    /// Clients that it accepts.
    fn accepted(self) -> f64 {
        (self.limit - self.own).max(0.0)
    }

    /// Each request in progress may hold one.
    fn for_users(self, at: &str, demand: &Demand) -> Advice {
        let needed = demand.workers();
        let accepted = self.accepted();
        Advice::new(
            format!("max_connections of memcached ({at})"),
            format!("{:.0}{}", self.limit, written(self.file)),
            format!("{:.0} or more: its option `-c`", needed + self.own),
            accepted >= needed,
        )
        .binds_at(demand.users_for(accepted, demand.in_flight))
        .because(format!(
            "memcached takes {:.0} of them for its own descriptors and accepts {accepted:.0} clients; {} users have \
             {needed:.0} requests in progress at once ({}), and each may hold a connection. Further ones get `ERROR Too many \
             open connections`, and many libraries then read from the database",
            self.own, demand.users, demand.source
        ))
    }
}

/// Workers that may each keep a connection to memcached, against those that it accepts.
fn workers_before_memcached(readings: &Readings) -> Option<Advice> {
    let places = places_of(readings, ComponentKind::Memcached);
    let [at] = places[..] else {
        return None;
    };
    let clients = Clients::of(&ComponentReadings { at, readings })?;
    let accepted = clients.accepted();
    let holders = holders(readings);
    let wanted: f64 = holders.iter().map(|holder| holder.0).sum();
    let who: Vec<&str> = holders.iter().map(|holder| holder.1.as_str()).collect();
    (wanted > 0.0).then(|| {
        Advice::new(
            format!("connections that workers may hold to memcached ({at})"),
            format!("{wanted:.0} of {accepted:.0}{}", written(clients.file)),
            format!("`-c` of {:.0} or more", wanted + clients.own),
            wanted <= accepted,
        )
        .because(format!(
            "{}: if each keeps a connection, {wanted:.0} are needed. Of `-c {:.0}` memcached takes {:.0} for its own \
             descriptors; further connections get `ERROR Too many open connections`",
            who.join(", "),
            clients.limit,
            clients.own
        ))
    })
}

/// `maxmemory-policy noeviction` of Redis with a limit: its default, which suits no cache.
fn eviction(component: &ComponentReadings<'_>) -> Option<Advice> {
    let (policy, file) = component.word("maxmemory-policy")?;
    let (most, _) = component.setting("maxmemory", "")?;
    let row = Advice::new(
        format!("maxmemory-policy of Redis ({})", component.at),
        format!("{policy}{}", written(file)),
        "allkeys-lru where Redis is a cache; else room below maxmemory",
        most <= 0.0 || policy != "noeviction",
    );
    Some(row.hint().because(format!(
        "with `noeviction` Redis answers each write with an error when its keys fill maxmemory ({:.0} MiB), and keeps keys \
         that nobody reads any more",
        most / 1_048_576.0
    )))
}

/// A snapshot forks the process: the kernel must allow its memory to be committed twice.
fn snapshots(
    component: &ComponentReadings<'_>,
    service: &Service,
    files: &mut Files,
) -> Option<Advice> {
    let text = files.read("proc/sys/vm/overcommit_memory").ok()?;
    let overcommit: u64 = text.trim().parse().ok()?;
    let at = component.at;
    // `INFO` reports its file, and nothing of snapshots.
    let file = component.setting("maxmemory", "");
    let file = file.map_or("", |(_, file)| file);
    let mut own = service.components.iter();
    let own = own.find(|own| own.kind == ComponentKind::Redis && own.at == at);
    let own = own.filter(|_| file.starts_with('/'));
    let text = own.and_then(|own| text_for(files, own.pid, file));
    let is_off = text.is_some_and(|text| writes_nothing(&text));
    let advice = Advice::new(
        format!("vm.overcommit_memory for Redis ({at})"),
        overcommit,
        1,
        overcommit == 1 || is_off,
    );
    Some(advice.because(if is_off {
        format!(
            "{file} switches snapshots and the append-only file off: Redis forks for a new replica only, which needs 1 where \
             it uses more than half of the memory"
        )
    } else {
        "Redis forks to write snapshots and to rewrite its append-only file; when it uses more than half of the memory \
         the fork fails, and with `stop-writes-on-bgsave-error` it then rejects writes: `sysctl -w \
         vm.overcommit_memory=1`, and in /etc/sysctl.d/"
            .to_owned()
    }))
}

/// Whether a configuration of Redis has no snapshots, which it has by default, and no append-only file; what it includes
/// is not known.
fn writes_nothing(text: &str) -> bool {
    let (mut has_snapshots, mut has_log) = (true, false);
    for line in text.lines() {
        let words = line.trim().split_once(char::is_whitespace);
        let (key, value) = words.unwrap_or_default();
        let value = value.trim().trim_matches(['"', '\'']);
        match key.to_ascii_lowercase().as_str() {
            "save" => has_snapshots = !value.is_empty(),
            "appendonly" => has_log = !value.eq_ignore_ascii_case("no"),
            "include" => return false,
            _ => {}
        }
    }
    !has_snapshots && !has_log
}

#[cfg(test)]
mod tests {
    use plimsoll_model::metric::{self, series};

    use super::super::service::ServiceComponent;
    use super::*;

    fn readings(values: &[(String, f64)]) -> Readings {
        Readings {
            values: values.iter().cloned().collect(),
            ..Readings::default()
        }
    }

    fn setting(kind: &str, name: &str, of: &str, value: f64) -> (String, f64) {
        let all = [("at", "a"), ("kind", kind), ("setting", name), ("of", of)];
        let len = if of.is_empty() { 3 } else { 4 };
        (series(metric::SETTING, &all[..len]), value)
    }

    /// Counted with memcached 1.6.18: of `-c 20 -t 1` it accepts 8 clients, of `-c 100 -t 1` 88, of `-c 1024` 1000.
    #[test]
    fn memcached_counts_its_own_descriptors() {
        for (limit, threads, accepted) in [
            (20.0, Some(1.0), 8.0),
            (100.0, Some(1.0), 88.0),
            (100.0, Some(4.0), 76.0),
            (1024.0, None, 1000.0),
        ] {
            let mut values = vec![setting("memcached", "max_connections", "", limit)];
            values.extend(threads.map(|threads| setting("memcached", "threads", "", threads)));
            let readings = readings(&values);
            let component = ComponentReadings {
                at: "a",
                readings: &readings,
            };
            let clients = Clients::of(&component).unwrap();
            assert!((clients.accepted() - accepted).abs() < 1e-9, "{clients:?}");
            // 3000 users have 150 requests in progress: 20 for each.
            let advice = clients.for_users("a", &Demand::assumed(3000));
            assert!((advice.binds_at.unwrap() as f64 - accepted * 20.0).abs() < 1e-9);
            assert_eq!(advice.ok, accepted >= 1000.0);
        }
    }

    #[test]
    fn workers_that_want_more_connections_than_memcached_accepts() {
        let values = |limit| {
            readings(&[
                setting("memcached", "max_connections", "", limit),
                setting("memcached", "threads", "", 1.0),
                (series(metric::UWSGI_PLACES, &[("at", "uwsgi")]), 16.0),
            ])
        };
        let few = workers_before_memcached(&values(20.0)).unwrap();
        assert_eq!(
            (few.ok, few.current.as_str(), few.advised.as_str()),
            (false, "16 of 8", "`-c` of 28 or more")
        );
        assert!(
            few.why.starts_with("16 of uWSGI's processes and threads"),
            "{few:?}"
        );
        let many = workers_before_memcached(&values(100.0)).unwrap();
        assert_eq!((many.ok, many.current.as_str()), (true, "16 of 88"));
    }

    #[test]
    fn a_cache_evicts() {
        for (policy, most, ok) in [
            ("noeviction", 8_388_608.0, false),
            ("noeviction", 0.0, true),
            ("allkeys-lru", 8_388_608.0, true),
        ] {
            let readings = readings(&[
                setting("redis", "maxmemory-policy", policy, 1.0),
                setting("redis", "maxmemory", "", most),
            ]);
            let component = ComponentReadings {
                at: "a",
                readings: &readings,
            };
            let advice = eviction(&component).unwrap();
            assert_eq!((advice.ok, advice.current.as_str()), (ok, policy));
            assert!(advice.is_hint && advice.binds_at.is_none());
        }
    }

    #[test]
    fn redis_that_writes_nothing() {
        for (text, is_off) in [
            ("port 1\nsave \"\"\n", true),
            ("save ''\nappendonly no\n", true),
            ("SAVE \"\"\nappendonly yes\n", false),
            ("save \"\"\nsave 60 1\n", false),
            ("save \"\"\ninclude /etc/redis/more.conf\n", false),
            ("# save \"\"\nmaxmemory 8mb\n", false),
        ] {
            assert_eq!(writes_nothing(text), is_off, "{text}");
        }
    }

    #[test]
    fn a_fork_of_redis_needs_memory_where_it_writes() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("proc/sys/vm/overcommit_memory", "0\n");
        let ids = "Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t\n";
        put("proc/7/status", ids);
        std::os::unix::fs::symlink(root.path(), root.path().join("proc/7/root")).unwrap();
        let labels = [
            ("at", "a"),
            ("setting", "maxmemory"),
            ("file", "/etc/redis.conf"),
        ];
        let readings = readings(&[(series(metric::SETTING, &labels), 8e6)]);
        let component = ComponentReadings {
            at: "a",
            readings: &readings,
        };
        let service = Service {
            components: vec![ServiceComponent {
                kind: ComponentKind::Redis,
                at: "a".to_owned(),
                pid: 7,
                is_behind: true,
            }],
            servers: Vec::new(),
        };
        for (text, ok) in [("save \"\"\n", true), ("save 60 1\n", false)] {
            put("etc/redis.conf", text);
            let mut files = Files::new(root.path().to_owned());
            let advice = snapshots(&component, &service, &mut files).unwrap();
            assert_eq!(
                (advice.ok, advice.current.as_str()),
                (ok, "0"),
                "{advice:?}"
            );
        }
    }
}
