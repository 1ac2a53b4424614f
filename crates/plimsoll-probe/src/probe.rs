//! The probe: reads everything once a second.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use plimsoll_model::component::{Component, ComponentKind, GaugeLimit};
use plimsoll_model::metric;
use plimsoll_model::reading::Readings;

use crate::activity::Activity;
use crate::auto;
use crate::auto::admission::Belonging;
use crate::behind::Behind;
use crate::clock;
use crate::collectors::{Collectors, ComponentMetadata, EdgeSource, WatchedGauges};
use crate::files::Files;
use crate::group::{Group, Machine};
use crate::host::Host;
use crate::host::cgroups::Cgroups;
use crate::host::sockets::{SocketTable, TargetListener, is_own_address, unix_path};
use crate::kernel_files;
use crate::meter::Meter;
use crate::tree::{ProcessTree, TargetSpec};
use crate::untrusted::Credentials;
use crate::untrusted::credentials::is_service;
use crate::waits::ThreadWaits;

/// What to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbePlan {
    /// Where the target listens. The processes that hold the socket are the target, when it is on this machine.
    pub target_address: Option<SocketAddr>,
    /// The unix socket on which the target listens.
    pub unix_socket: Option<PathBuf>,
    /// Processes of the target by number.
    pub pids: Vec<u32>,
    /// Processes of the target by name, as in `/proc/PID/comm`.
    pub process_names: Vec<String>,
    /// An edge in front of the target.
    pub edge: Option<EdgeSource>,
    /// Configured components of the service.
    pub components: Vec<Component>,
    /// Limits of gauges that the application reports to these components.
    pub gauges: Vec<GaugeLimit>,
    /// Discover components on this machine.
    pub auto: bool,
    /// Plimsoll itself is an agent here: no load comes from this process.
    pub is_agent: bool,
    /// Below which `/proc` and `/sys` are found: `/`, or a fixture in tests.
    pub root: PathBuf,
}

impl Default for ProbePlan {
    fn default() -> Self {
        Self {
            target_address: None,
            unix_socket: None,
            pids: Vec::new(),
            process_names: Vec::new(),
            edge: None,
            components: Vec::new(),
            gauges: Vec::new(),
            auto: false,
            is_agent: false,
            root: PathBuf::from("/"),
        }
    }
}

/// Reads this machine, the target's processes when they run here, and Plimsoll itself: the generator, or an agent.
#[derive(Debug)]
pub struct Probe {
    files: Files,
    meter: Meter,
    listener: TargetListener,
    target_spec: TargetSpec,
    address_is_own: bool,
    host: Host,
    sockets: SocketTable,
    tree: ProcessTree,
    target: Group,
    own: Group,
    is_agent: bool,
    /// Processes behind the target, where these are discovered.
    behind: Option<(Behind, Group)>,
    waits: ThreadWaits,
    cgroups: Cgroups,
    edge: Option<EdgeSource>,
    collectors: Collectors,
    components: Vec<Component>,
    /// Addresses of the components that were found and are scraped, and the processes that name them.
    named_by: Vec<(String, u32)>,
    /// Components that were found, but are not known yet to belong to the target.
    later: Vec<(Component, ComponentMetadata)>,
    activity: Activity,
    machine: Machine,
    before_ns: Option<u64>,
    cost_ns: u64,
    /// The target was observed on this machine. It stays true when the target ends: a killed target is not a remote
    /// one.
    was_local: bool,
}

impl Probe {
    /// Prepares to read, and finds the target's processes. Never fails: [`Probe::notes`] reports what is missing.
    pub fn open(plan: ProbePlan) -> Self {
        Self::open_with(plan, Activity::default())
    }

    /// The same, and [`Activity::now`] reports its activity.
    pub fn open_with(plan: ProbePlan, activity: Activity) -> Self {
        let mut files = Files::new(plan.root);
        let (network, own_namespace) = network_of(&mut files, &plan.pids);
        let live = files.is_live();
        let address_is_own = plan
            .target_address
            .is_some_and(|address| !live || is_own_address(address.ip()));
        let machine = Machine {
            page_len: rustix::param::page_size() as f64,
            ticks_per_s: rustix::param::clock_ticks_per_second() as f64,
            cpus: 1.0,
        };
        let mut probe = Self {
            listener: TargetListener {
                address: plan.target_address,
                unix_path: plan.unix_socket.as_deref().map(unix_path),
            },
            target_spec: TargetSpec {
                pids: plan.pids,
                names: plan.process_names,
            },
            address_is_own,
            host: Host::new(network.clone(), machine.page_len),
            sockets: SocketTable::open(&mut files, network, own_namespace),
            files,
            meter: Meter::default(),
            tree: ProcessTree::default(),
            target: Group::new(metric::TARGET),
            own: Group::new(own_process(plan.is_agent)),
            is_agent: plan.is_agent,
            behind: plan
                .auto
                .then(|| (Behind::default(), Group::new(metric::BEHIND))),
            waits: ThreadWaits::default(),
            cgroups: Cgroups::default(),
            edge: plan.edge,
            collectors: Collectors::comparing(WatchedGauges::new(plan.gauges)),
            components: Vec::new(),
            named_by: Vec::new(),
            later: Vec::new(),
            activity,
            machine,
            before_ns: None,
            cost_ns: 0,
            was_local: false,
        };
        // Finds listener and processes, so that `target_is_local` can be answered; its values are not kept.
        probe.read(0);
        probe.meter = Meter::default();
        probe.before_ns = None;
        probe.host = Host::new(probe.host.into_network(), machine.page_len);
        let is_named = probe.listener.is_named()
            || !probe.target_spec.pids.is_empty()
            || !probe.target_spec.names.is_empty();
        if is_named && !probe.target_is_local() {
            probe.files.note("remote", &probe.listener.remote_note());
        }
        for text in probe.tree.missing(&probe.target_spec) {
            probe.files.announce(&text, &text);
        }
        probe.discover(plan.components, plan.auto, !is_named);
        probe
    }

    /// Scrapes the edge and the components of the service from now on.
    fn discover(&mut self, configured: Vec<Component>, auto: bool, is_whole_machine: bool) {
        self.activity.is("discovering components of the service");
        if let Some(EdgeSource::Admin(address)) = &self.edge {
            self.collectors.add_edge(*address, &mut self.files);
        }
        let belonging = Belonging {
            related: self.related(),
            tree: &self.tree,
            is_whole_machine,
        };
        let mut admit = |files: &mut Files, component: &Component, pid| {
            belonging.admission(files, component, pid)
        };
        let components = auto::discover(&mut self.files, configured, auto, &mut admit);
        self.later = components.later;
        self.watch(components.watched);
    }

    /// Addresses of the components that were found and are scraped, and the processes that name them.
    pub(crate) fn named_by(&self) -> &[(String, u32)] {
        &self.named_by
    }

    /// The target's processes, and those behind it.
    pub(crate) fn related(&self) -> BTreeSet<u32> {
        let mut related = self.tree.members().clone();
        if let Some((behind, _)) = &self.behind {
            related.extend(behind.known(&self.tree, self.tree.members()));
        }
        related
    }

    /// Scrapes these components from now on.
    fn watch(&mut self, mut components: Vec<(Component, ComponentMetadata)>) {
        let target = self.listener.address.map(|address| address.ip());
        for (_, known) in &mut components {
            known.target = target;
        }
        let found = components
            .iter()
            .filter_map(|(component, known)| Some((component.place.to_string(), known.named_by?)));
        self.named_by.extend(found);
        self.components
            .extend(components.iter().map(|(component, _)| component.clone()));
        self.collectors.add(components, &mut self.files);
    }

    /// Scrapes those of the found components that belong to the target by now.
    fn watch_related(&mut self) {
        if self.later.is_empty() {
            return;
        }
        let now = self.take_later(&self.related());
        for (component, _) in &now {
            let text = format!("watched, because the target uses it: {component}");
            self.files.announce(&format!("used {component}"), &text);
        }
        self.watch(now);
    }

    /// The components that were found and are not scraped yet of these processes.
    fn take_later(&mut self, pids: &BTreeSet<u32>) -> Vec<(Component, ComponentMetadata)> {
        let is_theirs =
            |known: &ComponentMetadata| known.named_by.is_some_and(|pid| pids.contains(&pid));
        let (now, later) = std::mem::take(&mut self.later)
            .into_iter()
            .partition::<Vec<_>, _>(|(_, known)| is_theirs(known));
        self.later = later;
        now
    }

    /// Scrapes the components of these technologies and processes, which configurations put behind the target.
    pub(crate) fn watch_behind(&mut self, pids: &BTreeSet<u32>, kinds: &[ComponentKind]) {
        let (now, others) = self
            .take_later(pids)
            .into_iter()
            .partition::<Vec<_>, _>(|(component, _)| kinds.contains(&component.kind));
        self.later.extend(others);
        for (component, _) in &now {
            let text = format!(
                "watched, because the configuration of a component of the target leads to it: {component}"
            );
            self.files.announce(&format!("used {component}"), &text);
        }
        self.watch(now);
    }

    /// Takes the only server of each of these technologies for the target's, where none belongs to it: an application may
    /// connect to its database for the time of a request only. Returns the processes; none of those that are known to
    /// belong to the target.
    pub(crate) fn watch_alone(
        &mut self,
        kinds: &[ComponentKind],
        known: &BTreeSet<u32>,
    ) -> BTreeSet<u32> {
        let related = self.related();
        let kinds = kinds.iter();
        let alone: BTreeSet<u32> = kinds
            .filter_map(|&kind| self.alone(kind))
            .filter(|pid| !related.contains(pid) && !known.contains(pid))
            .collect();
        let now = self.take_later(&alone);
        self.watch(now);
        for (place, pid) in self
            .named_by
            .iter()
            .filter(|named| alone.contains(&named.1))
        {
            let text = format!(
                "included, because it is the only one of its kind on this machine: {place}; no connection of the target to \
                 it was open"
            );
            self.files.announce(&format!("alone {pid}"), &text);
        }
        alone
    }

    /// The process of the only server of a technology that was found, if it is a service and nobody named another.
    fn alone(&mut self, kind: ComponentKind) -> Option<u32> {
        let mut pids = BTreeSet::new();
        for component in self.components.iter().filter(|known| known.kind == kind) {
            let place = component.place.to_string();
            pids.insert(self.named_by.iter().find(|named| named.0 == place)?.1);
        }
        let later = self.later.iter().filter(|(later, _)| later.kind == kind);
        pids.extend(later.filter_map(|(_, known)| known.named_by));
        let pid = pids.pop_first().filter(|_| pids.is_empty())?;
        let status = self.files.read(&format!("proc/{pid}/status")).ok();
        let owner = status.and_then(Credentials::from_status)?;
        is_service(owner.uid).then_some(pid)
    }

    /// Values at this moment, for the second of run time that ends now. The first call returns gauges only;
    /// counters are returned as increase per second since the previous call.
    pub fn read(&mut self, second: u32) -> Readings {
        let begin_ns = clock::now_ns();
        let begin_cpu_ns = clock::thread_cpu_ns();
        self.meter.begin(begin_ns);
        self.watch_related();
        self.collectors.call();
        self.activity.is("reading the host");
        if let Some(before_ns) = self.before_ns {
            let interval_s = begin_ns.saturating_sub(before_ns) as f64 / 1e9;
            self.meter.gauge(metric::PROBE_INTERVAL, &[], interval_s);
            let cost_s = self.cost_ns as f64 / 1e9;
            self.meter.gauge(metric::PROBE_CPU_TIME, &[], cost_s);
        }
        self.before_ns = Some(begin_ns);
        let (created, cpus) = self.host.read(&mut self.files, &mut self.meter);
        self.machine.cpus = cpus as f64;
        let listener = if self.address_is_own || self.listener.address.is_none() {
            self.listener.clone()
        } else {
            TargetListener::default()
        };
        self.activity.is("reading sockets");
        self.sockets.read(
            &mut self.files,
            &mut self.meter,
            &listener,
            // The connections of a generator to the target begin on its machine.
            self.listener.address.filter(|_| !self.is_agent),
        );
        self.activity.is("reading processes");
        self.read_processes(created);
        self.activity.is("reading cgroups");
        self.cgroups.read(&mut self.files, &mut self.meter);
        if let Some(EdgeSource::Own(edge)) = &self.edge {
            edge.read(&mut self.meter);
        }
        self.was_local |= !self.tree.members().is_empty() || !self.sockets.target_inodes.is_empty();
        let local = f64::from(u8::from(self.was_local));
        self.meter.gauge(metric::TARGET_IS_LOCAL, &[], local);
        let mut readings = self.meter.finish(second);
        self.activity.is("scraping components of the service");
        self.collectors.gather(&mut readings, &mut self.files);
        self.cost_ns = clock::thread_cpu_ns().saturating_sub(begin_cpu_ns);
        self.activity.is("waiting for the next second");
        readings
    }

    fn read_processes(&mut self, created: u64) {
        self.tree.refresh(
            &mut self.files,
            &self.target_spec,
            created,
            &self.sockets.target_inodes,
        );
        let members: BTreeSet<u32> = self.tree.members().clone();
        let ended = self.target.read(
            &mut self.files,
            &mut self.meter,
            self.machine,
            members.iter().copied(),
        );
        self.waits.read(
            &mut self.files,
            &mut self.meter,
            &mut self.sockets,
            &members,
        );
        self.read_behind(&members);
        let own = std::process::id();
        self.own.read(
            &mut self.files,
            &mut self.meter,
            self.machine,
            std::iter::once(own),
        );
        for &pid in &members {
            self.cgroups.follow(&mut self.files, pid, metric::TARGET);
        }
        self.cgroups
            .follow(&mut self.files, own, own_process(self.is_agent));
        for pid in ended {
            self.tree.remove(pid);
        }
    }

    fn read_behind(&mut self, members: &BTreeSet<u32>) {
        let Some((behind, group)) = &mut self.behind else {
            return;
        };
        let (files, meter) = (&mut self.files, &mut self.meter);
        let found = behind.find(files, &mut self.sockets, &self.tree, members);
        group.read(files, meter, self.machine, found.iter().copied());
        for pid in found {
            self.cgroups.follow(&mut self.files, pid, metric::BEHIND);
        }
    }

    /// What could not be read and why, each once.
    pub fn notes(&self) -> Vec<String> {
        self.files.notes().to_vec()
    }

    /// The notes on components since the last call.
    pub fn take_announced(&mut self) -> Vec<String> {
        self.files.take_announced()
    }

    /// Whether the target's processes or its listening socket were found on this machine, now or earlier.
    pub fn target_is_local(&self) -> bool {
        self.was_local
    }

    /// Whether requests to the target stay on this machine: its address is local, even when its listener could not
    /// be found.
    pub fn is_same_machine(&self) -> bool {
        self.address_is_own || self.target_is_local()
    }

    /// Components that are scraped: configured and discovered ones.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// The target's processes, ascending.
    pub fn target_pids(&self) -> Vec<u32> {
        self.tree.members().iter().copied().collect()
    }
}

/// What Plimsoll itself is among the processes.
fn own_process(is_agent: bool) -> &'static str {
    if is_agent {
        metric::AGENT
    } else {
        metric::GENERATOR
    }
}

/// Where the network's files of the target's namespace are, and whether that is the namespace of this thread.
/// `/proc/net` would be that of the process's first thread.
fn network_of(files: &mut Files, pids: &[u32]) -> (String, bool) {
    if !files.is_live() {
        return ("proc/net".to_owned(), true);
    }
    let own = kernel_files::link(Path::new("/proc/thread-self/ns/net"));
    for pid in pids {
        let theirs = kernel_files::link(Path::new(&format!("/proc/{pid}/ns/net")));
        if theirs.is_some() && theirs != own {
            files.note(
                "namespace",
                &format!(
                    "sockets and TCP counters are those of the network namespace of pid {pid}"
                ),
            );
            return (format!("proc/{pid}/net"), false);
        }
    }
    ("proc/thread-self/net".to_owned(), true)
}
