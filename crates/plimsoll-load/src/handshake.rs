//! The headers that ask for a WebSocket, or for a stream of events.

use plimsoll_model::plan::Plan;
use plimsoll_model::websocket::WebSocketLoad;
use plimsoll_wire::websocket::deflate::Offer;
use plimsoll_wire::websocket::handshake;

/// The key that stands in a template, to be replaced for each handshake.
pub(crate) const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAA==";

/// What follows the key in a template: it is the last header.
pub(crate) const AFTER_KEY: usize = "\r\n\r\n".len();

/// The headers of a template's handshake, the key last; or of what asks for a stream.
pub(crate) fn headers(plan: &Plan, load: &WebSocketLoad) -> Vec<(String, String)> {
    let mut headers = plan.request.headers.clone();
    if load.is_stream {
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("accept"));
        headers.extend(stream_headers());
        return headers;
    }
    let offer = load.compress.then(Offer::default);
    let own = handshake::request_headers(KEY, "", offer);
    // The key is last: its place is known.
    let (key, others): (Vec<_>, Vec<_>) = own
        .into_iter()
        .partition(|(name, _)| name == "Sec-WebSocket-Key");
    headers.extend(others);
    headers.extend(key);
    headers
}

/// What asks for Server-Sent Events, as browsers do.
pub(crate) fn stream_headers() -> [(String, String); 2] {
    [
        ("Accept".to_owned(), "text/event-stream".to_owned()),
        ("Cache-Control".to_owned(), "no-cache".to_owned()),
    ]
}
