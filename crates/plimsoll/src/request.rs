//! The request from flags: method, paths, headers, body.

use plimsoll_config::login;
use plimsoll_model::byte_order_mark;
use plimsoll_model::plan::{PathOrder, RequestPlan};
use url::Url;

use crate::arguments::{RequestArguments, TransportArguments};
use crate::explain::CliError;
use crate::plan_file::bounded;
use crate::target::{self, Resolved};

/// Longest file of URLs accepted, bytes.
const URLS_LEN_MAX: u64 = 256 << 20;
/// Maximum number of invalid lines of a URL file that are shown.
const ERRORS_SHOWN_MAX: usize = 10;
/// Longest request body accepted, bytes.
const BODY_LEN_MAX: u64 = 64 << 20;

/// Puts the request together.
pub(crate) fn request_plan(
    arguments: &TransportArguments,
    resolved: &Resolved,
    plan_headers: &[(String, String)],
) -> Result<RequestPlan, CliError> {
    let request = &arguments.request;
    let body = body(request)?;
    let method = match &request.request {
        Some(method) => checked_method(method)?,
        None if request.head => "HEAD".to_owned(),
        None if request.data.is_some() => "POST".to_owned(),
        None => "GET".to_owned(),
    };
    let (paths, order) = match &request.urls {
        Some(file) => (paths_of(file, resolved)?, request.urls_order),
        None => (vec![resolved.path.clone()], PathOrder::Circular),
    };
    let headers = headers(request, resolved, plan_headers)?;
    let redirects_max = if request.location {
        request.max_redirs
    } else {
        0
    };
    Ok(RequestPlan {
        method,
        paths,
        order,
        headers,
        body,
        redirects_max,
    })
}

fn checked_method(method: &str) -> Result<String, CliError> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if method.is_empty() || method.len() > 32 || !method.bytes().all(token) {
        return Err(CliError::usage(format!("`{method}` is not a method"))
            .remedy("use a method such as GET, POST or PUT"));
    }
    if method.eq_ignore_ascii_case("CONNECT") {
        return Err(
            CliError::usage("CONNECT opens a tunnel and has no response to measure")
                .remedy("use another method"),
        );
    }
    Ok(method.to_ascii_uppercase())
}

fn body(request: &RequestArguments) -> Result<Vec<u8>, CliError> {
    let Some(data) = &request.data else {
        return Ok(Vec::new());
    };
    let Some(file) = data.strip_prefix('@') else {
        return Ok(data.clone().into_bytes());
    };
    bounded(std::path::Path::new(file), BODY_LEN_MAX).map_err(|error| {
        CliError::usage(format!("cannot read the body from {file}: {error}"))
            .remedy("valid: a file of at most 64 MiB")
    })
}

/// Headers in the order in which they are sent; a header given by the user replaces ours.
fn headers(
    request: &RequestArguments,
    resolved: &Resolved,
    plan_headers: &[(String, String)],
) -> Result<Vec<(String, String)>, CliError> {
    let mut headers = vec![
        ("Host".to_owned(), host_value(resolved)),
        (
            "User-Agent".to_owned(),
            request
                .user_agent
                .clone()
                .unwrap_or_else(|| concat!("plimsoll/", env!("CARGO_PKG_VERSION")).to_owned()),
        ),
        ("Accept".to_owned(), "*/*".to_owned()),
    ];
    if request.compressed {
        headers.push(("Accept-Encoding".to_owned(), "gzip, br".to_owned()));
    }
    if request.data.is_some() {
        headers.push((
            "Content-Type".to_owned(),
            "application/x-www-form-urlencoded".to_owned(),
        ));
    }
    let user = request.user.as_ref().map(String::as_bytes);
    if let Some(user) = user.or(resolved.credentials.as_deref()) {
        headers.push(("Authorization".to_owned(), login::basic(user)));
    }
    let lines: Result<Vec<_>, CliError> = request
        .header
        .iter()
        .map(|line| header_line(line))
        .collect();
    let mut ours = headers.len();
    // A plan's headers replace ours; those of the command line replace both.
    for (place, (name, value)) in plan_headers.iter().cloned().chain(lines?).enumerate() {
        if place == plan_headers.len() {
            ours = headers.len();
        }
        if let Some(place) = headers[..ours.min(headers.len())]
            .iter()
            .position(|(have, _)| have.eq_ignore_ascii_case(&name))
        {
            headers[place].1 = value;
        } else if !value.is_empty() {
            headers.push((name, value));
        }
    }
    headers.retain(|(_, value)| !value.is_empty());
    for (name, value) in &headers {
        if value
            .bytes()
            .any(|byte| byte < 0x20 && byte != b'\t' || byte == 0x7f)
        {
            return Err(CliError::usage(format!(
                "the value of the header `{name}` contains a control character"
            ))
            .remedy("valid: one line of visible characters"));
        }
    }
    Ok(headers)
}

fn host_value(resolved: &Resolved) -> String {
    let target = &resolved.target;
    let host = if target.host.contains(':') && !target.host.starts_with('[') {
        format!("[{}]", target.host)
    } else {
        target.host.clone()
    };
    let default = if target.tls { 443 } else { 80 };
    if target.port == default {
        host
    } else {
        format!("{host}:{}", target.port)
    }
}

fn header_line(line: &str) -> Result<(String, String), CliError> {
    let wrong = |reason: &str| {
        CliError::usage(format!("the header `{line}` {reason}")).remedy("write it as 'Name: value'")
    };
    let (name, value) = line.split_once(':').ok_or_else(|| wrong("has no colon"))?;
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(wrong("has an invalid name"));
    }
    if ["content-length", "transfer-encoding", "connection"]
        .contains(&name.to_ascii_lowercase().as_str())
    {
        return Err(wrong("is set by plimsoll itself"));
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// Paths from a file of URLs; every invalid line is reported.
fn paths_of(file: &std::path::Path, resolved: &Resolved) -> Result<Vec<String>, CliError> {
    let bytes = bounded(file, URLS_LEN_MAX).map_err(|error| {
        CliError::usage(format!(
            "cannot read the URLs from {}: {error}",
            file.display()
        ))
        .remedy("valid: a file of at most 256 MiB")
    })?;
    let text = String::from_utf8_lossy(byte_order_mark::skip(&bytes));
    let base = target::parse_any(&resolved.target.url)?;
    let login = resolved.credentials.as_deref();
    let mut paths = Vec::new();
    let mut errors = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match path_on_origin(&base, login, line) {
            Ok(path) => paths.push(path),
            Err(error) => errors.push(format!("  line {}: {error}", index + 1)),
        }
    }
    if !errors.is_empty() {
        let count = errors.len();
        errors.truncate(ERRORS_SHOWN_MAX);
        let more = if count > ERRORS_SHOWN_MAX {
            format!("\n  … and {} more", count - ERRORS_SHOWN_MAX)
        } else {
            String::new()
        };
        return Err(CliError::usage(format!(
            "{} has {count} invalid lines:\n{}{more}",
            file.display(),
            errors.join("\n")
        ))
        .remedy(
            "valid: one URL per line, such as /articles/7 or a full URL on the target's host",
        ));
    }
    if paths.is_empty() {
        return Err(
            CliError::usage(format!("{} contains no URL", file.display()))
                .remedy("valid: one URL per line, such as /articles/7"),
        );
    }
    Ok(paths)
}

/// Path and query of `line`, which must lie on the target's origin, and may have no login but the target's.
fn path_on_origin(base: &Url, login: Option<&[u8]>, line: &str) -> Result<String, String> {
    if line
        .chars()
        .any(|c| c.is_whitespace() || c.is_control() || c == '\u{fffd}')
    {
        return Err(format!(
            "`{}` contains a space, a control character or invalid UTF-8",
            line.escape_debug()
        ));
    }
    let url = base
        .join(line)
        .map_err(|error| format!("`{line}` is not a URL: {error}"))?;
    if url.origin() != base.origin() {
        return Err(format!("`{line}` is not on the target's host"));
    }
    let own = login::of(&url);
    if own.is_some() && own.as_deref() != login {
        return Err(
            "a login here is not sent; write it into the target's URL, or use --user".into(),
        );
    }
    Ok(url.query().map_or_else(
        || url.path().to_owned(),
        |query| format!("{}?{query}", url.path()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_relative_to_the_target() {
        let base = target::parse("http://site/news/?x=1").unwrap();
        let check = |line: &str| path_on_origin(&base, Some(b"ada:p@w"), line);
        assert_eq!(check("/a?b=c"), Ok("/a?b=c".to_owned()));
        assert_eq!(check("7"), Ok("/news/7".to_owned()));
        assert_eq!(check("http://site/z"), Ok("/z".to_owned()));
        assert_eq!(check("http://ada:p%40w@site/z"), Ok("/z".to_owned()));
        assert!(check("http://bob:pw@site/z").is_err());
        assert!(check("http://other/z").is_err());
        assert!(check("a b").is_err());
    }

    #[test]
    fn header_lines_are_checked() {
        let (name, value) = header_line("X-A:  b ").unwrap();
        assert_eq!((name.as_str(), value.as_str()), ("X-A", "b"));
        for wrong in ["no colon", ": x", "a b: c", "Content-Length: 3"] {
            assert!(header_line(wrong).is_err(), "{wrong}");
        }
    }
}
