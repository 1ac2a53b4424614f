//! SCRAM-SHA-256 (RFC 5802, RFC 7677): mutual proof of a password without sending it.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::{digest, hmac, pbkdf2};

/// Random bytes of this side.
const NONCE_LEN: usize = 18;
/// Most iterations accepted from a server: about a tenth of a second of CPU.
const ROUNDS_MAX: u32 = 200_000;
/// Length of a SHA-256, bytes.
const HASH_LEN: usize = 32;

/// A SCRAM exchange.
#[derive(Debug)]
pub struct ScramExchange {
    /// The first message, without its header.
    bare: String,
    nonce: String,
}

/// The proof, and the server's expected signature.
#[derive(Debug)]
pub struct Proof {
    /// The proof.
    pub text: String,
    /// The server's expected signature.
    pub expected: String,
}

impl ScramExchange {
    /// Begins; `None` when the system returns no random bytes.
    pub fn begin() -> Option<Self> {
        Self::begin_as("")
    }

    /// The same for a server that does not know the user yet.
    pub fn begin_as(user: &str) -> Option<Self> {
        let mut random = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut random).ok()?;
        // Field separators in a name must be escaped (RFC 5802, section 5.1).
        let user = user.replace('=', "=3D").replace(',', "=2C");
        Some(Self::with(&user, STANDARD.encode(random)))
    }

    /// PostgreSQL knows the user already, so that the name stays empty.
    fn with(user: &str, nonce: String) -> Self {
        Self {
            bare: format!("n={user},r={nonce}"),
            nonce,
        }
    }

    /// The first message.
    pub fn first(&self) -> String {
        format!("n,,{}", self.bare)
    }

    /// The response to the server's first message; `None` when that is not a challenge of this exchange.
    pub fn answer(&self, challenge: &str, password: &str) -> Option<Proof> {
        let field = |name: &str| {
            challenge
                .split(',')
                .find_map(|field| field.strip_prefix(name))
        };
        let nonce = field("r=").filter(|nonce| nonce.starts_with(&self.nonce))?;
        let salt = STANDARD.decode(field("s=")?).ok()?;
        let rounds: NonZeroU32 = field("i=")?.parse().ok()?;
        if rounds.get() > ROUNDS_MAX {
            return None;
        }
        let mut salted = [0; HASH_LEN];
        pbkdf2::derive(
            pbkdf2::PBKDF2_HMAC_SHA256,
            rounds,
            &salt,
            password.as_bytes(),
            &mut salted,
        );
        let client_key = sign(&salted, b"Client Key");
        let stored_key = digest::digest(&digest::SHA256, client_key.as_ref());
        let without_proof = format!("c=biws,r={nonce}");
        let auth_message = format!("{},{challenge},{without_proof}", self.bare);
        let signature = sign(stored_key.as_ref(), auth_message.as_bytes());
        let pairs = client_key.as_ref().iter().zip(signature.as_ref());
        let proof: Vec<u8> = pairs.map(|(key, signature)| key ^ signature).collect();
        let server_key = sign(&salted, b"Server Key");
        let expected = sign(server_key.as_ref(), auth_message.as_bytes());
        Some(Proof {
            text: format!("{without_proof},p={}", STANDARD.encode(proof)),
            expected: format!("v={}", STANDARD.encode(expected)),
        })
    }
}

fn sign(key: &[u8], text: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7677, section 3.
    #[test]
    fn the_example_of_the_standard() {
        let exchange = ScramExchange::with("user", "rOprNGfwEbeRWgbNEkqO".to_owned());
        assert_eq!(exchange.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let challenge = format!("r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
        let proof = exchange.answer(&challenge, "pencil").unwrap();
        let right = format!("c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        assert_eq!(proof.text, right);
        assert_eq!(
            proof.expected,
            "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
        );
        for strange in [
            "",
            "r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
            &format!("r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=0"),
            &format!("r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4000000000"),
            &format!("r={nonce},s=?,i=4096"),
        ] {
            assert!(exchange.answer(strange, "pencil").is_none(), "{strange}");
        }
    }
}
