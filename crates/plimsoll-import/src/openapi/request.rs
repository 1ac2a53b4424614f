//! An operation as a request.

use percent_encoding::utf8_percent_encode;

use super::body::{Body, BodyLoss, body};
use super::chance::Chance;
use super::conversion::Conversion;
use super::documents::Node;
use super::make::Maker;
use super::operation::Operation;
use super::parameter::{Location, Parameter};
use super::response::accepted;
use super::security::credentials;
use super::serialize::{in_cookie, in_header, in_path, in_query, join};
use super::server::{next_hole, server};
use super::value::{Encoding, ExampleValue};
use crate::script::draft::{BodyDraft, ExpectDraft, PartContent, RequestDraft, UrlDraft};
use crate::script::encoding::PATH;
use crate::script::{Remedy, Template};
use crate::yaml::YamlNode;

/// Headers that parameters cannot set: OpenAPI says so.
const IGNORED_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// A path parameter whose value comes from an earlier answer.
pub(super) struct Captured<'d> {
    /// The parameter's name.
    pub(super) parameter: &'d str,
    /// The plan's name of the value.
    pub(super) variable: String,
}

/// A request, and the values that its path parameters have when nothing was captured.
pub(super) struct Converted<'d> {
    pub(super) draft: RequestDraft,
    pub(super) path_values: Vec<(&'d str, ExampleValue)>,
}

/// Parts of a request while it is put together.
#[derive(Default)]
struct RequestParts<'d> {
    path_values: Vec<(&'d str, ExampleValue)>,
    path_parameters: Vec<(&'d str, Template)>,
    query: Vec<Template>,
    headers: Vec<(String, Template)>,
    cookies: Vec<Template>,
}

/// The request of an operation; none if it cannot be sent without a body that is lost.
pub(super) fn request<'d>(
    conversion: &mut Conversion<'d, '_>,
    root: Node<'d>,
    operation: &Operation<'d>,
    captured: &[&Captured<'d>],
) -> Option<Converted<'d>> {
    let credentials = credentials(conversion, root, operation.node);
    let (mut parts, body) = parts(conversion, operation, captured);
    let body = match body {
        Some(Err(loss)) => {
            lose_body(conversion, &operation.label(), &loss);
            return None;
        }
        Some(Ok(body)) => Some(body),
        None => None,
    };
    parts.query.extend(credentials.query);
    parts.cookies.extend(credentials.cookies);
    parts.headers.extend(credentials.headers);
    let media_type = body.as_ref().and_then(|body| body.media_type.as_deref());
    parts.finish_headers(media_type, &accepted(&operation.successes));
    let origin = server(
        root,
        operation.item,
        operation.node,
        &mut conversion.variables,
    );
    Some(Converted {
        draft: RequestDraft {
            method: operation.method.clone(),
            url: UrlDraft {
                origin,
                path: path(operation.path, &parts),
            },
            label: Some(operation.label()),
            headers: parts.headers,
            body: body.map(|body| body.draft),
            expect: ExpectDraft {
                statuses: statuses(operation),
                ..ExpectDraft::default()
            },
            ..RequestDraft::default()
        },
        path_values: parts.path_values,
    })
}

/// A body, or why there is none; `None` if the operation has none.
type MadeBody<'d> = Option<Result<Body, BodyLoss<'d>>>;

/// The values of an operation's parameters, and its body.
fn parts<'d>(
    conversion: &mut Conversion<'d, '_>,
    operation: &Operation<'d>,
    captured: &[&Captured<'d>],
) -> (RequestParts<'d>, MadeBody<'d>) {
    let documents = conversion.documents;
    let label = operation.label();
    let mut parts = RequestParts::default();
    let chance = Chance::new(conversion.seed, &label);
    let mut maker = Maker::new(documents, &mut conversion.variables, chance);
    let mut unsent = 0;
    for parameter in &operation.parameters {
        match parameter.value(documents, &mut maker) {
            Some(value) => parts.add(parameter, value, captured),
            None => unsent += 1,
        }
    }
    fill_undeclared(&mut maker, operation, &mut parts);
    let request_body = operation.node.get("requestBody");
    let body = request_body.map(|node| body(documents, &mut maker, node));
    let ignored = maker.ignored;
    conversion.parameters_unsent += unsent;
    for (keyword, at) in ignored {
        let why = "a value is made up without it";
        let remedy = "check the value in the plan, or give an example";
        conversion.lose(at, format!("keyword {keyword}"), Remedy { why, remedy });
    }
    (parts, body)
}

/// About how many bytes of the plan a request takes.
pub(super) fn len(draft: &RequestDraft) -> usize {
    let headers = draft
        .headers
        .iter()
        .map(|(name, value)| name.len() + value.as_str().len());
    let fields = |fields: &[(String, Template)]| -> usize {
        let lens = fields
            .iter()
            .map(|(name, value)| name.len() + value.as_str().len());
        lens.sum()
    };
    let body = match &draft.body {
        Some(BodyDraft::Text(text)) => text.as_str().len(),
        Some(BodyDraft::Form(form)) => fields(form),
        Some(BodyDraft::Json(value)) => yaml_len(value),
        Some(BodyDraft::Multipart(parts)) => {
            let lens = parts.iter().map(|part| match &part.content {
                PartContent::Text(text) => part.name.len() + text.as_str().len(),
                PartContent::File(path) => part.name.len() + path.len(),
            });
            lens.sum()
        }
        Some(BodyDraft::File { .. }) | None => 0,
    };
    let rest = draft.url.path.as_str().len() + headers.sum::<usize>();
    rest + body
}

fn yaml_len(value: &YamlNode) -> usize {
    match value {
        YamlNode::Text(text) | YamlNode::Plain(text) => text.len() + 2,
        YamlNode::List(items) => items.iter().map(|item| yaml_len(&item.value) + 4).sum(),
        YamlNode::Map(entries) => entries
            .iter()
            .map(|entry| entry.key.len() + yaml_len(&entry.value) + 4)
            .sum(),
    }
}

fn lose_body<'d>(conversion: &mut Conversion<'d, '_>, label: &str, loss: &BodyLoss<'d>) {
    let what = format!("operation {label} ({})", loss.what);
    let remedy = "mend it, then import again, or write the step by hand";
    conversion.lose(
        loss.at,
        what,
        Remedy {
            why: &loss.why,
            remedy,
        },
    );
}

/// Names in the path that no parameter declares.
fn fill_undeclared<'d>(
    maker: &mut Maker<'_, 'd, '_>,
    operation: &Operation<'d>,
    parts: &mut RequestParts<'d>,
) {
    let mut rest = operation.path;
    while let Some((_, name, after)) = next_hole(rest) {
        rest = after;
        let name = name.trim_end_matches(['*', '+']);
        if parts
            .path_parameters
            .iter()
            .all(|(known, _)| *known != name)
        {
            let value = maker.variable(
                name,
                operation.node,
                "the path has it, no parameter declares it",
            );
            let text = value.plain(Encoding::Component);
            parts.path_parameters.push((name, text));
            parts.path_values.push((name, value));
        }
    }
}

impl<'d> RequestParts<'d> {
    /// Adds the headers that are not parameters.
    fn finish_headers(&mut self, media_type: Option<&str>, accepted: &[String]) {
        if !self.cookies.is_empty() {
            let cookies = join(&self.cookies, "; ");
            self.headers.push(("Cookie".to_owned(), cookies));
        }
        let accepted = accepted.join(", ");
        let own = [
            ("Content-Type", media_type.unwrap_or_default()),
            ("Accept", accepted.as_str()),
        ];
        for (name, value) in own.into_iter().filter(|(_, value)| !value.is_empty()) {
            self.headers
                .insert(0, (name.to_owned(), Template::literal(value)));
        }
    }

    fn add(&mut self, parameter: &Parameter<'d>, value: ExampleValue, captured: &[&Captured<'d>]) {
        match parameter.location {
            Location::Path => {
                let earlier = captured
                    .iter()
                    .find(|known| known.parameter == parameter.name);
                let text = match earlier {
                    Some(earlier) => {
                        Template::expression(&format!("urlencode({})", earlier.variable))
                    }
                    None => in_path(parameter, &value),
                };
                self.path_parameters.push((parameter.name, text));
                self.path_values.push((parameter.name, value));
            }
            Location::Query => self.query.extend(in_query(parameter, &value)),
            Location::QueryString => {
                let text = match &value {
                    ExampleValue::Map(_) => in_query(parameter, &value),
                    value => vec![value.plain(Encoding::Reserved)],
                };
                self.query.extend(text);
            }
            Location::Header => {
                let is_sent = !IGNORED_HEADERS
                    .iter()
                    .any(|name| name.eq_ignore_ascii_case(parameter.name));
                if is_sent {
                    let text = in_header(parameter, &value);
                    let is_line = !text.as_str().chars().any(char::is_control);
                    let text = if is_line { text } else { Template::default() };
                    self.headers.push((parameter.name.to_owned(), text));
                }
            }
            Location::Cookie => self.cookies.push(in_cookie(parameter, &value)),
        }
    }
}

/// The path with its values, and the query.
fn path(template: &str, parts: &RequestParts<'_>) -> Template {
    let (template, fixed_query) = template.split_once('?').unwrap_or((template, ""));
    let mut text = Template::default();
    let mut rest = template;
    while let Some((before, name, after)) = next_hole(rest) {
        text.push_literal(&utf8_percent_encode(before, PATH).to_string());
        let name = name.trim_end_matches(['*', '+']);
        let value = parts
            .path_parameters
            .iter()
            .find(|(known, _)| *known == name);
        if let Some((_, value)) = value {
            text.push(value);
        }
        rest = after;
    }
    text.push_literal(&utf8_percent_encode(rest, PATH).to_string());
    let mut query = Vec::new();
    if !fixed_query.is_empty() {
        query.push(Template::literal(
            &utf8_percent_encode(fixed_query, PATH).to_string(),
        ));
    }
    query.extend(parts.query.iter().cloned());
    if !query.is_empty() {
        text.push_literal("?");
        text.push(&join(&query, "&"));
    }
    text
}

fn statuses(operation: &Operation<'_>) -> Vec<String> {
    let mut statuses: Vec<String> = operation
        .successes
        .iter()
        .map(|(status, _)| status.clone())
        .collect();
    statuses.sort();
    statuses.dedup();
    statuses
}
