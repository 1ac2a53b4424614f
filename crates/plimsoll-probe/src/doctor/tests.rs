use super::*;

const BOUNDS: Bounds = Bounds {
    steal_max: 0.05,
    cpu_max: 0.85,
    connections: 10_000,
};

/// A machine with these files.
fn conditions(files: &[(&str, &str)]) -> Vec<Condition> {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    Examination::below(root.path().to_owned()).finish(&BOUNDS)
}

fn limits(hard: &str) -> String {
    format!("Max open files            1024                 {hard}                 files\n")
}

fn of<'a>(conditions: &'a [Condition], name: &str) -> &'a Condition {
    let found = conditions.iter().find(|condition| condition.name == name);
    found.unwrap_or_else(|| panic!("{name} is missing in {conditions:#?}"))
}

#[test]
fn what_lacks_comes_first_and_has_its_command() {
    let limits = limits("4096");
    let found = conditions(&[
        ("proc/self/limits", &limits),
        ("proc/self/status", "CapEff:\t0000000000800000\n"),
        ("proc/sys/net/ipv4/ip_local_port_range", "32768 40000\n"),
        ("proc/sys/fs/file-max", "1000\n"),
        (
            "proc/net/sockstat",
            "sockets: used 9\nTCP: inuse 1 orphan 0 tw 7000 alloc 1 mem 1\n",
        ),
        (
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "powersave\n",
        ),
        (
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "hpet\n",
        ),
    ]);
    let right = [
        (
            "open files (hard limit)",
            Health::Lacking,
            "echo '* - nofile 1048576' | sudo tee /etc/security/limits.d/plimsoll.conf",
        ),
        (
            "net.ipv4.ip_local_port_range",
            Health::Lacking,
            "sudo sysctl -w net.ipv4.ip_local_port_range='10240 65535'",
        ),
        (
            "fs.file-max",
            Health::Lacking,
            "sudo sysctl -w fs.file-max='500000'",
        ),
        ("connections in TIME_WAIT", Health::Lacking, "sleep 60"),
        (
            "CPU governor",
            Health::Weak,
            "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        ),
        (
            "time source",
            Health::Weak,
            "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
    ];
    for (name, health, command) in right {
        let condition = of(&found, name);
        assert_eq!(condition.health, health, "{condition:?}");
        assert_eq!(
            condition.commands.first().map(String::as_str),
            Some(command),
            "{condition:?}"
        );
    }
    assert_eq!(
        of(&found, "real-time priority (CAP_SYS_NICE)").health,
        Health::Good
    );
    assert_eq!(
        of(&found, "reading processes of other users (CAP_SYS_PTRACE)").health,
        Health::Weak
    );
    assert!(found.is_sorted_by_key(|condition| condition.health));
}

#[test]
fn every_condition_that_is_not_met_has_a_command() {
    for condition in conditions(&[("proc/self/limits", &limits("4096"))]) {
        let is_good = condition.health == Health::Good;
        assert_eq!(condition.commands.is_empty(), is_good, "{condition:?}");
    }
}

#[test]
fn a_sufficient_machine_lacks_nothing() {
    let limits = limits("1048576");
    let found = conditions(&[
        ("proc/self/limits", &limits),
        ("proc/self/status", "CapEff:\t000001ffffffffff\n"),
        (
            "proc/pressure/cpu",
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
        ),
        (
            "proc/stat",
            "cpu  1 0 1 10 0 0 0 0\ncpu0 1 0 1 5 0 0 0 0\ncpu1 0 0 0 5 0 0 0 0\n",
        ),
        ("proc/sys/net/ipv4/ip_local_port_range", "10240 65535\n"),
        ("proc/sys/fs/file-max", "900000\n"),
        (
            "proc/net/sockstat",
            "sockets: used 9\nTCP: inuse 1 orphan 0 tw 7 alloc 1 mem 1\n",
        ),
    ]);
    let lacking: Vec<_> = found
        .iter()
        .filter(|condition| condition.health != Health::Good && condition.area != Area::Service)
        .collect();
    assert!(lacking.is_empty(), "{lacking:#?}");
}

#[test]
fn notes_on_components_become_conditions_with_what_is_to_be_typed() {
    let notes = [
        "found and watched: Redis at 127.0.0.1:6379 (named by 7)".to_owned(),
        "nginx of pid 9: no status page: add `server { listen 127.0.0.1:8999; }` and reload it by `nginx -s reload`".to_owned(),
    ];
    let found = access::components(&notes);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].name, "nginx of pid 9");
    assert_eq!(
        found[0].commands,
        ["server { listen 127.0.0.1:8999; }", "nginx -s reload"]
    );
}
