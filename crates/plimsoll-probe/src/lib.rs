//! Reads host, cgroup, process and TCP state, and the metrics of a service's components, into readings, once a
//! second, without privilege where the kernel allows.
//!
//! [`probe::Probe`] reads; [`series::all`] lists every series it writes; [`host_facts`] describes the
//! machine; [`advice::check`] reports which limits of this host and of the components on it will bind first;
//! [`knobs::find`] the settings of a service that are worth a search. What cannot be read is left out
//! and noted, never guessed: a series that is absent was not read. Files and sockets that processes name are opened
//! only by `untrusted`. [`tunables`] is the only module that changes something: a setting of a component, on
//! request.

mod activity;
pub mod advice;
mod auto;
mod behind;
pub mod clients;
mod clock;
mod collectors;
pub mod doctor;
mod files;
mod group;
mod host;
pub mod host_sampler;
mod kernel_files;
pub mod knobs;
pub mod listeners;
mod meter;
mod names;
mod parse;
pub mod probe;
mod program;
pub mod rest;
pub mod series;
mod tree;
mod untrusted;
mod waits;

pub use activity::Activity;
pub use collectors::otlp::parse as otlp;
pub use collectors::statsd::parse as statsd;
pub use collectors::{EdgeSource, NODE_MODULE, OwnEdge, tunables};
pub use host::facts::host_facts;
pub use probe::{Probe, ProbePlan};
