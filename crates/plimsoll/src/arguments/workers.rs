//! Arguments of a load that workers carry, and of `plimsoll worker`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use plimsoll_config::{Problem, units};
use plimsoll_model::worker::WORKERS_MAX;
use plimsoll_workers::IfLost;

use super::{KubernetesArguments, within};

/// Shortest and longest wait for workers.
const JOIN_LEAST: Duration = Duration::from_secs(1);
const JOIN_MOST: Duration = Duration::from_hours(1);

/// Who carries the load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct CarriedByArguments {
    /// Let workers carry the load: waits for them on this port, and prints the command that starts one; also
    /// listen:ADDRESS:PORT. Or starts them over your own ssh on the hosts of this file, and takes them away at the end. Or,
    /// with --print-job, prints the Jobs with which a cluster of Kubernetes starts them
    #[arg(long, value_name = "listen:PORT|hosts.yaml|kubernetes", value_parser = workers_place)]
    pub(crate) on: Option<WorkersPlace>,
    /// How many workers: each carries an equal part, with --cores event loops. With a file of hosts, dealt to those without
    /// `workers` [default: one for each host]
    #[arg(long, value_name = "N", value_parser = within(1..=WORKERS_MAX), requires = "on")]
    pub(crate) workers: Option<u32>,
    /// What becomes of the run or the search when a worker is lost [default: void]
    #[arg(long, value_enum, value_name = "WHAT", requires = "on")]
    pub(crate) if_lost: Option<IfLostArgument>,
    /// Address of this machine at which the workers of a file of hosts or of Kubernetes reach it, on this port [default for
    /// hosts: a port that ssh forwards]
    #[arg(long, value_name = "HOST:PORT", value_parser = dialled_address, requires = "on")]
    pub(crate) on_address: Option<DialledAddress>,
    /// How long to wait for workers, 1s to 1h [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = join_time, requires = "on")]
    pub(crate) join_within: Option<Duration>,
    /// Begin with so many workers where others do not come, each with a larger part [default: all]
    #[arg(long, value_name = "N", value_parser = within(1..=WORKERS_MAX), requires = "on")]
    pub(crate) allow_fewer: Option<u32>,
    #[command(flatten)]
    pub(crate) kubernetes: KubernetesArguments,
}

/// Where workers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WorkersPlace {
    /// They are started by hand, and join here.
    Listen(SocketAddr),
    /// They are started on the hosts of this file.
    Hosts(PathBuf),
    /// They are pods of a cluster.
    Kubernetes,
}

/// Where workers dial: the text as they resolve it, and its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DialledAddress {
    host: String,
    port: u16,
}

impl DialledAddress {
    /// `HOST:PORT`, as workers dial it.
    pub(crate) fn text(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// The host, without the brackets of an IPv6 address.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

/// What becomes of a run or a search whose worker is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IfLostArgument {
    /// It ends, and is void (exit 6)
    Void,
    /// A run goes on at the rate that is left; a search repeats the trial with the workers that are left
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

/// A worker of a run or a search.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("secret").required(true).args(["token", "token_file", "sent"]))]
pub(crate) struct WorkerArguments {
    /// Where `plimsoll run … --on listen:PORT`, or `limit`, waits for workers
    #[arg(long, value_name = "HOST:PORT", required_unless_present = "sent")]
    pub(crate) join: Option<String>,
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
    /// Read all of this from standard input, as --on hosts.yaml starts it
    #[arg(long, hide = true, exclusive = true)]
    pub(crate) sent: bool,
}

/// Where workers come from: a port that they join, a file of hosts, or a cluster.
fn workers_place(text: &str) -> Result<WorkersPlace, String> {
    if text == "kubernetes" {
        return Ok(WorkersPlace::Kubernetes);
    }
    if text.starts_with("listen:") {
        return listening_place(text).map(WorkersPlace::Listen);
    }
    let path = Path::new(text);
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    if ending == "yaml" || ending == "yml" || path.is_file() {
        return Ok(WorkersPlace::Hosts(path.to_owned()));
    }
    Err(format!(
        "`{text}` is neither a place to wait for workers nor a file of hosts; valid: listen:PORT, such as listen:7400, \
         listen:ADDRESS:PORT, a file such as hosts.yaml, or kubernetes"
    ))
}

/// Where workers dial.
fn dialled_address(text: &str) -> Result<DialledAddress, String> {
    let parts = text.rsplit_once(':');
    let parsed = parts.and_then(|(host, port)| Some((host, port.parse().ok()?)));
    parsed
        .map(|(host, port)| (host.trim_matches(['[', ']']), port))
        .filter(|&(host, port): &(&str, u16)| !host.is_empty() && port != 0)
        .map(|(host, port)| DialledAddress {
            host: host.to_owned(),
            port,
        })
        .ok_or_else(|| {
            format!(
                "`{text}` is not an address that workers dial; valid: HOST:PORT, such as 10.0.0.5:7400 or load.example:7400"
            )
        })
}

/// How long to wait for workers.
fn join_time(text: &str) -> Result<Duration, Problem> {
    let time = units::duration(text)?;
    if (JOIN_LEAST..=JOIN_MOST).contains(&time) {
        return Ok(time);
    }
    let message = "out of range";
    Err(Problem::new(text, 0..text.len(), message, "1s to 1h"))
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
    fn workers_come_from_a_port_or_from_hosts() {
        let hosts = |text: &str| WorkersPlace::Hosts(PathBuf::from(text));
        assert_eq!(workers_place("hosts.yaml"), Ok(hosts("hosts.yaml")));
        assert_eq!(workers_place("a/b.YML"), Ok(hosts("a/b.YML")));
        let port = ([0, 0, 0, 0], 7400).into();
        assert_eq!(workers_place("listen:7400"), Ok(WorkersPlace::Listen(port)));
        assert_eq!(workers_place("kubernetes"), Ok(WorkersPlace::Kubernetes));
        for text in ["kubernetes:", "7400", "", "hosts"] {
            let error = workers_place(text).unwrap_err();
            assert!(
                error.contains("listen:7400") && error.contains("hosts.yaml"),
                "{error}"
            );
        }
    }

    #[test]
    fn workers_dial_a_host_and_a_port() {
        for text in ["10.0.0.5:7400", "load.example:1", "[fd00::1]:7400"] {
            assert_eq!(dialled_address(text).unwrap().text(), text);
        }
        for text in ["7400", ":7400", "a:0", "a:99999", "a"] {
            assert!(
                dialled_address(text).unwrap_err().contains("HOST:PORT"),
                "{text}"
            );
        }
        for text in ["0s", "61m", "999ms"] {
            assert!(
                join_time(text)
                    .unwrap_err()
                    .to_string()
                    .contains("1s to 1h"),
                "{text}"
            );
        }
        assert_eq!(join_time("90s"), Ok(Duration::from_secs(90)));
    }

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
