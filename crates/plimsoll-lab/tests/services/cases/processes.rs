//! Processes are started as the cell demands, and all end.

use std::fs;

use plimsoll_probe::rest;

use crate::fixture::Fixture;

pub(crate) const ALL: &[super::Case] = &[
    (
        "a_cell_is_started_with_its_levels",
        a_cell_is_started_with_its_levels,
    ),
    (
        "a_command_starts_in_its_folder",
        a_command_starts_in_its_folder,
    ),
    ("each_process_has_its_number", each_process_has_its_number),
    (
        "whatever_a_service_starts_ends_with_it",
        whatever_a_service_starts_ends_with_it,
    ),
    (
        "a_service_that_dies_is_noticed",
        a_service_that_dies_is_noticed,
    ),
    (
        "an_interrupt_ends_the_wait_and_the_service",
        an_interrupt_ends_the_wait_and_the_service,
    ),
];

fn a_cell_is_started_with_its_levels() {
    let fixture = Fixture::new();
    let mut services = fixture.open(&fixture.serving("", ""));
    for (cell, level) in ["a", "b"].into_iter().enumerate() {
        let mut service = services.apply(cell).unwrap();
        service.ready().unwrap();
        assert_eq!(fixture.get("/"), format!("{level} 0"));
        assert_eq!(service.processes(), fixture.living());
        assert_eq!(service.processes().len(), 1);
        assert!(service.health().is_good());
        assert_eq!(service.stop().unwrap(), [""; 0]);
        fixture.is_clean();
        assert_eq!(fixture.get("/"), "");
    }
    // A drop does the same.
    let mut service = services.apply(0).unwrap();
    service.ready().unwrap();
    drop(service);
    fixture.is_clean();
    services.close().unwrap();
}

fn a_command_starts_in_its_folder() {
    let fixture = Fixture::new();
    let folder = fixture.base().join("a");
    fs::create_dir(&folder).unwrap();
    let script = "echo started > place; exec \"$0\" \"$@\"";
    let apply = format!(
        "command: [sh, -c, {script:?}, {}]\nfolder: \"{{{{ level }}}}\"",
        fixture.serve()
    );
    let ready = format!("ready: 127.0.0.1:{}", fixture.port);
    let mut services = fixture.open(&fixture.text(&apply, &ready));
    let mut service = services.apply(0).unwrap();
    service.ready().unwrap();
    assert!(folder.join("place").exists());
    service.stop().unwrap();
    // The other level has no folder.
    let missing = services.apply(1).unwrap_err().to_string();
    assert!(missing.contains("does not exist"), "{missing}");
    fixture.is_clean();
}

fn each_process_has_its_number() {
    let fixture = Fixture::new();
    let script = "exec sleep $((1000 + PLIMSOLL_PROCESS))";
    let apply = format!("command: [sh, -c, {script:?}]\nprocesses: 3");
    let mut services = fixture.open(&fixture.text(&apply, ""));
    let mut service = services.apply(0).unwrap();
    service.ready().unwrap();
    assert_eq!(service.processes().len(), 3);
    let processes = rest::processes().unwrap();
    let groups: Vec<u32> = processes
        .iter()
        .filter(|process| service.processes().contains(&process.pid))
        .map(|process| process.group)
        .collect();
    assert_eq!(groups, service.processes(), "each leads a group");
    service.stop().unwrap();
    fixture.is_clean();
}

/// Children that leave the group, or have no environment, or take no notice of a signal.
fn whatever_a_service_starts_ends_with_it() {
    let fixture = Fixture::new();
    // The server, by which it is ready, starts after all others.
    let script = "mkfifo begun; setsid sleep 1001 & env -i sleep 1002 & \
                  (trap '' TERM; sleep 1003 & echo > begun; wait; sleep 1004) & \
                  trap '' TERM; read line < begun; \"$0\" \"$@\"; wait";
    let apply = format!("command: [sh, -c, {script:?}, {}]", fixture.serve());
    let ready = format!("ready: 127.0.0.1:{}", fixture.port);
    let mut services = fixture.open(&fixture.text(&apply, &ready));
    let mut service = services.apply(0).unwrap();
    service.ready().unwrap();
    let before = service.processes();
    // The shell, the server, three sleeps, and the shell of the third.
    assert_eq!(before.len(), 6, "{before:?}");
    service.stop().unwrap();
    let states = rest::processes().unwrap();
    let left: Vec<_> = states
        .iter()
        .filter(|it| before.contains(&it.pid) && !it.has_ended)
        .collect();
    assert!(left.is_empty(), "{left:?}");
    fixture.is_clean();
}

fn a_service_that_dies_is_noticed() {
    let fixture = Fixture::new();
    let mut services = fixture.open(&fixture.serving("", ""));
    let mut service = services.apply(0).unwrap();
    service.ready().unwrap();
    assert!(service.health().is_good());
    fixture.get("/abort");
    let health = service.health();
    let [failure] = &health.failures[..] else {
        panic!("{health:?}");
    };
    assert!(failure.contains("was ended by signal 6"), "{failure}");
    service.stop().unwrap();
    fixture.is_clean();
}

fn an_interrupt_ends_the_wait_and_the_service() {
    let fixture = Fixture::new();
    let script = "exec sleep 1000";
    let apply = format!("command: [sh, -c, {script:?}]");
    let ready = format!(
        "ready: {{ tcp: \"127.0.0.1:{}\", within: 1h }}",
        fixture.port
    );
    let text = fixture.text(&apply, &ready);
    let context = fixture.context();
    let stop = context.stop.clone();
    let experiment = fixture.experiment(&text);
    let mut services =
        plimsoll_lab::service::ExperimentServices::open(experiment, context).unwrap();
    let mut service = services.apply(0).unwrap();
    let interrupted = std::thread::scope(|scope| {
        scope.spawn(|| stop.raise());
        service.ready().unwrap_err()
    });
    assert_eq!(
        interrupted.kind(),
        plimsoll_lab::service::ApplyFaultKind::Interrupted
    );
    assert!(!interrupted.is_of_trial());
    service.stop().unwrap();
    services.close().unwrap();
    fixture.is_clean();
    let output = fixture.results().join("output/service-1-0.log");
    assert_eq!(fs::read_to_string(output).unwrap(), "");
}
