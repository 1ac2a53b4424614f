//! CPUs and memory of a service.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_probe::rest;
use plimsoll_testkit::machine::swap::Swap;
use plimsoll_testkit::not_tried::not_tried;

use crate::fixture::Fixture;

pub(crate) const ALL: &[super::Case] = &[
    (
        "a_service_has_the_cpus_and_memory_of_its_cell",
        a_service_has_the_cpus_and_memory_of_its_cell,
    ),
    (
        "memory_that_ran_out_fails_the_trial",
        memory_that_ran_out_fails_the_trial,
    ),
    (
        "a_service_that_swaps_fails_the_trial",
        a_service_that_swaps_fails_the_trial,
    ),
    (
        "more_than_the_machine_has_is_refused",
        more_than_the_machine_has_is_refused,
    ),
];

/// The folder of the control group of a process, of a controller of version 1, or of version 2.
fn group_of(pid: u32, controller: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let hierarchies = rest::cgroup_hierarchies().ok()?;
    let of_version_1 = hierarchies.iter().find(|hierarchy| {
        let mut controllers = hierarchy.controllers.iter().flatten();
        controllers.any(|known| known == controller)
    });
    let (hierarchy, key) = match of_version_1 {
        Some(hierarchy) => (hierarchy, controller),
        None => (hierarchies.iter().find(|it| it.controllers.is_none())?, ""),
    };
    let path = text.lines().find_map(|line| {
        let (names, path) = line.split_once(':')?.1.split_once(':')?;
        names.split(',').any(|name| name == key).then_some(path)
    })?;
    let name = Path::new(path).file_name()?;
    name.to_string_lossy().starts_with("plimsoll-").then(|| {
        let own = Path::new(&hierarchy.mount).join(&hierarchy.own);
        let beside = own.parent().map(|parent| parent.join(name));
        let below = own.join(name);
        beside.filter(|folder| folder.exists()).unwrap_or(below)
    })
}

fn first_content(folder: &Path, names: [&str; 2]) -> String {
    let read = |name: &&str| fs::read_to_string(folder.join(name)).ok();
    let text = names.iter().find_map(read).unwrap_or_default();
    text.trim().to_owned()
}

fn a_service_has_the_cpus_and_memory_of_its_cell() {
    let fixture = Fixture::new();
    let mut services = fixture.open(&fixture.serving("cpus: 0.5\nmemory: 64MiB\nprocesses: 1", ""));
    let mut service = services.apply(0).unwrap();
    service.ready().unwrap();
    let [pid] = service.processes()[..] else {
        panic!("{:?}", service.processes());
    };
    let groups: Vec<PathBuf> = ["cpu", "memory"]
        .into_iter()
        .filter_map(|controller| group_of(pid, controller))
        .collect();
    let notes = service.notes().to_vec();
    if let [cpu, memory] = &groups[..] {
        assert_eq!(notes, [""; 0]);
        let quota = first_content(cpu, ["cpu.max", "cpu.cfs_quota_us"]);
        assert!(
            ["50000 100000", "50000"].contains(&quota.as_str()),
            "{quota}"
        );
        let limit = first_content(memory, ["memory.max", "memory.limit_in_bytes"]);
        assert_eq!(limit, (64 << 20).to_string());
        service.stop().unwrap();
        assert!(groups.iter().all(|folder| !folder.exists()));
    } else {
        // What may not be limited by a group is limited otherwise, and noted.
        assert_eq!(notes.len(), 2 - groups.len(), "{notes:?}");
        let text = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap();
        if notes.iter().any(|note| note.contains("address space")) {
            let limits = text("limits");
            let line = limits
                .lines()
                .find(|line| line.starts_with("Max address space"));
            let bytes = (64 << 20).to_string();
            assert_eq!(
                line.unwrap().split_whitespace().nth(3),
                Some(bytes.as_str())
            );
        }
        if notes.iter().any(|note| note.contains("affinity")) {
            let status = text("status");
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            assert!(
                line.unwrap().trim().parse::<u32>().is_ok(),
                "a single CPU: {line:?}"
            );
        }
        not_tried(format_args!(
            "control groups may not be made here: {notes:?}"
        ));
        service.stop().unwrap();
    }
    fixture.is_clean();
}

fn memory_that_ran_out_fails_the_trial() {
    let fixture = Fixture::new();
    let mut services = fixture.open(&fixture.serving("memory: 48MiB", ""));
    let mut service = services.apply(0).unwrap();
    service.ready().unwrap();
    let has_group = service.notes().is_empty();
    fixture.get("/grow/1024");
    let health = service.health();
    assert!(!health.is_good());
    let has_run_out = health
        .failures
        .iter()
        .any(|failure| failure.contains("memory ran out"));
    if has_group {
        assert!(has_run_out, "{health:?}");
    } else {
        not_tried("no control group for memory may be made here");
    }
    service.stop().unwrap();
    fixture.is_clean();
}

fn a_service_that_swaps_fails_the_trial() {
    let Some(_swap) = Swap::of(256) else {
        return;
    };
    let fixture = Fixture::new();
    let mut services = fixture.open(&fixture.serving("memory: 48MiB", ""));
    let mut service = services.apply(0).unwrap();
    service.ready().unwrap();
    if !service.notes().is_empty() {
        not_tried("no control group for memory may be made here");
        return;
    }
    assert!(service.health().is_good());
    fixture.get("/grow/96");
    let health = service.health();
    let has_swapped = health
        .failures
        .iter()
        .any(|failure| failure.contains("it swapped"));
    assert!(has_swapped, "{health:?}");
    service.stop().unwrap();
    fixture.is_clean();
}

fn more_than_the_machine_has_is_refused() {
    let fixture = Fixture::new();
    let mut services = fixture.open(&fixture.serving("cpus: 1024", ""));
    let refused = services.apply(0).unwrap_err();
    assert!(refused.is_of_trial());
    let text = refused.to_string();
    assert!(
        text.contains("apply 1: 1024 CPUs cannot be given"),
        "{text}"
    );
    assert!(text.contains("valid: up to"), "{text}");
    fixture.is_clean();
}
