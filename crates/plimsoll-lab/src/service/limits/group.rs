//! Where a control group is made, and how it gets its limits.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use plimsoll_probe::rest::CgroupHierarchy;
use rustix::fs::{Access, access};

use super::Allowance;
use crate::service::applied::Applied;
use crate::service::fault::ApplyFault;
use crate::service::stage::Stage;

/// Period of a CPU quota, µs.
const PERIOD_US: f64 = 100_000.0;
/// By which systemd marks a group that it leaves to its processes.
const DELEGATION_MARKS: [&str; 2] = ["user.delegate", "trusted.delegate"];

/// A limit that a control group shall have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GroupLimit {
    pub(super) controller: &'static str,
    /// The group, not made yet.
    pub(super) folder: PathBuf,
    /// File and content of the limit.
    pub(super) settings: Vec<(&'static str, String)>,
    /// Whether the controller must be enabled for groups below the folder above.
    pub(super) is_to_enable: bool,
}

/// The groups for an allowance; and for what none can be planned, with the reason.
pub(super) fn plan(
    hierarchies: &[CgroupHierarchy],
    allowance: Allowance,
    name: &str,
) -> (Vec<GroupLimit>, Vec<(&'static str, String)>) {
    let (mut planned, mut refused) = (Vec::new(), Vec::new());
    let wanted = [
        ("cpu", allowance.cpus.is_some()),
        ("memory", allowance.memory.is_some()),
    ];
    let wanted: Vec<&'static str> = wanted
        .into_iter()
        .filter_map(|(controller, is_wanted)| is_wanted.then_some(controller))
        .collect();
    let of_version_1 = |controller: &str| {
        hierarchies.iter().find(|hierarchy| {
            let mut controllers = hierarchy.controllers.iter().flatten();
            controllers.any(|known| known == controller)
        })
    };
    let left: Vec<&'static str> = wanted
        .iter()
        .copied()
        .filter(|controller| of_version_1(controller).is_none())
        .collect();
    let version_2 = hierarchies.iter().find(|it| it.controllers.is_none());
    let shared = version_2.and_then(|hierarchy| shared_parent(hierarchy, &left));
    for &controller in &wanted {
        let found = match (of_version_1(controller), &shared) {
            (Some(hierarchy), _) => {
                let folder = Path::new(&hierarchy.mount).join(&hierarchy.own);
                Some((folder, false, false))
            }
            (None, Some(shared)) if shared.controllers.contains(&controller) => {
                Some((shared.folder.clone(), true, shared.is_to_enable))
            }
            (None, _) => None,
        };
        let Some((parent, is_version_2, is_to_enable)) = found else {
            refused.push((controller, no_group(controller)));
            continue;
        };
        planned.push(GroupLimit {
            controller,
            folder: parent.join(name),
            settings: settings(allowance, controller, is_version_2),
            is_to_enable,
        });
    }
    (planned, refused)
}

/// The files of a limit.
fn settings(
    allowance: Allowance,
    controller: &str,
    is_version_2: bool,
) -> Vec<(&'static str, String)> {
    if controller == "cpu" {
        let quota = (allowance.cpus.unwrap_or(1.0) * PERIOD_US).round();
        return if is_version_2 {
            vec![("cpu.max", format!("{quota} {PERIOD_US}"))]
        } else {
            vec![
                ("cpu.cfs_period_us", PERIOD_US.to_string()),
                ("cpu.cfs_quota_us", quota.to_string()),
            ]
        };
    }
    let bytes = allowance.memory.unwrap_or(u64::MAX).to_string();
    if is_version_2 {
        vec![("memory.max", bytes)]
    } else {
        vec![("memory.limit_in_bytes", bytes)]
    }
}

fn no_group(controller: &str) -> String {
    format!(
        "no control group with the controller `{controller}` may be made here (as another user than root: \
         `systemd-run --user --scope --property=Delegate=yes plimsoll …`)"
    )
}

/// A group of version 2 below which a group is made.
struct SharedParent {
    folder: PathBuf,
    /// Whether the controllers must be enabled for groups below it.
    is_to_enable: bool,
    controllers: Vec<&'static str>,
}

/// The parent for all of these controllers, otherwise for one of them: a process is in a single group of version 2.
fn shared_parent(hierarchy: &CgroupHierarchy, wanted: &[&'static str]) -> Option<SharedParent> {
    let single = wanted.iter().rev().map(|controller| vec![*controller]);
    let mut choices = std::iter::once(wanted.to_vec()).chain(single);
    choices
        .find_map(|controllers| {
            let found = parent_of_version_2(hierarchy, &controllers);
            found.map(|(folder, is_to_enable)| SharedParent {
                folder,
                is_to_enable,
                controllers,
            })
        })
        .filter(|shared| !shared.controllers.is_empty())
}

/// The nearest group, from that of this process upwards, in which a group with these controllers may be made, and whether
/// they must be enabled for that. In version 2 a group with processes has no controllers for groups below it, except
/// the root. Elsewhere they are enabled only where the group is delegated: the others are those of systemd, which would
/// disable them again.
fn parent_of_version_2(hierarchy: &CgroupHierarchy, wanted: &[&str]) -> Option<(PathBuf, bool)> {
    let mount = Path::new(&hierarchy.mount);
    let mut inside = PathBuf::from(&hierarchy.own);
    let has_all = |folder: &Path, file: &str| {
        let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
        wanted
            .iter()
            .all(|controller| text.split_whitespace().any(|known| known == *controller))
    };
    let may_write = |path: &Path| access(path, Access::WRITE_OK).is_ok();
    loop {
        let folder = mount.join(&inside);
        // A process may be moved only by who may write to the nearest group above both.
        if may_write(&folder) && may_write(&folder.join("cgroup.procs")) {
            if has_all(&folder, "cgroup.subtree_control") {
                return Some((folder, false));
            }
            let is_root = !folder.join("cgroup.type").exists();
            let may_enable = is_root || (is_delegated(&folder) && has_no_processes(&folder));
            let control = folder.join("cgroup.subtree_control");
            if may_enable && may_write(&control) && has_all(&folder, "cgroup.controllers") {
                return Some((folder, true));
            }
        }
        if !inside.pop() {
            return None;
        }
    }
}

/// Whether a group was handed to this user: it is the owner, or for root, systemd has marked it.
fn is_delegated(folder: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let is_owner = fs::metadata(folder).is_ok_and(|about| about.uid() == own);
    let is_marked = |name: &str| {
        let mut value = [0_u8; 1];
        rustix::fs::getxattr(folder, name, &mut value).is_ok() && &value == b"1"
    };
    is_owner && (own != 0 || DELEGATION_MARKS.iter().any(|name| is_marked(name)))
}

fn has_no_processes(folder: &Path) -> bool {
    fs::read_to_string(folder.join("cgroup.procs")).is_ok_and(|list| list.trim().is_empty())
}

/// Makes a group with a limit. The inner error says why it cannot be.
pub(super) fn make(stage: &mut Stage, limit: &GroupLimit) -> Result<io::Result<()>, ApplyFault> {
    if limit.is_to_enable
        && let Some(parent) = limit.folder.parent()
    {
        let control = parent.join("cgroup.subtree_control");
        let enabled = fs::read_to_string(&control).unwrap_or_default();
        if !enabled.split_whitespace().any(|it| it == limit.controller) {
            let names = vec![limit.controller.to_owned()];
            let applied = Applied::Controllers {
                control: control.clone(),
                names,
            };
            stage.journal.add(applied, false)?;
            if let Err(error) = fs::write(&control, format!("+{}", limit.controller)) {
                return Ok(Err(error));
            }
        }
    }
    Ok(fill(limit))
}

pub(super) fn fill(limit: &GroupLimit) -> io::Result<()> {
    match fs::create_dir(&limit.folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            let folder = limit.folder.display();
            let text = format!("the control group {folder} cannot be made: {error}");
            return Err(io::Error::other(text));
        }
        Ok(()) | Err(_) => {}
    }
    // Below a threaded group one of version 2 takes no process.
    let kind = fs::read_to_string(limit.folder.join("cgroup.type")).unwrap_or_default();
    if kind.trim() == "domain invalid" {
        let folder = limit.folder.display();
        let text =
            format!("the control group {folder} takes no processes: it is below a threaded one");
        return Err(io::Error::other(text));
    }
    for (file, content) in &limit.settings {
        let path = limit.folder.join(file);
        fs::write(&path, content).map_err(|error| {
            io::Error::other(format!(
                "{} cannot be set to {content}: {error}",
                path.display()
            ))
        })?;
    }
    Ok(())
}
