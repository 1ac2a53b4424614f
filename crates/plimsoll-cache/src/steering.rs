//! Steering fields: request fields usually written by proxies. Applications trust them about the requested scheme,
//! host, path, method or address, and then answer a different request than the one on the request line.
//!
//! No list of such fields is ever complete, so families of names are matched. For the comparison every byte that is
//! neither letter nor digit counts as a hyphen: servers that pass fields on as variables (CGI, WSGI, FastCGI) merge
//! `X_Forwarded_Host` into `X-Forwarded-Host`.

/// Prefixes of names that begin with `x-`, in lower case. Each matches every name with that prefix.
const X_FAMILIES: [&str; 22] = [
    // Written by proxies: X-Forwarded-Ssl, -Port, -Protocol, -Uri, -Path, -Prefix, -Context, -Server, -User.
    "x-forward",
    // The target before it was rewritten: X-Original-URL, X-Rewrite-URL, X-Envoy-Original-Path, X-WAWS-Unencoded-URL.
    "x-original-",
    "x-rewrite-",
    "x-rewritten-",
    "x-envoy-",
    "x-waws-",
    "x-override-",
    // Where an application is mounted.
    "x-script-",
    // The method or host to take instead: X-HTTP-Method-Override, X-HTTP-Host-Override, X-Method-Override.
    "x-http-",
    "x-method-override",
    "x-host",
    "x-backend-host",
    // The scheme: X-Scheme, X-URL-Scheme, X-Proto, X-Protocol, X-HTTPS, X-SSL, X-ARR-SSL.
    "x-scheme",
    "x-url-scheme",
    "x-proto",
    "x-https",
    "x-ssl",
    "x-arr-",
    // Files served instead of a response: X-Accel-Mapping, X-Sendfile-Type.
    "x-accel-",
    "x-sendfile-",
    // Authenticated user: X-Remote-User, X-Client-Cert.
    "x-remote-",
    "x-client-cert",
];

/// Prefixes of other steering names. The last is of `$WSSC` and similar, which application servers of one vendor trust.
const FAMILIES: [&str; 8] = [
    "base-url",
    "front-end-",
    "proxy-host",
    "proxy-url",
    "remote-user",
    "request-uri",
    "script-name",
    "-ws",
];

/// A name with a family's prefix that steers nothing: the version of a script library.
const HARMLESS: &str = "x-prototype-version";

/// Names that contain the client's address. They change the assumed sender, not the requested resource.
const CLIENT_ADDRESS: [&str; 11] = [
    "x-real-ip",
    "x-client-ip",
    "client-ip",
    "true-client-ip",
    "x-cluster-client-ip",
    "x-originating-ip",
    "x-proxyuser-ip",
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "fastly-client-ip",
    "fly-client-ip",
];

/// The fields of [`steers`] that an edge evaluates itself, because trusted peers write them into every request.
const EDGE_VALIDATED: [&str; 4] = [
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
];

/// Fields that an edge rewrites per client or request: a response that varies by one of them is useless for others.
const PER_REQUEST: [&str; 5] = [
    "forwarded",
    "x-forwarded-for",
    "traceparent",
    "tracestate",
    "x-plimsoll",
];

/// A byte of a name as servers map it to variables.
#[inline]
fn plain(byte: u8) -> u8 {
    if byte.is_ascii_alphanumeric() {
        byte.to_ascii_lowercase()
    } else {
        b'-'
    }
}

/// Whether two field names map to the same variable in such servers.
#[inline]
pub fn merge(name: &str, other: &str) -> bool {
    name.len() == other.len() && name.bytes().map(plain).eq(other.bytes().map(plain))
}

/// Whether a field name has only letters, digits and hyphens: no server merges it with another name.
#[inline]
pub fn is_plain(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Whether a field makes some applications answer another request than that of the request line and `Host`.
#[inline]
pub fn steers(name: &str) -> bool {
    // Most fields are excluded by their first letter.
    match name.as_bytes() {
        [b'x' | b'X', ..] => is_of(&X_FAMILIES, name) && !merge(name, HARMLESS),
        [
            b'b' | b'B' | b'f' | b'F' | b'p' | b'P' | b'r' | b'R' | b's' | b'S',
            ..,
        ] => is_of(&FAMILIES, name),
        [first, ..] => !first.is_ascii_alphanumeric() && is_of(&FAMILIES, name),
        [] => false,
    }
}

fn is_of(families: &[&str], name: &str) -> bool {
    families.iter().any(|family| {
        let start = name.as_bytes().get(..family.len());
        start.is_some_and(|start| start.iter().map(|&byte| plain(byte)).eq(family.bytes()))
    })
}

/// Whether a field steers, and is not one that an edge evaluates itself when a trusted peer wrote it.
pub(crate) fn steers_unvalidated(name: &str) -> bool {
    steers(name)
        && !EDGE_VALIDATED
            .iter()
            .any(|validated| merge(name, validated))
}

/// Whether a field contains the address of the client, if its sender is trusted.
#[inline]
pub fn identifies_client(name: &str) -> bool {
    let starts_so = matches!(
        name.as_bytes(),
        [b'x' | b'X' | b'c' | b'C' | b't' | b'T' | b'f' | b'F', ..]
    );
    starts_so && name.len() >= 9 && CLIENT_ADDRESS.iter().any(|other| merge(name, other))
}

/// Whether a field differs per request because the edge writes it, or because it identifies the client.
pub fn is_per_request(name: &str) -> bool {
    PER_REQUEST.iter().any(|other| merge(name, other)) || identifies_client(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_steer_are_known_in_every_spelling() {
        for name in [
            "X-Forwarded-Ssl",
            "Front-End-Https",
            "X-Forwarded-Protocol",
            "X-Url-Scheme",
            "X-Forwarded-Uri",
            "X-Forwarded-Path",
            "X-Forwarded-Context",
            "X-Script-Name",
            "X-Forwarded-Script-Name",
            "X-Original-Uri",
            "X-HTTP-Host-Override",
            "X-Forwarded",
            "X-HTTP-Method-Override",
            "X-HTTP-Method",
            "X-Method-Override",
            "X-Original-URL",
            "X-Rewrite-URL",
            "X-Original-Host",
            "X-Host",
            "X-Forwarded-Server",
            "X-Forwarded-Scheme",
            "X-Forwarded-Prefix",
            "x_forwarded_ssl",
            "X.Forwarded.Ssl",
            "FRONT_END_HTTPS",
            "X-Forwarded-Anything",
            "X-Accel-Mapping",
            "$WSSC",
        ] {
            assert!(steers(name), "{name}");
        }
        for name in [
            "Host",
            "Accept",
            "X-Requested-With",
            "X-CSRF-Token",
            "X-Api-Key",
            "X-Request-ID",
            "X-Prototype-Version",
            "X-Up-Method",
            "X-Up-Context",
            "X-Inertia-Version",
            "X-Upload-Content-Type",
            "Forwarded",
            "Referer",
            "Prefer",
            "Priority",
            "From",
            "Range",
            "Sec-Fetch-Site",
            "",
        ] {
            assert!(!steers(name), "{name}");
        }
        assert!(steers("X-Forwarded-Port") && !steers_unvalidated("X_Forwarded_Port"));
    }

    #[test]
    fn addresses_of_clients_are_told_by_few_names() {
        for name in [
            "X-Real-IP",
            "client_ip",
            "CF-Connecting-IP",
            "True-Client-Ip",
        ] {
            assert!(identifies_client(name) && is_per_request(name), "{name}");
        }
        assert!(!identifies_client("X-Forwarded-For") && is_per_request("X-Forwarded-For"));
        assert!(!is_per_request("X-Forwarded-Proto") && !is_per_request("Accept"));
    }

    #[test]
    fn names_merge_where_only_signs_differ() {
        assert!(merge("Accept-Encoding", "accept_encoding"));
        assert!(merge("A.b", "a-B"));
        assert!(!merge("a-b", "a-bc") && !merge("a-b", "axb"));
        assert!(is_plain("X-Forwarded-For") && !is_plain("X_Foo") && !is_plain("a.b"));
    }
}
