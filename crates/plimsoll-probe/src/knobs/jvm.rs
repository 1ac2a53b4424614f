//! Knobs of Java programs: the heap and the collector in the environment file of a unit, Tomcat's threads, and the threads and
//! pools that properties set.

use std::ops::Range;

use super::java_properties::{self, EnvironmentText};
use super::processes::ServerProcess;
use super::reader::{Commands, HERE, KnobReader, NewKnob, Spot};
use super::units::{self, UnitPlace};

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
            "no file of its unit in /etc/systemd/system has its flag: write it there, or as JAVA_OPTS into an \
            `EnvironmentFile=`, and draft again"
                .to_owned()
        }
        None => reader.no_restart(),
    };
    let written = environment
        .as_ref()
        .map(|(path, text, file)| EnvironmentText {
            path,
            text,
            file: *file,
        });
    let own = place_of(reader, server, written, &heap_in);
    let heap = reader.knob(if let Some(own) = &own {
        NewKnob::new("-Xmx", &own.written, own.clone().spot())
    } else {
        let now = heap.unwrap_or(&default);
        NewKnob::new("-Xmx", now, Spot::Unreachable(elsewhere.clone()))
    });
    if environment.is_none() && commands.restart.is_none() {
        let place = words.iter().rposition(|word| word.starts_with("-Xmx"));
        reader.start_with("-Xmx", server, place.map(|word| (word, "-Xmx".len())));
    }
    reader.needs_size(heap);
    let running = collector.map_or("G1", |(_, name)| *name);
    let spot = match place_of(reader, server, written, &collector_in) {
        Some(own) => {
            let edit = (own.at, format!("-XX:+Use{HERE}GC"));
            Spot::File(own.file, vec![edit])
        }
        None => Spot::Unreachable(elsewhere),
    };
    reader.knob(NewKnob::new("collector", running, spot));
    tomcat(reader, server, &commands);
    java_properties::read(reader, server, &commands, written);
}

/// Where a flag is written: in the environment file of its unit, or in a file of the unit itself.
fn place_of(
    reader: &mut KnobReader<'_>,
    server: &ServerProcess,
    environment: Option<EnvironmentText<'_>>,
    find: &dyn Fn(&str) -> Option<Range<usize>>,
) -> Option<UnitPlace> {
    let own = environment.and_then(|own| {
        let at = find(own.text)?;
        let written = own.text[at.clone()].to_owned();
        Some(UnitPlace {
            file: own.file,
            at,
            written,
        })
    });
    own.or_else(|| units::find(reader, server, find))
}

/// The bytes of the heap in flags.
fn heap_in(text: &str) -> Option<Range<usize>> {
    let start = text.rfind("-Xmx")? + "-Xmx".len();
    let rest = &text[start..];
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
    Some(start..start + end.unwrap_or(rest.len()))
}

/// The bytes of the flag of a collector in flags.
fn collector_in(text: &str) -> Option<Range<usize>> {
    let mut known = COLLECTORS.iter();
    known.find_map(|(flag, _)| {
        let at = text.find(flag)?;
        Some(at..at + flag.len())
    })
}

/// The threads of Tomcat's first connector, in its `server.xml`: its own, or those of the executor that it names.
fn tomcat(reader: &mut KnobReader<'_>, server: &ServerProcess, commands: &Commands) {
    let words = server.words();
    let base = words
        .iter()
        .find_map(|word| word.strip_prefix("-Dcatalina.base="));
    let Some(path) = base.map(|base| format!("{}/conf/server.xml", base.trim_end_matches('/')))
    else {
        return;
    };
    let Some(text) = reader.text(server, &path) else {
        return;
    };
    let Some((now, edit)) = threads_of_connector(&text) else {
        return;
    };
    let file = reader.file(server, &path, &text, commands);
    reader.knob(NewKnob::new(
        "maxThreads",
        &now,
        Spot::File(file, vec![edit]),
    ));
}

/// Threads of a connector where nothing is written.
const TOMCAT_THREADS: &str = "200";

/// The threads of the first connector, and the edit that changes them.
fn threads_of_connector(text: &str) -> Option<(String, (Range<usize>, String))> {
    const THREADS: &str = "maxThreads";
    // Tomcat's own file has an executor with threads in a comment.
    let text = without_comments(text);
    let connector = elements(&text, "Connector").next()?;
    let named = attribute(&text, &connector, "executor").map(|at| &text[at]);
    let executor = named.and_then(|named| {
        let mut executors = elements(&text, "Executor");
        executors
            .find(|element| attribute(&text, element, "name").is_some_and(|at| &text[at] == named))
    });
    let element = executor.unwrap_or(connector);
    if let Some(at) = attribute(&text, &element, THREADS) {
        return Some((text[at.clone()].to_owned(), (at, HERE.to_owned())));
    }
    let start = element.start;
    let edit = (start..start, format!(" {THREADS}=\"{HERE}\""));
    Some((TOMCAT_THREADS.to_owned(), edit))
}

/// A text of as many bytes, with blanks for its comments.
fn without_comments(text: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find("<!--") {
        let end = rest[at..]
            .find("-->")
            .map_or(rest.len(), |len| at + len + 3);
        kept.push_str(&rest[..at]);
        kept.extend(std::iter::repeat_n(' ', end - at));
        rest = &rest[end..];
    }
    kept.push_str(rest);
    kept
}

/// The attributes of each element of a name, as bytes of the text.
fn elements<'t>(text: &'t str, name: &str) -> impl Iterator<Item = Range<usize>> + use<'t> {
    let begin = format!("<{name}");
    let len = begin.len();
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + text.get(from..)?.find(&begin)? + len;
            from = start;
            if text[start..].starts_with(char::is_whitespace) {
                let end = text[start..]
                    .find('>')
                    .map_or(text.len(), |end| start + end);
                return Some(start..end);
            }
        }
    })
}

/// The bytes of an attribute's value.
fn attribute(text: &str, element: &Range<usize>, name: &str) -> Option<Range<usize>> {
    let inside = text.get(element.clone())?;
    let mut found = inside.match_indices(name);
    found.find_map(|(at, _)| {
        let is_whole = inside[..at].ends_with(char::is_whitespace);
        let rest = inside[at + name.len()..].trim_start().strip_prefix('=')?;
        let rest = rest.trim_start();
        let quote = rest.chars().next().filter(|sign| "\"'".contains(*sign))?;
        let value = rest[1..].split(quote).next()?;
        let start = element.start + inside.len() - rest.len() + 1;
        is_whole.then(|| start..start + value.len())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The file with twelve threads for the first connector.
    #[track_caller]
    fn with_twelve(text: &str) -> (String, String) {
        let (now, (at, edit)) = threads_of_connector(text).unwrap();
        let (before, after) = (&text[..at.start], &text[at.end..]);
        (now, format!("{before}{}{after}", edit.replace(HERE, "12")))
    }

    #[test]
    fn threads_of_a_connector_are_not_those_of_a_comment() {
        let comment =
            "<!-- é <Executor name=\"pool\" maxThreads=\"150\"/>\n<Connector port=\"1\"/> -->\n";
        let connector = "<ConnectorX/><Connector port=\"8080\" protocol=\"HTTP/1.1\" />";
        let (now, text) = with_twelve(&format!("{comment}{connector}"));
        assert_eq!(now, "200");
        let changed = "<Connector maxThreads=\"12\" port=\"8080\" protocol=\"HTTP/1.1\" />";
        assert_eq!(text, format!("{comment}<ConnectorX/>{changed}"));
        let own = "<Connector port='1'\n  maxThreads = '40' minSpareThreads='4'/><Connector maxThreads='9'/>";
        let (now, text) = with_twelve(own);
        assert_eq!((now.as_str(), text), ("40", own.replace("40", "12")));
    }

    #[test]
    fn a_connector_has_the_threads_of_its_executor() {
        let text = "<Executor name=\"other\" maxThreads=\"7\"/>\n<Executor name=\"shop\" maxThreads=\"60\"/>\n\
            <Connector executor=\"shop\" port=\"1\" maxThreads=\"900\"/>";
        let (now, changed) = with_twelve(text);
        assert_eq!((now.as_str(), changed), ("60", text.replace("60", "12")));
        assert_eq!(threads_of_connector("<Server/>"), None);
    }

    proptest! {
        #[test]
        fn no_file_is_too_strange(
            text in "(<Connector |<Executor |<!--|-->|executor=|name=|maxThreads=|\"|'|>|/|\n|é| |8){0,40}"
        ) {
            if let Some((_, (at, _))) = threads_of_connector(&text) {
                prop_assert!(text.get(at).is_some());
            }
        }
    }
}
