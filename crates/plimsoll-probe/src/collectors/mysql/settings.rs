//! The settings of `MariaDB` and `MySQL`, for advice: from their option files, also where no account may enter.

use super::discover;
use crate::collectors::FileSetting;
use crate::collectors::configuration::{ComponentConfig, bytes, switch};
use crate::collectors::discovery::{text_for, texts_for};
use crate::files::Files;

/// How the value of a setting is read.
type ReadValue = fn(&str) -> Option<f64>;

/// Settings that are read, and what both programs have without them.
const KNOWN: [(&str, ReadValue, Option<f64>); 9] = [
    ("max_connections", bytes, Some(151.0)),
    ("innodb_buffer_pool_size", bytes, Some(134_217_728.0)),
    ("innodb_flush_log_at_trx_commit", bytes, Some(1.0)),
    ("skip_name_resolve", switch, Some(0.0)),
    ("sort_buffer_size", bytes, None),
    ("join_buffer_size", bytes, Some(262_144.0)),
    ("read_buffer_size", bytes, Some(131_072.0)),
    ("read_rnd_buffer_size", bytes, Some(262_144.0)),
    ("thread_stack", bytes, None),
];
/// Groups of option files that the server reads.
const GROUPS: [&str; 4] = ["mysqld", "server", "mariadb", "mariadbd"];
/// Option files in their order, where the command line names no other.
const FILES: [&str; 2] = ["/etc/my.cnf", "/etc/mysql/my.cnf"];
/// How deep files may include files, and how many are read.
const DEPTH_MAX: u32 = 8;
const FILES_MAX: usize = 256;

/// Settings of a server, by the option files that its command line names, or by the usual ones.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let Some(found) = discover::find(files, pid, words) else {
        return Vec::new();
    };
    let mut options = OptionFiles::default();
    for path in paths(words) {
        if let Some(text) = text_for(files, pid, &path) {
            let mut include = |pattern: &str| texts_for(files, pid, pattern);
            options.add((&path, &text), DEPTH_MAX, &mut include);
        }
    }
    options.add_command_line(words);
    let at = found.component.place.to_string();
    let mut config = ComponentConfig {
        listens: vec![at.clone()],
        at,
        settings: options.settings,
        ..ComponentConfig::default()
    };
    if options.files > 0 {
        for (name, _, default) in KNOWN {
            if let Some(default) = default {
                config = config.or_default(name, default);
            }
        }
    }
    vec![config]
}

/// The option files of a server.
fn paths(words: &[&str]) -> Vec<String> {
    let argument = |name: &str| words.iter().find_map(|word| word.strip_prefix(name));
    if let Some(only) = argument("--defaults-file=") {
        return vec![only.to_owned()];
    }
    let usual = FILES.into_iter().chain(argument("--defaults-extra-file="));
    usual.map(str::to_owned).collect()
}

/// What option files set; the last value of a name counts.
#[derive(Debug, Default)]
struct OptionFiles {
    settings: Vec<FileSetting>,
    /// Files that were read.
    files: usize,
}

impl OptionFiles {
    fn add(
        &mut self,
        (file, text): (&str, &str),
        depth: u32,
        include: &mut dyn FnMut(&str) -> Vec<(String, String)>,
    ) {
        if self.files >= FILES_MAX {
            return;
        }
        self.files += 1;
        let mut is_own = false;
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let folder = line.strip_prefix("!includedir").map(str::trim);
            let included = folder.map(|folder| format!("{}/*.cnf", folder.trim_end_matches('/')));
            let named = || Some(line.strip_prefix("!include")?.trim().to_owned());
            if let Some(pattern) = included.or_else(named).filter(|_| depth > 0) {
                for (file, text) in include(&pattern) {
                    self.add((&file, &text), depth - 1, include);
                }
            } else if let Some(group) = line.strip_prefix('[') {
                is_own = GROUPS.contains(&group.trim_end_matches(']').trim());
            } else if is_own && !line.starts_with([';', '!']) {
                self.set(line, &format!("{file}:{}", index + 1));
            }
        }
    }

    /// What the command line sets comes before all files.
    fn add_command_line(&mut self, words: &[&str]) {
        let options = words.iter().filter_map(|word| word.strip_prefix("--"));
        for option in options {
            self.set(option, "its command line");
        }
    }

    /// `name = value`, or the bare name of a switch.
    fn set(&mut self, option: &str, place: &str) {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name.trim(), value.trim().trim_matches(['"', '\''])),
            None => (option, ""),
        };
        let name = name.replace('-', "_").to_ascii_lowercase();
        let mut known = KNOWN.into_iter();
        let Some((name, read, _)) = known.find(|known| known.0 == name) else {
            return;
        };
        let is_bare = value.is_empty() && name == "skip_name_resolve";
        let value = if is_bare { Some(1.0) } else { read(value) };
        let Some(value) = value else { return };
        self.settings.retain(|before| before.name != name);
        self.settings.push(FileSetting::number(name, value, place));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn option_files_are_read_with_what_they_include() {
        let main = "[client]\nmax_connections = 1\n[mysqld]\nmax-connections = 20 # few\n!includedir /etc/mysql/conf.d/\n\
            innodb_buffer_pool_size = \"64M\"\n";
        let more =
            "; of the shop\n[mariadb]\nskip-name-resolve\nmax_connections = 40\n!include /etc/a\n";
        let mut patterns = Vec::new();
        let mut options = OptionFiles::default();
        options.add(("/m", main), DEPTH_MAX, &mut |pattern| {
            patterns.push(pattern.to_owned());
            let is_folder = pattern.ends_with("*.cnf");
            let file = ("/c".to_owned(), more.to_owned());
            is_folder.then_some(file).into_iter().collect()
        });
        assert_eq!(patterns, ["/etc/mysql/conf.d/*.cnf", "/etc/a"]);
        options.add_command_line(&["mariadbd", "--sort-buffer-size=1M"]);
        let right = [
            FileSetting::number("skip_name_resolve", 1.0, "/c:3"),
            FileSetting::number("max_connections", 40.0, "/c:4"),
            FileSetting::number("innodb_buffer_pool_size", 67_108_864.0, "/m:6"),
            FileSetting::number("sort_buffer_size", 1_048_576.0, "its command line"),
        ];
        assert_eq!(options.settings, right);
        // A file that includes itself is read only a few times.
        let mut endless = OptionFiles::default();
        let text = "!include /a\n";
        endless.add(("/a", text), DEPTH_MAX, &mut |_| {
            vec![("/a".to_owned(), text.to_owned())]
        });
        assert_eq!(endless.files, 9);
    }

    #[test]
    fn defaults_are_those_of_a_server_whose_files_were_read() {
        let root = tempfile::tempdir().unwrap();
        let mut files = Files::new(root.path().to_owned());
        let words = ["mariadbd", "--socket=/run/shop.sock"];
        let unread = of_process(&mut files, 7, &words);
        assert_eq!(unread[0].settings, []);
        assert_eq!(unread[0].at, "/run/shop.sock");
        std::fs::create_dir(root.path().join("etc")).unwrap();
        std::fs::write(root.path().join("etc/my.cnf"), "[mysqld]\n").unwrap();
        let read = of_process(&mut files, 7, &words).remove(0);
        let connections = FileSetting::number("max_connections", 151.0, "");
        assert!(read.settings.contains(&connections), "{read:?}");
        // Of these, both programs have others.
        assert!(!read.has("sort_buffer_size") && !read.has("thread_stack"));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,200}") {
            let mut options = OptionFiles::default();
            options.add(("", &text), DEPTH_MAX, &mut |_| Vec::new());
        }
    }
}
