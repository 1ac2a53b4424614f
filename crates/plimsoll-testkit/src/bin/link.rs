//! `plimsoll-link`: links with known delays as a separate process. Runs until it is killed.

use std::io;

use clap::Parser;
use plimsoll_testkit::link::DelayedLink;
use plimsoll_testkit::origin::raise_descriptor_limit;

/// Forwards connections over links with a known round trip
#[derive(Parser)]
#[command(name = "plimsoll-link")]
struct Arguments {
    /// LISTEN=TO@MILLISECONDS of a round trip, for example 127.0.0.1:7000=127.0.0.1:6379@77
    #[arg(required = true, value_parser = DelayedLink::read)]
    links: Vec<DelayedLink>,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    raise_descriptor_limit()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        for link in arguments.links {
            tokio::spawn(link.open().await?.forward());
        }
        std::future::pending::<io::Result<()>>().await
    })
}
