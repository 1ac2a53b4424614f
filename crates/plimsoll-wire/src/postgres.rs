//! PostgreSQL's protocol 3.0 as far as needed to log in, to run queries in text, and to receive notifications. This
//! module only builds and reads bytes; the caller does the I/O.

pub mod scram;

use scram::ScramExchange;

/// The version of the protocol, 3.0.
const PROTOCOL: u32 = 196_608;
/// `SSLRequest`, sent before anything else: the server replies with one byte, `S` (TLS) or `N`.
pub const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// The SASL mechanism, which proves a password without sending it (RFC 7677).
const SCRAM: &[u8] = b"SCRAM-SHA-256";

/// Malformed server message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedMessage;

/// A message of the server: a type letter and a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendMessage<'a> {
    /// `Z` when it is ready for a query, `E` for an error, `D` for a row, `A` for a notification, and others.
    pub kind: u8,
    /// Payload.
    pub body: &'a [u8],
}

/// The message at the start of `bytes`, and its length; `None` while it is incomplete. `len_max` limits the
/// payload, bytes.
///
/// # Errors
/// When it is malformed, or longer.
pub fn read(
    bytes: &[u8],
    len_max: usize,
) -> Result<Option<(usize, BackendMessage<'_>)>, MalformedMessage> {
    let Some((head, rest)) = bytes.split_first_chunk::<5>() else {
        return Ok(None);
    };
    let [kind, len @ ..] = *head;
    // The length includes its own four bytes.
    let len = usize::try_from(u32::from_be_bytes(len)).map_err(|_| MalformedMessage)?;
    let len = len.checked_sub(4).ok_or(MalformedMessage)?;
    if len > len_max {
        return Err(MalformedMessage);
    }
    Ok(rest
        .get(..len)
        .map(|body| (head.len() + len, BackendMessage { kind, body })))
}

/// A message: type, length (including its own four bytes), and payload.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend(with_len(body));
    message
}

/// A simple query.
pub fn question(text: &str) -> Vec<u8> {
    message(b'Q', &terminated(text))
}

/// The startup message: user and database.
pub fn entry(user: &str, database: &str) -> Vec<u8> {
    let mut body = PROTOCOL.to_be_bytes().to_vec();
    for text in [
        "user",
        user,
        "database",
        database,
        "application_name",
        "plimsoll",
    ] {
        body.extend(terminated(text));
    }
    body.push(0);
    with_len(&body)
}

/// A text with a terminating zero, and without other zeros.
fn terminated(text: &str) -> Vec<u8> {
    let bytes = text.bytes().filter(|&byte| byte != 0);
    bytes.chain([0]).collect()
}

fn with_len(body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
    [&len.to_be_bytes()[..], body].concat()
}

/// The fields of an error: a type letter, and a text.
pub fn error_field(body: &[u8], wanted: u8) -> Option<String> {
    let mut fields = body.split(|&byte| byte == 0);
    let field = fields.find(|field| field.first() == Some(&wanted))?;
    Some(String::from_utf8_lossy(&field[1..]).into_owned())
}

/// The channel and the text of a notification (`A`); `None` if it is invalid.
pub fn notification(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut texts = body.get(4..)?.split(|&byte| byte == 0);
    let (channel, text) = (texts.next()?, texts.next()?);
    // Data after the last zero is ignored.
    texts.next().map(|_| (channel, text))
}

/// Authentication by the method that the server requires.
#[derive(Debug)]
pub struct Authentication<'a> {
    password: &'a str,
    /// No third party can listen on the connection, so a password may be sent in clear text.
    is_near: bool,
    stage: AuthStage,
}

#[derive(Debug)]
enum AuthStage {
    Initial,
    /// The first SCRAM message was sent.
    Begun(ScramExchange),
    /// The proof was sent; the server must respond with this signature.
    Proved(String),
}

/// The next step after an authentication message (`R`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthStep {
    /// Nothing to send.
    Wait,
    /// Send this.
    Send(Vec<u8>),
}

/// Why authentication fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthError {
    /// The server's requirement cannot be met, with the reason.
    Denied(&'static str),
    /// The server violates the protocol, with the reason.
    Strange(&'static str),
    /// A malformed message.
    Malformed,
}

impl<'a> Authentication<'a> {
    /// With a password, or an empty one.
    pub fn new(password: &'a str, is_near: bool) -> Self {
        Self {
            password,
            is_near,
            stage: AuthStage::Initial,
        }
    }

    /// Handles an authentication message of the server.
    ///
    /// # Errors
    /// When its requirement cannot be met.
    pub fn answer(&mut self, body: &[u8]) -> Result<AuthStep, AuthError> {
        let (way, rest) = body.split_first_chunk::<4>().ok_or(AuthError::Malformed)?;
        match (u32::from_be_bytes(*way), &self.stage) {
            // A proof that has begun must end: the server has to prove its knowledge too.
            (0, AuthStage::Initial) => Ok(AuthStep::Wait),
            (11, AuthStage::Begun(exchange)) => {
                let challenge = String::from_utf8_lossy(rest);
                let proof = exchange.answer(&challenge, self.password);
                let proof = proof.ok_or(AuthError::Strange("malformed SCRAM challenge"))?;
                self.stage = AuthStage::Proved(proof.expected);
                Ok(AuthStep::Send(message(b'p', proof.text.as_bytes())))
            }
            (12, AuthStage::Proved(expected)) => {
                let server_final = String::from_utf8_lossy(rest);
                if server_final.trim_end_matches('\0') == expected {
                    self.stage = AuthStage::Initial;
                    Ok(AuthStep::Wait)
                } else {
                    Err(AuthError::Strange(
                        "the server's signature is wrong: it does not know the password",
                    ))
                }
            }
            (way, AuthStage::Initial) if !matches!(way, 11 | 12) => self.begin(way, rest),
            _ => Err(AuthError::Malformed),
        }
    }

    fn begin(&mut self, way: u32, rest: &[u8]) -> Result<AuthStep, AuthError> {
        if self.password.is_empty() {
            return Err(AuthError::Denied("a password is required"));
        }
        match way {
            3 if self.is_near => Ok(AuthStep::Send(message(b'p', &terminated(self.password)))),
            3 => Err(AuthError::Denied(
                "the server requires the password in clear text over a network",
            )),
            5 => Err(AuthError::Denied(
                "the server stores only the MD5 of the password; as an administrator: `SET password_encryption = 'scram-sha-256'`, \
                 then `ALTER ROLE … PASSWORD '…'`",
            )),
            10 if rest.split(|&byte| byte == 0).any(|name| name == SCRAM) => {
                let exchange = ScramExchange::begin();
                let exchange =
                    exchange.ok_or(AuthError::Strange("the system returned no random bytes"))?;
                let first = exchange.first();
                // This length excludes its own four bytes.
                let len = u32::try_from(first.len()).unwrap_or(0).to_be_bytes();
                let body = [SCRAM, b"\0", &len, first.as_bytes()].concat();
                self.stage = AuthStage::Begun(exchange);
                Ok(AuthStep::Send(message(b'p', &body)))
            }
            _ => Err(AuthError::Denied("unsupported authentication method")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let bytes = [message(b'Z', b"I"), question("LISTEN \"a\"")].concat();
        let (len, first) = read(&bytes, 100).unwrap().unwrap();
        assert_eq!((len, first.kind, first.body), (6, b'Z', &b"I"[..]));
        for end in 0..6 {
            assert_eq!(read(&bytes[..end], 100), Ok(None), "{end}");
        }
        let (_, second) = read(&bytes[len..], 100).unwrap().unwrap();
        assert_eq!(second.body, b"LISTEN \"a\"\0");
        assert_eq!(read(b"Z\0\0\0\x03", 100), Err(MalformedMessage));
        assert_eq!(read(b"Z\0\0\x01\0", 100), Err(MalformedMessage));
        assert_eq!(entry("e", "d").len(), 53);
        let body = b"\0\0\0\x07odds\0{\"a\":1}\0";
        assert_eq!(notification(body), Some((&b"odds"[..], &b"{\"a\":1}"[..])));
        assert_eq!(notification(&body[..8]), None);
        assert_eq!(notification(b"\0"), None);
        let error = b"SFATAL\0C53300\0Msorry, too many clients already\0\0";
        assert_eq!(error_field(error, b'C').as_deref(), Some("53300"));
        assert_eq!(error_field(error, b'H'), None);
    }

    #[test]
    fn a_password_is_said_only_where_nobody_listens() {
        let demand = |way: u32, more: &[u8]| [&way.to_be_bytes()[..], more].concat();
        let answer = |password: &'static str, is_near: bool, body: &[u8]| {
            Authentication::new(password, is_near).answer(body)
        };
        assert_eq!(answer("", false, &demand(0, b"")), Ok(AuthStep::Wait));
        let plain = AuthStep::Send(message(b'p', b"secret\0"));
        assert_eq!(answer("secret", true, &demand(3, b"")), Ok(plain));
        for (password, body) in [
            ("secret", demand(3, b"")),
            ("secret", demand(5, b"salt")),
            ("secret", demand(10, b"OTHER\0\0")),
            ("", demand(10, b"SCRAM-SHA-256\0\0")),
        ] {
            let refused = answer(password, false, &body);
            assert!(matches!(refused, Err(AuthError::Denied(_))), "{body:?}");
        }
        for body in [&b""[..], &demand(11, b"r=x"), &demand(12, b"v=x")] {
            assert_eq!(answer("secret", false, body), Err(AuthError::Malformed));
        }
        let mut entrance = Authentication::new("secret", false);
        let Ok(AuthStep::Send(first)) = entrance.answer(&demand(10, b"SCRAM-SHA-256\0\0")) else {
            panic!("a proof is begun");
        };
        assert!(first.starts_with(b"p"));
        assert_eq!(entrance.answer(&demand(0, b"")), Err(AuthError::Malformed));
        assert!(entrance.answer(&demand(11, b"r=other,s=,i=1")).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(Some((len, _))) = read(&bytes, 30) {
                prop_assert!(len <= bytes.len());
            }
            let _ = notification(&bytes);
            let _ = error_field(&bytes, b'C');
            let _ = Authentication::new("secret", true).answer(&bytes);
        }
    }
}
