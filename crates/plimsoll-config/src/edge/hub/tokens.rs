//! Signed tokens of the hub's clients.

use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::{FromDer as _, SubjectPublicKeyInfo};
use x509_parser::public_key::PublicKey;

use crate::document::Shape::Text;
use crate::document::{DocumentNode, DocumentReader, SettingsMap as _, each, settings, text};

/// Maximum size of a key file, bytes.
const KEY_LEN_MAX: u64 = 64 << 10;
/// Minimum size of a secret, bytes: that of the signature (RFC 7518, 3.2).
const SECRET_LEN_MIN: usize = 32;
/// The name of the curve P-256 (1.2.840.10045.3.1.7) in DER.
const P256: [u8; 8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
/// Size of a P-256 point, bytes: a leading 4 (uncompressed) and both coordinates.
const POINT_LEN: usize = 65;

settings! {
    /// Signed tokens (JWT) of clients. Claims: `exp` in seconds, and `subscribe` and `publish` as lists of patterns
    /// such as game-*. A client sends its token as `Authorization: Bearer`, in the query as `token=`, or as the first
    /// message `{"token":"…"}`; later tokens replace earlier ones.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HubTokens, HUB_TOKENS "hub_tokens" {
        /// Key that verifies tokens.
        key: HubKey = HubKey::Secret(String::new());
        /// Secret that signs and verifies tokens (HS256), at least 32 bytes: `{{ env('HUB_SECRET') }}`.
        "secret": Text;
        /// Or a PEM file with the public key that verifies tokens: RSA (RS256) or P-256 (ES256).
        "key": Text;
        /// Required value of the claim `aud`. Default: any.
        audience: Option<String> = None, "audience": text("a value of the claim `aud`");
        /// Patterns of channels that may be read without a token. Default: none.
        public: Vec<String> = Vec::new(), "public": each(text("a pattern such as news-*"));
    }
}

/// A key that verifies signatures.
#[derive(Clone, PartialEq, Eq)]
pub enum HubKey {
    /// HS256: a secret that signs and verifies.
    Secret(String),
    /// RS256: a public key in PKCS #1.
    Rsa(Vec<u8>),
    /// ES256: a public point of P-256, uncompressed.
    P256(Vec<u8>),
}

impl std::fmt::Debug for HubKey {
    // Secrets are not printed.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Secret(_) => "HS256",
            Self::Rsa(_) => "RS256",
            Self::P256(_) => "ES256",
        })
    }
}

/// Reads `tokens:`.
pub(super) fn tokens(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<HubTokens> {
    let fields = reader.fields(node, &HUB_TOKENS)?;
    let tokens = HubTokens::read(reader, &fields);
    let (word, node) = reader.exactly_one(&fields, &["secret", "key"])?;
    let key = if word.text == "secret" {
        secret(reader, node)
    } else {
        public_key(reader, node)
    };
    Some(HubTokens {
        key: key?,
        ..tokens
    })
}

fn secret(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<HubKey> {
    let valid = "at least 32 bytes: openssl rand -base64 32";
    let secret = reader.word(node, valid)?;
    if secret.len() < SECRET_LEN_MIN {
        reader.report(node, "the secret is too short", valid);
        return None;
    }
    Some(HubKey::Secret(secret))
}

fn public_key(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<HubKey> {
    let valid = "a public key in PEM (BEGIN PUBLIC KEY): RSA of 2048 to 8192 bits, or P-256";
    let name = reader.word(node, valid)?;
    let content = reader.file(node, &name, KEY_LEN_MAX)?;
    let key = read_key(&content);
    if key.is_none() {
        reader.report(
            node,
            format!("`{name}` contains no supported public key"),
            valid,
        );
    }
    key
}

fn read_key(content: &[u8]) -> Option<HubKey> {
    let (_, pem) = parse_x509_pem(content).ok()?;
    if pem.label != "PUBLIC KEY" {
        return None;
    }
    let (_, key) = SubjectPublicKeyInfo::from_der(&pem.contents).ok()?;
    let bytes = key.subject_public_key.data.to_vec();
    match key.parsed().ok()? {
        PublicKey::RSA(rsa) if (2048..=8192).contains(&rsa.key_size()) => Some(HubKey::Rsa(bytes)),
        PublicKey::EC(_) => {
            let is_p256 = pem.contents.windows(P256.len()).any(|some| some == P256);
            let is_whole = bytes.len() == POINT_LEN && bytes[0] == 4;
            (is_p256 && is_whole).then_some(HubKey::P256(bytes))
        }
        _ => None,
    }
}
