//! Knobs of nginx, where its configuration has them.

use std::ops::Range;

use super::processes::ServerProcess;
use super::reader::{Commands, HERE, KnobReader, NewKnob, Spot};
use super::service::command;
use crate::collectors::discovery::texts_for;

/// Files that are read, and how deep they include each other.
const FILES_MAX: usize = 128;
const DEPTH_MAX: usize = 8;
/// Directives of all files.
const DIRECTIVES_MAX: usize = 50_000;
/// Backlog of nginx on Linux.
const BACKLOG: &str = "511";

/// A directive, or the beginning of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Directive {
    file: usize,
    /// The blocks around it, outermost first.
    blocks: Vec<String>,
    words: Vec<String>,
    /// The bytes of its values, without the `;`.
    values: Range<usize>,
    /// Where its `;` or `{` ends.
    end: usize,
    opens: bool,
}

impl Directive {
    fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    fn value(&self) -> &str {
        self.words.get(1).map_or("", String::as_str)
    }

    fn is_in(&self, block: &str) -> bool {
        self.blocks.last().is_some_and(|last| last == block)
    }
}

#[derive(Debug, Default)]
struct NginxFiles {
    /// Names and texts.
    files: Vec<(String, String)>,
    directives: Vec<Directive>,
}

impl NginxFiles {
    /// Reads a file, and those that it includes where it includes them.
    fn add(
        &mut self,
        (name, text): (String, String),
        blocks: &[String],
        depth: usize,
        included: &mut dyn FnMut(&str) -> Vec<(String, String)>,
    ) {
        if self.files.len() >= FILES_MAX || depth > DEPTH_MAX {
            return;
        }
        let file = self.files.len();
        self.files.push((name, text.clone()));
        let mut open: Vec<String> = blocks.to_vec();
        for (word_list, end, sign) in statements(&text) {
            if self.directives.len() >= DIRECTIVES_MAX {
                return;
            }
            let words: Vec<String> = word_list.iter().map(|(word, _)| word.clone()).collect();
            if sign == '}' {
                if open.len() > blocks.len() {
                    open.pop();
                }
                continue;
            }
            let Some(name) = words.first().cloned() else {
                continue;
            };
            if name == "include" && sign == ';' {
                for inner in included(words.get(1).map_or("", String::as_str)) {
                    self.add(inner, &open, depth + 1, included);
                }
                continue;
            }
            let values = match (word_list.get(1), word_list.last()) {
                (Some((_, first)), Some((_, last))) => first.start..last.end,
                _ => end..end,
            };
            self.directives.push(Directive {
                file,
                blocks: open.clone(),
                words,
                values,
                end,
                opens: sign == '{',
            });
            if sign == '{' {
                open.push(name);
            }
        }
    }

    fn of<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f Directive> {
        let own = self.directives.iter();
        own.filter(move |directive| !directive.opens && directive.name() == name)
    }

    /// The beginning of the first block of a name.
    fn block(&self, name: &str) -> Option<&Directive> {
        let mut blocks = self.directives.iter();
        blocks.find(|directive| directive.opens && directive.name() == name)
    }
}

/// Words with their bytes, where the statement ends, and the sign that ends it.
type Statement = (Vec<(String, Range<usize>)>, usize, char);

/// The statements of a text, without comments.
fn statements(text: &str) -> Vec<Statement> {
    let bytes = text.as_bytes();
    let (mut all, mut words, mut at) = (Vec::new(), Vec::new(), 0);
    while at < bytes.len() {
        match bytes[at] {
            b'#' => {
                at += bytes[at..]
                    .iter()
                    .take_while(|byte| **byte != b'\n')
                    .count();
            }
            sign @ (b';' | b'{' | b'}') => {
                at += 1;
                all.push((std::mem::take(&mut words), at, char::from(sign)));
            }
            byte if byte.is_ascii_whitespace() => at += 1,
            _ => {
                let end = end_of_word(bytes, at);
                // A cut within a character cannot happen: words end before ASCII signs.
                if let Some(word) = text.get(at..end) {
                    words.push((word.trim_matches(['"', '\'']).to_owned(), at..end));
                }
                at = end.max(at + 1);
            }
        }
    }
    all
}

fn end_of_word(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    let quote = bytes[start];
    if matches!(quote, b'"' | b'\'') {
        at += 1;
        while at < bytes.len() && bytes[at] != quote {
            at += if bytes[at] == b'\\' { 2 } else { 1 };
        }
        return (at + 1).min(bytes.len());
    }
    while at < bytes.len() && !bytes[at].is_ascii_whitespace() && !b";}".contains(&bytes[at]) {
        match bytes[at] {
            // A variable: `${name}` opens no block.
            b'{' if at > start && bytes[at - 1] == b'$' => {
                let rest = bytes[at..].iter().take_while(|byte| !b"}\n".contains(byte));
                at += rest.count() + 1;
            }
            b'{' => break,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at.min(bytes.len())
}

/// Reads nginx's knobs.
pub(super) fn read(reader: &mut KnobReader<'_>, server: &ServerProcess) {
    let main = server.flag(&["-c"]).unwrap_or("/etc/nginx/nginx.conf");
    let main = server.path(main).unwrap_or_else(|| main.to_owned());
    let Some(text) = reader.text(server, &main) else {
        let why = format!("its configuration {main} cannot be read: run as root");
        for setting in ["worker_processes", "worker_connections"] {
            reader.knob(NewKnob::unknown(setting, why.clone()));
        }
        return;
    };
    let folder = main
        .rsplit_once('/')
        .map_or("", |(folder, _)| folder)
        .to_owned();
    let mut nginx = NginxFiles::default();
    let files = &mut *reader.files;
    nginx.add((main.clone(), text), &[], 0, &mut |pattern| {
        let whole = if pattern.starts_with('/') {
            pattern.to_owned()
        } else {
            format!("{folder}/{pattern}")
        };
        texts_for(files, server.pid, &whole)
    });
    for name in ["proxy_pass", "fastcgi_pass", "uwsgi_pass", "grpc_pass"] {
        for directive in nginx.of(name) {
            reader.uses(directive.value());
        }
    }
    for directive in nginx
        .of("server")
        .filter(|directive| directive.is_in("upstream"))
    {
        reader.uses(directive.value());
    }
    let mut knobs = NginxKnobs {
        reader,
        server,
        nginx: &nginx,
        commands: commands(server, &main),
    };
    knobs.workers();
    knobs.upstreams();
    knobs.clients();
    knobs.listeners();
}

fn commands(server: &ServerProcess, main: &str) -> Commands {
    let program = server.executable.clone();
    let program = program.unwrap_or_else(|| "nginx".to_owned());
    let mut words = command(&[&program]);
    for flag in ["-e", "-p"] {
        if let Some(value) = server.flag(&[flag]) {
            words.extend(command(&[flag, value]));
        }
    }
    words.extend(command(&["-c", main]));
    let with = |more: &[&str]| [words.clone(), command(more)].concat();
    Commands {
        check: Some(with(&["-t", "-q"])),
        reload: Some(with(&["-s", "reload"])),
        restart: None,
    }
}

struct NginxKnobs<'k, 'a> {
    reader: &'k mut KnobReader<'a>,
    server: &'k ServerProcess,
    nginx: &'k NginxFiles,
    commands: Commands,
}

impl NginxKnobs<'_, '_> {
    fn file(&mut self, index: usize) -> usize {
        let (name, text) = &self.nginx.files[index];
        self.reader.file(self.server, name, text, &self.commands)
    }

    /// A directive where it is written first, or else as the first of a block.
    fn directive(&mut self, setting: &'static str, now: &str, block: &str) {
        let nginx = self.nginx;
        if let Some(found) = nginx.of(setting).next() {
            let written = nginx.files[found.file].1.get(found.values.clone());
            let written = written.unwrap_or(now);
            let edit = (found.values.clone(), HERE.to_owned());
            self.edit(setting, written, found.file, edit);
        } else if let Some(block) = nginx.block(block) {
            let line = format!("\n    {setting} {HERE};");
            self.edit(setting, now, block.file, (block.end..block.end, line));
        }
    }

    fn edit(
        &mut self,
        setting: &'static str,
        now: &str,
        file: usize,
        edit: (Range<usize>, String),
    ) {
        let file = self.file(file);
        self.reader
            .knob(NewKnob::new(setting, now, Spot::File(file, vec![edit])));
    }

    fn workers(&mut self) {
        let nginx = self.nginx;
        let cpus = self.reader.machine.cpus.to_string();
        if let Some(found) = nginx.of("worker_processes").next() {
            let now = if found.value() == "auto" {
                &cpus
            } else {
                found.value()
            };
            let now = now.to_owned();
            let edit = (found.values.clone(), HERE.to_owned());
            self.edit("worker_processes", &now, found.file, edit);
        } else {
            let line = format!("worker_processes {HERE};\n");
            self.edit("worker_processes", "1", 0, (0..0, line));
        }
        self.directive("worker_connections", "512", "events");
    }

    fn upstreams(&mut self) {
        let nginx = self.nginx;
        let speaks_1_1 = nginx
            .of("proxy_http_version")
            .any(|directive| directive.value() != "1.0")
            || nginx
                .of("fastcgi_keep_conn")
                .any(|directive| directive.value() == "on");
        let kept: Vec<&Directive> = nginx
            .of("keepalive")
            .filter(|directive| directive.is_in("upstream"))
            .collect();
        let proxies = nginx.of("proxy_pass").next().is_some();
        if let Some(first) = kept.first() {
            let now = first.value().to_owned();
            let edits = kept.iter().filter(|other| other.file == first.file);
            let edits = edits
                .map(|kept| (kept.values.clone(), HERE.to_owned()))
                .collect();
            let file = self.file(first.file);
            self.reader
                .knob(NewKnob::new("keepalive", &now, Spot::File(file, edits)));
        } else if proxies && nginx.block("upstream").is_some() {
            let why = if speaks_1_1 {
                "no upstream block keeps connections: add `keepalive 32;` to it and draft again"
            } else {
                "no upstream block keeps connections: add `keepalive 32;` to it, `proxy_http_version 1.1;` and \
                 `proxy_set_header Connection \"\";` to its location, and draft again"
            };
            self.reader
                .knob(NewKnob::unknown("keepalive", why.to_owned()));
        }
        // With a size of its own for busy buffers, other buffers may be invalid.
        let has_busy_size = nginx.of("proxy_busy_buffers_size").next().is_some();
        if proxies && !has_busy_size {
            self.directive("proxy_buffers", "8 4k", "http");
        }
    }

    fn clients(&mut self) {
        self.directive("keepalive_requests", "1000", "http");
        let two_times = |directive: &Directive| directive.words.len() > 2;
        if !self.nginx.of("keepalive_timeout").any(two_times) {
            self.directive("keepalive_timeout", "75s", "http");
        }
    }

    /// The backlog of the first TCP listener.
    fn listeners(&mut self) {
        let is_tcp = |directive: &&Directive| {
            directive.is_in("server") && !directive.value().starts_with("unix:")
        };
        let Some(listen) = self.nginx.of("listen").find(is_tcp) else {
            return;
        };
        let text = &self.nginx.files[listen.file].1;
        let values = text.get(listen.values.clone()).unwrap_or_default();
        let (now, edit) = if let Some(offset) = values.find("backlog=") {
            let start = listen.values.start + offset + "backlog=".len();
            let digits = text[start..].find(|c: char| !c.is_ascii_digit());
            let range = start..start + digits.unwrap_or(0);
            (text[range.clone()].to_owned(), (range, HERE.to_owned()))
        } else {
            let end = listen.values.end;
            (BACKLOG.to_owned(), (end..end, format!(" backlog={HERE}")))
        };
        self.edit("backlog", &now, listen.file, edit);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn directives_know_their_bytes() {
        let text = "user x; # ;\nevents { worker_connections 10; }\nhttp {\n  log_format a '$b;{ }';\n  server { listen 80 backlog=5; }\n}\n";
        let mut nginx = NginxFiles::default();
        nginx.add(("a".to_owned(), text.to_owned()), &[], 0, &mut |_| {
            Vec::new()
        });
        let connections = nginx.of("worker_connections").next().unwrap();
        assert_eq!(&text[connections.values.clone()], "10");
        assert_eq!(connections.blocks, ["events"]);
        let listen = nginx.of("listen").next().unwrap();
        assert_eq!(&text[listen.values.clone()], "80 backlog=5");
        assert_eq!(listen.blocks, ["http", "server"]);
        let http = nginx.block("http").unwrap();
        assert!(text[..http.end].ends_with("http {"));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[a-z{};#'\" \\\\$\n\u{e9}]{0,80}") {
            for (words, end, _) in statements(&text) {
                prop_assert!(text.get(..end).is_some());
                for (_, range) in words {
                    prop_assert!(text.get(range).is_some());
                }
            }
        }
    }
}
