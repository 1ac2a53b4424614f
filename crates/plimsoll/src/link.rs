//! `plimsoll link`: connections to a service as from far away, until a signal ends them.

mod output;
mod prepare;

use plimsoll_lab::progress::StopFlag;
use plimsoll_link::LinkError;
use plimsoll_link::relay::{RelayOptions, RunningRelay};
use plimsoll_load::descriptors;
use plimsoll_model::seed::Seed;
use plimsoll_report::pretty;
use rustix::process::{Resource, getrlimit};

use crate::arguments::LinkArguments;
use crate::exit::Exit;
use crate::explain::{CliError, chain};
use crate::screen::{eprint, print};
use crate::signals;
use output::LinksObject;
use prepare::PreparedLinks;

pub(crate) use output::schema;

/// Bytes on their way over all connections, beyond the 16 KiB that each direction of a connection may hold.
const MEMORY_MAX: u64 = 256 << 20;
/// Descriptors beside those of links and connections.
const OWN_DESCRIPTORS: u64 = 64;

/// Carries connections until it is interrupted, and prints what it has carried.
pub(crate) fn link(arguments: &LinkArguments) -> Result<Exit, CliError> {
    let prepared = prepare::links(arguments)?;
    let seed = match arguments.seed {
        Some(seed) => seed,
        None => {
            getrandom::u64().map_err(|error| CliError::new(Exit::Internal, error.to_string()))?
        }
    };
    let connections_max = connections_max(arguments.connections, prepared.links.len())?;
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let relay = RunningRelay::start(RelayOptions {
        links: prepared.links.iter().map(|link| link.options).collect(),
        seed: Seed(seed),
        connections_max,
        memory_max: MEMORY_MAX,
    })
    .map_err(|error| explain(&error))?;
    introduce(&prepared, &relay, (seed, connections_max));
    signals::wait_for(&stop)?;
    let totals = relay.stop().map_err(|error| explain(&error))?;
    if arguments.json {
        let object = LinksObject::new(&prepared, &totals, (seed, connections_max));
        print(&pretty::object(&object));
    } else {
        print(&output::text(&totals));
    }
    for note in output::notes(&totals) {
        eprint(&format!("note: {note}"));
    }
    Ok(Exit::Met)
}

/// As many of the wanted connections as there are descriptors for; the limit is raised as far as it may be.
fn connections_max(wanted: u32, links: usize) -> Result<u32, CliError> {
    let beside = OWN_DESCRIPTORS + 2 * links as u64;
    descriptors::prepare(2 * u64::from(wanted) + beside);
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let fitting = fitting(wanted, limit.saturating_sub(beside));
    if fitting == 0 {
        let message = format!("the limit of {limit} file descriptors leaves none for connections");
        return Err(CliError::usage(message).remedy("raise it, for example with ulimit -n 20000"));
    }
    if fitting < wanted {
        eprint(&format!(
            "note: {fitting} connections at once instead of {wanted}: each takes two file descriptors, and the hard limit \
             is {limit} (ulimit -Hn)"
        ));
    }
    Ok(fitting)
}

fn fitting(wanted: u32, descriptors: u64) -> u32 {
    u32::try_from(descriptors / 2).map_or(wanted, |fitting| fitting.min(wanted))
}

fn introduce(prepared: &PreparedLinks, relay: &RunningRelay, (seed, connections_max): (u64, u32)) {
    for (link, address) in prepared.links.iter().zip(relay.addresses()) {
        let to = link.options.to;
        eprint(&format!("link {address} → {to}: {}", link.describe()));
        if !address.ip().is_loopback() {
            eprint(&format!(
                "note: whoever reaches {address} reaches {to} through it"
            ));
        }
    }
    if let Some(source) = &prepared.round_trips_of {
        eprint(&format!("round trips between regions: {source}"));
    }
    eprint(&format!(
        "seed {seed}, at most {connections_max} connections at once; Ctrl-C ends the links and prints what they carried"
    ));
}

fn explain(error: &LinkError) -> CliError {
    let (exit, remedy) = match error {
        LinkError::Bind { .. } => (
            Exit::Usage,
            "listen on a free address of this machine, such as 127.0.0.1:7000",
        ),
        LinkError::Loop { .. } => (
            Exit::Usage,
            "let the last link of a chain lead to the service",
        ),
        LinkError::Count(_) => (
            Exit::Usage,
            "start several `plimsoll link`, each with some of the links",
        ),
        LinkError::Thread(_) => (
            Exit::Internal,
            "raise the limits of threads and file descriptors (ulimit -u, -n)",
        ),
        LinkError::Gone => (Exit::Internal, "start it again"),
    };
    CliError::new(exit, chain(error)).remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_takes_two_descriptors() {
        assert_eq!(fitting(10_000, 20_000), 10_000);
        assert_eq!(fitting(10_000, 19_935), 9_967);
        assert_eq!(fitting(10_000, u64::MAX), 10_000);
        assert_eq!(fitting(10_000, 1), 0);
    }
}
