//! Limits that will bind first, found without load: of this host and of the components of the service on it. Each has
//! its current value, an advised value, and a reason.

mod apache;
mod buffers;
mod chains;
mod component_readings;
mod components;
mod demand;
mod descriptors;
mod haproxy;
mod host;
mod jvm;
mod kernel;
mod memory;
mod nginx;
mod pgbouncer;
mod service;
mod settings;
mod stores;
mod times;

use std::collections::BTreeSet;

pub use demand::{Demand, USERS_EARLY};

use plimsoll_model::reading::Readings;

use crate::files::Files;
use crate::probe::{Probe, ProbePlan};
use service::{Service, TargetProcesses};

/// One setting of this host, or of a component of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The setting, such as `net.core.somaxconn`.
    pub name: String,
    /// Its value.
    pub current: String,
    /// The advised value.
    pub advised: String,
    /// Its effect, with numbers.
    pub why: String,
    /// Number of users, each with one connection, at which it binds; `None` where their number is not what it limits.
    pub binds_at: Option<u64>,
    /// Position in the order in which settings will bind, from 0.
    pub rank: u32,
    /// Whether the current value suffices.
    pub ok: bool,
    /// It costs time or safety, but limits no number of users.
    pub is_hint: bool,
}

impl Advice {
    #[expect(
        clippy::needless_pass_by_value,
        reason = "numbers and texts stand at the call without a mark"
    )]
    fn new(
        name: impl Into<String>,
        current: impl ToString,
        advised: impl ToString,
        ok: bool,
    ) -> Self {
        Self {
            name: name.into(),
            current: current.to_string(),
            advised: advised.to_string(),
            why: String::new(),
            binds_at: None,
            rank: 0,
            ok,
            is_hint: false,
        }
    }

    fn hint(mut self) -> Self {
        self.is_hint = true;
        self
    }

    fn because(mut self, why: impl Into<String>) -> Self {
        self.why = why.into();
        self
    }

    fn binds_at(mut self, users: u64) -> Self {
        self.binds_at = Some(users);
        self
    }

    /// A setting that binds below this number of users is not right, and no such value is advised.
    fn suffice_for(&mut self, users: u64) {
        if self.binds_at.is_none_or(|count| count >= users) {
            return;
        }
        self.ok = false;
        let number = self.advised.trim_end_matches(" or more").parse::<u64>();
        if number.is_ok_and(|number| number < users) {
            self.advised = format!("{users} or more");
        }
    }
}

/// What was checked: the settings, and notes on what was found and which access is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Settings: those too low first, ordered by the number of users at which they bind. One that cannot be read is
    /// left out.
    pub advice: Vec<Advice>,
    /// Notes for people.
    pub notes: Vec<String>,
}

/// Compares what this host and the components of the service on it allow with what the users need. With a target, its
/// components are those that it is observed to use, and those to which configurations hand its requests on; without one,
/// all of this machine.
pub fn check(plan: &ProbePlan, demand: &Demand) -> Checked {
    let is_named = plan.target_address.is_some()
        || plan.unix_socket.is_some()
        || !plan.pids.is_empty()
        || !plan.process_names.is_empty();
    let mut probe = Probe::open(ProbePlan {
        auto: true,
        ..plan.clone()
    });
    let mut files = Files::new(plan.root.clone());
    let files = &mut files;
    let mut alone = BTreeSet::new();
    if is_named {
        let known = service::processes(files, &probe.related());
        probe.watch_behind(&known.pids, &service::DATABASES);
        if known.has_application {
            alone = probe.watch_alone(&service::DATABASES, &known.pids);
        }
    }
    let mut readings = probe.read(0);
    // A component that responds late is included in the next sample.
    readings.values.extend(probe.read(1).values);
    let pids = probe.target_pids();
    let related: BTreeSet<u32> = probe.related().union(&alone).copied().collect();
    let target = TargetProcesses {
        pids: &related,
        named_by: probe.named_by(),
    };
    let service = Service::find(files, &mut readings, is_named.then_some(target));
    let mut advice = host::advice(files, &readings, &pids, demand);
    if demand.is_given {
        for item in &mut advice {
            item.suffice_for(demand.users);
        }
    }
    advice.extend(components::advice(&readings, &service, demand));
    advice.extend(jvm::advice(&readings, &service, demand));
    advice.extend(memory::advice(files, &readings, &service, demand));
    advice.extend(descriptors::advice(
        files,
        &readings,
        &service,
        (&pids, demand),
    ));
    advice.extend(settings::advice(files, &readings, &service, demand));
    advice.extend(buffers::advice(&readings, files));
    advice.extend(chains::advice(&readings, files));
    advice.extend(stores::advice(&readings, &service, files, demand));
    advice.extend(times::advice(&readings, &service.servers));
    let mut notes = probe.take_announced();
    notes.extend(files.take_announced());
    Checked {
        advice: in_order(advice),
        notes,
    }
}

/// Settings of this machine alone, as [`check`] judges them where no number of users is given.
pub(crate) fn of_machine(files: &mut Files, readings: &Readings) -> Vec<Advice> {
    host::advice(files, readings, &[], &Demand::early())
}

/// CPU limits bind at any load; settings without a number of users come later, and last those that limit none.
fn in_order(mut advice: Vec<Advice>) -> Vec<Advice> {
    advice.sort_by_key(|advice| {
        let is_cpu = advice.name.starts_with("cgroup CPU");
        let order = if is_cpu {
            0
        } else {
            advice.binds_at.unwrap_or(u64::MAX)
        };
        (advice.ok, advice.is_hint, order)
    });
    for (rank, advice) in advice.iter_mut().enumerate() {
        advice.rank = u32::try_from(rank).unwrap_or(u32::MAX);
    }
    advice
}

#[cfg(test)]
mod tests;
