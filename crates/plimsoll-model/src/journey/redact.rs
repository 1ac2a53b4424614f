//! Secrets written into a plan do not leave it. What comes from data was never in it.

use super::{Body, Piece, RequestStep, Saying, Scenario, Step, Text};
use crate::plan::{REDACTED, is_secret, redact_query};

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
    }
}

/// Replaces what stands behind an argument whose name tells of a secret: `--token=…`, `--token …`, `TOKEN=…`.
fn redact_command(command: &mut [String]) {
    let mut is_next = false;
    for word in command.iter_mut().skip(1) {
        let is_flag = word.starts_with('-');
        if let Some((name, _)) = word.split_once('=')
            && is_secret(name)
        {
            *word = format!("{name}={REDACTED}");
            is_next = false;
        } else if is_next && !is_flag {
            REDACTED.clone_into(word);
            is_next = false;
        } else {
            is_next = is_flag && is_secret(word);
        }
    }
}

fn redact_step(step: &mut Step) {
    match step {
        Step::Request(request) => redact_request(request),
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
            then, otherwise, ..
        } => then.iter_mut().chain(otherwise).for_each(redact_step),
        Step::Socket(socket) => {
            redact_request(&mut socket.request);
            redact_said(&mut socket.first);
            for (_, text) in &mut socket.replies {
                REDACTED.clone_into(text);
            }
            if let Some((_, text)) = &mut socket.beat {
                REDACTED.clone_into(text);
            }
        }
        Step::Say(say) => redact_said(&mut say.said),
        Step::Subscribe(subscribe) => redact_said(&mut subscribe.say.said),
        Step::Think(_) | Step::Set(..) | Step::Close(_) => {}
    }
}

/// Nobody can tell which part of a message is the secret one.
fn redact_said(said: &mut Option<Saying>) {
    if let Some(said) = said {
        redact_literals(&mut said.text);
    }
}

fn redact_request(request: &mut RequestStep) {
    redact_named(&mut request.headers);
    for piece in &mut request.url.pieces {
        if let Piece::Literal(text) = piece
            && let Some((path, query)) = text.split_once('?')
        {
            *text = format!("{path}?{}", redact_query(query));
        }
    }
    match &mut request.body {
        Body::Empty => {}
        Body::Form(fields) => redact_named(fields),
        Body::Multipart(parts) => {
            for part in parts {
                if is_secret(&part.name) {
                    redact_literals(&mut part.content);
                }
            }
        }
        // Nobody can tell which part of a text is the secret one.
        Body::Text { text, .. } => redact_literals(text),
    }
}

fn redact_named(fields: &mut [(String, Text)]) {
    for (name, value) in fields {
        if is_secret(name) {
            redact_literals(value);
        }
    }
}

fn redact_literals(text: &mut Text) {
    for piece in &mut text.pieces {
        if let Piece::Literal(text) = piece {
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
            ("password".to_owned(), Text::literal("hunter2")),
            ("name".to_owned(), Text::literal("ada")),
            (
                "token".to_owned(),
                Text {
                    pieces: vec![Piece::Column(0, 1)],
                },
            ),
        ];
        redact_named(&mut fields);
        assert_eq!(fields[0].1, Text::literal(REDACTED));
        assert_eq!(fields[1].1, Text::literal("ada"));
        assert_eq!(fields[2].1.pieces, [Piece::Column(0, 1)]);
    }
}
