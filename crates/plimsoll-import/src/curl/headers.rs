//! Headers: those of options, and those that curl adds itself.

use super::body::CurlBody;
use super::context::Context;
use super::invocation::{PlacedText, Transfer};
use crate::script::Marks;

/// What the newest curl calls itself.
const AGENT: &str = "curl/8.17.0";
/// Codings that `--compressed` asks for.
const CODINGS: &str = "deflate, gzip, br, zstd";
/// Headers that occur once: a second one is lost.
const SINGLE: [&str; 10] = [
    "accept-encoding",
    "authorization",
    "content-encoding",
    "content-type",
    "host",
    "if-modified-since",
    "origin",
    "range",
    "referer",
    "user-agent",
];

/// The headers that a command sets or removes with `-H`.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnHeaders {
    set: Vec<(String, String)>,
    /// Each with its byte.
    removed: Vec<(usize, String)>,
}

impl OwnHeaders {
    /// Reads the values of `-H`: `Name: value`, `Name;` (empty), `Name:` (removed), `@FILE`.
    pub(super) fn read(context: &mut Context<'_>, transfer: &Transfer) -> Self {
        let mut headers = Self::default();
        for PlacedText { at, text } in &transfer.headers {
            match text.strip_prefix('@') {
                None => headers.line(context, *at, text),
                Some(path) => {
                    let lines = super::body::content(context, transfer, *at, path, false);
                    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
                        headers.line(context, *at, line);
                    }
                }
            }
        }
        headers
    }

    fn line(&mut self, context: &mut Context<'_>, at: usize, line: &str) {
        let line = line.trim_end_matches(['\r', '\n']);
        let lose = |context: &mut Context<'_>, why: &str, remedy: &str| {
            let name = line.split(':').next().unwrap_or(line);
            context.lose(at, &format!("--header {name}"), why, remedy);
        };
        let (name, value) = match line.split_once(':') {
            Some((name, value)) => (name.trim_end(), Some(value.trim())),
            None => match line.trim_end().strip_suffix(';') {
                Some(name) => (name, None),
                None => return lose(context, "it is not a header", "write NAME: VALUE"),
            },
        };
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) {
            let remedy = "write the name itself: letters, digits and -";
            return lose(context, "its name is not a valid header name", remedy);
        }
        if value.is_some_and(|value| value.chars().any(|c| c.is_control() && c != '\t')) {
            let remedy = "write each header with its own --header";
            return lose(context, "its value has a control character", remedy);
        }
        let lower = name.to_ascii_lowercase();
        match (lower.as_str(), value) {
            (_, Some("")) => self.removed.push((at, lower)),
            ("content-length" | "expect", _) => {}
            ("connection", Some(value)) if value.eq_ignore_ascii_case("keep-alive") => {}
            ("connection" | "transfer-encoding" | "keep-alive", Some(value)) => context.lose(
                at,
                &format!("{name}: {value}"),
                "plans manage connections and the length of bodies themselves",
                "for a connection a request: transport: { requests_per_connection: 1 }",
            ),
            (_, value) => self.add(context, at, name, value.unwrap_or_default()),
        }
    }

    fn add(&mut self, context: &mut Context<'_>, at: usize, name: &str, value: &str) {
        let known = self
            .set
            .iter_mut()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        let Some((_, known)) = known else {
            self.set.push((name.to_owned(), value.to_owned()));
            return;
        };
        if known == value {
            return;
        }
        let lower = name.to_ascii_lowercase();
        if SINGLE.contains(&lower.as_str()) {
            context.lose(
                at,
                &format!("the second header {name}"),
                "a request of a plan has each header once",
                "leave out one of them",
            );
            return;
        }
        known.push_str(if lower == "cookie" { "; " } else { ", " });
        known.push_str(value);
        context.note(format!(
            "headers of one name are sent as one, their values separated by a comma: {name}"
        ));
    }

    /// The value of a header.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.set
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Adds a header of curl's own, unless the command sets or removes it.
    fn add_default(&mut self, name: &str, value: String) {
        let is_removed = self.removed.iter().any(|(_, removed)| removed == name);
        if self.get(name).is_none() && !is_removed {
            self.set.push((name.to_owned(), value));
        }
    }

    /// All headers of a request, with secrets in the environment.
    pub(super) fn finish(
        mut self,
        context: &mut Context<'_>,
        transfer: &Transfer,
        credentials: Option<&str>,
        body: Option<&CurlBody>,
    ) -> Vec<(String, String)> {
        self.logins(context, transfer, credentials);
        match &transfer.agent {
            Some(agent) if agent.text.is_empty() => {
                self.removed.push((agent.at, "user-agent".to_owned()));
            }
            Some(agent) => self.add_default("user-agent", agent.text.clone()),
            None => self.add_default("user-agent", AGENT.to_owned()),
        }
        let accept = body.and_then(|body| body.accept).unwrap_or("*/*");
        self.add_default("accept", accept.to_owned());
        if transfer.compressed {
            self.add_default("accept-encoding", CODINGS.to_owned());
        }
        if let Some(referer) = &transfer.referer {
            self.referer(context, referer);
        }
        if let Some(range) = &transfer.range {
            let units = if range.text.contains('=') {
                ""
            } else {
                "bytes="
            };
            self.add_default("range", format!("{units}{}", range.text));
        }
        if !transfer.cookies.is_empty() {
            let cookies = transfer.cookies.iter().map(|cookie| cookie.text.trim());
            self.add_default("cookie", cookies.collect::<Vec<_>>().join("; "));
        }
        if let Some(media_type) = body.and_then(|body| body.media_type) {
            self.add_default("content-type", media_type.to_owned());
        }
        let is_absent = |name: &str| self.get(name).is_none();
        for (at, name) in &self.removed {
            if ["accept", "user-agent"].contains(&name.as_str()) && is_absent(name) {
                context.lose(
                    *at,
                    &format!("--header {name}:"),
                    "every request of a plan has this header",
                    "give it a value",
                );
            }
        }
        self.set
            .into_iter()
            .map(|(name, value)| {
                let value = context.secrets.header(&mut context.marks, &name, &value);
                (name, value)
            })
            .collect()
    }

    /// `--oauth2-bearer`, `--user` and the login of the URL.
    fn logins(
        &mut self,
        context: &mut Context<'_>,
        transfer: &Transfer,
        credentials: Option<&str>,
    ) {
        if let Some(token) = &transfer.bearer {
            self.add_default("authorization", format!("Bearer {}", token.text));
        }
        let user = transfer.user.as_ref().map(|user| user.text.as_str());
        let Some(login) = user.or(credentials) else {
            return;
        };
        let whole = if login.contains(':') || Marks::are_in(login) {
            login.to_owned()
        } else {
            format!("{login}:")
        };
        let value = context.secrets.basic(&mut context.marks, &whole);
        self.add_default("authorization", value);
    }

    /// `--referer URL;auto`: the second half is about redirects.
    fn referer(&mut self, context: &mut Context<'_>, referer: &PlacedText) {
        let fixed = match referer.text.strip_suffix(";auto") {
            Some(fixed) => {
                context.lose(
                    referer.at,
                    "--referer …;auto",
                    "a plan sends no Referer of its own after a redirect",
                    "write the second request as a step of its own",
                );
                fixed
            }
            None => &referer.text,
        };
        if !fixed.is_empty() {
            self.add_default("referer", fixed.to_owned());
        }
    }
}
