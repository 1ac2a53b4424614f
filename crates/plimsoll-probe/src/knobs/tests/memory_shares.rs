//! Sizes of memory that usually suffice on machines that several services share.

use super::*;

/// PostgreSQL with 16 MB of shared buffers, alone on a machine of 8 GiB.
fn database() -> MachineFolder {
    let machine = MachineFolder::new();
    machine.process(
        11,
        1,
        "postgres",
        &["/usr/bin/postgres", "-D", "/var/lib/pg"],
    );
    machine.put(
        "var/lib/pg/postgresql.conf",
        "shared_buffers = 16MB\nmax_connections = 100\n",
    );
    machine
}

#[track_caller]
fn usual(machine: &MachineFolder, related: &[u32], name: &str) -> Option<String> {
    knob(&machine.find(related), name).usual.clone()
}

const BUFFERS: &str = "postgres_shared_buffers";

#[test]
fn a_quarter_of_a_machine_is_for_a_database_that_has_it_alone() {
    let machine = database();
    assert_eq!(usual(&machine, &[11], BUFFERS).as_deref(), Some("2048MB"));
    // Memory is not free: half of what is left.
    machine.put(
        "proc/meminfo",
        "MemTotal: 8388608 kB\nMemAvailable: 1048576 kB\n",
    );
    assert_eq!(usual(&machine, &[11], BUFFERS).as_deref(), Some("512MB"));
    // A process of the target whose program is not known is an application.
    machine.put(
        "proc/meminfo",
        "MemTotal: 8388608 kB\nMemAvailable: 8000000 kB\n",
    );
    assert_eq!(
        usual(&machine, &[7, 11], BUFFERS).as_deref(),
        Some("1024MB")
    );
}

#[test]
fn services_that_hold_memory_share_it() {
    let machine = database();
    machine.process(9, 1, "gunicorn", &["gunicorn", "app:app"]);
    // A proxy holds little.
    machine.process(7, 1, "haproxy", &["haproxy", "-f", "/etc/haproxy.cfg"]);
    machine.put("etc/haproxy.cfg", "global\n  maxconn 100\n");
    let two = [7, 9, 11];
    assert_eq!(usual(&machine, &two, BUFFERS).as_deref(), Some("1024MB"));
    machine.process(12, 1, "java", &["java", "-Xmx256m", "-jar", "shop.jar"]);
    let three = [7, 9, 11, 12];
    assert_eq!(usual(&machine, &three, BUFFERS).as_deref(), Some("512MB"));
    // Half of a third of 8 GiB.
    assert_eq!(usual(&machine, &three, "jvm_Xmx").as_deref(), Some("1024M"));
    // Both grow by a quarter of what is free at most.
    machine.put(
        "proc/meminfo",
        "MemTotal: 8388608 kB\nMemAvailable: 819200 kB\n",
    );
    assert_eq!(usual(&machine, &three, BUFFERS).as_deref(), Some("128MB"));
    assert_eq!(usual(&machine, &three, "jvm_Xmx"), None);
}

#[test]
fn a_full_machine_makes_no_size_the_likeliest_limit() {
    let machine = database();
    let score = |machine: &MachineFolder| knob(&machine.find(&[11]), BUFFERS).score;
    let free = score(&machine);
    machine.put("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 0 kB\n");
    let full = score(&machine);
    let ready = catalogue::knob(Some(ComponentKind::Postgres), "shared_buffers");
    assert!((full - f64::from(ready.weight)).abs() < 1e-9, "{full}");
    assert!(free > full + 60.0, "{free} {full}");
}

#[test]
fn the_limit_of_a_cgroup_is_the_memory_of_its_process() {
    let machine = MachineFolder::new();
    machine.process(12, 1, "java", &["java", "-Xmx128m", "-jar", "shop.jar"]);
    machine.process(9, 1, "gunicorn", &["gunicorn", "app:app"]);
    machine.put("proc/12/cgroup", "0::/shop.scope\n");
    machine.put(
        "proc/self/mountinfo",
        "25 19 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
    );
    machine.put("sys/fs/cgroup/shop.scope/cgroup.type", "domain\n");
    machine.put("sys/fs/cgroup/shop.scope/memory.max", "1073741824\n");
    let found = machine.find(&[9, 12]);
    let heap = knob(&found, "jvm_Xmx");
    assert_eq!(heap.usual.as_deref(), Some("512M"));
    // At most 70 % of it.
    assert_eq!(heap.levels.last().map(String::as_str), Some("512M"));
    // Without a flag it is a quarter.
    machine.put("proc/12/cmdline", "java\0-jar\0shop.jar");
    assert_eq!(knob(&machine.find(&[9, 12]), "jvm_Xmx").now, "256M");
}
