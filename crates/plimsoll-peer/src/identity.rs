//! Who listens: a key, its certificate, and whom it invited.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use serde::{Deserialize, Serialize};

use crate::error::PeerError;
use crate::key::{Fingerprint, PrivateKey};
use crate::tls::{self, Invited};
use crate::token::Token;

/// As many invitations may be open at once.
pub const INVITED_MOST: usize = 64;

/// Characters of a stored identity at most: 64 invitations take 6 kB.
const STORED_MOST: usize = 64 << 10;

/// The side that listens: its private key, its certificate, and the public keys that it invited. Of the tokens that it made,
/// only these remain here.
#[derive(Debug)]
pub struct Identity {
    key: PrivateKey,
    certificate: CertificateDer<'static>,
    invited: Vec<Invited>,
}

/// An identity as it is stored: JSON, which holds a private key.
#[derive(Deserialize, Serialize)]
struct Stored {
    key: String,
    certificate: String,
    invited: Vec<StoredInvited>,
}

#[derive(Deserialize, Serialize)]
struct StoredInvited {
    key: String,
    expires: u64,
}

impl Identity {
    /// A new key with a certificate; nobody is invited yet.
    ///
    /// # Errors
    /// When the kernel gives no random bytes.
    pub fn generate() -> Result<Self, PeerError> {
        let key = PrivateKey::generate()?;
        let certificate = key.certificate()?;
        Ok(Self {
            key,
            certificate,
            invited: Vec::new(),
        })
    }

    /// Makes a token that lets its holders in until `expires`; both times in seconds since 1970. Invitations that have ended
    /// by `now` are forgotten. Any number of processes may hold the same token.
    ///
    /// # Errors
    /// When [`INVITED_MOST`] are open, or the kernel gives no random bytes.
    pub fn invite(&mut self, now: u64, expires: u64) -> Result<Token, PeerError> {
        self.invited.retain(|invited| invited.expires > now);
        if self.invited.len() >= INVITED_MOST {
            return Err(PeerError::Invited {
                open: self.invited.len(),
                most: INVITED_MOST,
            });
        }
        let key = PrivateKey::generate()?;
        self.invited.push(Invited {
            key: Fingerprint::of_public_key(&key.certificate()?)?,
            expires,
        });
        Ok(Token::new(Fingerprint::of(&self.certificate), key, expires))
    }

    /// TLS 1.3 of the side that listens: it refuses by an alert who holds none of its tokens, and sends nothing before.
    ///
    /// # Errors
    /// When the key is refused.
    pub fn server_config(&self) -> Result<Arc<ServerConfig>, PeerError> {
        tls::server_config(&self.key, self.certificate.clone(), self.invited.clone())
    }

    /// Whether a token is one of this identity that is still known.
    pub fn knows(&self, token: &Token) -> bool {
        let key = token.public_key();
        token.server() == Fingerprint::of(&self.certificate)
            && self.invited.iter().any(|invited| Some(invited.key) == key)
    }

    /// How many are invited.
    pub fn invited(&self) -> usize {
        self.invited.len()
    }

    /// Everything as text, for a file that its owner alone may read: it holds the private key.
    pub fn to_text(&self) -> String {
        let invited = self.invited.iter().map(|invited| StoredInvited {
            key: invited.key.to_text(),
            expires: invited.expires,
        });
        let stored = Stored {
            key: self.key.to_text(),
            certificate: STANDARD.encode(&self.certificate),
            invited: invited.collect(),
        };
        let mut text =
            serde_json::to_string_pretty(&stored).expect("strings and numbers become JSON");
        text.push('\n');
        text
    }

    /// Reads what [`Identity::to_text`] wrote.
    ///
    /// # Errors
    /// When it is something else.
    pub fn parse(text: &str) -> Result<Self, PeerError> {
        let refused = |what: &str| PeerError::Stored(what.to_owned());
        if text.len() > STORED_MOST {
            return Err(refused("longer than 64 KiB"));
        }
        // The error would quote the text, which holds a key.
        let stored: Stored =
            serde_json::from_str(text).map_err(|_| refused("not the JSON of an identity"))?;
        if stored.invited.len() > INVITED_MOST {
            return Err(refused("more than 64 invitations"));
        }
        let key = PrivateKey::parse(&stored.key).ok_or_else(|| refused("its key"))?;
        let certificate = STANDARD
            .decode(&stored.certificate)
            .map_err(|_| refused("its certificate"))?;
        let invited = stored.invited.iter().map(|invited| {
            Some(Invited {
                key: Fingerprint::parse(&invited.key)?,
                expires: invited.expires,
            })
        });
        Ok(Self {
            key,
            certificate: CertificateDer::from(certificate),
            invited: invited
                .collect::<Option<_>>()
                .ok_or_else(|| refused("an invitation"))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_read_as_it_was_written() {
        let mut identity = Identity::generate().unwrap();
        let token = identity.invite(0, 100).unwrap();
        let text = identity.to_text();
        let read = Identity::parse(&text).unwrap();
        assert_eq!(read.to_text(), text);
        read.server_config().unwrap();
        assert!(read.knows(&token));
        let other = Identity::generate().unwrap();
        assert!(!other.knows(&token));
    }

    #[test]
    fn invitations_that_ended_make_room() {
        let mut identity = Identity::generate().unwrap();
        for _ in 0..INVITED_MOST {
            identity.invite(0, 100).unwrap();
        }
        assert!(matches!(
            identity.invite(99, 200),
            Err(PeerError::Invited { open: 64, most: 64 })
        ));
        identity.invite(100, 200).unwrap();
        assert_eq!(identity.invited(), 1);
    }

    #[test]
    fn a_foreign_file_is_refused_without_its_content() {
        let error = Identity::parse("{\"key\": \"very secret\"}").unwrap_err();
        assert!(!error.to_string().contains("very secret"), "{error}");
    }
}
