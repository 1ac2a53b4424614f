//! URLs of a script, split into origin and path.

use super::machine::Machine;
use super::text::{Hole, Piece, Text};
use crate::script::TWO_SLASHES;
use crate::script::draft::UrlDraft;
use crate::script::encoding::PATH;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// What cannot stand in a query.
const IN_QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>');
/// What `encodeURI` leaves.
const URI: &AsciiSet = &PATH.add(b'%').add(b'[').add(b']');
/// What `encodeURIComponent` leaves.
const COMPONENT: &AsciiSet = &percent_encoding::NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// A text as `encodeURIComponent` or `encodeURI` writes it.
pub(super) fn encoded(text: &str, is_component: bool) -> String {
    utf8_percent_encode(text, if is_component { COMPONENT } else { URI }).to_string()
}

/// A URL, and the login that stood in it.
pub(super) struct SplitUrl {
    pub(super) url: UrlDraft,
    /// User and password.
    pub(super) login: Option<(Text, Text)>,
}

impl Machine<'_, '_> {
    /// Splits a URL.
    pub(super) fn split_url(&mut self, text: &Text, at: u32) -> SplitUrl {
        let (mut origin, rest) = split_origin(text);
        let login = login(&mut origin);
        if let Some(host) = origin.constant().filter(|origin| !origin.is_empty())
            && !host.starts_with("http://")
            && !host.starts_with("https://")
        {
            self.lose(
                at,
                format!("the scheme of {host}"),
                "a plan requests http:// and https:// URLs",
                "write the URL of the site",
            );
        }
        if matches!(rest.pieces().first(), Some(Piece::Literal(start)) if start.starts_with("//")) {
            let (what, how) = TWO_SLASHES;
            self.lose(at, what, how.why, how.remedy);
        }
        let path = encoded_path(&rest);
        let origin = self.origin_template(&origin);
        SplitUrl {
            url: UrlDraft {
                origin,
                path: self.template(&path),
            },
            login,
        }
    }

    /// The origin; a variable's default has no slash at its end, for the path has one.
    fn origin_template(&mut self, origin: &Text) -> crate::script::Template {
        let mut out = Text::default();
        for piece in origin.pieces() {
            match piece {
                Piece::Literal(text) => out.push_str(text),
                Piece::Hole(hole) => {
                    let expression = hole.expression.replace("/')", "')").replace("/\")", "\")");
                    out.push(&Text::hole(Hole {
                        expression,
                        ..hole.clone()
                    }));
                }
            }
        }
        self.template(&out)
    }
}

/// Origin and the rest, which begins with `/` or `?` or is empty.
fn split_origin(text: &Text) -> (Text, Text) {
    let is_whole = text
        .pieces()
        .first()
        .is_some_and(|piece| matches!(piece, Piece::Literal(first) if first.starts_with('/')));
    // What a response or a row names may be a path or a whole URL.
    let is_known_at_run_time = matches!(text.pieces().first(), Some(Piece::Hole(hole)) if hole.likely.is_none() && !hole.expression.starts_with("env("));
    if is_whole || is_known_at_run_time {
        return (Text::default(), text.clone());
    }
    let starts_with_hole = matches!(text.pieces().first(), Some(Piece::Hole(hole)) if hole.likely.as_deref().is_none_or(|likely| likely.is_empty() || likely.contains("://")));
    let split = text.split(|index, literal| {
        let from = if index == 0 {
            literal.find("://").map_or(0, |at| at + 3)
        } else {
            0
        };
        literal[from..].find(['/', '?', '#']).map(|at| from + at)
    });
    match split {
        Some((origin, rest)) => (origin, rest),
        // `${BASE_URL}api/users`: the variable ends with a slash.
        None if starts_with_hole && text.pieces().len() > 1 => {
            let first = match &text.pieces()[0] {
                Piece::Hole(hole) => Text::hole(hole.clone()),
                Piece::Literal(text) => Text::literal(text.clone()),
            };
            let mut rest = Text::literal("/");
            for piece in &text.pieces()[1..] {
                match piece {
                    Piece::Hole(hole) => rest.push(&Text::hole(hole.clone())),
                    Piece::Literal(text) => rest.push_str(text),
                }
            }
            (first, rest)
        }
        None => (text.clone(), Text::default()),
    }
}

/// Takes user and password out of an origin.
fn login(origin: &mut Text) -> Option<(Text, Text)> {
    let (before, after) = origin.split(|_, literal| literal.find('@'))?;
    let (scheme, login) = before.split(|_, literal| literal.find("://"))?;
    let login = {
        let (_, rest) = login.split(|_, literal| literal.find("://").map(|at| at + 3))?;
        rest
    };
    let host = {
        let (_, rest) = after.split(|_, literal| literal.find('@').map(|at| at + 1))?;
        rest
    };
    let (user, password) = match login.split(|_, literal| literal.find(':')) {
        Some((user, rest)) => {
            let password = rest
                .split(|_, literal| literal.find(':').map(|at| at + 1))
                .map(|(_, password)| password);
            (user, password.unwrap_or_default())
        }
        None => (login, Text::default()),
    };
    let mut plain = scheme;
    plain.push_str("://");
    plain.push(&host);
    *origin = plain;
    let decoded = |text: &Text| {
        text.map(|text| {
            percent_encoding::percent_decode_str(text)
                .decode_utf8_lossy()
                .into_owned()
        })
    };
    Some((decoded(&user), decoded(&password)))
}

/// Path and query, encoded and without the fragment.
fn encoded_path(rest: &Text) -> Text {
    let rest = match rest.split(|_, literal| literal.find('#')) {
        Some((before, _)) => before,
        None => rest.clone(),
    };
    let (path, query) = match rest.split(|_, literal| literal.find('?')) {
        Some((path, query)) => (path, Some(query)),
        None => (rest, None),
    };
    let mut whole = path.map(|text| utf8_percent_encode(text, PATH).to_string());
    if whole.pieces().is_empty() {
        whole.push_str("/");
    }
    if let Some(query) = query {
        whole.push(&query.map(|text| utf8_percent_encode(text, IN_QUERY).to_string()));
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_split_at_the_first_slash_behind_the_host() {
        let check = |text: Text, expected: (&str, &str)| {
            let (origin, rest) = split_origin(&text);
            let path = encoded_path(&rest);
            assert_eq!(
                (origin.template().as_str(), path.template().as_str()),
                expected
            );
        };
        check(
            Text::literal("https://a.test/b c?q=1 2#x"),
            ("https://a.test", "/b%20c?q=1%202"),
        );
        check(Text::literal("https://a.test"), ("https://a.test", "/"));
        let mut text = Text::hole(Hole::stable("env('BASE')"));
        text.push_str("/x");
        check(text, ("{{ env('BASE') }}", "/x"));
        let mut text = Text::hole(Hole::stable("env('BASE')"));
        text.push_str("api");
        check(text, ("{{ env('BASE') }}", "/api"));
    }

    #[test]
    fn a_login_is_taken_out_of_a_url() {
        let mut origin = Text::literal("https://ann:p%40ss@a.test");
        let (user, password) = login(&mut origin).unwrap();
        assert_eq!(origin.constant(), Some("https://a.test"));
        assert_eq!(
            (user.constant(), password.constant()),
            (Some("ann"), Some("p@ss"))
        );
    }

    #[test]
    fn components_are_encoded_as_javascript_does() {
        assert_eq!(encoded("a b&c=ü!", true), "a%20b%26c%3D%C3%BC!");
        assert_eq!(encoded("/a b?c=1", false), "/a%20b?c=1");
    }
}
