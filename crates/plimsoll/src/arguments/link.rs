//! Arguments of `plimsoll link`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use plimsoll_config::link::{LinkPair, delay, pair, stall};
use plimsoll_config::units::bandwidth;
use plimsoll_model::distribution::DurationDistribution;

use super::{seed, within};

/// Links between a load and its targets.
#[derive(Debug, Args)]
pub(crate) struct LinkArguments {
    /// Where to listen, and where connections lead; repeatable. Behind an @ its own round trip, or the region of its
    /// clients: 127.0.0.1:7000=127.0.0.1:3000@80ms, 127.0.0.1:7001=127.0.0.1:3000@japan-east
    #[arg(required = true, value_name = "LISTEN=TO[@DIST|@REGION]", value_parser = pair)]
    pub(crate) links: Vec<LinkPair>,
    /// Round trip, of which each direction takes half: 80ms, 60ms..120ms, 'exponential: 80ms', 'normal: [80ms, 10ms]' or
    /// 'lognormal: [80ms, 0.3]' [default: 0]
    #[arg(long, value_name = "DIST", value_parser = delay)]
    pub(crate) delay: Option<DurationDistribution>,
    /// Bandwidth of each link in each direction, shared by its connections: 100Mbit/s [default: unlimited]
    #[arg(long, value_name = "RATE", value_parser = bandwidth)]
    pub(crate) bandwidth: Option<f64>,
    /// A share of segments arrives so much later, as after a retransmission, and the bytes behind them too: 1%:200ms
    #[arg(long, value_name = "SHARE:TIME", value_parser = stall)]
    pub(crate) stall: Option<(f64, Duration)>,
    /// Region of the targets; links with a region have the round trip between the two
    #[arg(long, value_name = "REGION")]
    pub(crate) service_in: Option<String>,
    /// Table of round trips between regions (CSV) [default: medians between 17 regions of Azure, published by Microsoft,
    /// 2026-07-30]
    #[arg(long, value_name = "FILE", requires = "service_in")]
    pub(crate) regions: Option<PathBuf>,
    /// Random seed [default: random, printed]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub(crate) seed: Option<u64>,
    /// Maximum connections at once, over all links; more wait
    #[arg(long, value_name = "N", value_parser = within(1..=500_000), default_value_t = 10_000)]
    pub(crate) connections: u32,
    /// Listen on a public address too: whoever reaches it reaches the target
    #[arg(long)]
    pub(crate) allow_public: bool,
    /// Confirm that the targets are yours: allows a target with a public address
    #[arg(long)]
    pub(crate) i_own_this: bool,
    /// Print what the links carried as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
