//! Which requests a route refuses, and with which status.

use std::net::IpAddr;

use plimsoll_net::reason::Reason;
use plimsoll_wire::head::BodyLength;
use plimsoll_wire::request_head::RequestHead;

use super::admitted::ResponseContext;
use crate::admission::route::CompiledRoute;
use crate::settings::Settings;

/// Why a route rejects this request.
pub(super) fn refusal(
    route: &CompiledRoute,
    settings: &Settings,
    head: &RequestHead<'_, '_>,
    own: &ResponseContext,
    address: IpAddr,
    is_counted: bool,
) -> Option<(u16, Reason)> {
    if let Some(gate) = &route.shared.gate
        && !gate.lets_in(address)
    {
        return Some((403, Reason::Blocked));
    }
    let len_max = settings.limits.body_len_max;
    if matches!(head.length, BodyLength::Sized(len) if len > len_max) {
        return Some((413, Reason::BadRequest));
    }
    if let Some(limiter) = &route.shared.rate_limiter
        && is_counted
        && !limiter.take(address, own.moments.began)
    {
        return Some((429, Reason::RateLimited));
    }
    None
}
