//! Arguments of a load that workers carry, and of `plimsoll worker`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use plimsoll_model::worker::WORKERS_MAX;
use plimsoll_workers::IfLost;

use super::within;

/// Who carries the load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct CarriedByArguments {
    /// Let workers carry the load: waits for them on this port, and prints the command that starts one. Also
    /// listen:ADDRESS:PORT
    #[arg(long, value_name = "listen:PORT", value_parser = listening_place, requires = "workers", conflicts_with = "repeat")]
    pub(crate) on: Option<SocketAddr>,
    /// How many workers: each carries an equal part, with --cores event loops
    #[arg(long, value_name = "N", value_parser = within(1..=WORKERS_MAX), requires = "on")]
    pub(crate) workers: Option<u32>,
    /// What becomes of the run when a worker is lost [default: void]
    #[arg(long, value_enum, value_name = "WHAT", requires = "on")]
    pub(crate) if_lost: Option<IfLostArgument>,
}

/// What becomes of a run whose worker is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IfLostArgument {
    /// It ends, and is void (exit 6)
    Void,
    /// It goes on, at the rate that is left
    Continue,
}

impl From<IfLostArgument> for IfLost {
    fn from(argument: IfLostArgument) -> Self {
        match argument {
            IfLostArgument::Void => Self::Void,
            IfLostArgument::Continue => Self::Continue,
        }
    }
}

/// A worker of a run.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("secret").required(true).args(["token", "token_file"]))]
pub(crate) struct WorkerArguments {
    /// Where `plimsoll run … --on listen:PORT` waits for workers
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) join: String,
    /// The token that it printed; other users of this host may read it in the list of processes
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// File with the token
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Name in reports [default: that of the host]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Region in reports
    #[arg(long, value_name = "REGION")]
    pub(crate) region: Option<String>,
    /// Confirm that the targets of the run are yours: allows load on a public address
    #[arg(long)]
    pub(crate) i_own_this: bool,
}

/// Where it is waited for workers.
fn listening_place(text: &str) -> Result<SocketAddr, String> {
    let invalid = || {
        format!(
            "`{text}` is not a place to wait for workers; valid: listen:PORT, such as listen:7400, or listen:ADDRESS:PORT"
        )
    };
    let place = text.strip_prefix("listen:").ok_or_else(invalid)?;
    match place.parse::<u16>() {
        Ok(port) => Ok((Ipv4Addr::UNSPECIFIED, port).into()),
        Err(_) => place.parse().map_err(|_| invalid()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_port_or_an_address_with_one() {
        let at = |text| listening_place(text).map(|place| place.to_string());
        assert_eq!(at("listen:7400").as_deref(), Ok("0.0.0.0:7400"));
        assert_eq!(at("listen:127.0.0.1:0").as_deref(), Ok("127.0.0.1:0"));
        assert_eq!(at("listen:[::]:7400").as_deref(), Ok("[::]:7400"));
        for text in [
            "7400",
            "listen:",
            "listen:99999",
            "listen:host:1",
            "kubernetes",
        ] {
            assert!(at(text).unwrap_err().contains("listen:7400"), "{text}");
        }
    }
}
