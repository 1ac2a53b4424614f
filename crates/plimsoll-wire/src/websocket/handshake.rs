//! The opening handshake (RFC 6455, 4): a request of HTTP/1.1 and the response that switches.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use httparse::Header;
use sha1::{Digest as _, Sha1};
use thiserror::Error;

use super::deflate::{Agreement, Offer, agree};
use crate::head::{self, HeadLimits};
use crate::request_head::RequestHead;

/// The constant hashed with a key (RFC 6455, 1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The only version.
const VERSION: &str = "13";

/// A client's key, from 16 unpredictable bytes.
pub fn key(nonce: [u8; 16]) -> String {
    STANDARD.encode(nonce)
}

/// The `Sec-WebSocket-Accept` for a key.
pub fn accept(key: &str) -> String {
    let mut hash = Sha1::new();
    hash.update(key.as_bytes());
    hash.update(GUID);
    STANDARD.encode(hash.finalize())
}

/// The handshake headers, beside those of the user.
pub fn request_headers(key: &str, protocols: &str, offer: Option<Offer>) -> Vec<(String, String)> {
    let mut headers = vec![
        ("Upgrade", "websocket".to_owned()),
        ("Connection", "Upgrade".to_owned()),
        ("Sec-WebSocket-Version", "13".to_owned()),
        ("Sec-WebSocket-Key", key.to_owned()),
    ];
    if !protocols.is_empty() {
        headers.push(("Sec-WebSocket-Protocol", protocols.to_owned()));
    }
    if let Some(offer) = offer {
        headers.push(("Sec-WebSocket-Extensions", offer.header()));
    }
    headers
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Why a response opens no WebSocket.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HandshakeError {
    /// The response is not valid HTTP.
    #[error("the handshake response is not valid: {0}")]
    Http(#[from] crate::error::Http1Error),
    /// Another status than 101.
    #[error("the handshake was answered with status {0}")]
    Status(u16),
    /// `Upgrade` or `Connection` does not name the requested protocol.
    #[error("the response does not switch to WebSocket")]
    NotSwitched,
    /// `Sec-WebSocket-Accept` is missing, repeated, or does not match the key.
    #[error("the response's Sec-WebSocket-Accept does not match the key")]
    Accept,
    /// A subprotocol or an extension that was not offered.
    #[error("the response selects a subprotocol or an extension that was not offered")]
    Unasked,
}

/// A client's offer, to validate the response.
#[derive(Clone, Copy, Debug)]
pub struct ClientHandshake<'a> {
    /// The key.
    pub key: &'a str,
    /// The subprotocols offered, with commas between them; or empty.
    pub protocols: &'a str,
    /// Compression offered.
    pub offer: Option<Offer>,
    /// Limits of the response's head.
    pub limits: HeadLimits,
}

/// The negotiated connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcceptedHandshake {
    /// Length of the response, bytes; frames follow it.
    pub head_len: usize,
    /// The subprotocol chosen.
    pub protocol: Option<String>,
    /// Compression.
    pub deflate: Option<Agreement>,
}

/// Reads a server's response at the start of `bytes`; `None` while it is incomplete. The first `scanned` bytes
/// were searched before.
///
/// # Errors
/// When it opens no WebSocket.
pub fn read_answer(
    bytes: &[u8],
    scanned: usize,
    asked: &ClientHandshake<'_>,
) -> Result<Option<AcceptedHandshake>, HandshakeError> {
    let limits = asked.limits;
    let Some(head_len) = head::find_end_within(bytes, scanned, limits.len)? else {
        return Ok(None);
    };
    head::parse_within(&bytes[..head_len], limits.headers, |head, headers| {
        if head.status != 101 {
            return Err(HandshakeError::Status(head.status));
        }
        if !names(headers, "upgrade", "websocket") || !names(headers, "connection", "upgrade") {
            return Err(HandshakeError::NotSwitched);
        }
        let expected = accept(asked.key);
        if only(headers, "sec-websocket-accept") != SingleValue::Present(&expected) {
            return Err(HandshakeError::Accept);
        }
        let protocol = match only(headers, "sec-websocket-protocol") {
            SingleValue::Missing => None,
            SingleValue::Present(chosen)
                if tokens(asked.protocols).any(|offered| offered == chosen) =>
            {
                Some(chosen.to_owned())
            }
            _ => return Err(HandshakeError::Unasked),
        };
        let extensions =
            join_values(headers, "sec-websocket-extensions").ok_or(HandshakeError::Unasked)?;
        let deflate = match asked.offer {
            Some(offer) => offer
                .accept(&extensions)
                .map_err(|_| HandshakeError::Unasked)?,
            None if extensions.is_empty() => None,
            None => return Err(HandshakeError::Unasked),
        };
        Ok(Some(AcceptedHandshake {
            head_len,
            protocol,
            deflate,
        }))
    })?
}

/// Why a request opens no WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UpgradeError {
    /// Not an upgrade request: another method, version of HTTP, or no `Upgrade: websocket`.
    #[error("not a WebSocket upgrade request")]
    NoUpgrade,
    /// `Sec-WebSocket-Version` is not 13.
    #[error("unsupported WebSocket version; only version 13 is supported")]
    Version,
    /// `Sec-WebSocket-Key` is missing, repeated, or is not 16 bytes in base64.
    #[error("exactly one Sec-WebSocket-Key is required (16 bytes in base64)")]
    Key,
    /// `Sec-WebSocket-Protocol` or `Sec-WebSocket-Extensions` is not text.
    #[error("a header of the handshake is not text")]
    NotText,
    /// `Origin` is repeated, or names another host than the requested one.
    #[error("the Origin does not match the requested host")]
    Origin,
}

impl UpgradeError {
    /// The status of the response to it.
    pub fn status(self) -> u16 {
        match self {
            Self::NoUpgrade | Self::Version => 426,
            Self::Key | Self::NotText => 400,
            Self::Origin => 403,
        }
    }
}

/// A client's upgrade request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeRequest {
    /// The value of `Sec-WebSocket-Accept`.
    pub accept: String,
    /// Subprotocols in the order of preference, with commas between them; or empty.
    pub protocols: String,
    /// The compression that would be negotiated.
    pub deflate: Option<Agreement>,
}

/// Reads a request that may open a WebSocket.
///
/// # Errors
/// When it is not an upgrade request, or an invalid one.
pub fn read_request(request: &RequestHead<'_, '_>) -> Result<UpgradeRequest, UpgradeError> {
    let headers = request.headers;
    if request.method != "GET"
        || !request.upgrade
        || !names(headers, "upgrade", "websocket")
        || !names(headers, "connection", "upgrade")
    {
        return Err(UpgradeError::NoUpgrade);
    }
    if only(headers, "sec-websocket-version") != SingleValue::Present(VERSION) {
        return Err(UpgradeError::Version);
    }
    let SingleValue::Present(key) = only(headers, "sec-websocket-key") else {
        return Err(UpgradeError::Key);
    };
    if !STANDARD.decode(key).is_ok_and(|nonce| nonce.len() == 16) {
        return Err(UpgradeError::Key);
    }
    let extensions =
        join_values(headers, "sec-websocket-extensions").ok_or(UpgradeError::NotText)?;
    Ok(UpgradeRequest {
        accept: accept(key),
        protocols: join_values(headers, "sec-websocket-protocol").ok_or(UpgradeError::NotText)?,
        deflate: agree(&extensions),
    })
}

/// Rejects requests from pages of another host: browsers let any page open a WebSocket to any host, with the user's
/// cookies, and only `Origin` names the page. Clients that are not browsers send no `Origin`.
///
/// # Errors
/// When an `Origin` is there and its host and port are not those of `Host`, written the same way.
pub fn check_origin(request: &RequestHead<'_, '_>) -> Result<(), UpgradeError> {
    let origin = match only(request.headers, "origin") {
        SingleValue::Missing => return Ok(()),
        SingleValue::Present(origin) => origin.split_once("://").map(|(_, host)| host),
        SingleValue::Wrong => None,
    };
    match (origin, request.host) {
        (Some(origin), Some(host)) if origin.eq_ignore_ascii_case(host) => Ok(()),
        _ => Err(UpgradeError::Origin),
    }
}

fn all<'h, 'b: 'h>(
    headers: &'h [Header<'b>],
    name: &'h str,
) -> impl Iterator<Item = &'b [u8]> + 'h {
    headers
        .iter()
        .filter(move |header| header.name.eq_ignore_ascii_case(name))
        .map(|header| header.value.trim_ascii())
}

/// The value of a header that may occur once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SingleValue<'b> {
    Missing,
    Present(&'b str),
    /// It is repeated, or not text.
    Wrong,
}

fn only<'b>(headers: &[Header<'b>], name: &str) -> SingleValue<'b> {
    let mut values = all(headers, name);
    match (values.next(), values.next()) {
        (None, _) => SingleValue::Missing,
        (Some(value), None) => {
            std::str::from_utf8(value).map_or(SingleValue::Wrong, SingleValue::Present)
        }
        (Some(_), Some(_)) => SingleValue::Wrong,
    }
}

/// All values of a header that is a list; `None` if one is not text.
fn join_values(headers: &[Header<'_>], name: &str) -> Option<String> {
    let values: Result<Vec<_>, _> = all(headers, name).map(std::str::from_utf8).collect();
    values.ok().map(|values| values.join(", "))
}

fn tokens(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .map(str::trim)
        .filter(|token| !token.is_empty())
}

/// Whether a header that is a list names `token`.
fn names(headers: &[Header<'_>], name: &str, token: &str) -> bool {
    all(headers, name)
        .flat_map(|value| value.split(|&byte| byte == b','))
        .any(|listed| listed.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

#[cfg(test)]
mod tests;
