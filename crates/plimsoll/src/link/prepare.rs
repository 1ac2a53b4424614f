//! From the arguments to links: addresses, conditions, and what is refused.

use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use plimsoll_config::distribution::distribution_text;
use plimsoll_config::document::FileError;
use plimsoll_config::link::{LinkDistance, LinkPair};
use plimsoll_config::regions::{RegionTable, TABLE_LEN_MAX};
use plimsoll_config::units::duration_text;
use plimsoll_link::conditions::{Bandwidth, LinkConditions, Stall};
use plimsoll_link::relay::LinkOptions;
use plimsoll_model::distribution::DurationDistribution;
use plimsoll_report::number;

use crate::arguments::LinkArguments;
use crate::explain::CliError;
use crate::{plan_file, target};

/// Links that can be started.
#[derive(Debug)]
pub(super) struct PreparedLinks {
    pub(super) links: Vec<PreparedLink>,
    /// Source and date of the table, where a link has a region.
    pub(super) round_trips_of: Option<String>,
}

/// A link, and the regions it is between.
#[derive(Debug)]
pub(super) struct PreparedLink {
    pub(super) options: LinkOptions,
    /// The region of its clients, where it has one.
    pub(super) region: Option<String>,
    between: Option<String>,
}

impl PreparedLink {
    /// What it does to bytes, in words.
    pub(super) fn describe(&self) -> String {
        let conditions = &self.options.conditions;
        let mut words = format!("round trip {}", distribution_text(&conditions.round_trip));
        if let Some(between) = &self.between {
            let _ = write!(words, " ({between})");
        }
        if let Some(bandwidth) = conditions.bandwidth {
            let burst = number::bytes(bandwidth.burst_len());
            let rate = bandwidth_text(bandwidth.bytes_per_s());
            let _ = write!(words, ", {rate} with a burst of {burst}");
        }
        if let Some(stall) = conditions.stall {
            let (share, lasting) = (number::percent(stall.share), duration_text(stall.lasting));
            let _ = write!(words, ", {share} of segments {lasting} later");
        }
        words
    }
}

/// A bandwidth in bits, as links are sold.
fn bandwidth_text(bytes_per_s: f64) -> String {
    let bits = bytes_per_s * 8.0;
    let (value, unit) = match bits {
        bits if bits >= 1e9 => (bits / 1e9, "Gbit/s"),
        bits if bits >= 1e6 => (bits / 1e6, "Mbit/s"),
        bits => (bits / 1e3, "kbit/s"),
    };
    format!("{} {unit}", number::short(value))
}

/// All links of the arguments.
pub(super) fn links(arguments: &LinkArguments) -> Result<PreparedLinks, CliError> {
    let has_region = |pair: &LinkPair| matches!(pair.distance, Some(LinkDistance::Region(_)));
    let table = if arguments.links.iter().any(has_region) {
        Some(table(arguments.regions.as_deref())?)
    } else {
        None
    };
    let links: Result<Vec<PreparedLink>, CliError> = arguments
        .links
        .iter()
        .map(|pair| prepared(pair, arguments, table.as_ref()))
        .collect();
    let round_trips_of = table.map(|table| match (table.source(), table.date()) {
        ("", "") => "a table without source and date".to_owned(),
        (source, "") => source.to_owned(),
        (source, date) => format!("{source}, {date}"),
    });
    Ok(PreparedLinks {
        links: links?,
        round_trips_of,
    })
}

fn prepared(
    pair: &LinkPair,
    arguments: &LinkArguments,
    table: Option<&RegionTable>,
) -> Result<PreparedLink, CliError> {
    check_listener(pair.listen, arguments)?;
    let to = target_address(pair, arguments)?;
    let none = DurationDistribution::Fixed(Duration::ZERO);
    let (round_trip, region, between) = match (&pair.distance, table) {
        (Some(LinkDistance::Region(region)), Some(table)) => {
            let service = arguments.service_in.as_deref().ok_or_else(|| {
                let message = format!("where is the service that is far from `{region}`?");
                CliError::usage(message).remedy("name its region, such as --service-in west-europe")
            })?;
            let taken = table.round_trip(region, service).map_err(|error| {
                CliError::usage(error.to_string()).remedy(
                    "write the round trip itself, such as @80ms, or give a table of your own with --regions",
                )
            })?;
            let between = format!("{region} to {service}");
            let fixed = DurationDistribution::Fixed(taken);
            (fixed, Some(region.clone()), Some(between))
        }
        (Some(LinkDistance::Delay(delay)), _) => (*delay, None, None),
        _ => (arguments.delay.unwrap_or(none), None, None),
    };
    let conditions = LinkConditions {
        round_trip,
        bandwidth: arguments.bandwidth.map(Bandwidth::new),
        stall: arguments
            .stall
            .map(|(share, lasting)| Stall { share, lasting }),
    };
    if conditions.are_none() {
        let message = format!("the link {} has neither a delay nor a limit", pair.listen);
        return Err(CliError::usage(message).remedy(
            "give it one, such as --delay 80ms, --bandwidth 10Mbit/s or --stall 1%:200ms",
        ));
    }
    Ok(PreparedLink {
        options: LinkOptions {
            listen: pair.listen,
            to,
            conditions,
        },
        region,
        between,
    })
}

/// A link is an open door to its target: for others only where the user wants that.
fn check_listener(listen: SocketAddr, arguments: &LinkArguments) -> Result<(), CliError> {
    let is_open = target::is_public(listen.ip()) || listen.ip().to_canonical().is_unspecified();
    if !is_open || arguments.allow_public {
        return Ok(());
    }
    let message = format!("{listen} may be reached from the Internet, and the target through it");
    Err(CliError::usage(message).remedy(
        "listen on a loopback or private address, such as 127.0.0.1:7000, or allow it with --allow-public",
    ))
}

fn target_address(pair: &LinkPair, arguments: &LinkArguments) -> Result<SocketAddr, CliError> {
    let address = match pair.host.parse::<IpAddr>() {
        Ok(ip) => SocketAddr::new(ip, pair.port),
        Err(_) => target::resolve_host(&pair.host, pair.port, false, false)
            .map_err(|error| error.remedy("check the spelling, or write its IP address"))?[0],
    };
    // Behind a link, a load generator sees a loopback address only.
    if target::is_public(address.ip()) && !arguments.i_own_this {
        let message = format!(
            "the target {}:{} has a public address",
            pair.host, pair.port
        );
        return Err(CliError::usage(message)
            .remedy("load only services that are yours; confirm it with --i-own-this"));
    }
    Ok(address)
}

/// The table of a file, or the one of the program.
fn table(file: Option<&Path>) -> Result<RegionTable, CliError> {
    const REMEDY: &str = "valid: a CSV file of at most 1 MiB, as in docs/guides/links.md";
    let Some(path) = file else {
        return Ok(RegionTable::built_in());
    };
    let shown = path.display();
    let unreadable = |error: FileError| {
        let message = format!("cannot read the table of regions {shown}: {error}");
        CliError::usage(message).remedy(REMEDY)
    };
    let bytes = plan_file::bounded(path, TABLE_LEN_MAX).map_err(unreadable)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| CliError::usage(format!("{shown} is not UTF-8")).remedy(REMEDY))?;
    RegionTable::read(&text)
        .map_err(|error| CliError::usage(format!("{shown}: {error}")).remedy(REMEDY))
}
