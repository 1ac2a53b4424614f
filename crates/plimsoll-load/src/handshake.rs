//! Request headers of a WebSocket handshake, or of an event stream.

use plimsoll_model::plan::Plan;
use plimsoll_model::websocket::WebSocketLoad;
use plimsoll_wire::websocket::deflate::Offer;
use plimsoll_wire::websocket::handshake;

/// The placeholder key in a template, replaced for each handshake.
pub(crate) const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAA==";

/// The bytes after the key in a template: it is the last header.
pub(crate) const AFTER_KEY: usize = "\r\n\r\n".len();

/// The headers of a template's handshake, the key last; or those of an event stream.
pub(crate) fn headers(plan: &Plan, load: &WebSocketLoad) -> Vec<(String, String)> {
    let mut headers = plan.request.headers.clone();
    if load.is_stream {
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("accept"));
        headers.extend(stream_headers());
        return headers;
    }
    let offer = load.compress.then(Offer::default);
    let own = handshake::request_headers(KEY, "", offer);
    // The key is last, so its offset is known.
    let (key, others): (Vec<_>, Vec<_>) = own
        .into_iter()
        .partition(|(name, _)| name == "Sec-WebSocket-Key");
    headers.extend(others);
    headers.extend(key);
    headers
}

/// The headers that request Server-Sent Events, as browsers send them.
pub(crate) fn stream_headers() -> [(String, String); 2] {
    [
        ("Accept".to_owned(), "text/event-stream".to_owned()),
        ("Cache-Control".to_owned(), "no-cache".to_owned()),
    ]
}
