//! Pages of cAdvisor, in its format and in the kubelet's.

use std::collections::BTreeMap;

use plimsoll_model::metric::{self, series};
use proptest::prelude::*;

use super::record::{ContainerPages, ContainersPage};
use crate::collectors::link::ScrapeError;

/// Values of a container: what is counted, and when it was read, ms since 1970.
#[derive(Clone, Copy)]
struct Read {
    time_ms: i64,
    periods: u32,
    throttled: u32,
    throttled_s: f64,
    kills: u32,
    started_s: u32,
}

const FIRST: Read = Read {
    time_ms: 1_764_100_000_250,
    periods: 1000,
    throttled: 100,
    throttled_s: 12.5,
    kills: 0,
    started_s: 1_764_000_000,
};

/// Two and a half seconds later.
const SECOND: Read = Read {
    time_ms: 1_764_100_002_750,
    periods: 1025,
    throttled: 120,
    throttled_s: 13.5,
    kills: 1,
    ..FIRST
};

/// Lines of a container with these labels.
fn lines(labels: &str, read: Read) -> String {
    let values = [
        ("cpu_cfs_periods_total", f64::from(read.periods)),
        ("cpu_cfs_throttled_periods_total", f64::from(read.throttled)),
        ("cpu_cfs_throttled_seconds_total", read.throttled_s),
        ("cpu_usage_seconds_total", 300.5),
        ("memory_failcnt", 0.0),
        ("memory_usage_bytes", 60e6),
        ("memory_working_set_bytes", 48e6),
        ("oom_events_total", f64::from(read.kills)),
        ("spec_cpu_period", 100_000.0),
        ("spec_cpu_quota", 50_000.0),
        ("spec_memory_limit_bytes", 67_108_864.0),
        ("start_time_seconds", f64::from(read.started_s)),
        ("threads", 12.0),
        ("threads_max", 0.0),
    ];
    let line = |(name, value): (&str, f64)| {
        format!("container_{name}{{{labels}}} {value} {}\n", read.time_ms)
    };
    values.into_iter().map(line).collect()
}

const WEB: &str = r#"container="app",id="/kubepods/pod1/c1",image="shop:1",name="c1",namespace="shop",pod="web-1""#;

fn page(pages: &mut ContainerPages, text: &str) -> ContainersPage {
    pages.read(text, 1).unwrap()
}

fn of(metric: &str, cgroup: &str) -> String {
    series(
        metric,
        &[("cgroup", cgroup), ("process", metric::CONTAINER)],
    )
}

#[track_caller]
fn check(values: &BTreeMap<String, f64>, metric: &str, cgroup: &str, right: f64) {
    let name = of(metric, cgroup);
    let value = values.get(&name).copied();
    let is_right = value.is_some_and(|value| (value - right).abs() <= right.abs() * 1e-6);
    assert!(
        is_right,
        "{name}: {value:?} instead of {right}; {values:#?}"
    );
}

#[test]
fn limits_of_a_container_are_those_of_its_cgroup() {
    let mut pages = ContainerPages::default();
    let values = page(&mut pages, &lines(WEB, FIRST)).readings.values;
    for (metric, right) in [
        (metric::CGROUP_CPU_QUOTA, 0.5),
        (metric::CGROUP_MEMORY, 60e6),
        (metric::CGROUP_MEMORY_INACTIVE, 12e6),
        (metric::CGROUP_MEMORY_LIMIT, 67_108_864.0),
        (metric::CGROUP_PIDS, 12.0),
    ] {
        check(&values, metric, "shop/web-1/app", right);
    }
    // One page shows no increase, and a limit of 0 threads is none.
    for absent in [metric::CGROUP_CPU_PERIODS, metric::CGROUP_PIDS_LIMIT] {
        assert!(!values.contains_key(&of(absent, "shop/web-1/app")));
    }
}

#[test]
fn increases_are_divided_by_the_times_of_the_samples() {
    let mut pages = ContainerPages::default();
    assert_eq!(page(&mut pages, &lines(WEB, FIRST)).after_s, None);
    // It was not read anew.
    let copy = page(&mut pages, &lines(WEB, FIRST));
    assert!(copy.readings.values.is_empty(), "{copy:?}");
    let later = page(&mut pages, &lines(WEB, SECOND));
    let after_s = later.after_s.unwrap();
    assert!((after_s - 2.5).abs() < 1e-3, "{after_s}");
    for (metric, right) in [
        (metric::CGROUP_CPU_PERIODS, 10.0),
        (metric::CGROUP_CPU_THROTTLED, 8.0),
        (metric::CGROUP_CPU_THROTTLED_TIME, 0.4),
        (metric::CGROUP_OOM_KILLS, 0.4),
        (metric::CGROUP_MEMORY_AT_LIMIT, 0.0),
    ] {
        check(&later.readings.values, metric, "shop/web-1/app", right);
    }
}

#[test]
fn containers_are_called_as_people_call_them() {
    let names = |page: &str| -> Vec<String> {
        let readings = ContainerPages::default().read(page, 1).unwrap().readings;
        let quotas = readings.values.into_keys();
        let quotas = quotas.filter(|name| name.starts_with(metric::CGROUP_CPU_QUOTA));
        quotas.collect()
    };
    let quota = |cgroup: &str| of(metric::CGROUP_CPU_QUOTA, cgroup);
    for (labels, right) in [
        (
            r#"id="/docker/0a1b",image="redis:7",name="cache""#,
            Some("cache"),
        ),
        (
            r#"id="/docker/0a1b",name="k8s_app_web",container_label_io_kubernetes_pod_name="web-1",container_label_io_kubernetes_container_name="app",container_label_io_kubernetes_pod_namespace="shop""#,
            Some("shop/web-1/app"),
        ),
        (
            r#"id="/system.slice/shop.service""#,
            Some("/system.slice/shop.service"),
        ),
        // The whole machine, a pod, and what holds the network of a pod.
        (r#"id="/""#, None),
        (
            r#"container="",id="/kubepods/pod1",namespace="shop",pod="web-1""#,
            None,
        ),
        (
            r#"container="POD",id="/kubepods/pod1/c0",name="c0",namespace="shop",pod="web-1""#,
            None,
        ),
    ] {
        let right: Vec<String> = right.into_iter().map(quota).collect();
        assert_eq!(names(&lines(labels, FIRST)), right, "{labels}");
    }
    // A cgroup without a name and without a limit is none of a service.
    let idle = "container_memory_usage_bytes{id=\"/init.scope\"} 5e6 1764100000250\n";
    let readings = ContainerPages::default().read(idle, 1).unwrap().readings;
    assert!(readings.values.is_empty(), "{readings:?}");
}

#[test]
fn after_a_restart_the_new_container_counts() {
    let again = WEB.replace("c1", "c2");
    let new = Read {
        periods: 3,
        throttled: 1,
        throttled_s: 0.1,
        started_s: FIRST.started_s + 90_000,
        ..SECOND
    };
    let mut pages = ContainerPages::default();
    page(&mut pages, &lines(WEB, FIRST));
    let both = lines(WEB, SECOND) + &lines(&again, new);
    let values = page(&mut pages, &both).readings.values;
    // Its counters began anew: they show no increase yet.
    assert!(!values.contains_key(&of(metric::CGROUP_CPU_PERIODS, "shop/web-1/app")));
    check(&values, metric::CGROUP_CPU_QUOTA, "shop/web-1/app", 0.5);
}

#[test]
fn other_pages_are_refused() {
    for text in ["", "<html></html>", "node_load1 2\n"] {
        let refused = ContainerPages::default().read(text, 1);
        assert!(matches!(refused, Err(ScrapeError::Strange(_))), "{text}");
    }
}

proptest! {
    #[test]
    fn no_page_is_too_strange(text in "\\PC{0,60}", at in 0_usize..3_000, value in any::<f64>(), time in any::<i64>()) {
        let whole = lines(WEB, FIRST) + &lines(r#"id="/docker/0a1b",name="cache""#, SECOND);
        let cut = whole.get(..at).unwrap_or(&whole);
        for page in [
            format!("{cut}{text}\n"),
            whole.replace("web-1", &text),
            whole.replace("60000000", &value.to_string()),
            whole.replace("1764100000250", &time.to_string()),
        ] {
            let mut pages = ContainerPages::default();
            let _ = pages.read(&page, 1);
            let _ = pages.read(&whole, 1);
        }
    }
}
