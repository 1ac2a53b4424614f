//! Knobs of PostgreSQL and MariaDB.

use std::ops::Range;

use super::processes::ServerProcess;
use super::reader::{Commands, HERE, KnobReader, NewKnob, Spot};
use super::service::command;
use super::source::{HASH, SPACED, begin_of_section, end_of, ini, lines};
use crate::collectors::discovery::texts_for;
use crate::collectors::postgres::settings::{data_of, main_of, with_included};

/// Settings of PostgreSQL, with its defaults.
const POSTGRES: [(&str, &str); 9] = [
    ("shared_buffers", "128MB"),
    ("work_mem", "4096kB"),
    ("max_connections", "100"),
    ("max_wal_size", "1024MB"),
    ("effective_io_concurrency", "1"),
    ("random_page_cost", "4"),
    ("jit", "on"),
    ("max_parallel_workers_per_gather", "2"),
    ("synchronous_commit", "on"),
];
/// Settings that MariaDB changes while it runs.
const MYSQL: [&str; 7] = [
    "innodb_buffer_pool_size",
    "max_connections",
    "innodb_io_capacity",
    "thread_cache_size",
    "table_open_cache",
    "innodb_log_buffer_size",
    "innodb_flush_log_at_trx_commit",
];
/// Configuration files of MariaDB, the first of which is read.
const MYSQL_FILES: [&str; 2] = ["/etc/my.cnf", "/etc/mysql/my.cnf"];

/// PostgreSQL, by its configuration file; by `ALTER SYSTEM` where the user gave a login and the file is out of reach.
pub(super) fn postgres(reader: &mut KnobReader<'_>, server: &ServerProcess) {
    let words = server.words();
    let data = data_of(&words);
    let Some(main) = main_of(&words) else {
        let why = "its data directory is not on its command line".to_owned();
        reader.knob(NewKnob::unknown("shared_buffers", why));
        return;
    };
    let Some(text) = reader.text(server, &main) else {
        return by_login(reader, server, &main);
    };
    let files = with_included(reader.files, server.pid, &main, &text);
    let data = data.or_else(|| {
        let found = ini(&text, SPACED, None, "data_directory")?;
        Some(found.value.trim_matches('\'').to_owned())
    });
    let data = data.unwrap_or_else(|| {
        main.rsplit_once('/')
            .map_or("", |(folder, _)| folder)
            .to_owned()
    });
    let own = reader
        .text(server, &format!("{data}/postgresql.auto.conf"))
        .unwrap_or_default();
    let service = reader.service(server);
    let program = server.executable.clone();
    // It refuses to run as root, also to check a file.
    let check = program
        .filter(|_| !rustix::process::geteuid().is_root())
        .map(|program| {
            // Debian has it elsewhere than the data.
            let file = format!("config_file={main}");
            command(&[&program, "-C", "shared_buffers", "-D", &data, "-c", &file])
        });
    let commands = Commands {
        check,
        reload: Some(reader.signal(server, "HUP", &[&format!("{data}/postmaster.pid")])),
        restart: service.restart(),
    };
    for (setting, default) in POSTGRES {
        if let Some(found) = ini(&own, SPACED, None, setting) {
            let why = "`ALTER SYSTEM` has set it, which comes before the file: reset it there and draft again";
            let now = in_units(setting, found.value.trim_matches('\''));
            let spot = Spot::Unreachable(why.to_owned());
            reader.knob(NewKnob::new(setting, &now, spot));
            continue;
        }
        let (index, now, edit) = last_of(&files, setting, default);
        let (path, text) = &files[index];
        let file = reader.file(server, path, text, &commands);
        let now = in_units(setting, &now);
        let knob = reader.knob(NewKnob::new(setting, &now, Spot::File(file, vec![edit])));
        if setting == "shared_buffers" {
            reader.needs_size(knob);
        }
    }
}

/// The last file that has a setting, its value and the edit; a new line of the first file where none has it.
fn last_of(
    files: &[(String, String)],
    setting: &str,
    default: &str,
) -> (usize, String, (Range<usize>, String)) {
    let mut last = files.iter().enumerate().rev();
    let found =
        last.find_map(|(index, (_, text))| Some((index, ini(text, SPACED, None, setting)?)));
    if let Some((index, found)) = found {
        let now = found.value.trim_matches('\'').to_owned();
        return (index, now, (found.at, HERE.to_owned()));
    }
    let (end, begin) = end_of(&files[0].1);
    let edit = (end..end, format!("{begin}{setting} = {HERE}\n"));
    (0, default.to_owned(), edit)
}

/// A number without a unit is in pages of 8 kB, in kB or in MB, by the setting.
fn in_units(setting: &str, now: &str) -> String {
    let Ok(number) = now.parse::<u64>() else {
        return now.to_owned();
    };
    match setting {
        "shared_buffers" => format!("{}kB", number.saturating_mul(8)),
        "work_mem" => format!("{number}kB"),
        "max_wal_size" => format!("{number}MB"),
        _ => now.to_owned(),
    }
}

/// Settings that `ALTER SYSTEM` changes, with the login that the user gave.
fn by_login(reader: &mut KnobReader<'_>, server: &ServerProcess, main: &str) {
    let component = reader.component(server);
    let component = component.filter(|component| {
        let login = component.login.as_ref();
        login.is_some_and(|login| !login.user.is_empty())
    });
    for (setting, default) in [("work_mem", "4096kB"), ("max_wal_size", "1024MB")] {
        reader.knob(match &component {
            Some(component) => NewKnob::new(setting, default, Spot::Set(component.clone())),
            None => NewKnob::unknown(
                setting,
                format!(
                    "its configuration {main} cannot be read: run as its owner or as root; or watch it with a login in a \
                     plan, and set it by `set`"
                ),
            ),
        });
    }
}

/// MariaDB and MySQL, by `SET GLOBAL`; what needs a restart by the configuration file.
pub(super) fn mysql(reader: &mut KnobReader<'_>, server: &ServerProcess) {
    for setting in MYSQL {
        reader.runtime(server, setting);
    }
    let named = server
        .flag(&["--defaults-file", "--defaults-extra-file"])
        .map(str::to_owned);
    let mut paths = named.into_iter().chain(MYSQL_FILES.map(str::to_owned));
    let main = paths.find_map(|path| Some((path.clone(), reader.text(server, &path)?)));
    let Some((main, text)) = main else {
        let why = "its configuration file cannot be found or read: run as root".to_owned();
        reader.knob(NewKnob::unknown("skip_name_resolve", why));
        return;
    };
    let mut files = vec![(main, text.clone())];
    for line in lines(&text) {
        if let Some(folder) = line.text.trim().strip_prefix("!includedir") {
            let pattern = format!("{}/*.cnf", folder.trim().trim_end_matches('/'));
            files.extend(texts_for(reader.files, server.pid, &pattern));
        }
    }
    let service = reader.service(server);
    let commands = Commands {
        check: None,
        reload: None,
        restart: service.restart(),
    };
    let sections = ["mariadbd", "mysqld", "mariadb", "server"];
    for (setting, default) in [
        ("skip_name_resolve", "OFF"),
        ("innodb_buffer_pool_instances", "1"),
    ] {
        let dashed = setting.replace('_', "-");
        let mut places = files
            .iter()
            .rev()
            .flat_map(|file| sections.map(|section| (file, section)));
        let written = places.find_map(|((path, text), section)| {
            let named = ini(text, HASH, Some(section), setting)
                .or_else(|| ini(text, HASH, Some(section), &dashed));
            let Some(found) = named else {
                // The bare name of a switch turns it on.
                let mut bare = [setting, &dashed].into_iter();
                let at = bare.find_map(|name| bare_in(text, section, name))?;
                return Some((path, text, "ON", (at, format!("{setting} = {HERE}"))));
            };
            Some((path, text, found.value, (found.at, HERE.to_owned())))
        });
        let place = written.or_else(|| {
            let mut places = files
                .iter()
                .flat_map(|file| sections.map(|section| (file, section)));
            places.find_map(|((path, text), section)| {
                let begin = begin_of_section(text, section)?;
                Some((
                    path,
                    text,
                    default,
                    (begin..begin, format!("{setting} = {HERE}\n")),
                ))
            })
        });
        let Some((path, text, now, edit)) = place else {
            continue;
        };
        let now = match now.to_ascii_uppercase().as_str() {
            "1" if setting == "skip_name_resolve" => "ON".to_owned(),
            "0" if setting == "skip_name_resolve" => "OFF".to_owned(),
            upper => upper.to_owned(),
        };
        let file = reader.file(server, path, text, &commands);
        reader.knob(NewKnob::new(setting, &now, Spot::File(file, vec![edit])));
    }
}

/// Where a section has the name of a setting alone on a line.
fn bare_in(text: &str, section: &str, name: &str) -> Option<Range<usize>> {
    let begin = begin_of_section(text, section)?;
    let inside = lines(text).skip_while(|line| line.start < begin);
    let mut inside = inside.take_while(|line| !line.text.trim_start().starts_with('['));
    inside.find_map(|line| {
        let content = line.text.split('#').next().unwrap_or_default().trim();
        (content == name).then(|| line.range_of(content))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_may_be_a_bare_name() {
        let text = "[client]\nskip-name-resolve\n[mysqld]\nport = 1\n  skip-name-resolve # fast\n[other]\n";
        let at = bare_in(text, "mysqld", "skip-name-resolve").unwrap();
        assert_eq!(&text[at.clone()], "skip-name-resolve");
        assert!(at.start > text.find("port").unwrap());
        assert_eq!(bare_in(text, "other", "skip-name-resolve"), None);
        assert_eq!(bare_in(text, "mysqld", "skip_name_resolve"), None);
    }

    #[test]
    fn bare_numbers_have_the_unit_of_their_setting() {
        assert_eq!(in_units("shared_buffers", "16384"), "131072kB");
        assert_eq!(in_units("work_mem", "4096"), "4096kB");
        assert_eq!(in_units("shared_buffers", "128MB"), "128MB");
        assert_eq!(in_units("max_connections", "100"), "100");
    }
}
