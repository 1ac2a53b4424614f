//! Metrics of a JVM, from its counters file or from Jolokia (JMX over HTTP, protocol 7).

use std::collections::BTreeMap;

use serde_json::Value;

use super::hsperf::Counters;

/// Garbage collectors of a JVM: young, full, concurrent.
const COLLECTORS_MAX: usize = 8;
/// Pools that are read at most.
const POOLS_MAX: usize = 16;

/// A collector's totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GarbageCollector {
    /// What it collects: young, full, concurrent.
    pub(crate) kind: &'static str,
    /// Collections.
    pub(crate) count: u64,
    /// Time in which it stopped the program, ticks.
    pub(crate) time: u64,
    /// The last of these pauses, ticks; 0 where not reported.
    pub(crate) last: u64,
    /// When that ended, ticks; 0 where not reported.
    pub(crate) ended: u64,
}

/// A pool of threads that handle requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JvmThreadPool {
    /// Its name.
    pub(crate) name: String,
    /// Threads that are used.
    pub(crate) busy: u64,
    /// Most threads.
    pub(crate) limit: Option<u64>,
}

/// A pool of connections to a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Connections {
    /// Its name.
    pub(crate) name: String,
    /// Connections that are used.
    pub(crate) used: Option<u64>,
    /// Most connections.
    pub(crate) limit: Option<u64>,
    /// Threads that wait for one.
    pub(crate) waiting: Option<u64>,
}

/// The metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct JvmStats {
    /// When it began.
    pub(crate) started: String,
    /// Its collectors.
    pub(crate) collectors: Vec<GarbageCollector>,
    /// Length of a tick, s.
    pub(crate) tick_s: f64,
    /// Time in safepoints, ticks.
    pub(crate) stopped: Option<u64>,
    /// Memory of the old generation that is used, bytes.
    pub(crate) old_used: Option<u64>,
    /// The same after the last collection of the whole heap, where reported.
    pub(crate) old_after: Option<u64>,
    /// Most memory of the old generation, bytes.
    pub(crate) old_limit: Option<u64>,
    /// Threads.
    pub(crate) threads: Option<u64>,
    /// Maximum heap size of its command line, bytes.
    pub(crate) heap_max: Option<u64>,
    /// Pools of threads.
    pub(crate) pools: Vec<JvmThreadPool>,
    /// Pools of connections.
    pub(crate) connections: Vec<Connections>,
}

/// Metrics of a counters file; `None` when it is not a JVM's.
pub(crate) fn of_counters(counters: &Counters) -> Option<JvmStats> {
    let number = |name: &str| counters.numbers.get(name).copied();
    let frequency = number("sun.os.hrt.frequency").filter(|&ticks| ticks > 0)?;
    let collectors = (0..COLLECTORS_MAX).filter_map(|index| {
        let own = |what: &str| format!("sun.gc.collector.{index}.{what}");
        let name = counters.texts.get(&own("name"))?;
        let last = number(&own("lastExitTime"))
            .zip(number(&own("lastEntryTime")))
            .map_or(0, |(exit, entry)| exit.saturating_sub(entry));
        Some(GarbageCollector {
            kind: kind(name),
            count: number(&own("invocations"))?,
            time: number(&own("time"))?,
            last,
            ended: number(&own("lastExitTime")).unwrap_or(0),
        })
    });
    let began = number("sun.rt.createVmBeginTime").unwrap_or_default();
    let arguments = counters.texts.get("java.rt.vmArgs");
    Some(JvmStats {
        started: began.to_string(),
        collectors: collectors.collect(),
        tick_s: 1.0 / frequency as f64,
        stopped: number("sun.rt.safepointTime"),
        old_used: number("sun.gc.generation.1.space.0.used"),
        old_after: None,
        old_limit: number("sun.gc.generation.1.maxCapacity").filter(|&limit| limit > 0),
        threads: number("java.threads.live"),
        heap_max: arguments.and_then(|arguments| heap_max(arguments)),
        pools: Vec::new(),
        connections: Vec::new(),
    })
}

/// What a collector collects, by the names that the collectors of OpenJDK 8 to 25 have.
fn kind(name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["full", "msc", "marksweep", "parallelcompact", "old gen"]) {
        "full"
    } else if has(&["concurrent", "cycle"]) {
        "concurrent"
    } else {
        "young"
    }
}

/// The last `-Xmx` or `-XX:MaxHeapSize`, bytes.
fn heap_max(arguments: &str) -> Option<u64> {
    let mut sizes = arguments.split_whitespace().filter_map(|word| {
        let size = word
            .strip_prefix("-Xmx")
            .or(word.strip_prefix("-XX:MaxHeapSize="))?;
        let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match &size[digits.len()..] {
            "" => 0,
            "k" | "K" => 10,
            "m" | "M" => 20,
            "g" | "G" => 30,
            _ => return None,
        };
        digits.parse::<u64>().ok()?.checked_mul(1 << shift)
    });
    sizes.next_back()
}

/// Requests to Jolokia, in this order; each is a path below the agent's.
pub(crate) const JOLOKIA: [&str; 8] = [
    "/read/java.lang:type=Runtime/StartTime",
    "/read/java.lang:type=GarbageCollector,name=*/CollectionCount,CollectionTime",
    "/read/java.lang:type=MemoryPool,name=*/Usage,CollectionUsage",
    "/read/java.lang:type=Threading/ThreadCount",
    "/read/*:type=ThreadPool,name=*/currentThreadsBusy,maxThreads",
    "/read/*:type=queuedthreadpool,id=*/busyThreads,maxThreads",
    "/read/com.zaxxer.hikari:type=*/ActiveConnections,ThreadsAwaitingConnection,MaximumPoolSize",
    "/read/*:type=ConnectionPool,*/Active,WaitCount,MaxActive",
];

/// Metrics of Jolokia's responses, one per request and in their order; `None` when the first is invalid. Responses
/// for missing beans are skipped.
pub(crate) fn of_jolokia(answers: &[String]) -> Option<JvmStats> {
    let values: Vec<Value> = answers
        .iter()
        .map(|answer| {
            let mut answer: Value = serde_json::from_str(answer).unwrap_or_default();
            answer.get_mut("value").map(Value::take).unwrap_or_default()
        })
        .collect();
    let value = |index: usize| values.get(index).unwrap_or(&Value::Null);
    let mut jvm = JvmStats {
        started: value(0).as_u64()?.to_string(),
        tick_s: 1e-3,
        threads: value(3).as_u64(),
        ..JvmStats::default()
    };
    for (name, bean) in beans(value(1)) {
        let total = |what: &str| bean.get(what).and_then(Value::as_u64);
        // The time of ZGC's and Shenandoah's cycles is concurrent work, not a pause.
        if let (Some(count), Some(time), false) = (
            total("CollectionCount"),
            total("CollectionTime"),
            name.contains("Cycles"),
        ) {
            jvm.collectors.push(GarbageCollector {
                kind: kind(name),
                count,
                time,
                last: 0,
                ended: 0,
            });
        }
    }
    let is_old = |name: &str| name.contains("Old Gen") || name.contains("Tenured Gen");
    if let Some((_, old)) = beans(value(2)).find(|(name, _)| is_old(name)) {
        let of = |usage: &str, what: &str| old.get(usage)?.get(what)?.as_u64();
        jvm.old_used = of("Usage", "used");
        jvm.old_limit = of("Usage", "max");
        jvm.old_after = of("CollectionUsage", "used").filter(|&used| used > 0);
    }
    for (name, bean) in beans(value(4)).chain(beans(value(5))).take(POOLS_MAX) {
        let number = |what: &str| bean.get(what).and_then(Value::as_u64);
        let own = name
            .split([',', ':'])
            .find_map(|field| field.strip_prefix("name=").or(field.strip_prefix("id=")))
            .unwrap_or(name);
        let busy = number("currentThreadsBusy").or(number("busyThreads"));
        jvm.pools.extend(busy.map(|busy| JvmThreadPool {
            name: own.trim_matches('"').to_owned(),
            busy,
            limit: number("maxThreads"),
        }));
    }
    jvm.connections = hikari(value(6));
    jvm.connections
        .extend(beans(value(7)).map(|(name, bean)| tomcat(name, bean)));
    jvm.connections.truncate(POOLS_MAX);
    Some(jvm)
}

/// Pools of `HikariCP`: state and limits are in two beans, `type=Pool (NAME)` and `type=PoolConfig (NAME)`.
fn hikari(value: &Value) -> Vec<Connections> {
    let mut pools: BTreeMap<String, Connections> = BTreeMap::new();
    for (name, bean) in beans(value) {
        let own = name.split_once('(').map_or(name, |(_, rest)| rest);
        let own = own.trim_end_matches(')').to_owned();
        let pool = pools.entry(own).or_insert_with_key(|own| Connections {
            name: own.clone(),
            ..Connections::default()
        });
        let number = |what: &str| bean.get(what).and_then(Value::as_u64);
        pool.used = pool.used.or(number("ActiveConnections"));
        pool.waiting = pool.waiting.or(number("ThreadsAwaitingConnection"));
        pool.limit = pool.limit.or(number("MaximumPoolSize"));
    }
    pools.into_values().collect()
}

/// A pool of Tomcat's own kind.
fn tomcat(name: &str, bean: &Value) -> Connections {
    let number = |what: &str| bean.get(what).and_then(Value::as_u64);
    let own = name
        .split([',', ':'])
        .find_map(|field| field.strip_prefix("name="));
    Connections {
        name: own.unwrap_or(name).trim_matches('"').to_owned(),
        used: number("Active"),
        limit: number("MaxActive"),
        waiting: number("WaitCount"),
    }
}

/// Names and attributes of the beans that fit a pattern.
fn beans(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let beans = value.as_object().into_iter().flatten();
    beans.map(|(name, bean)| (name.as_str(), bean))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counters_of_the_serial_collector() {
        let mut counters = Counters::default();
        for (name, number) in [
            ("sun.os.hrt.frequency", 1_000_000_000),
            ("sun.gc.collector.0.invocations", 12),
            ("sun.gc.collector.0.time", 30_000_000),
            ("sun.gc.collector.0.lastEntryTime", 5_000),
            ("sun.gc.collector.0.lastExitTime", 9_000),
            ("sun.gc.collector.1.invocations", 3),
            ("sun.gc.collector.1.time", 90_000_000),
            ("sun.gc.generation.1.space.0.used", 40 << 20),
            ("sun.gc.generation.1.maxCapacity", 44 << 20),
            ("java.threads.live", 14),
        ] {
            counters.numbers.insert(name.to_owned(), number);
        }
        for (name, text) in [
            ("sun.gc.collector.0.name", "Serial young collection pauses"),
            ("sun.gc.collector.1.name", "Serial full collection pauses"),
            ("java.rt.vmArgs", "-Xmx1g -Dx=y -Xmx64m"),
        ] {
            counters.texts.insert(name.to_owned(), text.to_owned());
        }
        let jvm = of_counters(&counters).unwrap();
        let shown: Vec<_> = jvm
            .collectors
            .iter()
            .map(|gc| (gc.kind, gc.count, gc.time, gc.last))
            .collect();
        assert_eq!(
            shown,
            [("young", 12, 30_000_000, 4_000), ("full", 3, 90_000_000, 0)]
        );
        assert_eq!(jvm.heap_max, Some(64 << 20));
        assert_eq!((jvm.old_used, jvm.threads), (Some(40 << 20), Some(14)));
        counters.numbers.remove("sun.os.hrt.frequency");
        assert_eq!(of_counters(&counters), None);
    }

    #[test]
    fn collectors_of_other_machines() {
        for (name, right) in [
            ("G1 young collection pauses", "young"),
            ("G1 full collection pauses", "full"),
            ("G1 stop-the-world full collections", "full"),
            ("G1 concurrent cycle pauses", "concurrent"),
            ("PSParallelCompact", "full"),
            ("MSC", "full"),
            ("PSScavenge", "young"),
            ("G1 Old Generation", "full"),
            ("MarkSweepCompact", "full"),
        ] {
            assert_eq!(kind(name), right, "{name}");
        }
        assert_eq!(heap_max("-XX:MaxHeapSize=2097152 -Xmxlots"), Some(2 << 20));
    }

    /// From the responses in Jolokia's manual; no agent is in the package registries.
    fn answers() -> Vec<String> {
        let answers = [
            "1732300000000",
            "{\"java.lang:name=G1 Young Generation,type=GarbageCollector\":{\"CollectionCount\":7,\"CollectionTime\":80},\
             \"java.lang:name=G1 Old Generation,type=GarbageCollector\":{\"CollectionCount\":1,\"CollectionTime\":200},\
             \"java.lang:name=ZGC Cycles,type=GarbageCollector\":{\"CollectionCount\":1,\"CollectionTime\":9000}}",
            "{\"java.lang:name=G1 Old Gen,type=MemoryPool\":{\"Usage\":{\"init\":1,\"used\":50,\"committed\":90,\"max\":100},\
             \"CollectionUsage\":{\"used\":40,\"max\":100}},\"java.lang:name=Metaspace,type=MemoryPool\":{\"Usage\":{\"used\":7}}}",
            "31",
            "{\"Catalina:name=\\\"http-nio-8080\\\",type=ThreadPool\":{\"currentThreadsBusy\":10,\"maxThreads\":10}}",
        ];
        let answers = answers.map(|value| format!("{{\"value\":{value},\"status\":200}}"));
        let mut answers = answers.to_vec();
        answers.push(
            "{\"error_type\":\"javax.management.InstanceNotFoundException\",\"status\":404}"
                .to_owned(),
        );
        let pools = [
            "{\"com.zaxxer.hikari:type=Pool (shop)\":{\"ActiveConnections\":2,\"ThreadsAwaitingConnection\":9},\
             \"com.zaxxer.hikari:type=PoolConfig (shop)\":{\"MaximumPoolSize\":2}}",
            "{\"tomcat.jdbc:class=org.apache.tomcat.jdbc.pool.DataSource,name=\\\"jdbc/exam\\\",type=ConnectionPool\":\
             {\"Active\":1,\"MaxActive\":8,\"WaitCount\":0}}",
        ];
        answers.extend(pools.map(|value| format!("{{\"value\":{value},\"status\":200}}")));
        answers
    }

    #[test]
    fn answers_of_jolokia() {
        let jvm = of_jolokia(&answers()).unwrap();
        assert_eq!(jvm.started, "1732300000000");
        let mut times: Vec<_> = jvm.collectors.iter().map(|gc| (gc.kind, gc.time)).collect();
        times.sort_unstable();
        assert_eq!(times, [("full", 200), ("young", 80)]);
        assert_eq!(
            (jvm.old_used, jvm.old_after, jvm.old_limit, jvm.threads),
            (Some(50), Some(40), Some(100), Some(31))
        );
        let pool = JvmThreadPool {
            name: "http-nio-8080".to_owned(),
            busy: 10,
            limit: Some(10),
        };
        assert_eq!(jvm.pools, [pool]);
        let pools: Vec<_> = jvm
            .connections
            .iter()
            .map(|pool| (pool.name.as_str(), pool.used, pool.limit, pool.waiting))
            .collect();
        let right = [
            ("shop", Some(2), Some(2), Some(9)),
            ("jdbc/exam", Some(1), Some(8), Some(0)),
        ];
        assert_eq!(pools, right);
        assert_eq!(of_jolokia(&[]), None);
        assert_eq!(of_jolokia(&["<html>".to_owned()]), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(at in 0_usize..8, text in ".{0,60}") {
            let mut answers = answers();
            answers[at] = answers[at].replace(':', &text);
            let _ = of_jolokia(&answers);
            let _ = heap_max(&text);
        }
    }
}
