//! Requests of a script.

use std::rc::Rc;
use std::time::Duration;

use base64::Engine as _;

use super::answer::Answer;
use super::machine::Machine;
use super::member::answer_of;
use super::node::{Node, SentRequest};
use super::number;
use super::text::Text;
use super::value::Value;
use crate::script::Template;
use crate::script::draft::{ExpectDraft, RequestDraft};

/// Redirects that k6 follows unless the script tells otherwise.
pub(super) const REDIRECTS: u32 = 10;

/// Headers and more that go with a request.
struct Parameters {
    headers: Vec<(String, Text)>,
    label: Option<String>,
    timeout: Option<Duration>,
    redirects: u32,
    expect: ExpectDraft,
}

impl<'a> Machine<'a, '_> {
    /// Calls of the module `k6/http`.
    pub(super) fn http(&mut self, method: &str, arguments: &[Value<'a>], at: u32) -> Value<'a> {
        let undefined = Value::Undefined;
        let argument = |index: usize| arguments.get(index).unwrap_or(&undefined).clone();
        match method {
            "get" | "head" => {
                let (url, parameters) = (argument(0), argument(1));
                self.request(
                    &method.to_ascii_uppercase(),
                    &url,
                    &Value::Undefined,
                    &parameters,
                    at,
                )
            }
            "post" | "put" | "patch" | "options" | "del" => {
                let verb = if method == "del" {
                    "DELETE".to_owned()
                } else {
                    method.to_ascii_uppercase()
                };
                self.request(&verb, &argument(0), &argument(1), &argument(2), at)
            }
            "request" | "asyncRequest" => {
                let verb = self
                    .known_text(&argument(0))
                    .unwrap_or_else(|| "GET".to_owned());
                self.request(
                    &verb.to_ascii_uppercase(),
                    &argument(1),
                    &argument(2),
                    &argument(3),
                    at,
                )
            }
            "batch" => self.batch(&argument(0), at),
            "file" => self.file_part(arguments, at),
            "url" => argument(0),
            "expectedStatuses" => Value::list(arguments.to_vec()),
            "setResponseCallback" => {
                self.good = expected_statuses(self, &argument(0));
                Value::Undefined
            }
            "cookieJar" => Value::native("jar"),
            _ => {
                self.lose(
                    at,
                    format!("http.{method}()"),
                    "a plan has no such thing",
                    "write the request into the plan",
                );
                Value::unknown(format!("http.{method}()"))
            }
        }
    }

    /// One request.
    pub(super) fn request(
        &mut self,
        method: &str,
        url: &Value<'a>,
        body: &Value<'a>,
        parameters: &Value<'a>,
        at: u32,
    ) -> Value<'a> {
        const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
        if !METHODS.contains(&method) {
            self.lose(
                at,
                format!("a request with the method {method}"),
                "a plan has GET, POST, PUT, PATCH, DELETE, HEAD and OPTIONS",
                "leave it out, or send another",
            );
            return Value::unknown("a request that the plan does not have");
        }
        if url.is_nothing() {
            self.lose(
                at,
                "a request",
                "its URL is undefined",
                "write the URL in the script, or import the file that has it",
            );
            return Value::unknown("a request without a URL");
        }
        let text = self.text_of(url, at);
        let mut parameters = self.parameters(parameters, at);
        if let Value::Url(url) = url {
            parameters
                .label
                .get_or_insert_with(|| url.1.constant().unwrap_or("url").to_owned());
        }
        if let Some(url) = text
            .likely()
            .filter(|url| self.threshold_names.contains(url))
        {
            parameters.label.get_or_insert(url);
        }
        let split = self.split_url(&text, at);
        if let Some((user, password)) = split.login {
            self.basic(&user, &password, &mut parameters.headers, at);
        }
        self.add_jar(&mut parameters.headers);
        let body = self.body(body, &mut parameters.headers, at);
        let headers: Vec<(String, Template)> = parameters
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), self.template(value)))
            .collect();
        self.requests.push(SentRequest {
            draft: RequestDraft {
                method: method.to_owned(),
                url: split.url,
                label: parameters.label,
                headers,
                body,
                expect: parameters.expect,
                captures: Vec::new(),
                follow: (parameters.redirects > 0).then_some(parameters.redirects),
                timeout: parameters.timeout,
                with_resources: false,
                resources: Vec::new(),
            },
            url: text,
        });
        let index = self.requests.len() - 1;
        self.emit(Node::Request(index));
        answer_of(index, &Answer::Whole)
    }

    /// Adds the cookies that the script put into the jar, unless the request has its own.
    fn add_jar(&self, headers: &mut Vec<(String, Text)>) {
        let has_own = headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        if !self.jar.is_empty() && !has_own {
            headers.push(("Cookie".to_owned(), cookies(&self.jar)));
        }
    }

    #[expect(clippy::too_many_lines, reason = "a table: one row for each parameter")]
    fn parameters(&mut self, value: &Value<'a>, at: u32) -> Parameters {
        let mut parameters = Parameters {
            headers: Vec::new(),
            label: None,
            timeout: None,
            redirects: self.redirects,
            expect: ExpectDraft::default(),
        };
        if let Value::Unknown(why) = value {
            let why = why.to_string();
            self.lose(
                at,
                "the parameters of a request",
                &why,
                "write its headers into the plan",
            );
        }
        for (name, value) in value.entries() {
            match name.as_str() {
                "headers" => {
                    for (name, value) in value.entries() {
                        if value.is_nothing() {
                            continue;
                        }
                        let value = self.header(&name, &value, at);
                        parameters.headers.push((name, value));
                    }
                }
                "cookies" => {
                    let mut pairs = Vec::new();
                    for (name, value) in value.entries() {
                        let value = value.field("value").unwrap_or(value);
                        pairs.push((name, self.text_of(&value, at)));
                    }
                    if !pairs.is_empty() {
                        parameters.headers.push(("Cookie".to_owned(), cookies(&pairs)));
                    }
                }
                "tags" => {
                    if let Some(name) = value.field("name") {
                        let name = self.text_of(&name, at);
                        parameters.label = Some(name.likely().unwrap_or_else(|| name.template().as_str().to_owned()));
                    }
                }
                "timeout" => parameters.timeout = self.duration_of(&value),
                "redirects" => {
                    let count = self.number(&value).and_then(number::index);
                    if let Some(count) = count.and_then(|count| u32::try_from(count).ok()) {
                        parameters.redirects = count.min(50);
                    }
                }
                "auth" => {
                    let kind = self.known_text(&value).unwrap_or_default();
                    if kind != "basic" {
                        self.lose(
                            at,
                            format!("auth: '{kind}'"),
                            "a plan has no such login",
                            "write the header Authorization if it is constant",
                        );
                    }
                }
                "compression" => self.lose(
                    at,
                    "compression of a request's body",
                    "a plan sends bodies as they are",
                    "write a compressed file as `body: { file: … }` with the header Content-Encoding",
                ),
                "responseCallback" => {
                    if let Some(statuses) = expected_statuses(self, &value) {
                        parameters.expect.statuses = statuses;
                    }
                }
                // What a response is read as changes nothing that is sent.
                "responseType" | "jar" => {}
                other => {
                    let other = other.to_owned();
                    self.lose(
                        at,
                        format!("the parameter {other}"),
                        "a plan has no such thing",
                        "leave it out",
                    );
                }
            }
        }
        parameters
    }

    /// The value of a header; a login in it comes from the environment.
    fn header(&mut self, name: &str, value: &Value<'a>, at: u32) -> Text {
        if let Some(constant) = value.as_str().map(ToOwned::to_owned)
            && crate::heuristics::names_secret(name)
            && !constant.is_empty()
        {
            if let Some((scheme, secret)) = constant.split_once(' ')
                && ["bearer", "basic", "token"].contains(&scheme.to_ascii_lowercase().as_str())
            {
                let mut text = Text::literal(format!("{scheme} "));
                text.push(&self.secret(name, secret));
                return text;
            }
            return self.secret(name, &constant);
        }
        self.text_of(value, at)
    }

    fn basic(&mut self, user: &Text, password: &Text, headers: &mut Vec<(String, Text)>, at: u32) {
        let mut pair = user.clone();
        pair.push_str(":");
        pair.push(password);
        let value = if let Some(constant) = pair.constant() {
            let encoded = base64::engine::general_purpose::STANDARD.encode(constant);
            self.secret("Authorization", &encoded)
        } else {
            let value = self.wrapped("base64", &Value::Text(Rc::new(pair)), at);
            self.text_of(&value, at)
        };
        let mut header = Text::literal("Basic ");
        header.push(&value);
        headers.push(("Authorization".to_owned(), header));
    }

    /// A duration as k6 has it: `30s`, `1m30s`, or milliseconds.
    pub(super) fn duration_of(&self, value: &Value<'a>) -> Option<Duration> {
        match value {
            Value::Number(ms) => Duration::try_from_secs_f64(*ms / 1000.0).ok(),
            other => duration(&self.known_text(other)?),
        }
    }

    /// `jar.set(url, name, value)`.
    pub(super) fn set_cookie(&mut self, arguments: &[Value<'a>], at: u32) {
        let name = arguments.get(1).and_then(|name| self.known_text(name));
        if let (Some(name), Some(value)) = (name, arguments.get(2)) {
            let value = self.text_of(value, at);
            self.jar.retain(|(known, _)| *known != name);
            self.jar.push((name, value));
        }
    }
}

/// A file's name without the folders above the script.
pub(super) fn plain_name(path: &str) -> String {
    let parts = path.split(['/', '\\']);
    let kept: Vec<&str> = parts
        .filter(|part| !matches!(*part, "" | "." | ".."))
        .collect();
    kept.join("/")
}

fn cookies(pairs: &[(String, Text)]) -> Text {
    let mut text = Text::default();
    for (index, (name, value)) in pairs.iter().enumerate() {
        if index > 0 {
            text.push_str("; ");
        }
        text.push_str(name);
        text.push_str("=");
        text.push(value);
    }
    text
}

/// Statuses of `http.expectedStatuses(200, { min: 300, max: 399 })`.
fn expected_statuses<'a>(machine: &Machine<'a, '_>, value: &Value<'a>) -> Option<Vec<String>> {
    let Value::List(list) = value else {
        return None;
    };
    let mut statuses = Vec::new();
    for item in list.items.borrow().iter() {
        if let Some(status) = machine.number(item).and_then(number::index) {
            statuses.push(status.to_string());
            continue;
        }
        let bound = |name: &str| machine.number(&item.field(name)?).and_then(number::index);
        let (low, high) = (bound("min")?, bound("max")?);
        let mut status = low;
        while status <= high.min(599) {
            if status % 100 == 0 && status + 99 <= high {
                statuses.push(format!("{}xx", status / 100));
                status += 100;
            } else {
                statuses.push(status.to_string());
                status += 1;
            }
        }
    }
    (!statuses.is_empty()).then_some(statuses)
}

/// A duration as Go and k6 write it: `1h30m`, `90s`, `500ms`; a bare number is milliseconds.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Ok(ms) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let amount: f64 = rest[..digits].parse().ok()?;
        let unit = rest[digits..]
            .find(|c: char| c.is_ascii_digit())
            .map_or(rest.len(), |end| digits + end);
        let seconds = match &rest[digits..unit] {
            "d" => 86_400.0,
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 0.001,
            "us" | "µs" => 0.000_001,
            _ => return None,
        };
        total = total.checked_add(Duration::try_from_secs_f64(amount * seconds).ok()?)?;
        rest = &rest[unit..];
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        for (text, ms) in [
            ("90s", 90_000),
            ("1h30m", 5_400_000),
            ("1m30s", 90_000),
            ("250ms", 250),
            ("1500", 1500),
        ] {
            assert_eq!(duration(text), Some(Duration::from_millis(ms)), "{text}");
        }
        assert_eq!(duration("soon"), None);
    }

    #[test]
    fn files_lie_below_the_plan() {
        assert_eq!(plain_name("../data/./users.csv"), "data/users.csv");
        assert_eq!(plain_name("/etc/hosts"), "etc/hosts");
    }
}
