//! `OPcache`, the cache of compiled scripts of PHP: in `php.ini`, or in a file of its `conf.d`.

use super::processes::ServerProcess;
use super::reader::{Commands, HERE, KnobReader, NewKnob, Spot};
use super::source::{PHP_INI, end_of, ini};
use crate::collectors::configuration::switch;

/// Settings, with PHP's defaults.
pub(super) const OPCACHE: [(&str, &str); 4] = [
    ("opcache.enable", "1"),
    ("opcache.memory_consumption", "128"),
    ("opcache.max_accelerated_files", "10000"),
    ("opcache.validate_timestamps", "1"),
];

/// Why nothing reads a setting, with the remedy.
const NOT_LOADED: &str = "OPcache is not loaded, so that nothing reads it: install it, or write `zend_extension=opcache` into an ini \
    file, and draft again";

/// The ini files of a PHP.
#[derive(Clone, Copy, Debug)]
pub(super) struct IniFiles<'f> {
    /// Names and texts, in the order in which PHP reads them.
    pub(super) files: &'f [(String, String)],
    /// The reason where there are none.
    pub(super) missing: &'f str,
    /// Whether they load the cache.
    pub(super) is_loaded: bool,
}

/// Adds a setting that ini files have.
pub(super) fn in_ini_files(
    reader: &mut KnobReader<'_>,
    server: &ServerProcess,
    (setting, default): (&'static str, &str),
    ini_files: IniFiles<'_>,
    commands: &Commands,
) {
    let files = ini_files.files;
    let Some((first, first_text)) = files.first() else {
        reader.knob(NewKnob::unknown(setting, ini_files.missing.to_owned()));
        return;
    };
    // Files of conf.d are read after php.ini, in the order of their names: the last value counts.
    let mut written = files.iter().rev();
    let written =
        written.find_map(|(path, text)| Some((path, text, ini(text, PHP_INI, None, setting)?)));
    let (path, text, now, edit) = if let Some((path, text, found)) = written {
        (path, text, level(found.value), (found.at, HERE.to_owned()))
    } else {
        let (end, begin) = end_of(first_text);
        let line = format!("{begin}{setting} = {HERE}\n");
        (first, first_text, default, (end..end, line))
    };
    let spot = if ini_files.is_loaded {
        let file = reader.file(server, path, text, commands);
        Spot::File(file, vec![edit])
    } else {
        Spot::Unreachable(NOT_LOADED.to_owned())
    };
    reader.knob(NewKnob::new(setting, now, spot));
}

/// Whether what comes before the ini files can set this value there: it cannot switch the cache on, nor give it memory.
pub(super) fn may_override(setting: &str, value: &str) -> bool {
    match setting {
        "opcache.enable" => level(value) == "0",
        "opcache.validate_timestamps" => true,
        _ => false,
    }
}

/// A switch as its levels are written; another value as it is.
pub(super) fn level(value: &str) -> &str {
    let value = value.trim_matches('"');
    let is_word = value.parse::<f64>().is_err();
    match switch(value).filter(|_| is_word) {
        Some(on) if on > 0.0 => "1",
        Some(_) => "0",
        None => value,
    }
}
