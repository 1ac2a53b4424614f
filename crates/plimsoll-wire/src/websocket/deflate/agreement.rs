//! Negotiation of compression in `Sec-WebSocket-Extensions` (RFC 7692, 7.1).

/// The extension's name.
const NAME: &str = "permessage-deflate";

/// A client's offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// The server shall not use context takeover, so that the client need not keep a window.
    pub server_begins_anew: bool,
}

/// The negotiated parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// The server uses no context takeover: one compressed message fits all clients.
    pub server_begins_anew: bool,
    /// The client uses no context takeover: the server need not keep a window for it.
    pub client_begins_anew: bool,
}

/// One extension with its known parameters.
#[derive(Default)]
struct Parameters {
    server_begins_anew: bool,
    client_begins_anew: bool,
    /// Largest server window, in bits.
    server_bits: Option<u8>,
    /// Whether the client's window is mentioned.
    names_client_bits: bool,
}

impl Offer {
    /// The value of the header. A client uses no context takeover for its own messages, so that one coder serves a
    /// loop.
    pub fn header(self) -> String {
        let server = if self.server_begins_anew {
            "; server_no_context_takeover"
        } else {
            ""
        };
        format!("{NAME}; client_no_context_takeover{server}")
    }

    /// The result of a server's response to the offer; `None` without compression.
    ///
    /// # Errors
    /// When the response contains what was not offered: the connection must fail (RFC 7692, 5.1).
    pub fn accept(self, header: &str) -> Result<Option<Agreement>, UnaskedExtension> {
        let mut agreed = None;
        for extension in extensions(header) {
            let parameters = Parameters::read(extension).ok_or(UnaskedExtension)?;
            // A server may limit the client's window only if the client offered it.
            let is_ours = agreed.is_none()
                && !parameters.names_client_bits
                && (parameters.server_begins_anew || !self.server_begins_anew);
            if !is_ours {
                return Err(UnaskedExtension);
            }
            agreed = Some(Agreement {
                server_begins_anew: parameters.server_begins_anew,
                // Offered, and kept, whatever the server responds.
                client_begins_anew: true,
            });
        }
        Ok(agreed)
    }
}

/// A server selected an extension or parameters that were not offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnaskedExtension;

/// The first of a client's offers that this server accepts. Both sides then use no context takeover: a message is
/// compressed once for all clients, and no window is kept for any of them.
pub fn agree(header: &str) -> Option<Agreement> {
    extensions(header)
        .filter_map(Parameters::read)
        .find(|parameters| parameters.server_bits.is_none_or(|bits| bits == 15))
        .map(|_| Agreement {
            server_begins_anew: true,
            client_begins_anew: true,
        })
}

impl Agreement {
    /// The value of the response header.
    pub fn header(self) -> String {
        let mut header = NAME.to_owned();
        for (is_set, parameter) in [
            (self.server_begins_anew, "; server_no_context_takeover"),
            (self.client_begins_anew, "; client_no_context_takeover"),
        ] {
            if is_set {
                header.push_str(parameter);
            }
        }
        header
    }
}

/// The elements of the header.
fn extensions(header: &str) -> impl Iterator<Item = &str> {
    header
        .split(',')
        .map(str::trim)
        .filter(|extension| !extension.is_empty())
}

impl Parameters {
    /// `None` for another extension, an unknown or repeated parameter, or an invalid value.
    fn read(extension: &str) -> Option<Self> {
        let mut parameters = extension.split(';').map(str::trim);
        if parameters.next()? != NAME {
            return None;
        }
        let mut read = Self::default();
        for parameter in parameters {
            let (name, value) = match parameter.split_once('=') {
                Some((name, value)) => (name.trim(), Some(value.trim())),
                None => (parameter, None),
            };
            let is_repeated = match (name, value) {
                ("server_no_context_takeover", None) => {
                    std::mem::replace(&mut read.server_begins_anew, true)
                }
                ("client_no_context_takeover", None) => {
                    std::mem::replace(&mut read.client_begins_anew, true)
                }
                ("server_max_window_bits", Some(bits)) => {
                    read.server_bits.replace(window_bits(bits)?).is_some()
                }
                ("client_max_window_bits", bits) => {
                    bits.map_or(Some(15), window_bits)?;
                    std::mem::replace(&mut read.names_client_bits, true)
                }
                _ => return None,
            };
            if is_repeated {
                return None;
            }
        }
        Some(read)
    }
}

/// 8 to 15, without leading zeros, optionally in quotes.
fn window_bits(value: &str) -> Option<u8> {
    let value = value
        .strip_prefix('"')
        .and_then(|value| value.strip_suffix('"'))
        .unwrap_or(value);
    let bits = value.parse().ok()?;
    let is_plain = value.bytes().all(|byte| byte.is_ascii_digit()) && !value.starts_with('0');
    ((8..=15).contains(&bits) && is_plain).then_some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_takes_the_first_offer_it_can_keep() {
        const BOTH: &str =
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
        for (offer, answer) in [
            ("permessage-deflate; client_max_window_bits", Some(BOTH)),
            ("permessage-deflate", Some(BOTH)),
            ("permessage-deflate; server_max_window_bits=15", Some(BOTH)),
            (
                "permessage-deflate; server_max_window_bits=\"15\"",
                Some(BOTH),
            ),
            ("permessage-deflate; server_max_window_bits=10", None),
            (
                "permessage-deflate; server_max_window_bits=10, permessage-deflate",
                Some(BOTH),
            ),
            ("permessage-deflate; server_max_window_bits=16", None),
            ("permessage-deflate; server_max_window_bits=015", None),
            ("permessage-deflate; server_max_window_bits=+15", None),
            ("permessage-deflate; server_max_window_bits", None),
            ("permessage-deflate; client_max_window_bits=7", None),
            (
                "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
                None,
            ),
            ("permessage-deflate; server_no_context_takeover=1", None),
            ("permessage-deflate; mystery", None),
            ("x-webkit-deflate-frame, permessage-bzip2", None),
            ("", None),
        ] {
            let agreed = agree(offer).map(Agreement::header);
            assert_eq!(agreed.as_deref(), answer, "{offer}");
        }
    }

    #[test]
    fn a_client_takes_what_it_offered() {
        let offer = Offer {
            server_begins_anew: true,
        };
        assert_eq!(
            offer.header(),
            "permessage-deflate; client_no_context_takeover; server_no_context_takeover"
        );
        let kept = Agreement {
            server_begins_anew: true,
            client_begins_anew: true,
        };
        let accept = |header| offer.accept(header);
        assert_eq!(accept(""), Ok(None));
        assert_eq!(
            accept("permessage-deflate; server_no_context_takeover"),
            Ok(Some(kept))
        );
        assert_eq!(
            accept("permessage-deflate; server_no_context_takeover; server_max_window_bits=9"),
            Ok(Some(kept))
        );
        for unasked in [
            "permessage-deflate",
            "permessage-deflate; server_no_context_takeover; client_max_window_bits=10",
            "permessage-deflate; server_no_context_takeover, permessage-deflate; server_no_context_takeover",
            "permessage-bzip2",
        ] {
            assert_eq!(accept(unasked), Err(UnaskedExtension), "{unasked}");
        }
        let window = Offer::default()
            .accept("permessage-deflate")
            .unwrap()
            .unwrap();
        assert!(!window.server_begins_anew);
    }
}
