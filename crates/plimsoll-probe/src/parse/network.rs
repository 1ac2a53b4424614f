//! `/proc/net/dev`, `softnet_stat`, `snmp`, `netstat`, `sockstat`.

use super::number_at;

/// One direction of an interface, counted since it came up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// Bytes.
    pub(crate) bytes: u64,
    /// Packets.
    pub(crate) packets: u64,
    /// Packets in error.
    pub(crate) errors: u64,
    /// Packets dropped.
    pub(crate) dropped: u64,
}

/// One network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    /// Name, such as `eth0`.
    pub(crate) name: String,
    /// Received.
    pub(crate) receive: Traffic,
    /// Sent.
    pub(crate) transmit: Traffic,
}

/// Parses `/proc/net/dev`.
pub(crate) fn dev(text: &str) -> Vec<Interface> {
    text.lines().skip(2).filter_map(interface).collect()
}

fn interface(line: &str) -> Option<Interface> {
    // The name may touch the first number: "eth0:290347017".
    let (name, numbers) = line.split_once(':')?;
    let words: Vec<&str> = numbers.split_whitespace().collect();
    let traffic = |first: usize| Traffic {
        bytes: number_at(&words, first),
        packets: number_at(&words, first + 1),
        errors: number_at(&words, first + 2),
        dropped: number_at(&words, first + 3),
    };
    Some(Interface {
        name: name.trim().to_owned(),
        receive: traffic(0),
        transmit: traffic(8),
    })
}

/// Packets dropped and budgets used up, of all CPUs, of `/proc/net/softnet_stat` (hexadecimal columns).
pub(crate) fn softnet(text: &str) -> (u64, u64) {
    let column = |line: &str, index: usize| {
        line.split_whitespace()
            .nth(index)
            .and_then(|word| u64::from_str_radix(word, 16).ok())
            .unwrap_or(0)
    };
    text.lines().fold((0, 0), |(dropped, squeezed), line| {
        (
            dropped.saturating_add(column(line, 1)),
            squeezed.saturating_add(column(line, 2)),
        )
    })
}

/// The counters of one group (`Tcp`, `TcpExt`) of `/proc/net/snmp` or `netstat`: a line of names, a line of values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counters<'a> {
    names: &'a str,
    values: &'a str,
}

impl<'a> Counters<'a> {
    /// Finds a group.
    pub(crate) fn of(text: &'a str, group: &str) -> Option<Self> {
        let mut lines = text.lines().filter_map(|line| {
            let (name, rest) = line.split_once(':')?;
            (name == group).then_some(rest)
        });
        Some(Self {
            names: lines.next()?,
            values: lines.next()?,
        })
    }

    /// A counter by its name.
    pub(crate) fn get(&self, name: &str) -> Option<u64> {
        let index = self
            .names
            .split_whitespace()
            .position(|word| word == name)?;
        self.values.split_whitespace().nth(index)?.parse().ok()
    }
}

/// Values of `/proc/net/sockstat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SockStat {
    /// Sockets of any kind.
    pub(crate) used: u64,
    /// TCP sockets in use; IPv4 only in `sockstat`, the rest in `sockstat6`.
    pub(crate) tcp_in_use: u64,
    /// TCP sockets in `TIME_WAIT`, of both families.
    pub(crate) tcp_time_wait: u64,
    /// Memory of TCP buffers, pages.
    pub(crate) tcp_memory_pages: u64,
}

/// Parses `/proc/net/sockstat`.
pub(crate) fn sockstat(text: &str) -> SockStat {
    let field = |group: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(group))?;
        let mut words = line.split_whitespace();
        words.find(|&word| word == name)?;
        words.next()?.parse().ok()
    };
    SockStat {
        used: field("sockets:", "used").unwrap_or(0),
        tcp_in_use: field("TCP:", "inuse").unwrap_or(0),
        tcp_time_wait: field("TCP:", "tw").unwrap_or(0),
        tcp_memory_pages: field("TCP:", "mem").unwrap_or(0),
    }
}

/// TCP sockets in use of `/proc/net/sockstat6`.
pub(crate) fn sockstat6_in_use(text: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix("TCP6:"));
    line.and_then(|line| {
        let mut words = line.split_whitespace();
        words.find(|&word| word == "inuse")?;
        words.next()?.parse().ok()
    })
    .unwrap_or(0)
}

/// First and last of `ip_local_port_range`.
pub(crate) fn port_range(text: &str) -> Option<(u16, u16)> {
    let mut words = text.split_whitespace();
    let first = words.next()?.parse().ok()?;
    let last = words.next()?.parse().ok()?;
    (first <= last).then_some((first, last))
}
