//! Knobs of Java programs: the heap and the collector in the environment file of a unit, and Tomcat's threads.

use std::ops::Range;

use super::processes::ServerProcess;
use super::reader::{Commands, HERE, KnobReader, NewKnob, Spot};

/// Flags that choose a collector, by its name.
const COLLECTORS: [(&str, &str); 4] = [
    ("-XX:+UseG1GC", "G1"),
    ("-XX:+UseParallelGC", "Parallel"),
    ("-XX:+UseSerialGC", "Serial"),
    ("-XX:+UseZGC", "Z"),
];

/// Reads the knobs of a Java program.
pub(super) fn read(reader: &mut KnobReader<'_>, server: &ServerProcess) {
    let service = reader.service(server);
    let file = service.environment_file(reader.files);
    let environment = file.and_then(|file| Some((file.clone(), reader.text(server, &file)?)));
    let words = server.words();
    let heap = words
        .iter()
        .rev()
        .find_map(|word| word.strip_prefix("-Xmx"));
    let default = (reader.own.memory / 4) >> 20;
    let default = format!("{default}m");
    let collector = COLLECTORS.iter().find(|(flag, _)| words.contains(flag));
    let commands = Commands {
        check: None,
        reload: None,
        restart: service.restart(),
    };
    let environment = environment.map(|(path, text)| {
        let file = reader.file(server, &path, &text, &commands);
        (path, text, file)
    });
    let elsewhere = match &environment {
        Some((path, ..)) => {
            format!(
                "its flag is not in {path}, which its unit names: write it there and draft again"
            )
        }
        None if commands.restart.is_some() => {
            "its flags are on the command line of its unit: move them to an \
            `EnvironmentFile=` as JAVA_OPTS"
                .to_owned()
        }
        None => reader.no_restart(),
    };
    let written = environment
        .as_ref()
        .map(|(_, text, file)| (text.as_str(), *file));
    let own = written.and_then(|(text, file)| heap_in(text).map(|at| (text, file, at)));
    let heap = reader.knob(if let Some((text, file, at)) = own {
        let now = &text[at.clone()];
        NewKnob::new("-Xmx", now, Spot::File(file, vec![(at, HERE.to_owned())]))
    } else {
        let now = heap.unwrap_or(&default);
        NewKnob::new("-Xmx", now, Spot::Unreachable(elsewhere.clone()))
    });
    if environment.is_none() && commands.restart.is_none() {
        let place = words.iter().rposition(|word| word.starts_with("-Xmx"));
        reader.start_with("-Xmx", server, place.map(|word| (word, "-Xmx".len())));
    }
    reader.needs_size(heap);
    let own = written.and_then(|(text, file)| {
        let mut known = COLLECTORS.iter();
        known.find_map(|(flag, name)| Some((file, text.find(flag)?, flag.len(), *name)))
    });
    reader.knob(if let Some((file, at, len, now)) = own {
        let edit = (at..at + len, format!("-XX:+Use{HERE}GC"));
        NewKnob::new("collector", now, Spot::File(file, vec![edit]))
    } else {
        let now = collector.map_or("G1", |(_, name)| *name);
        NewKnob::new("collector", now, Spot::Unreachable(elsewhere))
    });
    tomcat(reader, server, &commands);
}

/// The bytes of the heap in flags.
fn heap_in(text: &str) -> Option<Range<usize>> {
    let start = text.rfind("-Xmx")? + "-Xmx".len();
    let rest = &text[start..];
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
    Some(start..start + end.unwrap_or(rest.len()))
}

/// The threads of Tomcat's connectors, in its `server.xml`.
fn tomcat(reader: &mut KnobReader<'_>, server: &ServerProcess, commands: &Commands) {
    const ATTRIBUTE: &str = "maxThreads=\"";
    let words = server.words();
    let base = words
        .iter()
        .find_map(|word| word.strip_prefix("-Dcatalina.base="));
    let Some(path) = base.map(|base| format!("{base}/conf/server.xml")) else {
        return;
    };
    let Some(text) = reader.text(server, &path) else {
        return;
    };
    let file = reader.file(server, &path, &text, commands);
    let found = text.find(ATTRIBUTE).and_then(|at| {
        let start = at + ATTRIBUTE.len();
        let len = text[start..].find('"')?;
        Some(start..start + len)
    });
    let (now, edit) = match (found, text.find("<Connector ")) {
        (Some(at), _) => (text[at.clone()].to_owned(), (at, HERE.to_owned())),
        (None, Some(at)) => {
            let at = at + "<Connector ".len();
            ("200".to_owned(), (at..at, format!("{ATTRIBUTE}{HERE}\" ")))
        }
        (None, None) => return,
    };
    reader.knob(NewKnob::new(
        "maxThreads",
        &now,
        Spot::File(file, vec![edit]),
    ));
}
