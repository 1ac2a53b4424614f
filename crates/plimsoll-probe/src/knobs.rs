//! Ready-made knobs: settings of known programs that are worth a search, and where they are written on this machine.
//!
//! [`all`] is the catalogue. [`find`] reads the processes of a service and the configuration files that these name, and
//! returns the knobs of it: with levels around the value that stands, the edit that makes a template of the real file,
//! and the commands that check and reload it. Nothing is changed or executed. A knob that cannot be changed from here
//! is returned with the reason.

mod amount;
mod apache;
mod application_servers;
mod catalogue;
mod databases;
mod haproxy;
mod java_properties;
mod jvm;
mod kernel;
mod machine;
mod nginx;
mod opcache;
mod php_fpm;
mod pools;
mod processes;
mod reader;
mod service;
mod sizes;
mod source;
mod start;
mod stores;
#[cfg(test)]
mod tests;
mod units;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;

use plimsoll_model::component::{Component, ComponentKind};

use crate::files::Files;
use crate::probe::{Probe, ProbePlan};
pub use amount::{Amount, KnobLevels};
pub use catalogue::{KnobMeans, ReadyKnob, all};
pub use kernel::{KERNEL_FILE, kernel_file};
use machine::Machine;
use processes::{Listeners, ServerProcess};
use reader::KnobReader;
pub use source::{KnobEdit, literal, template};
pub use start::{CommandLevel, FoundStart, FoundVariable};

/// Knobs at most.
const KNOBS_MAX: usize = 200;

/// Where to look.
#[derive(Clone, Debug)]
pub struct KnobPlan {
    /// Where the service listens.
    pub target_address: Option<SocketAddr>,
    /// The Unix socket on which it listens.
    pub unix_socket: Option<PathBuf>,
    /// Components that the user named, with their logins.
    pub components: Vec<Component>,
    /// Whether settings of the kernel are included.
    pub kernel: bool,
    /// Below which `/proc` and the configuration files are found: `/`, or a fixture in tests.
    pub root: PathBuf,
}

/// How a knob is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnobPlace {
    /// By an edit of a file of [`KnobsFound::files`], by index.
    File(usize),
    /// By the interface of a component, which is in [`KnobsFound::watch`].
    Set {
        /// The component.
        kind: ComponentKind,
        /// The setting.
        setting: &'static str,
    },
    /// Not from here: the reason, with the remedy.
    Unreachable(String),
}

/// A knob of a program that runs here.
#[derive(Clone, Debug)]
pub struct FoundKnob {
    /// Its row.
    pub ready: &'static ReadyKnob,
    /// Its name in the tune file: letters, digits and `_`.
    pub name: String,
    /// The program, and where it is configured.
    pub program: String,
    /// The level that stands.
    pub now: String,
    /// All levels, `now` among them.
    pub levels: Vec<String>,
    /// The least level that usually suffices, where what stands does not; of a size of memory the highest that usually fits.
    pub usual: Option<String>,
    /// How it is applied.
    pub place: KnobPlace,
    /// Whether the program is restarted for it.
    pub restart: bool,
    /// How likely it is the limit: the order of the knobs.
    pub score: f64,
}

/// A configuration file with knobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundFile {
    /// The file.
    pub path: PathBuf,
    /// Its text; empty where it does not exist yet.
    pub text: String,
    /// Edits that put knobs into it.
    pub edits: Vec<KnobEdit>,
    /// Command that checks it, without a shell; `None` where the program has no such command.
    pub check: Option<Vec<String>>,
    /// Command that makes the program read it.
    pub reload: Option<Vec<String>>,
    /// Command that restarts the program.
    pub restart: Option<Vec<String>>,
}

/// A factor of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnobFactor {
    /// A knob, by name, and the level that stands.
    Knob(String, String),
    /// A number with a name, such as the memory of a process in bytes.
    Quantity(String, u64),
}

/// What a condition compares with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnobBound {
    /// Four fifths of the machine's memory.
    Memory,
    /// A knob, by name, with the level that stands, less a reserve.
    Knob(String, String, u64),
}

/// A condition over knobs that holds today: a sum of products that a bound limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobConstraint {
    /// The products.
    pub terms: Vec<Vec<KnobFactor>>,
    /// The bound.
    pub bound: KnobBound,
}

/// A condition as a tune file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstraintText {
    /// The condition.
    pub text: String,
    /// The numbers that it mentions, by name.
    pub quantities: Vec<(String, u64)>,
}

impl KnobConstraint {
    /// Its text with the knobs that are searched; others stand at their present level. `None` where it has none.
    pub fn text(&self, is_searched: &dyn Fn(&str) -> bool) -> Option<ConstraintText> {
        let mut quantities = Vec::new();
        let mut terms = Vec::new();
        for term in &self.terms {
            let mut is_varied = false;
            let mut factors = Vec::new();
            for factor in term {
                match factor {
                    KnobFactor::Knob(name, _) if is_searched(name) => {
                        is_varied = true;
                        factors.push(name.clone());
                    }
                    KnobFactor::Knob(_, now) => factors.push(now.clone()),
                    KnobFactor::Quantity(name, value) => {
                        quantities.push((name.clone(), *value));
                        factors.push(name.clone());
                    }
                }
            }
            if is_varied {
                terms.push(factors.join(" * "));
            } else {
                // What does not vary is not counted; its numbers are not needed.
                let own = term
                    .iter()
                    .filter(|factor| matches!(factor, KnobFactor::Quantity(..)));
                quantities.truncate(quantities.len() - own.count());
            }
        }
        let bound = match &self.bound {
            KnobBound::Memory => "0.8 * memory".to_owned(),
            KnobBound::Knob(name, _, reserve) if is_searched(name) => {
                if terms.is_empty() {
                    return None;
                }
                format!("{name} - {reserve}")
            }
            KnobBound::Knob(_, now, reserve) => format!("{now} - {reserve}"),
        };
        (!terms.is_empty()).then(|| ConstraintText {
            text: format!("{} <= {bound}", terms.join(" + ")),
            quantities,
        })
    }
}

/// Everything that was found.
#[derive(Clone, Debug, Default)]
pub struct KnobsFound {
    /// The knobs, the likeliest limit first.
    pub knobs: Vec<FoundKnob>,
    /// The files that have them.
    pub files: Vec<FoundFile>,
    /// Components whose interface sets some.
    pub watch: Vec<Component>,
    /// Conditions that hold today.
    pub constraints: Vec<KnobConstraint>,
    /// How programs were started whose settings need a restart that nothing here makes.
    pub starts: Vec<FoundStart>,
    /// What was found, and what was not included and why.
    pub notes: Vec<String>,
}

/// Finds the knobs of a service.
pub fn find(plan: &KnobPlan) -> KnobsFound {
    let mut probe = Probe::open(ProbePlan {
        target_address: plan.target_address,
        unix_socket: plan.unix_socket.clone(),
        components: plan.components.clone(),
        auto: true,
        root: plan.root.clone(),
        ..ProbePlan::default()
    });
    probe.read(0);
    let related = probe.related();
    let mut files = Files::new(plan.root.clone());
    let mut found = find_among(&mut files, plan, &related);
    if related.is_empty() && !probe.is_same_machine() {
        found.notes.push(
            "the target does not run on this machine: draft the file on the machine of the service"
                .to_owned(),
        );
    }
    found
}

/// The same where the processes of the target, and those that it has connected to, are known.
fn find_among(files: &mut Files, plan: &KnobPlan, related: &BTreeSet<u32>) -> KnobsFound {
    let servers = processes::servers(files);
    find_of(files, plan, related, servers)
}

/// The same where no servers run but these.
fn find_of(
    files: &mut Files,
    plan: &KnobPlan,
    related: &BTreeSet<u32>,
    mut candidates: Vec<ServerProcess>,
) -> KnobsFound {
    let machine = Machine::read(files);
    let listeners = Listeners::read(files);
    let mut reader = KnobReader::new(files, &machine, &plan.components, &listeners);
    let mut served = BTreeSet::new();
    // Those that serve the target, then those that these name as their servers, until no more are found.
    loop {
        let (admitted, rest): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|server| {
            related.contains(&server.pid)
                || server.workers.iter().any(|pid| related.contains(pid))
                || listeners.is_one_of(reader.files, server, &reader.upstreams)
        });
        candidates = rest;
        if admitted.is_empty() {
            break;
        }
        for server in &admitted {
            served.insert(server.pid);
            served.extend(&server.workers);
            read_server(&mut reader, server);
        }
    }
    reader.has_unknown = related.iter().any(|pid| !served.contains(pid));
    // A program that is not known may be the application.
    reader.has_application |= reader.read_kinds.is_empty() && !related.is_empty();
    read_alone(&mut reader, &candidates);
    if plan.kernel {
        kernel::read(&mut reader);
    }
    reader.settle_sizes();
    reader.add_constraints();
    let mut found = reader.found;
    found.notes.extend(files.take_announced());
    let by_score = |a: &FoundKnob, b: &FoundKnob| b.score.total_cmp(&a.score);
    found.knobs.sort_by(by_score);
    found.knobs.truncate(KNOBS_MAX);
    found
}

/// Applications, and the stores behind them. Everything that is no store serves requests: what hands requests on to it names
/// it, or has a connection to it.
const APPLICATIONS: [ComponentKind; 6] = [
    ComponentKind::PhpFpm,
    ComponentKind::Puma,
    ComponentKind::Gunicorn,
    ComponentKind::Uwsgi,
    ComponentKind::Node,
    ComponentKind::Jvm,
];
const STORES: [ComponentKind; 5] = [
    ComponentKind::Postgres,
    ComponentKind::Mysql,
    ComponentKind::Pgbouncer,
    ComponentKind::Redis,
    ComponentKind::Memcached,
];
const DATABASES: [ComponentKind; 2] = [ComponentKind::Postgres, ComponentKind::Mysql];

/// Whether a server of this technology probably belongs to another service, where nothing shows that the target uses it:
/// something of the target is known; for a database another one is; for a pooler the database itself is, to which the
/// target has connections of its own then. A cache may be used for moments.
fn is_unlikely(kind: ComponentKind, known: &BTreeSet<ComponentKind>) -> bool {
    match kind {
        ComponentKind::Pgbouncer => known.contains(&ComponentKind::Postgres),
        _ if DATABASES.contains(&kind) => DATABASES.iter().any(|own| known.contains(own)),
        _ => !known.is_empty() && !STORES.contains(&kind),
    }
}

/// Reads the only server of a technology although nothing shows that the target uses it: a connection may be open for
/// the time of a request only. Of several it is unknown which.
/// Behind a known application only stores are: a proxy or an application that nothing leads to is another service's.
fn read_alone(reader: &mut KnobReader<'_>, candidates: &[ServerProcess]) {
    let known: BTreeSet<ComponentKind> = reader.read_kinds.clone();
    let has_application =
        reader.has_application || APPLICATIONS.iter().any(|kind| known.contains(kind));
    for server in candidates {
        let kind = server.kind;
        if known.contains(&kind) || has_application && !STORES.contains(&kind) {
            continue;
        }
        let same = candidates.iter();
        let same = same.filter(|other| other.kind == kind && other.is_service());
        let same = same.count();
        let name = kind.name();
        if !server.is_service() {
            reader.note(format!(
                "{name} (pid {}) is not included: it belongs to another person, and no connection of the target to it \
                 was open",
                server.pid
            ));
        } else if same == 1 {
            let is_last = is_unlikely(kind, &known) && reader.listens_somewhere(server);
            let place = if is_last {
                "; its settings come last"
            } else {
                ""
            };
            reader.note(format!(
                "{name} (pid {}) is included because it is the only one on this machine; no connection of the target \
                 to it was open{place}",
                server.pid
            ));
            if is_last {
                reader.put_last(kind);
            }
            read_server(reader, server);
        } else {
            reader.note(format!(
                "{name} (pid {}) is not included: {same} run on this machine, and no connection of the target to it \
                 was open",
                server.pid
            ));
        }
    }
}

fn read_server(reader: &mut KnobReader<'_>, server: &ServerProcess) {
    reader.begin(server);
    match server.kind {
        ComponentKind::Nginx => nginx::read(reader, server),
        ComponentKind::Haproxy => haproxy::read(reader, server),
        ComponentKind::Apache => apache::read(reader, server),
        ComponentKind::PhpFpm => php_fpm::read(reader, server),
        ComponentKind::Puma => application_servers::puma(reader, server),
        ComponentKind::Gunicorn => application_servers::gunicorn(reader, server),
        ComponentKind::Uwsgi => application_servers::uwsgi(reader, server),
        ComponentKind::Node => application_servers::node(reader, server),
        ComponentKind::Jvm => jvm::read(reader, server),
        ComponentKind::Postgres => databases::postgres(reader, server),
        ComponentKind::Mysql => databases::mysql(reader, server),
        ComponentKind::Pgbouncer => pools::pgbouncer(reader, server),
        ComponentKind::Redis => stores::redis(reader, server),
        ComponentKind::Memcached => stores::memcached(reader, server),
        _ => {}
    }
}
