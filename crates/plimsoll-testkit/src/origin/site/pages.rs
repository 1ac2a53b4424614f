//! The response of each path.

use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_model::lock::lock;

use super::{SiteRequest, SiteSession, SiteState};
use crate::origin::response::whole;

/// The token of the login form; the same for all, as it is bound to no session.
const LOGIN_TOKEN: &str = "t0k&n";

pub(super) fn answer(asked: &SiteRequest<'_>, shared: &SiteState) -> Vec<u8> {
    let (first, rest) = asked.path[1..]
        .split_once('/')
        .unwrap_or((&asked.path[1..], ""));
    match (asked.method, first) {
        ("GET", "login") => {
            let visit = format!("Set-Cookie: visit={}; Path=/login", shared.number());
            let form = "<form><input name=\"csrf\" value=\"t0k&amp;n\"></form>";
            whole(200, &[&visit, "Content-Type: text/html"], form.as_bytes())
        }
        ("POST", "login") => login(asked, shared),
        ("GET", "home") => match name(asked, shared) {
            Some(name) => plain(200, &format!("Hello {name}")),
            None => whole(302, &["Location: /login"], b""),
        },
        ("GET", "form") => form(asked, shared),
        ("POST", "save") => save(asked, shared),
        ("GET", "items") => {
            let items = r#"{"items":[{"id":7,"name":"pen"},{"id":9,"name":"ink"}],"next":null}"#;
            whole(200, &["Content-Type: application/json"], items.as_bytes())
        }
        ("GET", "page") => page(),
        ("GET", "asset") => asset(asked),
        (_, "status") => plain(rest.parse().unwrap_or(500), "status"),
        ("GET", "slow") => {
            shared.wait(Duration::from_millis(rest.parse().unwrap_or(0)));
            plain(200, "slow")
        }
        ("GET", "failing") => whole(302, &["Location: /status/500"], b""),
        ("GET", "loop") => whole(302, &["Location: /loop"], b""),
        ("GET", "away") => whole(302, &["Location: http://other.example/"], b""),
        ("GET", "gzip") => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder
                .write_all(b"Hello gzip")
                .expect("a vector takes every byte");
            let coded = encoder.finish().expect("a vector takes every byte");
            whole(200, &["Content-Encoding: gzip"], &coded)
        }
        (_, "echo") => whole(200, &["Content-Type: text/plain"], asked.bytes),
        _ => plain(404, "nothing here"),
    }
}

fn name(asked: &SiteRequest<'_>, shared: &SiteState) -> Option<String> {
    let sessions = lock(&shared.sessions);
    sessions.get(asked.sid.as_ref()?)?.name.clone()
}

fn login(asked: &SiteRequest<'_>, shared: &SiteState) -> Vec<u8> {
    let field = |name| field(&asked.body, name);
    let is_right = field("password").as_deref() == Some("secret")
        && field("csrf").as_deref() == Some(LOGIN_TOKEN);
    let Some(name) = field("username").filter(|_| is_right) else {
        return whole(302, &["Location: /login?failed"], b"");
    };
    let sid = format!("s{}", shared.number());
    let session = SiteSession {
        name: Some(name),
        ..SiteSession::default()
    };
    lock(&shared.sessions).insert(sid.clone(), session);
    let cookie = format!("Set-Cookie: sid={sid}; Path=/; HttpOnly");
    whole(302, &["Location: /home", &cookie], b"")
}

fn form(asked: &SiteRequest<'_>, shared: &SiteState) -> Vec<u8> {
    let number = shared.number();
    let mut sessions = lock(&shared.sessions);
    let session = asked.sid.as_ref().and_then(|sid| sessions.get_mut(sid));
    let Some(session) = session else {
        return whole(302, &["Location: /login"], b"");
    };
    session.token = format!("tok-{number}");
    let form = format!(
        "<form><input name=\"csrf\" value=\"{}\"></form>",
        session.token
    );
    whole(200, &["Content-Type: text/html"], form.as_bytes())
}

fn save(asked: &SiteRequest<'_>, shared: &SiteState) -> Vec<u8> {
    let mut sessions = lock(&shared.sessions);
    let session = asked.sid.as_ref().and_then(|sid| sessions.get_mut(sid));
    let token = field(&asked.body, "csrf").unwrap_or_default();
    match session {
        Some(session) if !token.is_empty() && session.token == token => {
            session.token.clear();
            session.saved += 1;
            let body = format!("{{\"saved\":{}}}", session.saved);
            whole(200, &["Content-Type: application/json"], body.as_bytes())
        }
        _ => plain(403, "bad token"),
    }
}

fn page() -> Vec<u8> {
    let page = "<html><head><link rel=\"stylesheet\" href=\"/asset/a.css?age=60\">\
                <script src=\"asset/b.js\"></script></head><body>\
                <img src=\"/asset/c.png\"><img src=\"/asset/missing\">\
                <img src=\"http://other.example/d.png\"></body></html>";
    whole(200, &["Content-Type: text/html"], page.as_bytes())
}

fn asset(asked: &SiteRequest<'_>) -> Vec<u8> {
    let name = asked.path.trim_start_matches("/asset/");
    if name == "missing" {
        return plain(404, "missing");
    }
    let tag = format!("\"{name}-1\"");
    let etag = format!("ETag: {tag}");
    let age = asked.query.strip_prefix("age=").unwrap_or("0");
    let control = format!("Cache-Control: max-age={age}");
    if asked.if_none_match.as_deref() == Some(&tag) {
        return whole(304, &[&etag, &control], b"");
    }
    whole(200, &[&etag, &control], &[b'x'; 100])
}

/// The value of a field of a form, decoded.
fn field(body: &str, name: &str) -> Option<String> {
    let value = body
        .split('&')
        .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

pub(super) fn plain(status: u16, body: &str) -> Vec<u8> {
    whole(status, &["Content-Type: text/plain"], body.as_bytes())
}
