//! Knobs of nginx, where its configuration has them.

use std::ops::Range;

use super::processes::ServerProcess;
use super::reader::{Commands, HERE, KnobReader, NewKnob, Spot};
use super::service::command;
use crate::collectors::nginx::tree::{Directive, NginxTree};

/// Backlog of nginx on Linux.
const BACKLOG: &str = "511";
/// The level of upstream blocks that keep no connections: a comment.
const NONE_KEPT: &str = "# none";

/// Adds a directive and what is in it, each with the name of the block around it, in their order.
fn add_all<'t>(around: &'t str, inside: &'t [Directive], all: &mut Vec<(&'t str, &'t Directive)>) {
    for directive in inside {
        all.push((around, directive));
        add_all(directive.name(), &directive.inner, all);
    }
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
    let tree = NginxTree::of_file(reader.files, server.pid, &main, text);
    let mut all = Vec::new();
    add_all("", &tree.directives, &mut all);
    let mut knobs = NginxKnobs {
        reader,
        server,
        tree: &tree,
        all,
        commands: commands(server, &main),
    };
    knobs.uses();
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
    tree: &'k NginxTree,
    /// Names of blocks, and the directives in them.
    all: Vec<(&'k str, &'k Directive)>,
    commands: Commands,
}

impl<'k> NginxKnobs<'k, '_> {
    /// Directives of a name, with the names of the blocks around them.
    fn named(&self, name: &str) -> impl Iterator<Item = (&'k str, &'k Directive)> {
        let all = self.all.iter().copied();
        all.filter(move |(_, directive)| !directive.is_block && directive.name() == name)
    }

    fn first(&self, name: &str) -> Option<&'k Directive> {
        self.named(name).next().map(|(_, directive)| directive)
    }

    /// The beginning of the first block of a name.
    fn block(&self, name: &str) -> Option<&'k Directive> {
        let mut all = self.all.iter().map(|(_, directive)| *directive);
        all.find(|directive| directive.is_block && directive.name() == name)
    }

    /// The addresses of other servers.
    fn uses(&mut self) {
        for name in ["proxy_pass", "fastcgi_pass", "uwsgi_pass", "grpc_pass"] {
            let passes: Vec<_> = self.named(name).collect();
            for (_, directive) in passes {
                self.reader.uses(directive.value());
            }
        }
        let servers: Vec<_> = self.named("server").collect();
        for (around, directive) in servers {
            if around == "upstream" {
                self.reader.uses(directive.value());
            }
        }
    }

    fn file(&mut self, index: usize) -> usize {
        let (name, text) = &self.tree.files[index];
        self.reader.file(self.server, name, text, &self.commands)
    }

    /// A directive where it is written first, or else as the first of a block.
    fn directive(&mut self, setting: &'static str, now: &str, block: &str) {
        let tree = self.tree;
        if let Some(found) = self.first(setting) {
            let written = tree.files[found.file].1.get(found.values.clone());
            let written = written.unwrap_or(now);
            let edit = (found.values.clone(), HERE.to_owned());
            self.edit(setting, written, found.file, edit);
        } else if let Some(block) = self.block(block) {
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
        let cpus = self.reader.machine.cpus.to_string();
        if let Some(found) = self.first("worker_processes") {
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
        let is_set = |name: &str, is_it: &dyn Fn(&str) -> bool| {
            self.named(name)
                .any(|(_, directive)| is_it(directive.value()))
        };
        let keeps_fastcgi = is_set("fastcgi_keep_conn", &|value| value == "on");
        let may_keep = is_set("proxy_http_version", &|value| value != "1.0")
            && is_set("proxy_set_header", &|value| {
                value.eq_ignore_ascii_case("connection")
            });
        let kept = self.named("keepalive");
        let kept = kept.filter(|(around, _)| *around == "upstream");
        let kept: Vec<&Directive> = kept.map(|(_, directive)| directive).collect();
        let proxies = self.first("proxy_pass").is_some();
        if let Some(first) = kept.first() {
            let now = first.value().to_owned();
            let edits = kept.iter().filter(|other| other.file == first.file);
            let edits = edits
                .map(|kept| (kept.values.clone(), HERE.to_owned()))
                .collect();
            let file = self.file(first.file);
            self.reader
                .knob(NewKnob::new("keepalive", &now, Spot::File(file, edits)));
        } else if keeps_fastcgi || may_keep {
            self.without_keepalive();
        } else if proxies && self.block("upstream").is_some() {
            let why = "no upstream block keeps connections: add `proxy_http_version 1.1;` and `proxy_set_header Connection \"\";` \
                to its location, and draft again";
            self.reader
                .knob(NewKnob::unknown("upstream keepalive", why.to_owned()));
        }
        // With a size of its own for busy buffers, other buffers may be invalid.
        let has_busy_size = self.first("proxy_busy_buffers_size").is_some();
        if proxies && !has_busy_size {
            self.directive("proxy_buffers", "8 4k", "http");
        }
    }

    /// Upstream blocks that keep no connections although their requests allow it: a line behind all others, since it must come
    /// after the method of balancing.
    fn without_keepalive(&mut self) {
        let blocks = self.all.iter().map(|(_, directive)| *directive);
        // A block inside is a program of a module: where it ends is not known.
        let blocks = blocks.filter(|block| {
            let has_block = block.inner.iter().any(|inner| inner.is_block);
            block.is_block && block.name() == "upstream" && !has_block
        });
        let blocks: Vec<&Directive> = blocks.collect();
        let Some(first) = blocks.first() else {
            return;
        };
        let own = blocks.iter().filter(|block| block.file == first.file);
        let edits = own.map(|block| {
            let last = block.inner.iter().rfind(|last| last.file == block.file);
            let end = last.map_or(block.end, |last| last.end);
            // What follows on its line is no part of a comment.
            (end..end, format!("\n    {HERE}\n"))
        });
        let edits = edits.collect();
        let file = self.file(first.file);
        let spot = Spot::File(file, edits);
        self.reader
            .knob(NewKnob::new("upstream keepalive", NONE_KEPT, spot));
    }

    fn clients(&mut self) {
        self.directive("keepalive_requests", "1000", "http");
        let has_two_times = self
            .named("keepalive_timeout")
            .any(|(_, directive)| directive.words.len() > 2);
        if !has_two_times {
            self.directive("keepalive_timeout", "75s", "http");
        }
    }

    /// The backlog of the first TCP listener.
    fn listeners(&mut self) {
        let first = self.named("listen").find(|(around, directive)| {
            *around == "server" && !directive.value().starts_with("unix:")
        });
        let (tree, Some((_, listen))) = (self.tree, first) else {
            return;
        };
        let text = &tree.files[listen.file].1;
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
