//! The smallest edge: `pass LISTEN SERVER...` forwards everything on one loop until its standard input ends.
//! Used to measure the data path alone.

use std::io::Read as _;
use std::net::SocketAddr;
use std::time::Duration;

use plimsoll_config::edge::{Ceiling, EdgeConfig, PoolConfig, ServerConfig};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut address = || -> Option<SocketAddr> { arguments.next()?.parse().ok() };
    let listen = address().expect("an address to listen on");
    let servers = std::iter::from_fn(address).map(ServerConfig::at);
    let pool = PoolConfig {
        ceiling: Ceiling::Fixed(1_000_000),
        ..PoolConfig::new("app", servers.collect())
    };
    let edge = EdgeConfig {
        cores: Some(1),
        ..EdgeConfig::single_pool(listen, pool)
    };
    let running = plimsoll_edge::start(&edge, plimsoll_edge::Hooks::none()).expect("it starts");
    // The parent process closes the input to stop it.
    let _ = std::io::stdin().read(&mut [0]);
    running.drain(Duration::from_secs(1));
}
