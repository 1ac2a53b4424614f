//! Secrets written into a plan do not leave it. Values from data files were never in it.

use super::{
    Capture, Condition, Expectation, OutgoingMessage, RequestBody, RequestStep, Scenario, Scope,
    Step, TextMatch, TextPiece, TextTemplate,
};
use crate::redact::{self, REDACTED, is_secret};

impl Scenario {
    /// Replaces literal values of secret headers, fields and query parameters.
    pub(crate) fn redact(&mut self) {
        for journey in &mut self.journeys {
            redact_named(&mut journey.headers);
            if let Some(process) = &mut journey.process {
                redact_command(&mut process.command);
            }
            for step in journey.once.iter_mut().chain(&mut journey.steps) {
                redact_step(step);
            }
        }
        // A label is the method and URL as written, unless the plan names the step.
        for info in &mut self.steps {
            info.label = redact::text(&info.label).into_owned();
        }
        for threshold in &mut self.thresholds {
            if let Scope::Step(label) = &mut threshold.scope {
                *label = redact::text(label).into_owned();
            }
        }
    }
}

fn redact_command(command: &mut [String]) {
    let replaced = redact::command(command.iter().map(String::as_str));
    command.clone_from_slice(&replaced);
}

fn redact_step(step: &mut Step) {
    match step {
        Step::Request(request) => redact_request(request),
        Step::Poll(poll) => redact_request(&mut poll.request),
        Step::Page { page, resources } => {
            redact_request(page);
            resources.listed.iter_mut().for_each(redact_request);
        }
        Step::Repeat { steps, .. } | Step::Group { steps, .. } | Step::Every { steps, .. } => {
            steps.iter_mut().for_each(redact_step);
        }
        Step::Choose(choices) => {
            for choice in choices {
                choice.steps.iter_mut().for_each(redact_step);
            }
        }
        Step::If {
            condition,
            then,
            otherwise,
        } => {
            redact_condition(condition);
            then.iter_mut().chain(otherwise).for_each(redact_step);
        }
        Step::Socket(socket) => {
            redact_request(&mut socket.request);
            redact_message(&mut socket.first);
            for (_, text) in &mut socket.replies {
                REDACTED.clone_into(text);
            }
            if let Some((_, text)) = &mut socket.beat {
                REDACTED.clone_into(text);
            }
        }
        Step::Send(send) => redact_message(&mut send.message),
        Step::Subscribe(subscribe) => redact_message(&mut subscribe.send.message),
        // A slot has no name here that would show whether it holds a secret.
        Step::Set(_, text) => redact_literals(text),
        Step::Think(_) | Step::Close(_) => {}
    }
}

/// It is unknown which part of a message is secret.
fn redact_message(message: &mut Option<OutgoingMessage>) {
    if let Some(message) = message {
        redact_literals(&mut message.text);
    }
}

fn redact_condition(condition: &mut Condition) {
    redact_text(&mut condition.left);
    redact_text(&mut condition.right);
}

fn redact_request(request: &mut RequestStep) {
    redact_named(&mut request.headers);
    redact_url(&mut request.url);
    for Capture { default, .. } in &mut request.captures {
        if let Some(default) = default {
            redact_text(default);
        }
    }
    for expectation in &mut request.expectations {
        redact_expectation(expectation);
    }
    match &mut request.body {
        RequestBody::Empty => {}
        RequestBody::Form(fields) => redact_named(fields),
        RequestBody::Multipart(parts) => {
            for part in parts {
                if is_secret(&part.name) {
                    redact_literals(&mut part.content);
                }
            }
        }
        // It is unknown which part of a text is secret.
        RequestBody::Text { text, .. } => redact_literals(text),
    }
}

/// What an answer must hold is compared, not sent; what it names is as secret as what is sent.
fn redact_expectation(expectation: &mut Expectation) {
    let (is_hidden, matched) = match expectation {
        Expectation::Header(name, matched) => (is_secret(name), matched),
        Expectation::Body(matched) | Expectation::Json(_, matched) => (false, matched),
        Expectation::Status(_) | Expectation::Within(_) => return,
    };
    match matched {
        TextMatch::Equals(text) | TextMatch::Contains(text) | TextMatch::Lacks(text) => {
            if is_hidden {
                redact_literals(text);
            } else {
                redact_text(text);
            }
        }
        TextMatch::Regex(_) | TextMatch::Present | TextMatch::Absent => {}
    }
}

/// Replaces the values of secret parameters, also across holes.
fn redact_url(url: &mut TextTemplate) {
    let mut is_first = true;
    let mut in_query = false;
    let mut is_open = false;
    for piece in &mut url.pieces {
        let TextPiece::Literal(text) = piece else {
            is_first = false;
            continue;
        };
        // The rest of a value whose name precedes the hole.
        let open_len = if is_open {
            text.find(['&', ';', '#']).unwrap_or(text.len())
        } else {
            0
        };
        let (value, rest) = text.split_at(open_len);
        if !rest.is_empty() {
            let last = rest.rsplit(['?', '&', ';', '#']).next().unwrap_or_default();
            is_open = last
                .split_once('=')
                .is_some_and(|(name, _)| is_secret(name));
        }
        let shown = if in_query {
            redact::query(rest)
        } else if is_first {
            redact::url(rest)
        } else {
            redact::target(rest)
        };
        in_query |= rest.contains(['?', '#']);
        *text = if value.is_empty() {
            shown.into_owned()
        } else {
            format!("{REDACTED}{shown}")
        };
        is_first = false;
    }
}

fn redact_named(fields: &mut [(String, TextTemplate)]) {
    for (name, value) in fields {
        if is_secret(name) {
            redact_literals(value);
        } else {
            redact_text(value);
        }
    }
}

/// Replaces what is recognizable as a secret by its form: the login of a URL, the token in one.
fn redact_text(text: &mut TextTemplate) {
    for piece in &mut text.pieces {
        if let TextPiece::Literal(text) = piece {
            *text = redact::text(text).into_owned();
        }
    }
}

fn redact_literals(text: &mut TextTemplate) {
    for piece in &mut text.pieces {
        if let TextPiece::Literal(text) = piece {
            REDACTED.clone_into(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_a_form_is_not_stored_and_a_column_is_kept() {
        let mut fields = [
            ("password".to_owned(), TextTemplate::literal("hunter2")),
            ("name".to_owned(), TextTemplate::literal("ada")),
            (
                "token".to_owned(),
                TextTemplate {
                    pieces: vec![TextPiece::Column(0, 1)],
                },
            ),
        ];
        redact_named(&mut fields);
        assert_eq!(fields[0].1, TextTemplate::literal(REDACTED));
        assert_eq!(fields[1].1, TextTemplate::literal("ada"));
        assert_eq!(fields[2].1.pieces, [TextPiece::Column(0, 1)]);
    }
}
