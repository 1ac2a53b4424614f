//! Redirects, followed on the target's own origin only: nothing is sent to a host that the user did not name.

use plimsoll_wire::request;
use url::Url;

use super::Request;
use crate::prepared_load::PreparedLoad;

/// A request changed by a redirect.
#[derive(Debug)]
pub(super) struct Detour {
    /// Path and query.
    target: String,
    pub(super) method: String,
    pub(super) head: Box<[u8]>,
    pub(super) with_body: bool,
}

impl Request {
    /// Follows a redirect. Not to another origin, and not beyond the limit: then the redirect itself is the response,
    /// which fails when the limit was exceeded.
    pub(crate) fn follow(&mut self, prepared: &PreparedLoad, status: u16, location: &[u8]) -> bool {
        if !is_redirect(status) || self.redirects >= prepared.plan().request.redirects_max {
            return false;
        }
        let (from, method, with_body) = match &self.detour {
            Some(detour) => (&detour.target[..], &detour.method, detour.with_body),
            None => (
                prepared.request().target(self.path()),
                &prepared.plan().request.method,
                !prepared.plan().request.body.is_empty(),
            ),
        };
        let Some(target) = resolve(prepared, from, location) else {
            return false;
        };
        // As browsers and curl do (RFC 9110, 15.4): after 303 a GET, after 301 and 302 a POST becomes one.
        let becomes_get = match status {
            303 => method != "HEAD",
            301 | 302 => method == "POST",
            _ => false,
        };
        let method = if becomes_get {
            "GET".to_owned()
        } else {
            method.clone()
        };
        let with_body = with_body && !becomes_get;
        self.detour = Some(Box::new(Detour {
            head: encode(prepared, &method, &target, with_body),
            target,
            method,
            with_body,
        }));
        self.redirects += 1;
        true
    }

    /// Whether a response is a redirect beyond the plan's limit.
    pub(crate) fn has_used_up_redirects(&self, prepared: &PreparedLoad, status: u16) -> bool {
        let max = prepared.plan().request.redirects_max;
        is_redirect(status) && max > 0 && self.redirects >= max
    }
}

const fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

fn encode(prepared: &PreparedLoad, method: &str, target: &str, with_body: bool) -> Box<[u8]> {
    let plan = &prepared.plan().request;
    if with_body {
        return request::encode(method, target, &plan.headers, plan.body.len(), false);
    }
    let about_body = [
        "content-length",
        "content-type",
        "content-encoding",
        "transfer-encoding",
    ];
    let headers: Vec<_> = plan
        .headers
        .iter()
        .filter(|(name, _)| {
            !about_body
                .iter()
                .any(|header| name.eq_ignore_ascii_case(header))
        })
        .cloned()
        .collect();
    request::encode(method, target, &headers, 0, false)
}

/// Path and query of `location` relative to `from`, when it is on the target's origin.
fn resolve(prepared: &PreparedLoad, from: &str, location: &[u8]) -> Option<String> {
    let target = &prepared.plan().target;
    let scheme = if target.tls { "https" } else { "http" };
    let host = if target.host.contains(':') && !target.host.starts_with('[') {
        format!("[{}]", target.host)
    } else {
        target.host.clone()
    };
    let base = Url::parse(&format!("{scheme}://{host}:{}{from}", target.port)).ok()?;
    let url = base.join(std::str::from_utf8(location).ok()?).ok()?;
    // A site that identifies itself by the Host header uses that name in its redirects.
    let named = prepared
        .plan()
        .request
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let is_named = named
        .and_then(|(_, host)| Url::parse(&format!("{scheme}://{host}")).ok())
        .is_some_and(|named| named.origin() == url.origin());
    if url.origin() != base.origin() && !is_named {
        return None;
    }
    Some(url[url::Position::BeforePath..url::Position::AfterQuery].to_owned())
}
