//! Formats that nobody configures: of Amazon's load balancers, and the defaults of Envoy and Istio.

use super::{Field, Pattern, Token, envoy, push_literal};
use crate::format::FormatError;
use crate::moment::MomentForm;
use crate::value::{Escape, Unit};

/// Of an Application Load Balancer: with `request_creation_time`, then as written before 2018; then of a Classic one.
///
/// `time` is "when the load balancer generated a response", `request_creation_time` "when it received the request";
/// the Classic one writes only "when it received the request" (AWS, access logs).
///
/// # Errors
/// None for these.
pub(crate) fn amazon() -> Result<Vec<Pattern>, FormatError> {
    let ended = || Field::Ended(MomentForm::Iso);
    let parts = |first: Field| {
        let seconds = || Field::LastedPart(Unit::Seconds);
        vec![
            first,
            Field::Unused,
            Field::Address,
            Field::UpstreamAddress,
            seconds(),
            seconds(),
            seconds(),
            Field::Status,
            Field::Unused,
            Field::Unused,
            Field::Bytes,
        ]
    };
    let mut long = vec![Field::Unused];
    long.extend(parts(ended()));
    // Begin and end give the whole; its parts lack what was refused.
    for field in &mut long {
        if matches!(field, Field::LastedPart(_)) {
            *field = Field::Unused;
        }
    }
    let mut short = vec![Field::Unused];
    short.extend(parts(ended()));
    let classic = parts(Field::Began(MomentForm::Iso));
    let behind_agent = [
        " ",
        "ssl_cipher",
        " ",
        "ssl_protocol",
        " ",
        "target_group",
        " \"",
        "trace_id",
        "\" \"",
        "domain_name",
        "\" \"",
        "certificate",
        "\" ",
        "rule_priority",
        " ",
    ];
    let mut with_creation = line_of(long);
    for text in behind_agent {
        if text.contains([' ', '"']) {
            push_literal(&mut with_creation, text);
        } else if text == "domain_name" {
            with_creation.push(Token::Field(Field::ServerName, text.to_owned()));
        } else {
            with_creation.push(Token::unused(text));
        }
    }
    with_creation.push(Token::Field(
        Field::Began(MomentForm::Iso),
        "request_creation_time".to_owned(),
    ));
    let open_end = |mut tokens: Vec<Token>| {
        push_literal(&mut tokens, " ");
        tokens.push(Token::unused("the rest"));
        Pattern::compile("alb", tokens, Escape::Backslash)
    };
    Ok(vec![
        open_end(with_creation)?,
        open_end(line_of(short))?,
        open_end(line_of(classic))?,
    ])
}

/// Fields separated by blanks, then request and agent in quotes.
fn line_of(fields: Vec<Field>) -> Vec<Token> {
    let mut tokens = Vec::new();
    for field in fields {
        let name = format!("{field:?}");
        tokens.push(Token::Field(field, name));
        push_literal(&mut tokens, " ");
    }
    push_literal(&mut tokens, "\"");
    tokens.push(Token::Field(Field::Request, "request".to_owned()));
    push_literal(&mut tokens, "\" \"");
    tokens.push(Token::Field(Field::Agent, "user_agent".to_owned()));
    push_literal(&mut tokens, "\"");
    tokens
}

/// The default of Envoy, and that of Istio.
///
/// # Errors
/// None for these.
pub(crate) fn envoy() -> Result<Vec<Pattern>, FormatError> {
    const START: &str = "[%START_TIME%] \"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%\" \
        %RESPONSE_CODE% %RESPONSE_FLAGS% ";
    const MIDDLE: &str = "%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% \
        \"%REQ(X-FORWARDED-FOR)%\" \"%REQ(USER-AGENT)%\" \"%REQ(X-REQUEST-ID)%\" \"%REQ(:AUTHORITY)%\" \
        \"%UPSTREAM_HOST%\"";
    const ISTIO: &str = "%RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% \
        \"%UPSTREAM_TRANSPORT_FAILURE_REASON%\" ";
    const ISTIO_END: &str = " %UPSTREAM_CLUSTER% %UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% \
        %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%";
    let istio = format!("{START}{ISTIO}{MIDDLE}{ISTIO_END}");
    Ok(vec![
        envoy::compile(&format!("{START}{MIDDLE}"))?,
        envoy::compile(&istio)?,
    ])
}
