//! Collects the knobs of servers: names, levels, and whether they can be changed from here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use plimsoll_model::component::{Component, ComponentAddress, ComponentKind, Tunable};
use rustix::fs::{Access, access};

use super::amount::{Scale, number};
use super::machine::Machine;
use super::processes::{Listeners, ServerProcess, upstream};
use super::service::{Service, command, no_reload, no_restart};
use super::sizes::{self, SizeKnob};
use super::start::{CommandLevel, FoundStart};
use super::units;
use super::{
    FoundFile, FoundKnob, KnobBound, KnobConstraint, KnobEdit, KnobFactor, KnobPlace, KnobsFound,
    ReadyKnob, catalogue,
};
use crate::collectors::discovery::{ExaminedProcess, text_for};
use crate::collectors::integration::integration;
use crate::collectors::tunables;
use crate::files::Files;
use crate::parse::process;

/// Databases, and the connections that workers leave to administrators and jobs.
const DATABASES: [(ComponentKind, u64); 2] =
    [(ComponentKind::Postgres, 10), (ComponentKind::Mysql, 1)];
/// How much more a knob whose value is half of the usual counts.
const TIGHTNESS_WEIGHT: f64 = 12.0;
/// How much less a knob counts of a server that probably belongs to another service: more than all weights.
const LAST: f64 = 1000.0;
/// The value of a setting that cannot be read.
const UNKNOWN: &str = "unknown";
/// What stands for the knob in the text of an edit.
pub(super) const HERE: &str = "{}";

/// Commands for a configuration file.
#[derive(Clone, Debug, Default)]
pub(super) struct Commands {
    pub(super) check: Option<Vec<String>>,
    pub(super) reload: Option<Vec<String>>,
    pub(super) restart: Option<Vec<String>>,
}

/// Where a knob is.
#[derive(Debug)]
pub(super) enum Spot {
    /// In a file, by edits; [`HERE`] stands for the level in their texts.
    File(usize, Vec<(Range<usize>, String)>),
    /// Behind the interface of the component, which tells its value as well.
    Set(Component),
    /// Not from here.
    Unreachable(String),
}

/// A setting that was found.
#[derive(Debug)]
pub(super) struct NewKnob<'s> {
    pub(super) setting: &'static str,
    /// What it belongs to, such as a backend; empty where there is only one.
    pub(super) of: &'s str,
    pub(super) now: &'s str,
    /// Levels beyond are left out.
    pub(super) range: Range<f64>,
    /// Levels are multiples of it.
    pub(super) step: u64,
    /// Levels that are possible, where they are words; empty for all.
    pub(super) words: Vec<&'static str>,
    /// Whether it needs a restart although its row tells otherwise.
    pub(super) restart: bool,
    pub(super) spot: Spot,
}

impl NewKnob<'static> {
    /// A setting whose value is not known, and why.
    pub(super) fn unknown(setting: &'static str, why: String) -> Self {
        Self::new(setting, UNKNOWN, Spot::Unreachable(why))
    }
}

impl<'s> NewKnob<'s> {
    pub(super) fn new(setting: &'static str, now: &'s str, spot: Spot) -> Self {
        Self {
            setting,
            of: "",
            now,
            range: 0.0..f64::INFINITY,
            step: 1,
            words: Vec::new(),
            restart: false,
            spot,
        }
    }
}

/// Collects what is found.
#[derive(Debug)]
pub(super) struct KnobReader<'a> {
    pub(super) files: &'a mut Files,
    pub(super) machine: &'a Machine,
    /// The machine as the server whose knobs follow has it.
    pub(super) own: Machine,
    components: &'a [Component],
    listeners: &'a Listeners,
    pub(super) found: KnobsFound,
    /// Addresses that servers which were read name as their own servers.
    pub(super) upstreams: BTreeSet<String>,
    /// Technologies of which a server was read.
    pub(super) read_kinds: BTreeSet<ComponentKind>,
    /// Whether the target is known to run an application.
    pub(super) has_application: bool,
    /// Whether processes of the target run programs that are not known.
    pub(super) has_unknown: bool,
    /// How many servers of a technology were read.
    begun: BTreeMap<ComponentKind, u32>,
    /// Why a file cannot be written, by its index.
    problems: Vec<Option<String>>,
    kind: Option<ComponentKind>,
    /// What names of its knobs begin with.
    prefix: String,
    /// The program, for messages.
    program: String,
    /// How it was started, where it is no unit and that is known.
    start: Option<FoundStart>,
    /// Why its file is not read again, where nothing is known that makes it.
    no_reload: String,
    /// Technologies whose servers probably belong to another service.
    last: BTreeSet<ComponentKind>,
    /// Sizes of memory among the knobs.
    sizes: Vec<SizeKnob>,
    /// Products that need memory.
    memory: Vec<Vec<KnobFactor>>,
    /// Products that need connections to a database: those of a pooler, or of an application.
    pooled: Vec<Vec<KnobFactor>>,
    direct: Vec<Vec<KnobFactor>>,
}

impl<'a> KnobReader<'a> {
    pub(super) fn new(
        files: &'a mut Files,
        machine: &'a Machine,
        components: &'a [Component],
        listeners: &'a Listeners,
    ) -> Self {
        Self {
            files,
            machine,
            own: *machine,
            components,
            listeners,
            found: KnobsFound::default(),
            upstreams: BTreeSet::new(),
            read_kinds: BTreeSet::new(),
            has_application: false,
            has_unknown: false,
            sizes: Vec::new(),
            begun: BTreeMap::new(),
            problems: Vec::new(),
            kind: None,
            prefix: String::new(),
            program: String::new(),
            start: None,
            no_reload: String::new(),
            last: BTreeSet::new(),
            memory: Vec::new(),
            pooled: Vec::new(),
            direct: Vec::new(),
        }
    }

    /// Knobs that follow are of this server.
    pub(super) fn begin(&mut self, server: &ServerProcess) {
        let kind = server.kind;
        self.read_kinds.insert(kind);
        let count = self.begun.entry(kind).or_insert(0);
        *count += 1;
        let word = match kind {
            ComponentKind::PhpFpm => "php",
            kind => kind.words().first().copied().unwrap_or_default(),
        };
        self.prefix = match *count {
            1 => word.to_owned(),
            count => format!("{word}{count}"),
        };
        self.kind = Some(kind);
        self.own = self.machine.of_process(self.files, server.pid);
        self.program = format!("{} (pid {})", kind.name(), server.pid);
        let is_unit = self.service(server).restart().is_some();
        self.start = if is_unit {
            None
        } else {
            FoundStart::of(self.files, server, &self.program)
        };
        self.no_reload = no_reload(server);
    }

    /// Why a setting that needs a restart is not reachable where its server is no unit. The draft then tells how to start it.
    pub(super) fn no_restart(&mut self) -> String {
        self.add_start();
        no_restart(self.start.as_ref())
    }

    /// The draft tells how the server was started, where that is known.
    fn add_start(&mut self) {
        let starts = &mut self.found.starts;
        if let Some(start) = &self.start
            && starts.iter().all(|known| known.pid != start.pid)
        {
            starts.push(start.clone());
        }
    }

    /// Adds a setting that the command line has, which comes before the file: in a file of its unit, else out of reach.
    pub(super) fn on_command_line(
        &mut self,
        server: &ServerProcess,
        (setting, flags): (&'static str, &[&str]),
        path: &str,
    ) -> Option<KnobFactor> {
        let given = server.flag(flags).unwrap_or_default();
        let place = server.flag_at(flags);
        if let Some(spot) = place.and_then(|place| units::word(self, server, place)) {
            return self.knob(NewKnob {
                restart: true,
                ..NewKnob::new(setting, given, spot)
            });
        }
        let flag = flags.last().copied().unwrap_or_default();
        let start = if self.start.is_some() {
            ", or let the experiment start it with `command`"
        } else {
            ""
        };
        let why = format!(
            "its command line has {flag} {given}, which comes before the file: move it to {path} and draft again{start}"
        );
        let knob = self.knob(NewKnob::new(setting, given, Spot::Unreachable(why)));
        self.start_with(setting, server, place);
        knob
    }

    /// The draft tells how the server was started, with the level of a setting where its command line has it: the index of a
    /// word, and where the level begins in it.
    pub(super) fn start_with(
        &mut self,
        setting: &str,
        server: &ServerProcess,
        place: Option<(usize, usize)>,
    ) {
        self.add_start();
        let mut knobs = self.found.knobs.iter().rev();
        let own = knobs.find(|own| own.ready.setting == setting && own.program == self.program);
        let mut starts = self.found.starts.iter_mut();
        let start = starts.find(|start| start.pid == server.pid);
        if let (Some(own), Some(start), Some((word, at))) = (own, start, place) {
            let before = server.words.get(word).and_then(|word| word.get(..at));
            start.levels.push(CommandLevel {
                word,
                before: before.unwrap_or_default().to_owned(),
                knob: own.name.clone(),
            });
        }
    }

    /// Whether it is known where a server listens, and so that none of the others names it.
    pub(super) fn listens_somewhere(&self, server: &ServerProcess) -> bool {
        self.listeners.has_any_of(self.files, server)
    }

    /// Servers of a technology probably belong to another service: their knobs come after those of all others, and they have
    /// no part in what is known of the target's connections.
    pub(super) fn put_last(&mut self, kind: ComponentKind) {
        self.last.insert(kind);
    }

    fn is_last(&self) -> bool {
        self.kind.is_some_and(|kind| self.last.contains(&kind))
    }

    /// Knobs that follow are of the kernel.
    pub(super) fn begin_kernel(&mut self) {
        self.kind = None;
        self.own = *self.machine;
        "kernel".clone_into(&mut self.prefix);
        "the kernel".clone_into(&mut self.program);
    }

    pub(super) fn note(&mut self, text: String) {
        self.found.notes.push(text);
    }

    /// Adds the address of a server that the one being read names.
    pub(super) fn uses(&mut self, written: &str) {
        self.upstreams.extend(upstream(written));
    }

    pub(super) fn service(&mut self, server: &ServerProcess) -> Service {
        Service::of(self.files, server.pid)
    }

    /// Sends a signal to the first process of a server. Its number is another when it was started again: its unit knows it, or
    /// a file, or it has the command line alone.
    pub(super) fn signal(
        &mut self,
        server: &ServerProcess,
        signal: &str,
        pid_files: &[&str],
    ) -> Vec<String> {
        if let Some(command) = self.service(server).signal(signal) {
            return command;
        }
        let (pid, signal) = (server.pid.to_string(), format!("-{signal}"));
        for file in pid_files.iter().filter_map(|file| server.path(file)) {
            let text = self.text(server, &file).unwrap_or_default();
            if text.lines().next().is_some_and(|line| line.trim() == pid) {
                return command(&["pkill", &signal, "-F", &file]);
            }
        }
        if let Some(pattern) = &server.pattern {
            return command(&["pkill", &signal, "-o", "-f", pattern]);
        }
        let text = format!(
            "{} has no pid file that names it, and its command line does not tell it apart: it is reloaded by its process id, \
             which changes when it is started again; draft again then",
            self.program
        );
        self.note(text);
        command(&["kill", &signal, &pid])
    }

    /// The text of a file that a server names.
    pub(super) fn text(&mut self, server: &ServerProcess, path: &str) -> Option<String> {
        text_for(self.files, server.pid, path)
    }

    /// A file whose text was read, or that may be created where `text` is empty; its index.
    pub(super) fn file(
        &mut self,
        server: &ServerProcess,
        path: &str,
        text: &str,
        commands: &Commands,
    ) -> usize {
        let known = self.found.files.iter();
        let known = known
            .into_iter()
            .position(|file| file.path == Path::new(path));
        if let Some(known) = known {
            return known;
        }
        let problem = self.problem_of(server, path, text.is_empty());
        self.problems.push(problem);
        self.found.files.push(FoundFile {
            path: path.into(),
            text: text.to_owned(),
            edits: Vec::new(),
            check: commands.check.clone(),
            reload: commands.reload.clone(),
            restart: commands.restart.clone(),
        });
        self.found.files.len() - 1
    }

    /// A file of the experiment itself, which is written beside the tune file; its index.
    pub(super) fn own_file(&mut self, file: FoundFile) -> usize {
        self.problems.push(None);
        self.found.files.push(file);
        self.found.files.len() - 1
    }

    fn problem_of(&mut self, server: &ServerProcess, path: &str, is_new: bool) -> Option<String> {
        let folder = path.rsplit_once('/').map_or("/", |(folder, _)| folder);
        let folder = if folder.is_empty() { "/" } else { folder };
        if self.files.is_elsewhere(server.pid, folder) {
            return Some(format!(
                "{path} is in a container: run plimsoll tune there, or write the file from outside and reload it by a \
                 command of your own"
            ));
        }
        let written = self.files.path(if is_new { folder } else { path });
        let is_writable = access(&written, Access::WRITE_OK).is_ok();
        (!is_writable)
            .then(|| format!("{path} cannot be written by this user: run as its owner or as root"))
    }

    /// Adds a knob; returns its name and present level, where it can be searched.
    pub(super) fn knob(&mut self, new: NewKnob<'_>) -> Option<KnobFactor> {
        let ready = catalogue::knob(self.kind, new.setting);
        let scale = if new.now == UNKNOWN {
            Some(Scale::unknown(UNKNOWN))
        } else {
            ready.levels.around(new.now, &self.own)
        };
        let Some(mut scale) = scale else {
            let program = &self.program;
            let text = format!(
                "{} of {program} is `{}`, which has no other sensible level here",
                new.setting, new.now
            );
            self.note(text);
            return None;
        };
        let now = scale.now.clone();
        scale.in_steps(new.step);
        let is_possible = |level: &String| {
            let is_word = new.words.is_empty() || new.words.contains(&level.as_str());
            is_word && number(level, 1.0).is_none_or(|value| new.range.contains(&value))
        };
        scale
            .levels
            .retain(|level| *level == now || is_possible(level));
        let name = self.name_of(new.of, new.setting);
        let restart = new.restart || ready.means.needs_restart();
        let place = if scale.levels.len() == 1 {
            let text = format!("no other level is possible here beside {now}");
            KnobPlace::Unreachable(text)
        } else {
            self.place(&name, restart, new.setting, new.spot)
        };
        let is_reachable = !matches!(place, KnobPlace::Unreachable(_));
        let index = self.found.knobs.len();
        let size = SizeKnob::of(index, (ready, &now), self.machine, &self.own);
        self.sizes.extend(size);
        self.found.knobs.push(FoundKnob {
            ready,
            name: name.clone(),
            program: self.program.clone(),
            now: now.clone(),
            usual: scale.usual_left(),
            levels: scale.levels,
            place,
            restart,
            score: score(ready, scale.tightness) - if self.is_last() { LAST } else { 0.0 },
        });
        is_reachable.then_some(KnobFactor::Knob(name, now))
    }

    /// Adds an edit that a knob needs beside its own.
    pub(super) fn add_edit(&mut self, file: usize, at: Range<usize>, text: String, knob: &str) {
        let knob = knob.to_owned();
        if let Some(file) = self.found.files.get_mut(file) {
            file.edits.push(KnobEdit { at, text, knob });
        }
    }

    fn place(&mut self, name: &str, restart: bool, setting: &'static str, spot: Spot) -> KnobPlace {
        match spot {
            Spot::Unreachable(why) => KnobPlace::Unreachable(why),
            Spot::Set(component) => {
                let kind = component.kind;
                if !self.found.watch.contains(&component) {
                    self.found.watch.push(component);
                }
                KnobPlace::Set { kind, setting }
            }
            Spot::File(index, edits) => {
                if let Some(problem) = self.problems.get(index).cloned().flatten() {
                    return KnobPlace::Unreachable(problem);
                }
                let Some(file) = self.found.files.get_mut(index) else {
                    return KnobPlace::Unreachable("its file is unknown".to_owned());
                };
                if restart && file.restart.is_none() {
                    return KnobPlace::Unreachable(self.no_restart());
                }
                if !restart && file.reload.is_none() && file.restart.is_none() {
                    return KnobPlace::Unreachable(self.no_reload.clone());
                }
                let mention = format!("{{{{ {name} }}}}");
                let edits = edits.into_iter().map(|(at, text)| KnobEdit {
                    at,
                    text: text.replace(HERE, &mention),
                    knob: name.to_owned(),
                });
                file.edits.extend(edits);
                KnobPlace::File(index)
            }
        }
    }

    /// A name that no other knob has: letters, digits and `_`.
    fn name_of(&self, of: &str, setting: &str) -> String {
        let setting = setting
            .strip_prefix("net.")
            .or(setting.strip_prefix("vm."))
            .unwrap_or(setting);
        let written = if of.is_empty() {
            format!("{}_{setting}", self.prefix)
        } else {
            format!("{}_{of}_{setting}", self.prefix)
        };
        let mut name = String::new();
        for character in written.chars() {
            if character.is_ascii_alphanumeric() {
                name.push(character);
            } else if !name.ends_with('_') {
                name.push('_');
            }
        }
        name.truncate(60);
        let name = name.trim_end_matches('_').to_owned();
        let is_free = |name: &str| self.found.knobs.iter().all(|knob| knob.name != name);
        if is_free(&name) {
            return name;
        }
        let numbered = (2_u32..).map(|number| format!("{name}_{number}"));
        numbered
            .into_iter()
            .find(|name| is_free(name))
            .unwrap_or(name)
    }

    /// A setting that the component itself tells and changes.
    pub(super) fn runtime(&mut self, server: &ServerProcess, setting: &'static str) {
        let Some(component) = self.component(server) else {
            let why = "its address is unknown, or its sockets cannot be read: run as root, or watch it in a plan and set it \
                by `set`";
            self.knob(NewKnob::unknown(setting, why.to_owned()));
            return;
        };
        let tunable = Tunable {
            kind: component.kind,
            place: component.place.clone(),
            setting: setting.to_owned(),
            of: String::new(),
        };
        match tunables::value_of(&tunable, component.login.as_ref()) {
            Ok(now) => {
                let factor = self.knob(NewKnob::new(setting, &now, Spot::Set(component)));
                let is_memory = ["innodb_buffer_pool_size", "maxmemory"].contains(&setting);
                if is_memory && now != "0" {
                    self.memory.extend(factor.map(|factor| vec![factor]));
                }
            }
            Err(error) => {
                let why = format!(
                    "its value cannot be read ({error}): watch it in a plan with a login that may set it, and set it by \
                     `set`"
                );
                self.knob(NewKnob::unknown(setting, why));
            }
        }
    }

    /// The component of a server: as the user named it, or where it says that it listens. What it says counts only if
    /// its own socket listens there: nothing is sent to a host that somebody else wrote into a command line.
    pub(super) fn component(&mut self, server: &ServerProcess) -> Option<Component> {
        let mut named = self.components.iter();
        if let Some(named) = named.find(|component| component.kind == server.kind) {
            return Some(named.clone());
        }
        let mut found = Vec::new();
        integration(server.kind).discover(&mut ExaminedProcess {
            files: &mut *self.files,
            pid: server.pid,
            comm: "",
            words: &server.words(),
            auto: false,
            named: &[],
            found: &mut found,
        });
        let mut found = found.into_iter().map(|found| found.component);
        let component = found.find(|component| component.kind == server.kind)?;
        let place = match &component.place {
            ComponentAddress::Socket(path) => path.display().to_string(),
            ComponentAddress::Tcp { host, port } => format!("{host}:{port}"),
            _ => return None,
        };
        let places: BTreeSet<String> = upstream(&place).into_iter().collect();
        self.listeners
            .is_one_of(self.files, server, &places)
            .then_some(component)
    }

    /// The mean memory of a server's workers, bytes; of its first process where it has none.
    pub(super) fn resident(&mut self, server: &ServerProcess) -> Option<u64> {
        let page_len = rustix::param::page_size() as u64;
        let pids = if server.workers.is_empty() {
            std::slice::from_ref(&server.pid)
        } else {
            server.workers.as_slice()
        };
        let mut sizes = Vec::new();
        for pid in pids.iter().take(64) {
            let stat = self.files.read(&format!("proc/{pid}/stat")).ok();
            let stat = stat.and_then(process::stat);
            sizes.extend(stat.map(|stat| stat.resident_pages * page_len));
        }
        let count = sizes.len() as u64;
        (count > 0).then(|| sizes.iter().sum::<u64>() / count)
    }

    /// Adds that each worker of a server needs its memory.
    pub(super) fn needs_memory(&mut self, server: &ServerProcess, workers: Option<KnobFactor>) {
        let Some(each) = self.resident(server).filter(|each| *each > 0) else {
            return;
        };
        let quantity = KnobFactor::Quantity(format!("{}_rss", self.prefix), each);
        self.memory
            .extend(workers.map(|workers| vec![workers, quantity]));
    }

    /// Adds that a size needs memory.
    pub(super) fn needs_size(&mut self, size: Option<KnobFactor>) {
        self.memory.extend(size.map(|size| vec![size]));
    }

    /// Gives each size of memory the level that usually suffices beside the other services of the machine.
    pub(super) fn settle_sizes(&mut self) {
        let has_unknown = self.has_application || self.has_unknown;
        let holders = sizes::holders(&self.begun, has_unknown);
        let knobs = &mut self.found.knobs;
        let available = self.machine.available;
        for (index, tightness) in sizes::settle(knobs, &self.sizes, holders, available) {
            let knob = &mut knobs[index];
            knob.score = score(knob.ready, tightness);
        }
    }

    /// Adds connections to a database, of a pooler or of an application.
    pub(super) fn needs_connections(&mut self, product: Vec<KnobFactor>, is_pooler: bool) {
        if self.is_last() {
            return;
        }
        if is_pooler {
            self.pooled.push(product);
        } else {
            self.direct.push(product);
        }
    }

    /// Adds the conditions that hold today.
    pub(super) fn add_constraints(&mut self) {
        let memory = self.machine.memory as f64 * 0.8;
        let terms = std::mem::take(&mut self.memory);
        if !terms.is_empty() && sum_of(&terms) <= memory {
            self.found.constraints.push(KnobConstraint {
                terms,
                bound: KnobBound::Memory,
            });
        } else if !terms.is_empty() {
            self.note(
                "the settings need more than four fifths of the memory today, so no condition bounds them: lower them, \
                 or watch the memory of the first trials"
                    .to_owned(),
            );
        }
        let likely = DATABASES
            .iter()
            .filter(|(kind, _)| !self.last.contains(kind));
        let sessions = likely.flat_map(|&(kind, reserve)| {
            let knobs = self.found.knobs.iter();
            let knobs = knobs.filter(move |knob| {
                knob.ready.kind == Some(kind) && knob.ready.setting == "max_connections"
            });
            knobs.map(move |knob| (kind, reserve, knob.name.clone(), knob.now.clone()))
        });
        let sessions: Vec<_> = sessions.collect();
        // Of two databases it is unknown which one is used.
        let [(kind, reserve, name, now)] = &sessions[..] else {
            return;
        };
        // An application behind a pooler has no connections of its own.
        let pooled = std::mem::take(&mut self.pooled);
        let direct = std::mem::take(&mut self.direct);
        let is_pooled = *kind == ComponentKind::Postgres && !pooled.is_empty();
        let terms = if is_pooled { pooled } else { direct };
        let most = number(now, 1.0).unwrap_or(0.0) - *reserve as f64;
        if !terms.is_empty() && sum_of(&terms) <= most {
            self.found.constraints.push(KnobConstraint {
                terms,
                bound: KnobBound::Knob(name.clone(), now.clone(), *reserve),
            });
        }
    }
}

/// How likely a knob is the limit, by how much less than usual it is, as a power of 2.
fn score(ready: &ReadyKnob, tightness: f64) -> f64 {
    f64::from(ready.weight) + TIGHTNESS_WEIGHT * tightness
}

/// The sum of products at the present levels.
fn sum_of(terms: &[Vec<KnobFactor>]) -> f64 {
    let value = |factor: &KnobFactor| match factor {
        KnobFactor::Knob(_, now) => number(now, 1.0).unwrap_or(0.0),
        KnobFactor::Quantity(_, value) => *value as f64,
    };
    let products = terms
        .iter()
        .map(|term| term.iter().map(value).product::<f64>());
    products.sum()
}
