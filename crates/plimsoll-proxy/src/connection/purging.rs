//! The `PURGE` method, as in other caches: with the admin token, one URL is purged at the address where clients request
//! it.

use plimsoll_cache::store::How;
use plimsoll_net::reason::Reason;
use plimsoll_wire::head::Header;

use super::DownstreamConnection;
use super::admitted::Admitted;
use super::balance::default_host;
use crate::lookup::Cache;
use crate::lookup::purge::PurgeOrder;
use crate::secret::is_same;

const METHOD: &str = "PURGE";

/// With the value `hard` a stored response is deleted; otherwise it becomes stale, and is served while it is
/// revalidated.
const HOW: &str = "x-plimsoll-purge";

impl DownstreamConnection {
    /// Handles a `PURGE` request. Without a configured token it is forwarded like any other.
    pub(super) fn purges_by_method(&mut self, request: &Admitted<'_>, cache: &Cache) -> bool {
        let settings = request.settings;
        let (head, own) = (request.head, &request.own);
        let Some(token) = settings
            .purge_token
            .as_ref()
            .filter(|_| head.method == METHOD)
        else {
            return false;
        };
        let mut line = Vec::new();
        self.begin_line(&mut line, head, request.client);
        if !knows(head.headers, token) {
            let extra = "WWW-Authenticate: Bearer\r\n";
            self.answer_in_words(own, 401, Reason::NoToken, extra, &line);
            return true;
        }
        let route = settings.routes.get(own.facts.route);
        let host = head.host.unwrap_or_else(|| default_host(route, settings));
        let is_hard = value(head.headers, HOW).is_some_and(|how| how.eq_ignore_ascii_case(b"hard"));
        let how = if is_hard { How::Hard } else { How::Soft };
        match PurgeOrder::of_page(host, head.target, how) {
            Ok(order) => {
                cache.purge_at_once(&order, self.event_loop.moment());
                self.answer_in_words(own, 200, Reason::Purged, "", &line);
            }
            Err(_) => self.answer_in_words(own, 400, Reason::BadRequest, "", &line),
        }
        true
    }
}

/// Whether the request carries the token.
fn knows(headers: &[Header<'_>], token: &str) -> bool {
    let given = value(headers, "authorization");
    let given = given.and_then(|given| given.strip_prefix(b"Bearer "));
    given.is_some_and(|given| is_same(given, token.as_bytes()))
}

fn value<'b>(headers: &[Header<'b>], name: &str) -> Option<&'b [u8]> {
    let mut lines = headers.iter();
    let found = lines.find(|line| line.name.eq_ignore_ascii_case(name))?;
    Some(found.value.trim_ascii())
}
