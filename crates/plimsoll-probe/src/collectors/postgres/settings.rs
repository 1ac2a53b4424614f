//! The settings of PostgreSQL, for advice: from its files, also where no role may enter it.

use super::discover;
use crate::collectors::FileSetting;
use crate::collectors::configuration::{ComponentConfig, bytes, switch};
use crate::collectors::discovery::{option, text_for, texts_for};
use crate::files::Files;

/// Numbers: their names, PostgreSQL's own values, and what a bare number means, bytes or 1.
const NUMBERS: [(&str, Option<f64>, f64); 6] = [
    ("max_connections", Some(100.0), 1.0),
    ("superuser_reserved_connections", Some(3.0), 1.0),
    ("reserved_connections", None, 1.0),
    ("shared_buffers", Some(134_217_728.0), 8192.0),
    ("work_mem", Some(4_194_304.0), 1024.0),
    ("jit_above_cost", Some(100_000.0), 1.0),
];
/// Switches, where they are written.
const SWITCHES: [&str; 3] = ["jit", "fsync", "synchronous_commit"];

/// Settings of a PostgreSQL, by the configuration that its command line names, and where it listens.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let found = discover::find(files, pid, words, false);
    let place = found.map(|found| found.component.place.to_string());
    let main = main_of(words);
    let text = main.as_ref().and_then(|main| text_for(files, pid, main));
    let (Some(main), Some(text)) = (main, text) else {
        // Where it listens is enough to be found by those before it.
        let config = place.map(|place| ComponentConfig {
            listens: vec![place.clone()],
            at: place,
            ..ComponentConfig::default()
        });
        return config.into_iter().collect();
    };
    let written = WrittenSettings {
        texts: all_files(files, pid, words, &main, &text),
        words,
    };
    let mut listens = written.listens();
    listens.extend(place.clone());
    vec![ComponentConfig {
        at: place.unwrap_or(main),
        listens,
        settings: written.settings(),
        ..ComponentConfig::default()
    }]
}

/// The configuration file that a command line names, or that is in the data directory that it names.
pub(crate) fn main_of(words: &[&str]) -> Option<String> {
    let argument = |name: &str| words.iter().find_map(|word| word.strip_prefix(name));
    let named = argument("config_file=").or_else(|| argument("--config_file="));
    let data = || Some(format!("{}/postgresql.conf", data_of(words)?));
    named.map(str::to_owned).or_else(data)
}

/// The data directory that a command line names; another may be in the configuration.
pub(crate) fn data_of(words: &[&str]) -> Option<String> {
    Some(option(words, "-D")?.trim_end_matches('/').to_owned())
}

/// The configuration, the files that it includes, and that of `ALTER SYSTEM`, in the order in which they are read.
fn all_files(
    files: &mut Files,
    pid: u32,
    words: &[&str],
    main: &str,
    text: &str,
) -> Vec<(String, String)> {
    let mut all = with_included(files, pid, main, text);
    let data = data_of(words).or_else(|| Some(written_in(text, "data_directory")?.0.to_owned()));
    let folder = data.unwrap_or_else(|| folder_of(main).to_owned());
    let own = format!("{folder}/postgresql.auto.conf");
    all.extend(text_for(files, pid, &own).map(|text| (own, text)));
    all
}

/// The configuration, and the files that it includes, in the order in which they are read.
pub(crate) fn with_included(
    files: &mut Files,
    pid: u32,
    main: &str,
    text: &str,
) -> Vec<(String, String)> {
    let folder = folder_of(main);
    let mut all = vec![(main.to_owned(), text.to_owned())];
    for (key, pattern) in [
        ("include_dir", "/*.conf"),
        ("include", ""),
        ("include_if_exists", ""),
    ] {
        let Some((path, _)) = written_in(text, key) else {
            continue;
        };
        let path = if path.starts_with('/') {
            format!("{path}{pattern}")
        } else {
            format!("{folder}/{path}{pattern}")
        };
        all.extend(texts_for(files, pid, &path));
    }
    all
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The value of a setting in a file and its line, without quotes; the last one applies.
fn written_in<'t>(text: &'t str, name: &str) -> Option<(&'t str, usize)> {
    let lines = text.lines().enumerate();
    let found = lines.filter_map(|(index, line)| {
        let line = line.trim_start();
        let end = line.find(|sign: char| !sign.is_ascii_alphanumeric() && !"_.".contains(sign))?;
        let (key, rest) = line.split_at(end);
        let rest = rest.trim_start();
        let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
        let value = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split('\'').next(),
            None => rest.split(['#', ' ', '\t']).next(),
        }?;
        let is_it = key.eq_ignore_ascii_case(name) && !value.is_empty();
        is_it.then_some((value, index + 1))
    });
    found.last()
}

/// What a server's files and command line contain.
#[derive(Debug)]
struct WrittenSettings<'w> {
    /// The files and their texts, in the order in which they are read.
    texts: Vec<(String, String)>,
    words: &'w [&'w str],
}

impl WrittenSettings<'_> {
    /// The value of a setting, and where it is written.
    fn value(&self, name: &str) -> Option<(&str, String)> {
        let mut words = self.words.iter();
        let given = words.find_map(|word| {
            let (key, value) = word.trim_start_matches('-').split_once('=')?;
            (key.replace('-', "_") == name).then_some(value)
        });
        if let Some(value) = given {
            return Some((value, "its command line".to_owned()));
        }
        let mut texts = self.texts.iter().rev();
        texts.find_map(|(file, text)| {
            let (value, line) = written_in(text, name)?;
            Some((value, format!("{file}:{line}")))
        })
    }

    fn settings(&self) -> Vec<FileSetting> {
        let numbers = NUMBERS.into_iter().filter_map(|(name, default, unit)| {
            let written = self
                .value(name)
                .and_then(|(value, file)| Some((amount(value, unit)?, file)));
            let (value, file) = written.or_else(|| Some((default?, String::new())))?;
            Some(FileSetting::number(name, value, file))
        });
        let switches = SWITCHES.into_iter().filter_map(|name| {
            let (value, file) = self.value(name)?;
            // `synchronous_commit` has several words for on.
            let is_on = switch(value).unwrap_or(1.0);
            Some(FileSetting::number(name, is_on, file))
        });
        numbers.chain(switches).collect()
    }

    /// Its sockets and addresses.
    fn listens(&self) -> Vec<String> {
        let of = |name: &str, default: &'static str| {
            self.value(name)
                .map_or(default.to_owned(), |(value, _)| value.to_owned())
        };
        let port = option(self.words, "-p").map_or_else(|| of("port", "5432"), str::to_owned);
        let folders = of("unix_socket_directories", "/tmp");
        let addresses = of("listen_addresses", "localhost");
        let parts = |list: &str| -> Vec<String> {
            let parts = list.split(',').map(str::trim);
            let parts = parts.filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        };
        let sockets = parts(&folders)
            .into_iter()
            .map(|folder| format!("{}/.s.PGSQL.{port}", folder.trim_end_matches('/')));
        let hosts = parts(&addresses)
            .into_iter()
            .map(|host| match host.as_str() {
                "*" | "0.0.0.0" | "::" => format!("*:{port}"),
                address if address.contains(':') => format!("[{address}]:{port}"),
                address => format!("{address}:{port}"),
            });
        sockets.chain(hosts).collect()
    }
}

/// A number with a unit, or without one in the setting's own, bytes.
fn amount(text: &str, unit: f64) -> Option<f64> {
    if text.ends_with(|sign: char| sign.is_ascii_digit()) {
        let number: f64 = text.parse().ok()?;
        number.is_finite().then_some(number * unit)
    } else {
        bytes(text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What the configuration of process 7 gives, of a machine with these files.
    fn config(files: &[(&str, &str)], words: &[&str]) -> Vec<ComponentConfig> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join("proc/7/root").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        of_process(&mut Files::new(root.path().to_owned()), 7, words)
    }

    /// As Debian starts it; its files, shortened.
    #[test]
    fn files_of_debian() {
        let main = "data_directory = '/var/lib/postgresql/15/main'\t\t# use data in another directory\n\
            listen_addresses = 'localhost, 10.0.0.5'\nport = 5433\t\t\t\t# (change requires restart)\n\
            max_connections = 200\t\t\t# (change requires restart)\n#superuser_reserved_connections = 3\n\
            unix_socket_directories = '/var/run/postgresql' # comma-separated list of directories\n\
            shared_buffers = 16384\nfsync on\nsynchronous_commit = remote_apply\ninclude_dir = 'conf.d'\n";
        let files = [
            ("etc/postgresql/15/main/postgresql.conf", main),
            (
                "etc/postgresql/15/main/conf.d/a.conf",
                "work_mem = 8MB\nmax_connections=300\n",
            ),
            (
                "var/lib/postgresql/15/main/postgresql.auto.conf",
                "# Do not edit this file manually!\nwork_mem = '16MB'\n",
            ),
        ];
        let words = [
            "/usr/lib/postgresql/15/bin/postgres",
            "-D",
            "/var/lib/postgresql/15/main",
            "-c",
            "config_file=/etc/postgresql/15/main/postgresql.conf",
        ];
        let all = config(&files, &words);
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!(
            all[0].listens,
            [
                "/var/run/postgresql/.s.PGSQL.5433",
                "localhost:5433",
                "10.0.0.5:5433"
            ]
        );
        assert_eq!(all[0].at, "/etc/postgresql/15/main/postgresql.conf");
        let settings: Vec<_> = all[0]
            .settings
            .iter()
            .map(|setting| {
                let file = setting.file.rsplit('/').next().unwrap_or_default();
                (setting.name, setting.value.to_string(), file)
            })
            .collect();
        let right = [
            ("max_connections", "300", "a.conf:2"),
            ("superuser_reserved_connections", "3", ""),
            ("shared_buffers", "134217728", "postgresql.conf:7"),
            ("work_mem", "16777216", "postgresql.auto.conf:2"),
            ("jit_above_cost", "100000", ""),
            ("fsync", "1", "postgresql.conf:8"),
            ("synchronous_commit", "1", "postgresql.conf:9"),
        ];
        let right = right.map(|(name, value, file)| (name, value.to_owned(), file));
        assert_eq!(settings, right);
    }

    #[test]
    fn a_command_line_comes_first() {
        let files = [("data/postgresql.conf", "max_connections = 10\n")];
        let words = [
            "postgres",
            "-D",
            "/data/",
            "-p",
            "7000",
            "--max-connections=20",
        ];
        let all = config(&files, &words);
        let connections = &all[0].settings[0];
        let right = FileSetting::number("max_connections", 20.0, "its command line");
        assert_eq!(connections, &right);
        assert_eq!(
            all[0].listens,
            ["/tmp/.s.PGSQL.7000", "localhost:7000"],
            "{all:?}"
        );
    }

    #[test]
    fn where_nothing_can_be_read_it_is_not_guessed() {
        let words = ["postgres", "-D", "/data"];
        assert!(config(&[], &words).is_empty());
        // Its children have a title.
        assert!(config(&[], &["postgres:", "checkpointer"]).is_empty());
        // Only the file with its address.
        let pid = "7\n/data\n1732300000\n5432\n/run/pg\n*\n";
        let all = config(&[("data/postmaster.pid", pid)], &words);
        assert_eq!(all[0].listens, ["/run/pg/.s.PGSQL.5432"]);
        assert!(all[0].settings.is_empty());
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "[a-z_='# \t\n0-9.]{0,200}") {
            let _ = (written_in(&text, "port"), amount(&text, 8192.0));
        }
    }
}
