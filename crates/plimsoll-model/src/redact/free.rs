//! Text of any kind: messages, lines of files that they quote, errors of drivers.

use std::borrow::Cow;

use super::target::login;
use super::{NameSensitivity, Patched, REDACTED, is_file_flag, kind_of};

/// Longest name that is examined, bytes.
const NAME_LEN_MAX: usize = 160;
/// Scheme before a credential in the value of a header (RFC 9110, 11.6).
const SCHEMES: [&str; 6] = ["basic", "bearer", "digest", "token", "negotiate", "apikey"];
/// Separator of login and address in the data sources of Go drivers.
const NETWORKS: [&str; 2] = ["@tcp(", "@unix("];
/// Longest such login, bytes.
const LOGIN_LEN_MAX: usize = 512;
/// Shortest word after a scheme that counts as a credential, bytes.
const CREDENTIAL_LEN_MIN: usize = 6;
/// Begin of an invitation to an agent or a coordinator, and the shortest one that is a secret, bytes.
const INVITATION: &str = "plimsoll1-";
const INVITATION_LEN_MIN: usize = 30;

/// Any text with recognizable secrets replaced: `user:password@` of URLs and data sources, `name=value`, `name:
/// value`, `"name":"value"`, `--name value`, `Bearer …`, JSON Web Tokens, and invitations of this program. `--name-file PATH`
/// names a file: it stays.
pub fn text(text: &str) -> Cow<'_, str> {
    let mut scan = Scan {
        text,
        at: 0,
        has_network: NETWORKS.iter().any(|mark| text.contains(mark)),
        patched: Patched::default(),
    };
    while scan.at < text.len() {
        scan.step();
    }
    scan.patched.finish(text)
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    has_network: bool,
    patched: Patched,
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'%' | b'[' | b']')
}

/// A token of `plimsoll agent --invite`, or what is left of one.
fn is_invitation(name: &str) -> bool {
    name.starts_with(INVITATION) && name.len() >= INVITATION_LEN_MIN
}

/// Where a value without quotes ends.
fn ends_value(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '&' | '<' | '>' | '|' | '\0' | '#')
}

impl Scan<'_> {
    /// Examines the token that starts here, and continues after it.
    fn step(&mut self) {
        let text = self.text;
        let rest = &text[self.at..];
        if rest.starts_with("://") {
            let start = self.at + 3;
            let end = start + text[start..].find(ends_url).unwrap_or(text.len() - start);
            self.at = login(text, start, end, &mut self.patched);
            return;
        }
        let first = rest.as_bytes()[0];
        if !is_name(first) {
            self.at += rest.chars().next().map_or(1, char::len_utf8);
            return;
        }
        let len = rest.bytes().take_while(|&byte| is_name(byte)).count();
        let name = &rest[..len];
        if name.starts_with("eyJ") && name.matches('.').count() >= 2 || is_invitation(name) {
            return self.replace(self.at, self.at + len);
        }
        if self.login_without_scheme() || self.credential(name) {
            return;
        }
        let kind = if is_file_flag(name) {
            NameSensitivity::Open
        } else if len <= NAME_LEN_MAX {
            kind_of(name.as_bytes())
        } else {
            NameSensitivity::Secret
        };
        let after = self.at + len;
        if kind == NameSensitivity::Open || !self.value(name, kind, after) {
            self.at = after;
        }
    }

    fn replace(&mut self, from: usize, to: usize) {
        let value = &self.text[from..to];
        // Templates name the source of a secret, a replaced secret is no secret, and `…` stands for one in our own help.
        let is_place = value.starts_with(REDACTED) || value == "…" || is_expression(value);
        if !value.is_empty() && !is_place {
            self.patched.replace(self.text, (from, to), REDACTED);
        }
        self.at = to;
    }

    /// `user:password@tcp(host)`, as drivers in Go write it.
    fn login_without_scheme(&mut self) -> bool {
        if !self.has_network {
            return false;
        }
        let near = self.text[self.at..].char_indices().take(LOGIN_LEN_MAX);
        let len = near
            .take_while(|(_, c)| !c.is_whitespace())
            .map(|(at, c)| at + c.len_utf8())
            .last();
        let word = &self.text[self.at..self.at + len.unwrap_or(0)];
        let at = NETWORKS.iter().find_map(|mark| word.find(mark));
        let Some(at) = at.filter(|&at| word[..at].contains(':')) else {
            return false;
        };
        self.replace(self.at, self.at + at);
        true
    }

    /// `Bearer abc`, anywhere in the text.
    fn credential(&mut self, name: &str) -> bool {
        if !SCHEMES
            .iter()
            .any(|scheme| name.eq_ignore_ascii_case(scheme))
        {
            return false;
        }
        let is_bearer = name.eq_ignore_ascii_case("bearer");
        // `/run/secrets/token --listen`: a file.
        if self.text[..self.at].ends_with('/') && !is_bearer {
            return false;
        }
        let start = self.at + name.len();
        let Some(value) = self.text[start..].strip_prefix(' ') else {
            return false;
        };
        let len = value.find(ends_value).unwrap_or(value.len());
        let is_token_char = |c: char| c.is_ascii_alphanumeric() || "-._~+/=:,;".contains(c);
        let credential = &value[..len];
        // `Token` and `Basic` begin sentences too.
        let is_word = credential.bytes().all(|byte| byte.is_ascii_lowercase()) && !is_bearer;
        if len < CREDENTIAL_LEN_MIN || is_word || !credential.chars().all(is_token_char) {
            return false;
        }
        self.replace(start + 1, start + 1 + len);
        true
    }

    /// The value after a secret name; false when there is none.
    fn value(&mut self, name: &str, kind: NameSensitivity, after: usize) -> bool {
        let text = self.text;
        let quote = text[..self.at]
            .chars()
            .next_back()
            .filter(|c| matches!(c, '"' | '\''));
        let mut at = after;
        let is_quoted = quote.is_some_and(|quote| text[at..].starts_with(quote));
        if is_quoted {
            at += 1;
        }
        let spaces = |from: usize| {
            from + text[from..]
                .bytes()
                .take_while(|&byte| byte == b' ')
                .count()
        };
        let sign = spaces(at);
        let (is_equals, start) = match text[sign..].chars().next() {
            Some('=') => (
                true,
                spaces(sign + 1 + usize::from(text[sign..].starts_with("=>"))),
            ),
            Some(':') if !text[sign..].starts_with("://") => (false, spaces(sign + 1)),
            _ if name.starts_with("--") && kind == NameSensitivity::Secret && sign > at => {
                return self.argument(sign);
            }
            _ => return false,
        };
        // `code: 3` is a sentence, and so is `key: none`; in quotes they are JSON.
        if !is_equals && kind == NameSensitivity::Word && !is_quoted {
            return false;
        }
        // `token.txt: no such file`, `/run/secrets/key: not found`, `a::b`.
        let is_path =
            name.contains('.') || text[..self.at].ends_with('/') || text[start..].starts_with(':');
        if !is_equals && !is_quoted && is_path {
            return false;
        }
        self.replace_value(start, is_equals);
        true
    }

    fn argument(&mut self, start: usize) -> bool {
        if self.text[start..].starts_with(['-', '<', '[']) {
            return false;
        }
        self.replace_value(start, true);
        true
    }

    /// Replaces the value that begins at `start`, within its quotes if it has some.
    fn replace_value(&mut self, start: usize, is_equals: bool) {
        let rest = &self.text[start..];
        match rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            Some(quote) => {
                let mut is_escaped = false;
                let mut inner = rest.char_indices().skip(1);
                let end = inner.find(|&(_, c)| {
                    let ends = (c == quote && !is_escaped) || c == '\n';
                    is_escaped = c == '\\' && !is_escaped;
                    ends
                });
                self.replace(start + 1, start + end.map_or(rest.len(), |(at, _)| at));
            }
            None => self.replace(start, start + len_of_value(rest, is_equals)),
        }
    }
}

/// Whether a value is an expression of a template and nothing else.
fn is_expression(value: &str) -> bool {
    let inner = value
        .strip_prefix("{{")
        .and_then(|rest| rest.strip_suffix("}}"));
    inner.is_some_and(|inner| !inner.contains("}}"))
}

/// Where a word ends; expressions, which have spaces, are part of it.
fn end_of_word(rest: &str) -> usize {
    let mut at = 0;
    // No expression ends after this.
    let last = rest.rfind("}}").unwrap_or(0);
    while let Some(c) = rest[at..].chars().next() {
        let begun = rest[at..].strip_prefix("{{").filter(|_| at < last);
        let expression = begun.and_then(|rest| rest.find("}}"));
        at += match expression {
            Some(len) => len + 4,
            None if ends_value(c) => return at,
            None => c.len_utf8(),
        };
    }
    at
}

/// Length of the value without quotes that a text begins with.
fn len_of_value(rest: &str, is_equals: bool) -> usize {
    let end = if is_equals {
        // A scheme includes its credential.
        let first = end_of_word(rest);
        let is_scheme = SCHEMES
            .iter()
            .any(|scheme| rest[..first].eq_ignore_ascii_case(scheme));
        match rest[first..].strip_prefix(' ').filter(|_| is_scheme) {
            Some(more) => first + 1 + end_of_word(more),
            None => first,
        }
    } else {
        // The value of a header has spaces.
        match rest.strip_prefix("{{").and_then(|rest| rest.find("}}")) {
            Some(len) => len + 4,
            None => rest
                .find(['\n', '\r', '"', '\'', '`', '}', '<'])
                .unwrap_or(rest.len()),
        }
    };
    let kept = rest[..end].trim_end_matches(['.', ',', ';', ':', ')', ' ']);
    if kept.is_empty() { end } else { kept.len() }
}

fn ends_url(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '\0')
}
