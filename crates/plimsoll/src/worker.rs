//! `plimsoll worker`: carries a part of a load that another machine plans.

use std::path::Path;

use plimsoll_lab::progress::StopFlag;
use plimsoll_model::plan::{Plan, Target};
use plimsoll_workers::{WorkerHooks, WorkerOptions};

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
    let (host, port) = host_and_port(&arguments.join)?;
    let options = WorkerOptions {
        coordinator: arguments.join.clone(),
        addresses: target::resolve_host(host, port, false, false)?,
        token,
        name: arguments.name.clone().unwrap_or_else(host_name),
        region: arguments.region.clone(),
    };
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let owns_targets = arguments.i_own_this;
    let hooks = WorkerHooks {
        permit: &|plan| permit(plan, owns_targets),
        report: &eprint,
        is_stopped: &|| stop.is_raised(),
    };
    match plimsoll_workers::work(&options, &hooks) {
        Ok(()) => {
            eprint("the coordinator has all results of this worker");
            Ok(Exit::Met)
        }
        Err(_) if stop.is_raised() => Ok(Exit::Interrupted),
        Err(error) => Err(error.into()),
    }
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
    let others = plan.scenario.iter().flat_map(|scenario| &scenario.targets);
    let mut targets = std::iter::once(&plan.target).chain(others);
    let public = |target: &Target| {
        let mut addresses = target.addresses.iter();
        let public = addresses.find(|address| target::is_public(address.ip()));
        public.map(|address| (target.host.clone(), address.ip()))
    };
    match targets.find_map(public) {
        Some((host, ip)) if !owns_targets => Err(format!(
            "{host} has the public address {ip}, which this worker may not load; if it is yours, start the worker with --i-own-this"
        )),
        _ => Ok(()),
    }
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
