//! Tokens: what a user carries from the machine that listens to the one that connects.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::ClientConfig;

use crate::error::{PeerError, TokenError};
use crate::key::{Fingerprint, KEY_BYTES, PrivateKey};
use crate::tls;

/// Before every token; the digit is the form of what follows.
const PREFIX: &str = "plimsoll1-";
/// Before the tokens of later versions too.
const FAMILY: &str = "plimsoll";

/// Fingerprint, key, end, and a sum that finds slips of copying.
const BYTES: usize = 2 * KEY_BYTES + 8 + SUM_BYTES;
const SUM_BYTES: usize = 4;
/// Characters of base64 without padding.
const LENGTH: usize = (BYTES * 8).div_ceil(6);

/// An invitation: the fingerprint of the certificate of the side that listens, the private key with which the other side
/// proves that it was invited, and when that ends.
///
/// As text `plimsoll1-` and 103 characters of base64 for URLs: a secret. `Debug` leaves the key out.
#[derive(Clone, Debug)]
pub struct Token {
    server: Fingerprint,
    key: PrivateKey,
    expires: u64,
}

impl Token {
    pub(crate) fn new(server: Fingerprint, key: PrivateKey, expires: u64) -> Self {
        Self {
            server,
            key,
            expires,
        }
    }

    /// Reads a token, as [`Token::to_text`] writes it; space around it is no part of it. Its end is not checked.
    ///
    /// # Errors
    /// When the text is no token, or not a whole one.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let Some(encoded) = text.strip_prefix(PREFIX) else {
            return Err(foreign(text));
        };
        let damaged = TokenError::Damaged {
            length: encoded.chars().count(),
            valid: LENGTH,
        };
        if encoded.len() != LENGTH {
            return Err(damaged);
        }
        let Ok(bytes) = URL_SAFE_NO_PAD.decode(encoded) else {
            return Err(damaged);
        };
        Self::of_bytes(&bytes).ok_or(damaged)
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (body, sum) = bytes.split_at_checked(BYTES - SUM_BYTES)?;
        if Fingerprint::of(body).bytes()[..SUM_BYTES] != *sum {
            return None;
        }
        let (server, rest) = body.split_first_chunk::<KEY_BYTES>()?;
        let (key, expires) = rest.split_first_chunk::<KEY_BYTES>()?;
        Some(Self {
            server: Fingerprint::from_bytes(*server),
            key: PrivateKey::from_bytes(*key),
            expires: u64::from_be_bytes(expires.try_into().ok()?),
        })
    }

    /// The token as one line, without its end. It is a secret: print it where the user asked for it, and nowhere else.
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend_from_slice(self.server.bytes());
        bytes.extend_from_slice(self.key.bytes());
        bytes.extend_from_slice(&self.expires.to_be_bytes());
        let sum = Fingerprint::of(&bytes);
        bytes.extend_from_slice(&sum.bytes()[..SUM_BYTES]);
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The certificate of the side that listens.
    pub(crate) fn server(&self) -> Fingerprint {
        self.server
    }

    /// What the other side knows of its key; none if there can be no certificate of it.
    pub(crate) fn public_key(&self) -> Option<Fingerprint> {
        Fingerprint::of_public_key(&self.key.certificate().ok()?).ok()
    }

    /// When it ends, in seconds since 1970.
    pub fn expires(&self) -> u64 {
        self.expires
    }

    /// Whether it still holds at `now`, in seconds since 1970. The server decides by its own clock as well.
    ///
    /// # Errors
    /// When its end is past.
    pub fn check(&self, now: u64) -> Result<(), TokenError> {
        match now.checked_sub(self.expires) {
            None => Ok(()),
            Some(ago) => Err(TokenError::Expired { ago }),
        }
    }

    /// TLS of the side that connects: it trusts the one certificate that the token names, and proves the token's key.
    /// The name of the server is [`crate::server_name`].
    ///
    /// # Errors
    /// When the key is refused.
    pub fn client_config(&self) -> Result<Arc<ClientConfig>, PeerError> {
        tls::client_config(self.server, &self.key)
    }
}

/// Why a text without our prefix is no token.
fn foreign(text: &str) -> TokenError {
    let form = text
        .strip_prefix(FAMILY)
        .and_then(|rest| rest.split_once('-'));
    let is_number = |form: &str| !form.is_empty() && form.bytes().all(|c| c.is_ascii_digit());
    match form {
        Some((form, _)) if is_number(form) => TokenError::Newer,
        _ => TokenError::Prefix,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn token(expires: u64) -> Token {
        Token::new(
            Fingerprint::from_bytes([1; KEY_BYTES]),
            PrivateKey::from_bytes([2; KEY_BYTES]),
            expires,
        )
    }

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let written = token(1_900_000_000).to_text();
        assert_eq!(written.len(), PREFIX.len() + LENGTH);
        let read = Token::parse(&format!("  {written}\n")).unwrap();
        assert_eq!(read.to_text(), written);
        assert_eq!(read.expires(), 1_900_000_000);
    }

    #[test]
    fn a_token_ends() {
        assert_eq!(token(100).check(99), Ok(()));
        assert_eq!(token(100).check(100), Err(TokenError::Expired { ago: 0 }));
        let error = token(100).check(100 + 3 * 86_400).unwrap_err();
        assert!(error.to_string().contains("expired 3 days ago"), "{error}");
    }

    #[test]
    fn what_is_no_token_is_named() {
        assert_eq!(Token::parse("secret").unwrap_err(), TokenError::Prefix);
        assert_eq!(Token::parse("plimsoll-x").unwrap_err(), TokenError::Prefix);
        assert_eq!(Token::parse("plimsoll2-x").unwrap_err(), TokenError::Newer);
        let written = token(1).to_text();
        let cut = Token::parse(&written[..written.len() - 1]).unwrap_err();
        assert_eq!(
            cut,
            TokenError::Damaged {
                length: LENGTH - 1,
                valid: LENGTH
            }
        );
    }

    #[test]
    fn the_key_is_not_in_its_debug_form() {
        let shown = format!("{:?}", token(5));
        assert!(shown.contains("PrivateKey(…)"), "{shown}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
            let _ = Token::parse(&text);
        }

        #[test]
        fn a_changed_character_is_found(at in 0..LENGTH, letter in "[A-Za-z0-9_-]") {
            let mut written = token(1_900_000_000).to_text();
            let place = PREFIX.len() + at;
            prop_assume!(written[place..=place] != letter);
            written.replace_range(place..=place, &letter);
            prop_assert!(Token::parse(&written).is_err());
        }
    }
}
