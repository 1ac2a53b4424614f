//! Knobs that Java programs read as properties: threads of Spring Boot's servers and of Jetty, and connections of `HikariCP`.
//!
//! A property is changed where it is written: in a file beside the program, or in the environment file of its unit. One that is
//! written nowhere has the value of a jar, which is not read, so that no level of it is known to be the one that stands.

use std::ops::Range;

use super::processes::ServerProcess;
use super::reader::{Commands, HERE, KnobReader, NewKnob, Spot};
use super::source::{INI, ini, lines};
use super::units;
use crate::collectors::FileSetting;
use crate::collectors::jvm::settings::{self, ASSUMED, JETTY_THREADS};
use crate::collectors::jvm::spring::{self, COMMAND_LINE, IN_ENVIRONMENT};

/// Properties that are knobs.
const PROPERTIES: [&str; 4] = [
    spring::THREADS,
    spring::JETTY_THREADS,
    JETTY_THREADS,
    spring::POOL,
];

/// The file with the environment of a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct EnvironmentText<'t> {
    pub(super) path: &'t str,
    pub(super) text: &'t str,
    /// Its index among the files with knobs.
    pub(super) file: usize,
}

/// Reads the properties of a Java program.
pub(super) fn read(
    reader: &mut KnobReader<'_>,
    server: &ServerProcess,
    commands: &Commands,
    environment: Option<EnvironmentText<'_>>,
) {
    let configs = settings::of_process(reader.files, server.pid, &server.words());
    let all = configs.iter().flat_map(|config| &config.settings);
    for setting in all.filter(|setting| PROPERTIES.contains(&setting.name)) {
        let now = format!("{:.0}", setting.value);
        let spot = spot_of(reader, server, commands, (setting, environment));
        let knob = reader.knob(NewKnob::new(setting.name, &now, spot));
        if commands.restart.is_none() {
            reader.start_with(setting.name, server, place_in_command(server, setting));
        }
        if setting.name == spring::POOL
            && let Some(knob) = knob
        {
            reader.needs_connections(vec![knob], false);
        }
    }
}

/// Where a property is changed.
fn spot_of(
    reader: &mut KnobReader<'_>,
    server: &ServerProcess,
    commands: &Commands,
    (setting, environment): (&FileSetting, Option<EnvironmentText<'_>>),
) -> Spot {
    let place = setting.file.as_str();
    if place.is_empty() || place == ASSUMED {
        return Spot::Unreachable(not_written(setting));
    }
    if commands.restart.is_none() {
        return Spot::Unreachable(reader.no_restart());
    }
    if place == COMMAND_LINE {
        let word = place_in_command(server, setting);
        if let Some(spot) = word.and_then(|word| units::word(reader, server, word)) {
            return spot;
        }
        let why = format!(
            "its command line has it, which comes before files: move it to {} and draft again",
            file_of(setting)
        );
        return Spot::Unreachable(why);
    }
    if let Some(variable) = place.strip_suffix(IN_ENVIRONMENT) {
        let found = environment.and_then(|own| Some((own, ini(own.text, INI, None, variable)?)));
        return match (found, environment) {
            (Some((own, found)), _) => Spot::File(own.file, vec![(found.at, HERE.to_owned())]),
            (None, Some(own)) => Spot::Unreachable(format!(
                "{variable} sets it, which is not in {}, the environment file of its unit: write it there and draft again",
                own.path
            )),
            (None, None) => units::variable(reader, server, variable).unwrap_or_else(|| {
                Spot::Unreachable(format!(
                    "{variable} sets it, and its unit names no file with its environment that can be read: add \
                     `EnvironmentFile=` with {variable}"
                ))
            }),
        };
    }
    in_file(reader, server, commands, place).unwrap_or_else(|| {
        Spot::Unreachable(format!(
            "{place} cannot be read again: run as root and draft again"
        ))
    })
}

/// The edit of a property at `FILE:LINE`.
fn in_file(
    reader: &mut KnobReader<'_>,
    server: &ServerProcess,
    commands: &Commands,
    place: &str,
) -> Option<Spot> {
    let (path, line) = place.rsplit_once(':')?;
    let path = server.path(path)?;
    let text = reader.text(server, &path)?;
    let at = value_at(&text, line.parse().ok()?)?;
    let file = reader.file(server, &path, &text, commands);
    Some(Spot::File(file, vec![(at, HERE.to_owned())]))
}

/// The bytes of the value in a line, from 1, of properties or YAML; those of `${NAME:20}` where it is a reference.
fn value_at(text: &str, line: usize) -> Option<Range<usize>> {
    let line = lines(text).nth(line.checked_sub(1)?)?;
    let (_, rest) = line.text.split_once(['=', ':'])?;
    let value = rest.split(" #").next()?.trim();
    let value = value.trim_matches(['"', '\'']);
    line.range_of(value).filter(|at| !at.is_empty())
}

/// The index of the word of a command line that sets a property, and where its value begins.
fn place_in_command(server: &ServerProcess, setting: &FileSetting) -> Option<(usize, usize)> {
    let mut words = server.words.iter().enumerate().rev();
    let is_there = setting.file == COMMAND_LINE;
    words.find_map(|(index, word)| {
        let (key, _) = word.split_once('=').filter(|_| is_there)?;
        let named = key.strip_prefix("--").or(key.strip_prefix("-D"));
        let is_it = spring::is_name(named.unwrap_or(key), setting.name);
        is_it.then_some((index, key.len() + 1))
    })
}

/// The file in which a property is written best.
fn file_of(setting: &FileSetting) -> &'static str {
    if setting.name == JETTY_THREADS {
        "start.ini of its base"
    } else {
        "application.properties in the folder where it runs"
    }
}

/// Why a property has no level that stands for sure, and the remedy.
fn not_written(setting: &FileSetting) -> String {
    format!(
        "it is not written where it can be read, and files inside of a jar are not read: write `{}={:.0}`, or what the jar has, \
         into {}, restart the program and draft again",
        setting.name,
        setting.value,
        file_of(setting)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_properties_and_of_yaml() {
        for (text, line, value) in [
            ("a=1\nserver.tomcat.threads.max = 50\n", 2, Some("50")),
            ("pool: ${POOL:20}\n", 1, Some("${POOL:20}")),
            ("server:\n  max: \"25\" # enough\n", 2, Some("25")),
            ("max:\n", 1, None),
            ("max: 1\n", 3, None),
            ("max: 1\n", 0, None),
        ] {
            let found = value_at(text, line).map(|at| &text[at]);
            assert_eq!(found, value, "{text}");
        }
    }
}
