//! The login in a URL, `user:password@`, as curl reads it: percent-decoded, and sent by basic authentication.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use url::Url;

/// `user:password` of a URL as bytes, percent-decoded; `None` when the URL has neither.
pub fn of(url: &Url) -> Option<Vec<u8>> {
    let (user, password) = (url.username(), url.password());
    if user.is_empty() && password.is_none() {
        return None;
    }
    let mut login: Vec<u8> = percent_decode_str(user).collect();
    login.push(b':');
    login.extend(percent_decode_str(password.unwrap_or_default()));
    Some(login)
}

/// The value of `Authorization` for `user:password` (RFC 7617).
pub fn basic(login: &[u8]) -> String {
    format!("Basic {}", STANDARD.encode(login))
}

/// A part of a login in a URL, percent-decoded; as written where the result would not be UTF-8.
pub(crate) fn decoded(part: &str) -> String {
    percent_decode_str(part)
        .decode_utf8()
        .map_or_else(|_| part.to_owned(), Cow::into_owned)
}

/// The text of a URL without its login.
pub(crate) fn removed(text: &str) -> Cow<'_, str> {
    let Some(start) = text.find("://").map(|at| at + 3) else {
        return Cow::Borrowed(text);
    };
    let end = text[start..]
        .find(['/', '?', '#'])
        .map_or(text.len(), |at| start + at);
    match text[start..end].rfind('@') {
        Some(at) => Cow::Owned([&text[..start], &text[start + at + 1..]].concat()),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_decoded_as_curl_does() {
        let check = |text: &str, expected: Option<&[u8]>| {
            let url = Url::parse(text).unwrap();
            assert_eq!(of(&url).as_deref(), expected, "{text}");
        };
        check("http://site/", None);
        check("http://ada:pa%40ss@site/", Some(b"ada:pa@ss"));
        check("http://ada@site/", Some(b"ada:"));
        check("http://:secret@site/", Some(b":secret"));
        check("http://a%3Ab:c%3ad%25@site/", Some(b"a:b:c:d%"));
        check("http://ada:100%@site/", Some(b"ada:100%"));
        check("http://ada:caf%E9@site/", Some(b"ada:caf\xe9"));
        check("http://ada:p\u{e9}@site/", Some("ada:p\u{e9}".as_bytes()));
        check("http://ada:a+b@site/", Some(b"ada:a+b"));
        assert_eq!(basic(b"ada:pa@ss"), "Basic YWRhOnBhQHNz");
    }

    #[test]
    fn a_login_can_be_left_out() {
        let check = |text: &str, expected: &str| assert_eq!(removed(text), expected);
        check("http://ada:pw@site/a@b", "http://site/a@b");
        check("http://ada:p@w@site", "http://site");
        check("/a@b", "/a@b");
        check("https://site/?x=http://a@b", "https://site/?x=http://a@b");
        assert_eq!(decoded("pa%40ss"), "pa@ss");
        assert_eq!(decoded("%E9"), "%E9");
    }
}
