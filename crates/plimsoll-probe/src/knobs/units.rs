//! Settings in files of a systemd unit: variables, and words of its command line.
//!
//! Only files of the administrator are changed, in `/etc/systemd/system`; what a package installs stays as it is. systemd
//! reads them again before the unit is restarted.

use std::ops::Range;

use super::processes::ServerProcess;
use super::reader::{Commands, HERE, KnobReader, Spot};
use super::source::{Line, begin_of_section, lines};

/// A place in a file of a unit, and what is written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnitPlace {
    /// The file, by its index among those with knobs.
    pub(super) file: usize,
    pub(super) at: Range<usize>,
    pub(super) written: String,
}

impl UnitPlace {
    /// Where a knob is that replaces it.
    pub(super) fn spot(self) -> Spot {
        Spot::File(self.file, vec![(self.at, HERE.to_owned())])
    }
}

/// The last place that `find` finds in the files of a server's unit: later files come before the others.
pub(super) fn find(
    reader: &mut KnobReader<'_>,
    server: &ServerProcess,
    find: &dyn Fn(&str) -> Option<Range<usize>>,
) -> Option<UnitPlace> {
    let texts = texts(reader, server);
    let mut last = texts.iter().rev();
    let found = last.find_map(|(path, text)| Some((path, text, find(&without_comments(text))?)));
    let (path, text, at) = found?;
    let written = text.get(at.clone())?.to_owned();
    let file = file(reader, server, path, text);
    Some(UnitPlace { file, at, written })
}

/// A variable of the unit's environment: where it is written, or as a new line of its section.
pub(super) fn variable(
    reader: &mut KnobReader<'_>,
    server: &ServerProcess,
    name: &str,
) -> Option<Spot> {
    if let Some(place) = find(reader, server, &|text| variable_at(text, name)) {
        return Some(place.spot());
    }
    let texts = texts(reader, server);
    let mut files = texts.iter();
    let (path, text, begin) = files.find_map(|(path, text)| {
        let begin = begin_of_section(text, "Service")?;
        Some((path, text, begin))
    })?;
    let file = file(reader, server, path, text);
    let line = format!("Environment={name}={HERE}\n");
    Some(Spot::File(file, vec![(begin..begin, line)]))
}

/// A value of the command line, by the index of its word and where it begins there, if the unit has it once.
pub(super) fn word(
    reader: &mut KnobReader<'_>,
    server: &ServerProcess,
    (index, at): (usize, usize),
) -> Option<Spot> {
    let word = server.words.get(index)?;
    let (text, at) = if at == 0 {
        let flag = server.words.get(index.checked_sub(1)?)?;
        (format!("{flag} {word}"), flag.len() + 1)
    } else {
        (word.clone(), at)
    };
    let place = find(reader, server, &|unit| once_in(unit, &text, at))?;
    Some(place.spot())
}

/// A unit of as many bytes, with blanks for its comments.
fn without_comments(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        if line.trim_start().starts_with(['#', ';']) {
            " ".repeat(line.len())
        } else {
            line.to_owned()
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Where a text that a unit has once, as whole words, has its value.
fn once_in(unit: &str, text: &str, at: usize) -> Option<Range<usize>> {
    let is_between = |sign: Option<char>| sign.is_none_or(|sign| " \t\n\"'\\".contains(sign));
    let mut found = unit.match_indices(text).filter(|(start, _)| {
        let before = unit[..*start].chars().next_back();
        let after = unit[start + text.len()..].chars().next();
        is_between(before) && is_between(after)
    });
    let (start, _) = found.next()?;
    found
        .next()
        .is_none()
        .then(|| start + at..start + text.len())
}

/// The value of a variable in the last `Environment=` that has it.
fn variable_at(text: &str, name: &str) -> Option<Range<usize>> {
    let found = lines(text).filter_map(|line| value_in(line, name));
    found.last()
}

fn value_in(line: Line<'_>, name: &str) -> Option<Range<usize>> {
    let assigned = line.text.trim_start().strip_prefix("Environment=")?;
    let key = format!("{name}=");
    let mut found = assigned.match_indices(&key);
    let (start, _) = found.find(|(start, _)| {
        let before = assigned[..*start].chars().next_back();
        before.is_none_or(|sign| " \t\"'".contains(sign))
    })?;
    let rest = &assigned[start + key.len()..];
    let value = rest.split([' ', '\t', '"', '\'']).next()?;
    line.range_of(value).filter(|at| !at.is_empty())
}

/// Names and texts of the files of a server's unit.
fn texts(reader: &mut KnobReader<'_>, server: &ServerProcess) -> Vec<(String, String)> {
    let paths = reader.service(server).files_of_administrator(reader.files);
    let texts = paths.into_iter().filter_map(|path| {
        let text = reader.files.read(&path).ok()?.to_owned();
        Some((path, text))
    });
    texts.collect()
}

fn file(reader: &mut KnobReader<'_>, server: &ServerProcess, path: &str, text: &str) -> usize {
    let commands = Commands {
        restart: reader.service(server).restart_by_files(),
        ..Commands::default()
    };
    reader.file(server, path, text, &commands)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn variables_of_a_unit() {
        let text = "[Service]\nEnvironment=NODE_ENV=production UV_THREADPOOL_SIZE=8\n# Environment=POOL=1\n\
            Environment=\"POOL=3\" 'MY_POOL=4'\n  Environment=EMPTY=\n";
        for (name, value) in [
            ("UV_THREADPOOL_SIZE", Some("8")),
            ("POOL", Some("3")),
            ("MY_POOL", Some("4")),
            ("NODE_ENV", Some("production")),
            ("EMPTY", None),
            ("SIZE", None),
        ] {
            let found = variable_at(text, name).map(|at| &text[at]);
            assert_eq!(found, value, "{name}");
        }
    }

    #[test]
    fn a_word_counts_where_a_unit_has_it_once() {
        let unit = "ExecStart=/srv/bin/gunicorn -w 3 --threads=2 \\\n  --timeout 30 app:app\n";
        let value = |text: &str, at: usize| once_in(unit, text, at).map(|at| &unit[at]);
        assert_eq!(value("-w 3", 3), Some("3"));
        assert_eq!(value("--threads=2", 10), Some("2"));
        assert_eq!(value("--timeout 3", 10), None);
        assert_eq!(value("-w 4", 3), None);
        let twice = "ExecStartPre=/bin/x -w 3\nExecStart=/bin/y -w 3\n";
        assert_eq!(once_in(twice, "-w 3", 3), None);
    }

    proptest! {
        #[test]
        fn no_unit_is_too_strange(text in "(Environment=|POOL=|-w 3|\"|'|\n|#|é| |8){0,40}") {
            let word = once_in(&without_comments(&text), "-w 3", 3);
            for at in variable_at(&text, "POOL").into_iter().chain(word) {
                prop_assert!(text.get(at).is_some());
            }
        }
    }
}
