//! Settings of the kernel, in a network namespace of its own: other levels are taken, and those from before come back.

use std::path::PathBuf;
use std::process::Command;

use plimsoll_testkit::machine::namespace::Namespace;

use super::*;

/// What the kernel has.
fn present(knob: &FoundKnob) -> String {
    let path = format!("/proc/sys/{}", knob.ready.setting.replace('.', "/"));
    let text = std::fs::read_to_string(path).unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Lets the kernel read such a file by the command of a draft.
#[track_caller]
fn apply(folder: &Path, file: &FoundFile, text: &str) {
    std::fs::write(folder.join(KERNEL_FILE), text).unwrap();
    let command = file.reload.as_ref().unwrap();
    let mut program = Command::new(&command[0]);
    let output = program.args(&command[1..]).current_dir(folder).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}\n{text}");
}

#[test]
fn the_kernel_takes_levels_and_has_its_own_back() {
    let Some(_network) = Namespace::enter(32_768, 60_999) else {
        return;
    };
    let plan = KnobPlan {
        target_address: None,
        unix_socket: None,
        components: Vec::new(),
        kernel: true,
        root: PathBuf::from("/"),
    };
    let mut files = Files::new(PathBuf::from("/"));
    let found = find_of(&mut files, &plan, &BTreeSet::new(), Vec::new());
    // The others hold for the whole machine, and stay as they are.
    let own = found.knobs.iter().filter(|knob| {
        let is_reachable = matches!(knob.place, KnobPlace::File(_));
        knob.ready.setting.starts_with("net.") && is_reachable
    });
    let own: Vec<&FoundKnob> = own.collect();
    let settings: Vec<&str> = own.iter().map(|knob| knob.ready.setting).collect();
    for setting in [
        "net.core.somaxconn",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_max_syn_backlog",
        "net.ipv4.tcp_slow_start_after_idle",
    ] {
        assert!(settings.contains(&setting), "{setting}: {settings:?}");
    }
    let is_own = |name: &str| own.iter().any(|knob| knob.name == name);
    let file = kernel_file(&found.files[0], &is_own);
    let mut text = template(&file.text, &file.edits, &|_| true);
    let other = |knob: &FoundKnob| {
        let mut levels = knob.levels.iter();
        levels.find(|level| **level != knob.now).unwrap().clone()
    };
    for knob in &own {
        text = text.replace(&format!("{{{{ {} }}}}", knob.name), &other(knob));
    }
    let folder = tempfile::tempdir().unwrap();
    apply(folder.path(), &file, &text);
    for knob in &own {
        assert_eq!(present(knob), other(knob), "{}", knob.name);
    }
    apply(folder.path(), &file, &file.text);
    for knob in &own {
        assert_eq!(present(knob), knob.now, "{}", knob.name);
    }
}

/// As in a container: the settings can be read, and not written.
#[test]
fn what_cannot_be_written_is_no_line_of_the_file() {
    if rustix::process::geteuid().is_root() {
        plimsoll_testkit::not_tried::not_tried("root passes over permissions: needs another user");
        return;
    }
    let machine = MachineFolder::new();
    machine.put("proc/sys/vm/swappiness", "60\n");
    machine.put("proc/sys/vm/overcommit_memory", "0\n");
    let path = machine.0.path().join("proc/sys/vm/swappiness");
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    let found = machine.find_with(&[], true);
    is_out_of_reach(&found, "kernel_swappiness", "run as root");
    let text = found.files[0].text.as_str();
    assert!(!text.contains("swappiness"), "{text}");
    assert!(text.contains("vm.overcommit_memory = 0\n"), "{text}");
}
