//! Classifies a value: an identifier, a token, a secret, or a plain word.

use std::borrow::Cow;

use plimsoll_model::redact;

/// Shortest value searched for in responses, characters.
pub(crate) const VALUE_LENGTH_MIN: usize = 6;
/// Longest value searched for in responses, bytes.
pub(crate) const VALUE_LEN_MAX: usize = 16 << 10;

/// Words in names of fields with a server token.
const TOKEN_WORDS: [&str; 10] = [
    "csrf",
    "xsrf",
    "token",
    "nonce",
    "authenticity",
    "viewstate",
    "eventvalidation",
    "sectok",
    "signature",
    "ticket",
];
/// Words in names of fields with a password.
const PASSWORD_WORDS: [&str; 5] = ["password", "passwd", "passphrase", "passwort", "pwd"];
/// Words in names of CSRF tokens, or of tokens for the server's own state.
const FORGERY_WORDS: [&str; 8] = [
    "csrf",
    "xsrf",
    "authenticity",
    "verification",
    "viewstate",
    "eventvalidation",
    "nonce",
    "sectok",
];

/// Whether a field of this name has a server token, whatever its value looks like.
pub(crate) fn names_token(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TOKEN_WORDS.iter().any(|word| name.contains(word))
}

/// Whether a field of this name has a password.
pub(crate) fn names_password(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "pass" | "pw" | "pin" | "otp")
        || PASSWORD_WORDS.iter().any(|word| name.contains(word))
}

/// Whether a field of this name has a personal secret that is not a password. CSRF tokens are not included:
/// without a source they are sent as recorded.
pub(crate) fn names_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    redact::is_secret(name) && !FORGERY_WORDS.iter().any(|word| lower.contains(word))
}

/// A path without secret parameters, such as `;jsessionid=…`.
pub(crate) fn path_without_secrets(path: &str) -> Cow<'_, str> {
    if !path.contains(';') {
        return Cow::Borrowed(path);
    }
    let is_open = |parameter: &&str| {
        let (name, _) = parameter.split_once('=').unwrap_or((parameter, ""));
        !redact::is_secret(name)
    };
    let segments = path.split('/').map(|segment| {
        let mut pieces = segment.split(';');
        let first = pieces.next().unwrap_or_default();
        let kept = std::iter::once(first).chain(pieces.filter(is_open));
        kept.collect::<Vec<_>>().join(";")
    });
    Cow::Owned(segments.collect::<Vec<_>>().join("/"))
}

/// Whether a parameter, which may be several separated by `;`, is secret.
pub(crate) fn parameter_is_secret(pair: &str) -> bool {
    redact::query(pair) != pair
}

/// Whether a value may come from the server: long enough and not a plain word.
pub(crate) fn is_extraction_candidate(name: &str, value: &str) -> bool {
    let length = value.chars().count();
    if length < VALUE_LENGTH_MIN || value.len() > VALUE_LEN_MAX {
        return false;
    }
    if names_token(name) {
        return !value.contains('\n');
    }
    if value.chars().any(char::is_whitespace) {
        return false;
    }
    let has_digit = value.bytes().any(|b| b.is_ascii_digit());
    has_digit || (length >= 20 && has_both_cases(value) && !value.contains(['/', '.']))
}

/// Whether a path segment identifies an object: a number, a UUID, hexadecimal or mixed characters.
pub(crate) fn is_id_segment(segment: &str) -> bool {
    let length = segment.len();
    if !(VALUE_LENGTH_MIN..=512).contains(&length) {
        return false;
    }
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    digits == length || is_uuid(segment) || is_random(segment)
}

/// Whether a value looks random: it very likely differs next time.
pub(crate) fn is_random(value: &str) -> bool {
    let length = value.chars().count();
    if length < 8 || !value.is_ascii() || value.contains([' ', '\n']) {
        return false;
    }
    if is_uuid(value) {
        return true;
    }
    let bytes = value.as_bytes();
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    let letters = bytes.iter().filter(|b| b.is_ascii_alphabetic()).count();
    let is_hexadecimal = digits + letters == length && bytes.iter().all(u8::is_ascii_hexdigit);
    if is_hexadecimal && digits > 0 && letters > 0 {
        return transitions(bytes) >= 3;
    }
    if digits == 0 || letters == 0 || length < 12 {
        return false;
    }
    // Names such as `jquery-3.7.1.min.js` mix letters and digits only at separators.
    let inner = transitions(bytes);
    inner >= 4 && inner * 8 >= length
}

/// Transitions between a letter and a digit, or from lower to upper case within a word.
fn transitions(bytes: &[u8]) -> usize {
    bytes
        .windows(2)
        .filter(|pair| {
            let (a, b) = (pair[0], pair[1]);
            (a.is_ascii_digit() && b.is_ascii_alphabetic())
                || (a.is_ascii_alphabetic() && b.is_ascii_digit())
                || (a.is_ascii_lowercase() && b.is_ascii_uppercase())
        })
        .count()
}

/// Whether it has the form of a UUID (RFC 9562).
pub(crate) fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.bytes().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

fn has_both_cases(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_lowercase()) && value.bytes().any(|b| b.is_ascii_uppercase())
}

/// A name valid in templates: lower case, letters, digits and `_`, a letter first.
pub(crate) fn slot_name(hint: &str) -> String {
    let mut name = String::new();
    for c in hint.chars().take(40) {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    let name = name.trim_end_matches('_');
    match name.bytes().next() {
        None => "value".to_owned(),
        Some(b) if b.is_ascii_digit() => format!("value_{name}"),
        Some(_) if RESERVED.contains(&name) => format!("{name}_value"),
        Some(_) => name.to_owned(),
    }
}

/// A name, or that name with the first number that makes it free: `id`, `id_2`, `id_3`.
pub(crate) fn free_name(base: String, is_free: impl Fn(&String) -> bool) -> String {
    let numbered = (2_usize..).map(|number| format!("{base}_{number}"));
    let mut names = std::iter::once(base.clone()).chain(numbered);
    names.find(is_free).unwrap_or(base)
}

/// Reserved names of templates.
const RESERVED: [&str; 20] = [
    "user",
    "iteration",
    "env",
    "file",
    "random_int",
    "random_string",
    "uuid",
    "pick",
    "now",
    "now_ms",
    "urlencode",
    "unescape",
    "base64",
    "sha256",
    "json",
    "true",
    "false",
    "null",
    "contains",
    "matches",
];

/// A literal for templates: recorded double braces open no placeholder.
pub(crate) fn literal(text: &str) -> String {
    text.replace("{{", "{{ pick('{{') }}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_told_from_words() {
        for id in [
            "123456",
            "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
            "9f86d081884c",
            "aZ3kQ9xT2bV7",
        ] {
            assert!(is_id_segment(id), "{id}");
        }
        for word in [
            "accounts",
            "jquery-3.7.1.min.js",
            "2024-report",
            "12345",
            "article-2024-may",
        ] {
            assert!(!is_id_segment(word), "{word}");
        }
    }

    #[test]
    fn values_are_worth_looking_for() {
        assert!(is_extraction_candidate("csrf_token", "abcdefgh"));
        assert!(is_extraction_candidate("id", "A-10023"));
        assert!(!is_extraction_candidate("action", "submit"));
        assert!(!is_extraction_candidate("id", "12345"));
        assert!(!is_extraction_candidate("title", "My 25 cats and dogs"));
    }

    #[test]
    fn names_are_made_fit_for_templates() {
        for (hint, name) in [
            ("X-CSRF-Token", "x_csrf_token"),
            ("@lastactivity", "lastactivity"),
            ("__VIEWSTATE", "viewstate"),
            ("user", "user_value"),
            ("2fa", "value_2fa"),
            ("€", "value"),
        ] {
            assert_eq!(slot_name(hint), name);
        }
    }
}
