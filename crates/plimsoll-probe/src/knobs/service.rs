//! How a server is restarted and signalled as a unit of systemd.

use plimsoll_model::component::ComponentKind;

use super::processes::{ServerProcess, has_extension};
use super::start::FoundStart;
use crate::files::Files;
use crate::kernel_files;

/// Folders of unit files, the first of which wins.
const UNIT_FOLDERS: [&str; 4] = [
    "etc/systemd/system",
    "run/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
];
/// Where an administrator has units.
const ADMINISTRATOR: &str = "/etc/systemd/system";
/// Files of a unit that are read.
const UNIT_FILES_MAX: usize = 64;

/// Why a setting of a server that needs a restart is not reachable, and how it was started, where that is known.
pub(super) fn no_restart(start: Option<&FoundStart>) -> String {
    let why = "it takes effect by a restart, and the program is not a unit of systemd here";
    match start {
        Some(start) => format!(
            "{why}. It was started in {} by `{}`{}: stop it with `kill -TERM {}`, and let the experiment start it, with \
             `command` instead of `reload`",
            start.folder,
            start.command.join(" "),
            start.with_variables(),
            start.pid
        ),
        None => format!(
            "{why}: restart it by a `reload` command of your own, or let the experiment start it with `command`"
        ),
    }
}

/// Why a server is not made to read its file again, with the remedy.
pub(super) fn no_reload(server: &ServerProcess) -> String {
    match server.kind {
        ComponentKind::Haproxy => {
            "HAProxy reads its file again only where a master process runs: start it with `-W`, or \
             let the experiment start it with `command` instead of `reload`"
                .to_owned()
        }
        kind => format!(
            "{} cannot be made to read its file again from here: write a `reload` command of your own, or let the \
             experiment start it with `command`",
            kind.name()
        ),
    }
}

/// Commands of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Service {
    /// `systemctl`, with `--user` where it is a unit of this user.
    manager: Vec<String>,
    /// The unit; `None` where it is not one.
    unit: Option<String>,
}

impl Service {
    pub(super) fn of(files: &mut Files, pid: u32) -> Self {
        let cgroup = files
            .read(&format!("proc/{pid}/cgroup"))
            .unwrap_or_default();
        let path = cgroup.lines().find_map(|line| {
            let (_, path) = line.split_once("::").or_else(|| {
                let systemd = line.split_once(":name=systemd:")?;
                Some(systemd)
            })?;
            path.strip_suffix('/').or(Some(path))
        });
        let unit = path.and_then(unit_of);
        let is_user = path.is_some_and(|path| path.contains("/user@"));
        let has_manager = kernel_files::names(&files.path("run/systemd/system")).is_ok();
        let mut manager = vec!["systemctl".to_owned()];
        manager.extend(is_user.then(|| "--user".to_owned()));
        Self {
            manager,
            unit: unit.filter(|_| has_manager),
        }
    }

    /// Sends a signal to its first process; `None` where it is no unit.
    pub(super) fn signal(&self, signal: &str) -> Option<Vec<String>> {
        let unit = self.unit.as_ref()?;
        let signal = format!("--signal={signal}");
        Some(self.managed(&["kill", "--kill-who=main", &signal, unit]))
    }

    /// Restarts it; `None` where that is not known.
    pub(super) fn restart(&self) -> Option<Vec<String>> {
        let unit = self.unit.as_ref()?;
        Some(self.managed(&["restart", unit]))
    }

    /// The same after its files have changed.
    pub(super) fn restart_by_files(&self) -> Option<Vec<String>> {
        let unit = self.unit.as_ref()?;
        let manager = self.manager.join(" ");
        let script = format!("{manager} daemon-reload && exec {manager} restart \"$1\"");
        Some(command(&["sh", "-c", &script, "sh", unit]))
    }

    /// Its files that an administrator wrote, those that count less first. A link leads to the file of a package.
    pub(super) fn files_of_administrator(&self, files: &Files) -> Vec<String> {
        let is_user = self.manager.len() > 1;
        let Some(unit) = self.unit.as_ref().filter(|_| !is_user) else {
            return Vec::new();
        };
        let mut paths = Vec::new();
        // Those of a template count less than those of its instance.
        let names: Vec<String> = names_of(unit).collect();
        for name in names.into_iter().rev() {
            let path = format!("{ADMINISTRATOR}/{name}");
            paths.extend(files.is_plain_file(&path).then_some(path));
            let drop_ins = format!("{ADMINISTRATOR}/{name}.d");
            if let Ok(names) = kernel_files::names(&files.path(&drop_ins)) {
                let names = names.filter(|name| has_extension(name, "conf"));
                let mut names: Vec<String> = names.collect();
                names.sort_unstable();
                paths.extend(names.into_iter().map(|name| format!("{drop_ins}/{name}")));
            }
        }
        paths.truncate(UNIT_FILES_MAX);
        paths
    }

    fn managed(&self, words: &[&str]) -> Vec<String> {
        let words = words.iter().map(|&word| word.to_owned());
        self.manager.iter().cloned().chain(words).collect()
    }

    /// The file with its environment, which its unit names.
    pub(super) fn environment_file(&self, files: &mut Files) -> Option<String> {
        let unit = self.unit.as_ref()?;
        for name in names_of(unit) {
            for folder in UNIT_FOLDERS {
                let drop_ins = format!("{folder}/{name}.d");
                let mut paths = vec![format!("{folder}/{name}")];
                if let Ok(names) = kernel_files::names(&files.path(&drop_ins)) {
                    paths.extend(names.map(|name| format!("{drop_ins}/{name}")));
                }
                for path in paths.into_iter().take(UNIT_FILES_MAX) {
                    let text = files.read(&path).unwrap_or_default();
                    let file = text.lines().find_map(|line| {
                        let value = line.trim().strip_prefix("EnvironmentFile=")?;
                        let value = value.trim().trim_start_matches('-');
                        (value.starts_with('/') && !value.contains(['%', '*']))
                            .then(|| value.to_owned())
                    });
                    if file.is_some() {
                        return file;
                    }
                }
            }
        }
        None
    }
}

/// The names of the files of a unit: an instance has the file of its template.
fn names_of(unit: &str) -> impl Iterator<Item = String> + use<> {
    let template = unit
        .split_once('@')
        .map(|(name, _)| format!("{name}@.service"));
    std::iter::once(unit.to_owned()).chain(template)
}

/// The service in the path of a control group.
fn unit_of(path: &str) -> Option<String> {
    let names = path.split('/').rev();
    let is_service = |name: &&str| {
        name.strip_suffix(".service")
            .is_some_and(|begin| !begin.starts_with("user@") && !begin.is_empty())
    };
    names.into_iter().find(is_service).map(str::to_owned)
}

pub(super) fn command(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(cgroup: &str) -> (tempfile::TempDir, Files) {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("proc/7/cgroup", cgroup);
        put("run/systemd/system/none", "");
        put(
            "lib/systemd/system/shop@.service",
            "[Service]\nEnvironmentFile=-/etc/default/shop\n",
        );
        let files = Files::new(root.path().to_owned());
        (root, files)
    }

    #[test]
    fn a_unit_is_reloaded_by_its_manager() {
        let (_root, mut files) = machine("0::/system.slice/system-shop.slice/shop@1.service\n");
        let service = Service::of(&mut files, 7);
        assert_eq!(
            service.signal("HUP").unwrap().join(" "),
            "systemctl kill --kill-who=main --signal=HUP shop@1.service"
        );
        assert_eq!(
            service.restart().unwrap().join(" "),
            "systemctl restart shop@1.service"
        );
        let file = service.environment_file(&mut files);
        assert_eq!(file.as_deref(), Some("/etc/default/shop"));
    }

    #[test]
    fn files_of_an_instance_come_behind_those_of_its_template() {
        let (root, mut files) = machine("0::/system.slice/system-shop.slice/shop@1.service\n");
        let units = root.path().join("etc/systemd/system");
        std::fs::create_dir_all(units.join("shop@1.service.d")).unwrap();
        for name in [
            "shop@1.service.d/b.conf",
            "shop@1.service.d/a.conf",
            "shop@1.service.d/a.txt",
            "shop@.service",
        ] {
            std::fs::write(units.join(name), "[Service]\n").unwrap();
        }
        let service = Service::of(&mut files, 7);
        let right = [
            "shop@.service",
            "shop@1.service.d/a.conf",
            "shop@1.service.d/b.conf",
        ];
        let right = right.map(|name| format!("{ADMINISTRATOR}/{name}"));
        assert_eq!(service.files_of_administrator(&files), right);
    }

    #[test]
    fn a_unit_of_a_user_has_its_own_manager() {
        let path = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/shop.service\n";
        let (_root, mut files) = machine(path);
        let service = Service::of(&mut files, 7);
        assert_eq!(
            service.restart().unwrap().join(" "),
            "systemctl --user restart shop.service"
        );
    }

    #[test]
    fn a_plain_process_has_no_manager() {
        let (_root, mut files) = machine("0::/user.slice/user-0.slice/session-1.scope\n");
        let service = Service::of(&mut files, 7);
        assert_eq!(service.signal("USR2"), None);
        assert_eq!(service.restart(), None);
        assert_eq!(service.environment_file(&mut files), None);
    }
}
