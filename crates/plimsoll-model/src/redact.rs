//! The one place that knows what a secret looks like, and what stands in its place. Pure.
//!
//! Everything the program stores or shows goes through here: run logs, messages, access logs, spans. A secret is known
//! by the name it stands behind, whatever the name is written like (`%74oken`, `X-Api-Key`, `sessionId`), or by its
//! place (`user:password@`, `Bearer …`). What is in doubt is replaced: a message that shows too little can be asked
//! again, one that showed a password cannot be taken back.

mod free;
mod target;

use std::borrow::Cow;

pub use free::text;
pub use target::{query, target, url};

/// What stands in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Longest name that is compared, bytes without separators; secrets stand behind shorter ones.
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

/// How sure a name is to stand before a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameSensitivity {
    /// It is not.
    Open,
    /// It also stands in plain sentences: `code: 3`.
    Word,
    /// It stands before nothing else.
    Secret,
}

/// Whether a header, a parameter, a field or a flag of this name carries a secret.
pub fn is_secret(name: &str) -> bool {
    kind_of(name.as_bytes()) != NameSensitivity::Open
}

fn kind_of(name: &[u8]) -> NameSensitivity {
    let mut plain = [0_u8; NAME_LEN_MAX];
    let mut len = 0;
    // Twice encoded names are still names for who decodes twice.
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
    /// What was looked at after a `%` that begins nothing.
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

/// Words of a command line with what stands behind secret names replaced: `--token=…`, `--token …`, `TOKEN=…`, `-u a:b`,
/// a URL's password.
#[must_use]
pub fn command<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut is_next = false;
    let mut replaced = Vec::new();
    for word in words {
        let is_flag = word.starts_with('-');
        let shown = if is_next && !is_flag {
            is_next = false;
            REDACTED.to_owned()
        } else {
            is_next = is_flag && !word.contains('=') && (is_secret(word) || is_login_flag(word));
            match word.split_once('=') {
                Some((name, _)) if is_secret(name) && !name.contains("://") => {
                    format!("{name}={REDACTED}")
                }
                _ => text(word).into_owned(),
            }
        };
        replaced.push(shown);
    }
    replaced
}

/// Flags whose value is `user:password`, as curl and others have them.
fn is_login_flag(word: &str) -> bool {
    matches!(word, "-u" | "--user" | "--userpwd" | "--proxy-user")
}

/// Text that is made only where something is replaced.
#[derive(Default)]
struct Patched {
    text: String,
    /// Up to where the source was taken over.
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
