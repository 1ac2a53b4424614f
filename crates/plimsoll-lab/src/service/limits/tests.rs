//! Control groups of version 2 in a folder with the kernel's names: on a machine of version 1 there are none.

use std::os::unix::fs::MetadataExt as _;

use plimsoll_probe::rest::CgroupHierarchy;

use super::group::fill;
use super::*;

fn hierarchy(mount: &Path, own: &str) -> CgroupHierarchy {
    CgroupHierarchy {
        mount: mount.display().to_string(),
        own: own.to_owned(),
        controllers: None,
    }
}

/// A group with these controllers for groups below it.
fn group(folder: &Path, enabled: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("cgroup.procs"), "").unwrap();
    fs::write(folder.join("cgroup.type"), "domain").unwrap();
    fs::write(folder.join("cgroup.controllers"), "cpu io memory pids").unwrap();
    fs::write(folder.join("cgroup.subtree_control"), enabled).unwrap();
}

const BOTH: Allowance = Allowance {
    cpus: Some(1.5),
    memory: Some(64 << 20),
};

#[test]
fn a_group_of_version_2_is_made_beside_that_of_this_process() {
    let root = tempfile::tempdir().unwrap();
    let slice = root.path().join("user.slice");
    group(root.path(), "cpu memory");
    group(&slice, "cpu memory pids");
    group(&slice.join("session.scope"), "");
    let hierarchies = [hierarchy(root.path(), "user.slice/session.scope")];
    let (planned, refused) = plan(&hierarchies, BOTH, "plimsoll-1");
    assert!(refused.is_empty(), "{refused:?}");
    let group = slice.join("plimsoll-1");
    for limit in &planned {
        assert_eq!((&limit.folder, limit.is_to_enable), (&group, false));
        fill(limit).unwrap();
    }
    let content = |name: &str| fs::read_to_string(group.join(name)).unwrap();
    assert_eq!(content("cpu.max"), "150000 100000");
    assert_eq!(content("memory.max"), (64 << 20).to_string());
}

#[test]
fn controllers_are_enabled_at_the_root_alone() {
    let root = tempfile::tempdir().unwrap();
    group(root.path(), "");
    fs::write(root.path().join("cgroup.procs"), "7\n").unwrap();
    let hierarchies = [hierarchy(root.path(), "")];
    let (planned, refused) = plan(&hierarchies, BOTH, "plimsoll-1");
    // A group with processes, which is not the root.
    assert_eq!((planned.len(), refused.len()), (0, 2));
    fs::remove_file(root.path().join("cgroup.type")).unwrap();
    let (planned, _) = plan(&hierarchies, BOTH, "plimsoll-1");
    assert!(planned.iter().all(|limit| limit.is_to_enable));
    assert_eq!(planned.len(), 2);
    let control = root.path().join("cgroup.subtree_control");
    disable(&control, &["memory".to_owned()]);
    assert_eq!(fs::read_to_string(&control).unwrap(), "-memory");
    // Nothing else is ever written.
    disable(&control, &["pids".to_owned()]);
    disable(&root.path().join("cgroup.procs"), &["cpu".to_owned()]);
    assert_eq!(fs::read_to_string(&control).unwrap(), "-memory");
    assert_eq!(
        fs::read_to_string(root.path().join("cgroup.procs")).unwrap(),
        "7\n"
    );
}

/// As systemd makes them for `Delegate=yes` with `DelegateSubgroup=`: the unit has no process, and belongs to its user.
#[test]
fn controllers_are_enabled_in_a_delegated_group_without_processes() {
    let root = tempfile::tempdir().unwrap();
    let unit = root.path().join("plimsoll.service");
    group(root.path(), "cpu memory");
    group(&unit, "");
    group(&unit.join("supervisor"), "");
    fs::write(unit.join("supervisor/cgroup.procs"), "7\n").unwrap();
    let hierarchies = [hierarchy(root.path(), "plimsoll.service/supervisor")];
    let folder = |limits: &[group::GroupLimit]| {
        let limit = limits
            .first()
            .map(|it| (it.folder.clone(), it.is_to_enable));
        limit.unwrap_or_default()
    };
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let (planned, _) = plan(&hierarchies, BOTH, "plimsoll-1");
    if is_root {
        // To root everything belongs: only the mark of systemd tells. Here the root of the tree takes the group.
        assert_eq!(folder(&planned), (root.path().join("plimsoll-1"), false));
        if rustix::fs::setxattr(
            &unit,
            "user.delegate",
            b"1",
            rustix::fs::XattrFlags::empty(),
        )
        .is_err()
        {
            plimsoll_testkit::not_tried::not_tried("the file system has no extended attributes");
            return;
        }
    }
    let (planned, refused) = plan(&hierarchies, BOTH, "plimsoll-1");
    assert!(refused.is_empty(), "{refused:?}");
    assert_eq!(folder(&planned), (unit.join("plimsoll-1"), true));
    // With a process in it, no controller can be enabled there.
    fs::write(unit.join("cgroup.procs"), "8\n").unwrap();
    let (planned, _) = plan(&hierarchies, BOTH, "plimsoll-1");
    assert_eq!(folder(&planned), (root.path().join("plimsoll-1"), false));
}

/// Sessions of users often have memory delegated, and no CPU.
#[test]
fn one_controller_is_taken_where_the_other_is_missing() {
    let root = tempfile::tempdir().unwrap();
    let slice = root.path().join("app.slice");
    group(root.path(), "");
    group(&slice, "memory pids");
    for folder in [root.path(), &slice] {
        fs::write(folder.join("cgroup.procs"), "7\n").unwrap();
    }
    group(&slice.join("run.scope"), "");
    let hierarchies = [hierarchy(root.path(), "app.slice/run.scope")];
    let (planned, refused) = plan(&hierarchies, BOTH, "plimsoll-1");
    let [memory] = &planned[..] else {
        panic!("{planned:?}");
    };
    assert_eq!(memory.controller, "memory");
    assert_eq!(memory.folder, slice.join("plimsoll-1"));
    assert_eq!(refused.len(), 1);
    assert!(refused[0].1.contains("Delegate=yes"), "{refused:?}");
}

#[test]
fn a_controller_stays_while_another_experiment_uses_it() {
    let root = tempfile::tempdir().unwrap();
    group(root.path(), "cpu");
    let control = root.path().join("cgroup.subtree_control");
    let other = root.path().join("plimsoll-of-another");
    group(&other, "");
    disable(&control, &["cpu".to_owned()]);
    assert_eq!(fs::read_to_string(&control).unwrap(), "cpu");
    fs::remove_dir_all(&other).unwrap();
    disable(&control, &["cpu".to_owned()]);
    assert_eq!(fs::read_to_string(&control).unwrap(), "-cpu");
}

#[test]
fn a_group_below_a_threaded_one_is_refused() {
    let root = tempfile::tempdir().unwrap();
    group(root.path(), "cpu memory");
    let hierarchies = [hierarchy(root.path(), "")];
    let (planned, _) = plan(&hierarchies, BOTH, "plimsoll-1");
    fs::create_dir(&planned[0].folder).unwrap();
    fs::write(planned[0].folder.join("cgroup.type"), "domain invalid\n").unwrap();
    let error = fill(&planned[0]).unwrap_err().to_string();
    assert!(error.contains("threaded"), "{error}");
}

#[test]
fn both_versions_may_be_mounted() {
    let root = tempfile::tempdir().unwrap();
    let old = CgroupHierarchy {
        mount: "/sys/fs/cgroup/memory".to_owned(),
        own: "docker/7".to_owned(),
        controllers: Some(vec!["rw".to_owned(), "memory".to_owned()]),
    };
    let hierarchies = [old, hierarchy(root.path(), "")];
    let (planned, refused) = plan(&hierarchies, BOTH, "plimsoll-1");
    let [memory] = &planned[..] else {
        panic!("{planned:?}");
    };
    let folder = Path::new("/sys/fs/cgroup/memory/docker/7/plimsoll-1");
    assert_eq!(memory.folder, folder);
    assert_eq!(
        memory.settings,
        [("memory.limit_in_bytes", (64 << 20).to_string())]
    );
    assert_eq!(refused[0].0, "cpu");
}

#[test]
fn without_a_group_affinity_and_address_space_do_it_and_that_is_noted() {
    let mut limits = ServiceLimits::default();
    let allowance = Allowance {
        cpus: Some(0.5),
        memory: Some(64 << 20),
    };
    for controller in ["cpu", "memory"] {
        fall_back(&mut limits, allowance, controller, "read-only", "apply 1").unwrap();
    }
    assert_eq!(limits.process.cpus.len(), 1);
    assert_eq!(limits.process.address_space, Some(64 << 20));
    assert_eq!(limits.notes.len(), 2);
    assert!(limits.notes[0].contains("0.5 CPUs are held by affinity to whole CPUs (1)"));
    assert!(limits.notes[1].contains("address space of each process"));
    assert!(limits.notes.iter().all(|note| note.contains("read-only")));
}

#[test]
fn what_the_machine_does_not_have_is_refused() {
    let many = Allowance {
        cpus: Some(1024.0),
        memory: None,
    };
    let refused = check_machine(many, "apply 1").unwrap_err().to_string();
    assert!(refused.contains("this machine has"), "{refused}");
    let much = Allowance {
        cpus: None,
        memory: Some(1 << 60),
    };
    let refused = check_machine(much, "apply 1").unwrap_err().to_string();
    assert!(refused.contains("valid: up to"), "{refused}");
    assert!(check_machine(Allowance::default(), "apply 1").is_ok());
}

#[test]
fn kills_and_swap_are_counted_in_both_versions() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
    );
    write("memory.stat", "cache 7\nswap 1\ntotal_swap 8192\n");
    let old = MemoryCounts {
        kills: 3,
        swap: 8192,
    };
    assert_eq!(memory_counts(folder.path()), old);
    write("memory.events", "low 0\nhigh 0\nmax 4\noom 2\noom_kill 1\n");
    write("memory.swap.current", "4096\n");
    let new = MemoryCounts {
        kills: 1,
        swap: 4096,
    };
    assert_eq!(memory_counts(folder.path()), new);
    assert_eq!(
        memory_counts(Path::new("/nowhere")),
        MemoryCounts::default()
    );
}

#[test]
fn only_groups_made_here_are_removed() {
    let root = tempfile::tempdir().unwrap();
    let other = root.path().join("system.slice");
    group(&other, "");
    let groups = [other.clone(), root.path().join("plimsoll-gone")];
    assert_eq!(own_groups(&groups).count(), 0);
    remove(&groups).unwrap();
    assert!(other.exists());
}
