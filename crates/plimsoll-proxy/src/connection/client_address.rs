//! The address of a client.

use std::net::IpAddr;

use plimsoll_wire::request_head::RequestHead;

use super::Peer;
use crate::settings::Settings;

/// The client behind a trusted peer: the last listed address that is not trusted itself. `None` means the peer.
pub(super) fn client_of(
    peer: &Peer,
    head: &RequestHead<'_, '_>,
    settings: &Settings,
) -> Option<IpAddr> {
    if !peer.is_trusted() {
        return None;
    }
    let mut lines = head.headers.iter().rev();
    let mut named = None;
    let all = lines.by_ref().filter(|header| {
        header.name.len() == 15 && header.name.eq_ignore_ascii_case("x-forwarded-for")
    });
    for line in all {
        for address in line.value.rsplit(|&byte| byte == b',') {
            let Ok(address) = std::str::from_utf8(address).unwrap_or("").trim().parse() else {
                return named;
            };
            named = Some(address);
            if !settings
                .trusted
                .iter()
                .any(|network| network.holds(address))
            {
                return named;
            }
        }
    }
    named
}
