//! Recognizes secrets and replaces them. Pure; the only module that does so.
//!
//! Everything the program stores or shows goes through here: run logs, messages, access logs, spans. A secret is
//! recognized by the name before it, in any spelling (`%74oken`, `X-Api-Key`, `sessionId`), or by its position
//! (`user:password@`, `Bearer …`). In doubt a value is replaced: a message that shows too little does no harm, one
//! that showed a password cannot be taken back.

mod free;
mod target;

use std::borrow::Cow;

pub use free::text;
pub use target::{query, target, url};

/// The replacement of a secret.
pub const REDACTED: &str = "[redacted]";

/// Longest name that is compared, bytes without separators; names of secrets are shorter.
const NAME_LEN_MAX: usize = 96;

/// What the name of a secret contains, in lower case and without separators: `X-Api-Key`, `apiKey` and `api_key` are one.
const CONTAINED: [&str; 28] = [
    "token",
    "secret",
    "passw",
    "passphrase",
    "passcode",
    "passkey",
    "pwd",
    "apikey",
    "accesskey",
    "privatekey",
    "authkey",
    "functionskey",
    "subscriptionkey",
    "encryptionkey",
    "signingkey",
    "masterkey",
    "signature",
    "credential",
    "authorization",
    "authorisation",
    "session",
    "sessid",
    "cookie",
    "jwt",
    "bearer",
    "clientassertion",
    "samlassertion",
    "samlresponse",
];

/// Names that are secrets only when they are the whole name: `code` is, `country_code` is not.
const WHOLE: [&str; 20] = [
    "key", "keys", "sig", "sign", "hmac", "auth", "xauth", "code", "pass", "pw", "pin", "otp",
    "totp", "sid", "psk", "nonce", "creds", "csrf", "xsrf", "ticket",
];

/// How certainly a name precedes a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameSensitivity {
    /// It is not.
    Open,
    /// It also occurs in plain sentences: `code: 3`.
    Word,
    /// It precedes nothing else.
    Secret,
}

/// Whether a header, a parameter, a field or a flag of this name carries a secret.
pub fn is_secret(name: &str) -> bool {
    kind_of(name.as_bytes()) != NameSensitivity::Open
}

fn kind_of(name: &[u8]) -> NameSensitivity {
    let mut plain = [0_u8; NAME_LEN_MAX];
    let mut len = 0;
    // Names that are encoded twice are still names to a receiver that decodes twice.
    for byte in Decoded::of(Decoded::of(name.iter().copied())) {
        if byte.is_ascii_alphanumeric() && len < NAME_LEN_MAX {
            plain[len] = byte.to_ascii_lowercase();
            len += 1;
        }
    }
    let plain = std::str::from_utf8(&plain[..len]).unwrap_or_default();
    if CONTAINED.iter().any(|word| plain.contains(word)) {
        NameSensitivity::Secret
    } else if WHOLE.contains(&plain) {
        NameSensitivity::Word
    } else {
        NameSensitivity::Open
    }
}

/// Bytes with `%xx` read.
struct Decoded<I> {
    bytes: I,
    /// What was read after a `%` that starts no escape.
    ahead: [Option<u8>; 2],
}

impl<I: Iterator<Item = u8>> Decoded<I> {
    fn of(bytes: I) -> Self {
        Self {
            bytes,
            ahead: [None; 2],
        }
    }

    fn pull(&mut self) -> Option<u8> {
        let [first, second] = self.ahead;
        if first.is_some() {
            self.ahead = [second, None];
            return first;
        }
        self.bytes.next()
    }
}

impl<I: Iterator<Item = u8>> Iterator for Decoded<I> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let byte = self.pull()?;
        if byte != b'%' {
            return Some(byte);
        }
        let high = self.pull();
        let low = self.pull();
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        if let (Some(high), Some(low)) = (digit(high), digit(low)) {
            return u8::try_from(high * 16 + low).ok();
        }
        self.ahead = [high, low];
        Some(byte)
    }
}

/// Words of a command line with the values of secret names replaced: `--token=…`, `--token …`, `TOKEN=…`, `-u a:b`,
/// a URL's password. The name of a file that has a secret is none: `--token-file …` stays.
#[must_use]
pub fn command<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let carries = |name: &str| is_secret(name) && !is_file_flag(name);
    let mut is_next = false;
    let mut replaced = Vec::new();
    for word in words {
        let is_flag = word.starts_with('-');
        let shown = if is_next && !(is_flag && is_plain_flag(word)) {
            is_next = false;
            REDACTED.to_owned()
        } else {
            is_next = is_flag && !word.contains('=') && (carries(word) || is_login_flag(word));
            match word.split_once('=') {
                Some((name, _)) if carries(name) && !name.contains("://") => {
                    format!("{name}={REDACTED}")
                }
                _ => text(word).into_owned(),
            }
        };
        replaced.push(shown);
    }
    replaced
}

/// Whether a word that begins with a hyphen is a flag for sure, and not a value: one token in 64 begins so. Flags are a
/// letter, or words in lower case.
fn is_plain_flag(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    let name = name.split_once('=').map_or(name, |(name, _)| name);
    name.len() <= 1
        || name.starts_with(|first: char| first.is_ascii_lowercase())
            && name
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter == '-' || letter == '.')
}

/// Whether a flag takes the name of a file that has the secret: `--token-file`. Only flags: what a server takes for a
/// parameter of such a name is unknown.
fn is_file_flag(name: &str) -> bool {
    let last = name.rsplit(['-', '_', '.']).next().unwrap_or_default();
    name.starts_with('-') && last.eq_ignore_ascii_case("file")
}

/// Flags whose value is `user:password`, as curl and others have them.
fn is_login_flag(word: &str) -> bool {
    matches!(word, "-u" | "--user" | "--userpwd" | "--proxy-user")
}

/// Text that is allocated only where something is replaced.
#[derive(Default)]
struct Patched {
    text: String,
    /// Position up to which the source has been copied.
    taken: usize,
}

impl Patched {
    /// Puts `with` in place of `source[from..to]`.
    fn replace(&mut self, source: &str, (from, to): (usize, usize), with: &str) {
        self.text.push_str(&source[self.taken..from]);
        self.text.push_str(with);
        self.taken = to;
    }

    fn finish(mut self, source: &str) -> Cow<'_, str> {
        if self.taken == 0 {
            return Cow::Borrowed(source);
        }
        self.text.push_str(&source[self.taken..]);
        Cow::Owned(self.text)
    }
}

#[cfg(test)]
mod tests;
