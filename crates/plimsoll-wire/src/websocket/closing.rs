//! The end of a connection (RFC 6455, 5.5.1 and 7): a close frame each way, then the server closes the socket.

use std::borrow::Cow;

use super::error::WebSocketError;
use super::frame::CONTROL_LEN_MAX;

/// Close codes in use (RFC 6455, 7.4.1, and IANA's register).
pub mod code {
    /// Normal closure.
    pub const NORMAL: u16 = 1000;
    /// A server goes down, or a page is left.
    pub const GOING_AWAY: u16 = 1001;
    /// Protocol error.
    pub const PROTOCOL: u16 = 1002;
    /// Unsupported kind of message.
    pub const UNSUPPORTED: u16 = 1003;
    /// Invalid content: text that is not UTF-8.
    pub const INVALID_DATA: u16 = 1007;
    /// Policy violation.
    pub const POLICY: u16 = 1008;
    /// A message is too long.
    pub const TOO_BIG: u16 = 1009;
    /// Internal error.
    pub const INTERNAL: u16 = 1011;
    /// Server restart.
    pub const RESTART: u16 = 1012;
    /// Try again later.
    pub const TRY_LATER: u16 = 1013;
}

/// Longest reason of a close frame, bytes.
pub const REASON_LEN_MAX: usize = CONTROL_LEN_MAX - 2;

/// Whether a code may be in a close frame: 1005, 1006 and 1015 are never sent, and others below 3000 are reserved
/// for later standards.
pub fn may_be_sent(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// The content of a close frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Close<'a> {
    /// The code; `None` if the frame is empty.
    pub code: Option<u16>,
    /// The reason.
    pub reason: Cow<'a, str>,
}

impl<'a> Close<'a> {
    /// Reads the payload of a close frame.
    ///
    /// # Errors
    /// When it is one byte long, its code is invalid, or the reason is not UTF-8.
    pub fn read(payload: Cow<'a, [u8]>) -> Result<Self, WebSocketError> {
        let Some((&code, _)) = payload.split_first_chunk::<2>() else {
            return if payload.is_empty() {
                Ok(Self::default())
            } else {
                Err(WebSocketError::CloseLength)
            };
        };
        let code = u16::from_be_bytes(code);
        if !may_be_sent(code) {
            return Err(WebSocketError::CloseCode(code));
        }
        let reason = match payload {
            Cow::Borrowed(bytes) => std::str::from_utf8(&bytes[2..]).map(Cow::Borrowed),
            Cow::Owned(bytes) => {
                std::str::from_utf8(&bytes[2..]).map(|text| Cow::Owned(text.to_owned()))
            }
        };
        Ok(Self {
            code: Some(code),
            reason: reason.map_err(|_| WebSocketError::Utf8)?,
        })
    }

    /// The same, owned.
    pub fn into_owned(self) -> Close<'static> {
        Close {
            code: self.code,
            reason: Cow::Owned(self.reason.into_owned()),
        }
    }
}

/// The payload of a close frame. A long reason is cut between two characters.
pub fn payload(code: Option<u16>, reason: &str) -> Vec<u8> {
    let Some(code) = code else {
        return Vec::new();
    };
    let mut payload = code.to_be_bytes().to_vec();
    let end = reason.floor_char_boundary(REASON_LEN_MAX);
    payload.extend_from_slice(&reason.as_bytes()[..end]);
    payload
}

/// Progress of the closing handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Closing {
    is_sent: bool,
    is_received: bool,
}

impl Closing {
    /// Whether messages may still be sent: nothing follows a close frame.
    #[inline]
    pub fn may_send(self) -> bool {
        !self.is_sent
    }

    /// This side begins to close; returns whether a close frame must be sent now.
    pub fn send(&mut self) -> bool {
        !std::mem::replace(&mut self.is_sent, true)
    }

    /// A close frame arrived; returns whether one must be sent in response, with the same code.
    pub fn receive(&mut self) -> bool {
        self.is_received = true;
        self.send()
    }

    /// Whether both sides have sent a close frame.
    pub fn is_complete(self) -> bool {
        self.is_sent && self.is_received
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_that_may_be_sent() {
        // Autobahn 7.7 and 7.9.
        for code in [
            1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999,
        ] {
            assert!(may_be_sent(code), "{code}");
        }
        for code in [
            0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535,
        ] {
            assert!(!may_be_sent(code), "{code}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let read = Close::read(Cow::Owned(payload(Some(1001), "bye"))).unwrap();
        assert_eq!((read.code, &*read.reason), (Some(1001), "bye"));
        assert_eq!(
            Close::read(Cow::Owned(payload(None, "x"))).unwrap(),
            Close::default()
        );
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let payload = payload(Some(1000), &"ä".repeat(100));
        assert_eq!(payload.len(), 2 + 122);
        assert!(std::str::from_utf8(&payload[2..]).is_ok());
    }

    #[test]
    fn each_side_says_once_that_it_ends() {
        let mut asked = Closing::default();
        assert!(asked.may_send() && asked.receive() && !asked.may_send());
        assert!(asked.is_complete() && !asked.send());
        let mut initiator = Closing::default();
        assert!(initiator.send() && !initiator.is_complete() && !initiator.receive());
    }
}
