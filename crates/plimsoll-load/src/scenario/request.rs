//! Requests: the constant parts of their heads are built once, the rest is filled in per user.

use plimsoll_model::journey::{self, Journey, RequestStep, StepId};
use plimsoll_model::plan::Plan;
use plimsoll_wire::request::is_idempotent;

use super::body::CompiledBody;
use super::expect::Expectations;
use super::extract::Capture;
use super::origin::{Origins, RequestOrigin, tidy};
use super::text::{CompiledText, TemplateValues, number};
use crate::clock::nanoseconds;
use crate::jar::{CookieSite, Jar};

/// A compiled request.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says one thing of a request, and any of them may hold"
)]
pub(crate) struct CompiledRequest {
    pub(crate) id: StepId,
    /// Outside of the measured loop.
    pub(crate) once: bool,
    pub(crate) method: String,
    url: CompiledUrl,
    lines: Vec<HeaderLine>,
    /// A `Cookie` header of the plan.
    cookie: Option<CompiledText>,
    sets_host: bool,
    /// Whether a header of the plan gives the length of the body.
    framed: bool,
    pub(crate) body: CompiledBody,
    pub(crate) follow: u32,
    pub(crate) timeout_ns: Option<u64>,
    pub(crate) captures: Vec<Capture>,
    pub(crate) expectations: Expectations,
    pub(crate) keeps_cookies: bool,
    pub(crate) wants_head: bool,
    pub(crate) wants_body: bool,
    /// Most bytes of the body that are stored, when that is not the plan's limit for bodies.
    pub(crate) body_retained_max: Option<usize>,
    /// Most bytes of it that are sent to a process.
    pub(crate) script_body_len_max: usize,
    pub(crate) idempotent: bool,
}

#[derive(Clone, Debug)]
enum CompiledUrl {
    /// Path and query on an origin.
    Known(u16, CompiledText, Constant),
    /// Known when its placeholders are filled.
    Filled(CompiledText),
}

/// Whether a target is constant, and thus encoded already.
type Constant = bool;

/// Headers of a request's head.
#[derive(Clone, Debug)]
struct HeaderLine {
    /// Whole lines, or name and colon of one.
    start: Vec<u8>,
    value: Option<CompiledText>,
    /// Entity headers: left out where a redirect drops the body.
    about_body: bool,
}

/// The destination of a request.
pub(crate) struct Aim<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a [u8],
    pub(crate) origin: &'a RequestOrigin,
    /// Length of the body, if there is one.
    pub(crate) body_len: Option<usize>,
    /// Further lines of the head.
    pub(crate) lines: &'a [u8],
}

impl CompiledRequest {
    /// # Errors
    /// What is wrong with the step.
    pub(crate) fn new(
        step: &RequestStep,
        journey: &Journey,
        plan: &Plan,
        origins: &Origins,
        once: bool,
    ) -> Result<Self, String> {
        // It need not be unguessable, only absent from the content.
        let boundary = format!("plimsoll-{:016x}", plan.seed.derive(u64::from(step.id)).0);
        let (body, content_type) = CompiledBody::new(&step.body, &boundary);
        let mut headers = merged(plan, journey, step);
        let has = |headers: &[(String, CompiledText)], name: &str| {
            headers
                .iter()
                .any(|(other, _)| other.eq_ignore_ascii_case(name))
        };
        if let Some(kind) = content_type
            && !has(&headers, "content-type")
        {
            headers.push((
                "Content-Type".to_owned(),
                CompiledText::literal(kind.as_bytes()),
            ));
        }
        let cookie = headers
            .iter()
            .position(|(name, _)| name.eq_ignore_ascii_case("cookie"))
            .map(|index| headers.remove(index).1);
        let captures: Result<Vec<_>, _> = step.captures.iter().map(Capture::new).collect();
        let captures = captures?;
        let expectations = Expectations::new(&step.expectations)?;
        let wants_head = expectations.wants_head() || captures.iter().any(Capture::wants_head);
        let wants_body = expectations.wants_body() || captures.iter().any(Capture::wants_body);
        Ok(Self {
            id: step.id,
            once,
            method: checked_method(&step.method)?,
            url: CompiledUrl::new(&step.url, origins)?,
            sets_host: has(&headers, "host"),
            framed: has(&headers, "content-length") || has(&headers, "transfer-encoding"),
            lines: lines(headers),
            cookie,
            body,
            follow: step.follow,
            timeout_ns: step.timeout.map(nanoseconds),
            captures,
            expectations,
            keeps_cookies: journey.cookies,
            wants_head,
            wants_body,
            body_retained_max: None,
            script_body_len_max: 0,
            idempotent: is_idempotent(&step.method),
        })
    }

    /// Origin, path and query of its target; `base` is the user's current URL.
    ///
    /// # Errors
    /// When the origin is not in the plan.
    pub(crate) fn target(
        &self,
        origins: &Origins,
        base: (u16, &[u8]),
        values: &mut TemplateValues<'_>,
        out: &mut Vec<u8>,
    ) -> Result<u16, String> {
        match &self.url {
            CompiledUrl::Known(origin, text, is_constant) => {
                text.render(values, out);
                if !is_constant {
                    tidy(out);
                }
                Ok(*origin)
            }
            CompiledUrl::Filled(text) => {
                let filled = text.filled(values);
                let (origin, mut target) =
                    origins.resolve(base.0, base.1, &filled).ok_or_else(|| {
                        let url = super::expect::shown(&filled);
                        format!(
                            "{url} is not on an origin of the plan; add the origin to the targets"
                        )
                    })?;
                tidy(&mut target);
                *out = target;
                Ok(origin)
            }
        }
    }

    /// Appends the head.
    pub(crate) fn head(
        &self,
        aim: &Aim<'_>,
        jar: &Jar,
        now: u64,
        values: &mut TemplateValues<'_>,
        out: &mut Vec<u8>,
    ) {
        for segment in [aim.method.as_bytes(), b" ", aim.target, b" HTTP/1.1\r\n"] {
            out.extend_from_slice(segment);
        }
        if !self.sets_host {
            out.extend_from_slice(&aim.origin.host_line);
        }
        for line in &self.lines {
            if line.about_body && aim.body_len.is_none() {
                continue;
            }
            out.extend_from_slice(&line.start);
            if let Some(value) = &line.value {
                let start = out.len();
                value.render(values, out);
                strip_line_breaks(&mut out[start..]);
                out.extend_from_slice(b"\r\n");
            }
        }
        out.extend_from_slice(aim.lines);
        self.cookies(aim, jar, now, values, out);
        let usual = matches!(aim.method, "POST" | "PUT" | "PATCH");
        let len = aim.body_len.unwrap_or(0);
        if !(self.framed && aim.body_len.is_some()) && (len > 0 || usual) {
            out.extend_from_slice(b"Content-Length: ");
            number(out, len as u64);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }

    fn cookies(
        &self,
        aim: &Aim<'_>,
        jar: &Jar,
        now: u64,
        values: &mut TemplateValues<'_>,
        out: &mut Vec<u8>,
    ) {
        if self.cookie.is_none() && jar.is_empty() {
            return;
        }
        let start = out.len();
        out.extend_from_slice(b"Cookie: ");
        let name_len = out.len() - start;
        if let Some(own) = &self.cookie {
            own.render(values, out);
            strip_line_breaks(&mut out[start..]);
        }
        let own_len = out.len();
        if own_len > start + name_len {
            out.extend_from_slice(b"; ");
        }
        let site = CookieSite {
            host: &aim.origin.host,
            target: aim.target,
            secure: aim.origin.tls,
        };
        if !jar.write(site, now, out) {
            out.truncate(own_len);
        }
        if out.len() == start + name_len {
            out.truncate(start);
        } else {
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Whether a user's cache may serve it: nothing of the response is needed but its arrival.
    pub(crate) fn may_be_cached(&self) -> bool {
        self.method == "GET" && !self.wants_body && !self.wants_head
    }

    /// Feeds whose columns it uses.
    pub(crate) fn feeds(&self, found: &mut Vec<u32>) {
        match &self.url {
            CompiledUrl::Known(_, text, _) | CompiledUrl::Filled(text) => text.feeds(found),
        }
        let values = self.lines.iter().filter_map(|line| line.value.as_ref());
        let defaults = self
            .captures
            .iter()
            .filter_map(|capture| capture.default.as_ref());
        values
            .chain(&self.cookie)
            .chain(defaults)
            .for_each(|text| text.feeds(found));
        self.body.feeds(found);
        self.expectations.feeds(found);
    }
}

impl CompiledUrl {
    fn new(url: &journey::TextTemplate, origins: &Origins) -> Result<Self, String> {
        let mut text = url.clone();
        let mut origin = 0;
        if let Some(journey::TextPiece::Literal(start)) = text.pieces.first_mut() {
            if start.contains("://") && !start.starts_with('/') {
                // A host with a placeholder is known only when that is filled.
                let is_whole = start
                    .split("://")
                    .nth(1)
                    .is_some_and(|rest| rest.contains('/'));
                match origins.strip(start) {
                    Some((index, rest)) => {
                        origin = index;
                        *start = rest.to_owned();
                    }
                    None if is_whole => {
                        return Err(format!(
                            "{start} is not on an origin of the plan; add the origin to the targets"
                        ));
                    }
                    None => return Ok(Self::Filled(CompiledText::new(url))),
                }
            } else if !start.starts_with('/') || start.starts_with("//") {
                return Ok(Self::Filled(CompiledText::new(url)));
            }
        } else if !text.pieces.is_empty() {
            return Ok(Self::Filled(CompiledText::new(url)));
        }
        let text = CompiledText::new(&text);
        Ok(match text.constant() {
            Some(mut target) => {
                tidy(&mut target);
                Self::Known(origin, CompiledText::literal(&target), true)
            }
            None => Self::Known(origin, text, false),
        })
    }
}

fn checked_method(method: &str) -> Result<String, String> {
    let is_token = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_alphabetic());
    if is_token {
        Ok(method.to_owned())
    } else {
        Err(format!(
            "invalid method {method:?}: use letters only, for example GET"
        ))
    }
}

/// All headers, the last of a name winning, in the place of the first. The target's `Host` is excluded.
fn merged(plan: &Plan, journey: &Journey, step: &RequestStep) -> Vec<(String, CompiledText)> {
    let mut headers: Vec<(String, CompiledText)> = Vec::new();
    let of_plan = plan.request.headers.iter();
    let of_plan = of_plan
        .filter(|(name, _)| !name.eq_ignore_ascii_case("host"))
        .map(|(name, value)| (name, CompiledText::literal(value.as_bytes())));
    let of_users = journey.headers.iter().chain(&step.headers);
    let of_users = of_users.map(|(name, value)| (name, CompiledText::new(value)));
    for (name, value) in of_plan.chain(of_users) {
        match headers
            .iter_mut()
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
        {
            Some(header) => header.1 = value,
            None => headers.push((name.clone(), value)),
        }
    }
    headers
}

/// Consecutive constant headers are merged.
fn lines(headers: Vec<(String, CompiledText)>) -> Vec<HeaderLine> {
    let mut lines: Vec<HeaderLine> = Vec::new();
    for (name, value) in headers {
        let about_body = [
            "content-length",
            "content-type",
            "content-encoding",
            "transfer-encoding",
        ]
        .iter()
        .any(|header| name.eq_ignore_ascii_case(header));
        let mut start = format!("{name}: ").into_bytes();
        let Some(mut constant) = value.constant() else {
            lines.push(HeaderLine {
                start,
                value: Some(value),
                about_body,
            });
            continue;
        };
        strip_line_breaks(&mut constant);
        start.extend_from_slice(&constant);
        start.extend_from_slice(b"\r\n");
        match lines.last_mut() {
            Some(last) if last.value.is_none() && last.about_body == about_body => {
                last.start.extend_from_slice(&start);
            }
            _ => lines.push(HeaderLine {
                start,
                value: None,
                about_body,
            }),
        }
    }
    lines
}

/// A line break in a value would allow header injection.
fn strip_line_breaks(value: &mut [u8]) {
    for byte in value {
        if matches!(byte, b'\r' | b'\n' | 0) {
            *byte = b' ';
        }
    }
}
