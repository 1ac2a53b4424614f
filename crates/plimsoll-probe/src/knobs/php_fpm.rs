//! Knobs of PHP-FPM: its pools, and its cache of compiled scripts.

use super::opcache::{self, IniFiles, OPCACHE};
use super::processes::ServerProcess;
use super::reader::{Commands, HERE, KnobReader, NewKnob, Spot};
use super::service::command;
use super::source::{IniValue, PHP_INI, begin_of_section, ini, lines};
use crate::collectors::discovery::texts_for;
use crate::collectors::php_fpm::{OVERRIDES, ini_files, lacks_opcache};

/// Pools whose settings are knobs.
const POOLS_MAX: usize = 8;

/// Reads the knobs of PHP-FPM.
pub(super) fn read(reader: &mut KnobReader<'_>, server: &ServerProcess) {
    let words = server.words();
    let main = words
        .iter()
        .find_map(|word| word.strip_prefix('(')?.strip_suffix(')'));
    let Some(main) = main else { return };
    let Some(text) = reader.text(server, main) else {
        let why = format!("its configuration {main} cannot be read: run as root");
        reader.knob(NewKnob::unknown("pm.max_children", why));
        return;
    };
    let mut files = vec![(main.to_owned(), text.clone())];
    for line in lines(&text) {
        if let Some(pattern) = line.text.trim().strip_prefix("include") {
            let pattern = pattern.trim_start_matches([' ', '\t', '=']).trim();
            files.extend(texts_for(reader.files, server.pid, pattern));
        }
    }
    let program = server.executable.clone();
    let program = program.unwrap_or_else(|| "php-fpm".to_owned());
    let service = reader.service(server);
    let pid_files: Vec<&str> = pid_file(&files).into_iter().collect();
    let mut check = command(&[&program, "-t", "-y", main]);
    // It refuses pools of root otherwise.
    let is_root =
        |text: &String| ini(text, PHP_INI, None, "user").is_some_and(|user| user.value == "root");
    if files.iter().any(|(_, text)| is_root(text)) {
        check.push("-R".to_owned());
    }
    let commands = Commands {
        check: Some(check),
        // A master in the background becomes a daemon again then, and so another process.
        reload: Some(reader.signal(server, "USR2", &pid_files)),
        restart: service.restart(),
    };
    let pools: Vec<(&str, &str, &str)> = files
        .iter()
        .flat_map(|(path, text)| pools(text).map(move |pool| (path.as_str(), text.as_str(), pool)))
        .take(POOLS_MAX)
        .collect();
    for &(path, text, pool) in &pools {
        let of = if pools.len() > 1 { pool } else { "" };
        let file = reader.file(server, path, text, &commands);
        pool_knobs(reader, server, (file, text), (pool, of));
    }
    compiled_scripts(reader, server, (main, &pools), &commands);
}

/// The file that has the number of the master.
fn pid_file(files: &[(String, String)]) -> Option<&str> {
    let mut texts = files.iter().rev().map(|(_, text)| text);
    let found = texts.find_map(|text| ini(text, PHP_INI, Some("global"), "pid"))?;
    Some(found.value.trim_matches('"'))
}

/// The sections of a file that are pools.
fn pools(text: &str) -> impl Iterator<Item = &str> {
    lines(text).filter_map(|line| {
        let name = line.text.trim().strip_prefix('[')?.strip_suffix(']')?;
        (name != "global").then_some(name)
    })
}

fn pool_knobs(
    reader: &mut KnobReader<'_>,
    server: &ServerProcess,
    (file, text): (usize, &str),
    (pool, of): (&str, &str),
) {
    let value = |key: &str| ini(text, PHP_INI, Some(pool), key);
    let Some(begin) = begin_of_section(text, pool) else {
        return;
    };
    let manager = value("pm").map_or("dynamic", |pm| pm.value);
    // The spare processes that it must start are a lower bound.
    let least = match manager {
        "dynamic" => ["pm.max_spare_servers", "pm.start_servers"]
            .iter()
            .filter_map(|key| value(key)?.value.parse::<f64>().ok())
            .fold(1.0, f64::max),
        _ => 1.0,
    };
    let mut knob = |setting: &'static str, default: Option<&str>| {
        let written = value(setting);
        let now = written.as_ref().map(|written| written.value).or(default)?;
        let edit = match &written {
            Some(written) => (written.at.clone(), HERE.to_owned()),
            None => (begin..begin, format!("{setting} = {HERE}\n")),
        };
        let range = if setting == "pm.max_children" {
            least..f64::INFINITY
        } else {
            0.0..f64::INFINITY
        };
        reader.knob(NewKnob {
            of,
            range,
            ..NewKnob::new(setting, now, Spot::File(file, vec![edit]))
        })
    };
    let children = knob("pm.max_children", None);
    // `dynamic` needs numbers of spare processes, which are missing where another manager is used.
    let has_spares = [
        "pm.start_servers",
        "pm.min_spare_servers",
        "pm.max_spare_servers",
    ]
    .iter()
    .all(|key| value(key).is_some());
    if has_spares {
        knob("pm", None);
    }
    knob("pm.max_requests", Some("0"));
    // Each process holds one connection to the database.
    if let Some(children) = &children {
        reader.needs_connections(vec![children.clone()], false);
    }
    reader.needs_memory(server, children);
}

/// The cache of compiled scripts: in `php.ini`, a file of its `conf.d`, or a pool that overrides these.
fn compiled_scripts(
    reader: &mut KnobReader<'_>,
    server: &ServerProcess,
    (main, pools): (&str, &[(&str, &str, &str)]),
    commands: &Commands,
) {
    let comm = reader.files.read(&format!("proc/{}/comm", server.pid));
    let comm = comm.unwrap_or_default().trim_end().to_owned();
    let files = ini_files(reader.files, server.pid, main, &comm);
    let missing = format!(
        "no php.ini was found beside {main}: `php-fpm -i` names the one that it reads as `Loaded Configuration File`"
    );
    let own = IniFiles {
        files: &files,
        missing: &missing,
        is_loaded: !lacks_opcache(&files, &comm),
    };
    for (setting, default) in OPCACHE {
        let overridden = pools.iter().filter_map(|&(path, text, pool)| {
            let found = override_of(text, pool, setting)?;
            Some((path, text, pool, found))
        });
        let overridden: Vec<_> = overridden.collect();
        for (path, text, pool, found) in &overridden {
            let file = reader.file(server, path, text, commands);
            let edit = (found.at.clone(), HERE.to_owned());
            let now = opcache::level(found.value);
            reader.knob(NewKnob {
                of: if pools.len() > 1 { pool } else { "" },
                ..NewKnob::new(setting, now, Spot::File(file, vec![edit]))
            });
        }
        if overridden.is_empty() || overridden.len() < pools.len() {
            opcache::in_ini_files(reader, server, (setting, default), own, commands);
        }
    }
}

/// What a pool sets in place of the ini files.
fn override_of<'t>(text: &'t str, pool: &str, setting: &str) -> Option<IniValue<'t>> {
    let mut words = OVERRIDES.into_iter();
    let found = words.find_map(|word| {
        let key = format!("{word}[{setting}]");
        ini(text, PHP_INI, Some(pool), &key)
    })?;
    opcache::may_override(setting, found.value).then_some(found)
}
