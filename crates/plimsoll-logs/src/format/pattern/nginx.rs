//! nginx' `log_format NAME [escape=…] '…';`

use super::{Field, Pattern, Token, push_literal, unquoted};
use crate::format::FormatError;
use crate::moment::MomentForm;
use crate::value::{Escape, Unit};

/// Compiles a line of configuration, or only its text.
///
/// # Errors
/// When the format lacks what every request needs, or two fields touch.
pub(crate) fn compile(line: &str) -> Result<Pattern, FormatError> {
    let (escape, text) = text_of(line.trim());
    let mut tokens = Vec::new();
    let mut rest = text.as_str();
    while let Some(dollar) = rest.find('$') {
        push_literal(&mut tokens, &rest[..dollar]);
        let after = &rest[dollar + 1..];
        let is_braced = after.starts_with('{');
        let start = usize::from(is_braced);
        let length = after[start..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(after.len() - start);
        let name = &after[start..start + length];
        let end =
            start + length + usize::from(is_braced && after[start + length..].starts_with('}'));
        rest = &after[end..];
        if name.is_empty() {
            push_literal(&mut tokens, "$");
        } else {
            tokens.push(Token::Field(field(name), format!("${name}")));
        }
    }
    push_literal(&mut tokens, rest);
    with_connected_client(&mut tokens);
    Pattern::compile("nginx", tokens, escape)
}

/// The client that a balancer of connections told counts, unless a forwarded list tells one before it.
fn with_connected_client(tokens: &mut [Token]) {
    let has_list = tokens
        .iter()
        .any(|token| matches!(token, Token::Field(Field::Forwarded, _)));
    for token in tokens {
        if let Token::Field(field, name) = token
            && !has_list
            && name.as_str() == "$proxy_protocol_addr"
        {
            *field = Field::Forwarded;
        }
    }
}

/// The escaping and the text of `log_format NAME escape=json '…' '…';`.
fn text_of(line: &str) -> (Escape, String) {
    let mut rest = line.strip_suffix(';').unwrap_or(line).trim();
    let mut escape = Escape::Backslash;
    if let Some(after) = rest.strip_prefix("log_format") {
        let after = after.trim_start();
        rest = after
            .find(char::is_whitespace)
            .map_or("", |end| &after[end..])
            .trim_start();
    }
    if let Some(after) = rest.strip_prefix("escape=") {
        let end = after.find(char::is_whitespace).unwrap_or(after.len());
        escape = match &after[..end] {
            "json" => Escape::Json,
            "none" => Escape::None,
            _ => Escape::Backslash,
        };
        rest = after[end..].trim_start();
    }
    (escape, unquoted(rest).unwrap_or_else(|| rest.to_owned()))
}

/// The end of a request is when nginx writes its line (`ngx_http_log_module`: "requests are logged in the context of a
/// location where processing ends").
fn field(name: &str) -> Field {
    match name {
        "time_local" => Field::Ended(MomentForm::Common),
        "time_iso8601" => Field::Ended(MomentForm::Iso),
        "msec" => Field::Ended(MomentForm::UnixSeconds),
        "remote_addr" | "binary_remote_addr" => Field::Address,
        // The proxy whose address `set_real_ip_from` replaced.
        "realip_remote_addr" => Field::Peer,
        "http_x_forwarded_for"
        | "proxy_add_x_forwarded_for"
        | "http_x_real_ip"
        | "the_real_ip"
        | "http_cf_connecting_ip"
        | "http_true_client_ip"
        | "http_forwarded"
        | "http_x_original_forwarded_for" => Field::Forwarded,
        "request" => Field::Request,
        "request_method" => Field::Method,
        "request_uri" | "uri" | "document_uri" => Field::Path,
        "args" | "query_string" => Field::Query,
        "host" | "http_host" => Field::Host,
        "server_name" => Field::ServerName,
        "status" => Field::Status,
        "body_bytes_sent" | "bytes_sent" => Field::Bytes,
        "http_referer" => Field::Referer,
        "http_user_agent" => Field::Agent,
        "request_time" => Field::Lasted(Unit::Seconds),
        "gzip_ratio" => Field::CompressionRatio,
        "upstream_cache_status" => Field::Cache,
        "upstream_addr" => Field::UpstreamAddress,
        "upstream_connect_time" => Field::UpstreamConnect(Unit::Seconds),
        "upstream_header_time" => Field::UpstreamHeader(Unit::Seconds),
        "upstream_response_time" => Field::UpstreamResponse(Unit::Seconds),
        "upstream_status"
        | "upstream_response_length"
        | "upstream_bytes_received"
        | "upstream_bytes_sent"
        | "upstream_first_byte_time"
        | "upstream_session_time" => Field::UnusedList,
        _ => Field::Unused,
    }
}
