//! `plimsoll worker`: carries a part of a load that another machine plans.

use std::net::IpAddr;
use std::path::Path;

use plimsoll_lab::progress::StopFlag;
use plimsoll_model::plan::{Plan, Target};
use plimsoll_workers::{WorkerHooks, WorkerOptions, WorkerOrders, WorkersError};

use crate::arguments::WorkerArguments;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::screen::eprint;
use crate::signals;
use crate::target;

/// Longest file with a token, bytes.
const TOKEN_LEN_MAX: u64 = 4096;

/// Joins a coordinator, and carries its part.
pub(crate) fn worker(arguments: &WorkerArguments) -> Result<Exit, CliError> {
    if arguments.sent {
        return sent_worker();
    }
    let token = match (&arguments.token, &arguments.token_file) {
        (Some(token), _) => token.clone(),
        (None, Some(path)) => token_of(path)?,
        // The arguments require one of the two.
        (None, None) => {
            return Err(
                CliError::usage("a token is missing").remedy("give --token or --token-file")
            );
        }
    };
    // The arguments require it as well.
    let join = arguments.join.as_deref().unwrap_or_default();
    let (host, port) = host_and_port(join)?;
    let options = WorkerOptions {
        coordinator: join.to_owned(),
        addresses: target::resolve_host(host, port, false, false)?,
        token,
        name: arguments.name.clone().unwrap_or_else(host_name),
        region: arguments.region.clone(),
        is_near: None,
    };
    let stop = StopFlag::default();
    match work(&options, arguments.i_own_this, &eprint, &stop)? {
        Ok(()) => {
            eprint("the coordinator has all results of this worker");
            Ok(Exit::Met)
        }
        Err(_) if stop.is_raised() => Ok(Exit::Interrupted),
        Err(error) => Err(error.into()),
    }
}

/// A worker that was sent to this host. Its file is not needed any more; only what went wrong is printed, since the terminal
/// is the coordinator's.
fn sent_worker() -> Result<Exit, CliError> {
    plimsoll_ssh::remove_own_file();
    let orders = WorkerOrders::receive(std::io::stdin().lock()).map_err(|error| {
        CliError::usage(format!("cannot read the orders of the run: {error}"))
            .remedy("this is started by `plimsoll run … --on hosts.yaml`; by hand, give --join and --token-file")
    })?;
    let (host, port) = host_and_port(&orders.join)?;
    let options = WorkerOptions {
        addresses: target::resolve_host(host, port, false, false)?,
        is_near: Some(orders.is_near()),
        coordinator: orders.join,
        token: orders.token,
        name: orders.name,
        region: orders.region,
    };
    let stop = StopFlag::default();
    match work(&options, orders.owns_targets, &|_| {}, &stop)? {
        Ok(()) => Ok(Exit::Met),
        Err(_) if stop.is_raised() => Ok(Exit::Interrupted),
        // The coordinator has ended the run, or prints why.
        Err(WorkersError::Refused(_) | WorkersError::Part(_)) => Ok(Exit::Usage),
        Err(error) => Err(error.into()),
    }
}

/// Joins and carries; signals raise the flag.
fn work(
    options: &WorkerOptions,
    owns_targets: bool,
    report: &dyn Fn(&str),
    stop: &StopFlag,
) -> Result<Result<(), WorkersError>, CliError> {
    signals::raise_on_interrupt(stop)?;
    let hooks = WorkerHooks {
        permit: &|plan| permit(plan, owns_targets),
        report,
        is_stopped: &|| stop.is_raised(),
    };
    Ok(plimsoll_workers::work(options, &hooks))
}

fn token_of(path: &Path) -> Result<String, CliError> {
    let read = || {
        let file = std::fs::File::open(path)?;
        std::io::read_to_string(std::io::Read::take(file, TOKEN_LEN_MAX))
    };
    read().map_err(|error| {
        CliError::usage(format!(
            "cannot read the token file {}: {error}",
            path.display()
        ))
        .remedy("copy the token that the coordinator printed into it")
    })
}

fn host_and_port(text: &str) -> Result<(&str, u16), CliError> {
    let parts = text.rsplit_once(':');
    let parsed = parts.and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let parsed = parsed.filter(|(host, _): &(&str, u16)| !host.is_empty());
    parsed
        .map(|(host, port)| (host.trim_matches(['[', ']']), port))
        .ok_or_else(|| {
            CliError::usage(format!("`{text}` is not the address of a coordinator"))
                .remedy("write it as HOST:PORT, such as 10.0.0.5:7400")
        })
}

fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// A worker sends load to nobody's public address without confirmation by its own user, whoever planned it.
fn permit(plan: &Plan, owns_targets: bool) -> Result<(), String> {
    match public_target(plan) {
        Some((host, ip)) if !owns_targets => Err(format!(
            "{host} has the public address {ip}, which this worker may not load; if it is yours, start the worker with --i-own-this"
        )),
        _ => Ok(()),
    }
}

/// Whether a target of the plan has a public address.
pub(crate) fn has_public_target(plan: &Plan) -> bool {
    public_target(plan).is_some()
}

/// The first target with a public address: its name, and the address.
fn public_target(plan: &Plan) -> Option<(String, IpAddr)> {
    let others = plan.scenario.iter().flat_map(|scenario| &scenario.targets);
    let mut targets = std::iter::once(&plan.target).chain(others);
    let public = |target: &Target| {
        let mut addresses = target.addresses.iter();
        let public = addresses.find(|address| target::is_public(address.ip()));
        public.map(|address| (target.host.clone(), address.ip()))
    };
    targets.find_map(public)
}

#[cfg(test)]
mod tests {
    use plimsoll_testkit::plan::get_root;

    use super::*;

    #[test]
    fn a_coordinator_is_a_host_and_a_port() {
        assert_eq!(
            host_and_port("a.example:7400").unwrap(),
            ("a.example", 7400)
        );
        assert_eq!(host_and_port("[::1]:7400").unwrap(), ("::1", 7400));
        for text in ["a.example", ":7400", "a.example:99999", "http://a/"] {
            let error = host_and_port(text).unwrap_err().to_string();
            assert!(error.contains("HOST:PORT"), "{error}");
        }
    }

    #[test]
    fn public_targets_need_a_confirmation_here() {
        let near = get_root(([10, 0, 0, 1], 80).into());
        let far = get_root(([1, 1, 1, 1], 80).into());
        assert_eq!(permit(&near, false), Ok(()));
        assert_eq!(permit(&far, true), Ok(()));
        let refused = permit(&far, false).unwrap_err();
        assert!(
            refused.contains("1.1.1.1") && refused.contains("--i-own-this"),
            "{refused}"
        );
    }
}
