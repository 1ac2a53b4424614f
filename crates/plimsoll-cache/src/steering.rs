//! Request fields that a proxy is expected to write: applications believe them about the scheme, host, path, method or
//! address that was asked for, and answer another request than the one on the request line.
//!
//! No list of such fields is ever complete, so families of names are known rather than names. Names are compared with
//! every byte that is neither letter nor digit as a hyphen: servers that hand fields on as variables (CGI, WSGI,
//! FastCGI) merge `X_Forwarded_Host` into `X-Forwarded-Host`.

/// Starts of names that begin with `x-`, in small letters. Each stands for every name that starts so.
const X_FAMILIES: [&str; 22] = [
    // What proxies say of a request: X-Forwarded-Ssl, -Port, -Protocol, -Uri, -Path, -Prefix, -Context, -Server, -User.
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
    // Which file a server hands out instead of an answer: X-Accel-Mapping, X-Sendfile-Type.
    "x-accel-",
    "x-sendfile-",
    // Who was proven to ask: X-Remote-User, X-Client-Cert.
    "x-remote-",
    "x-client-cert",
];

/// Starts of other names that steer. The last is of `$WSSC` and its like, which application servers of one vendor believe.
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

/// A name that starts as a family does and steers nothing: a script library says its version.
const HARMLESS: &str = "x-prototype-version";

/// Names that tell the client's address. They change who is thought to ask, not what is asked for.
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

/// The fields of [`steers`] that an edge judges itself, because the peers it trusts write them into every request.
const EDGE_VALIDATED: [&str; 4] = [
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
];

/// Fields that an edge writes anew for each client or request, so that no two requests have the same: an answer that
/// varies by one of them is for nobody else.
const PER_REQUEST: [&str; 5] = [
    "forwarded",
    "x-forwarded-for",
    "traceparent",
    "tracestate",
    "x-plimsoll",
];

/// A byte of a name, as servers see it that hand fields on as variables.
#[inline]
fn plain(byte: u8) -> u8 {
    if byte.is_ascii_alphanumeric() {
        byte.to_ascii_lowercase()
    } else {
        b'-'
    }
}

/// Whether two field names become one variable in servers that hand fields on so.
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

/// Whether a field steers some applications to another answer than the one for the request line and `Host`.
#[inline]
pub fn steers(name: &str) -> bool {
    // Most fields are told apart by their first letter.
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

/// Whether a field steers, and is not one that an edge judges by itself when a trusted peer wrote it.
pub(crate) fn steers_unvalidated(name: &str) -> bool {
    steers(name)
        && !EDGE_VALIDATED
            .iter()
            .any(|validated| merge(name, validated))
}

/// Whether a field tells the address of the client, as far as its writer is believed.
#[inline]
pub fn identifies_client(name: &str) -> bool {
    let starts_so = matches!(
        name.as_bytes(),
        [b'x' | b'X' | b'c' | b'C' | b't' | b'T' | b'f' | b'F', ..]
    );
    starts_so && name.len() >= 9 && CLIENT_ADDRESS.iter().any(|other| merge(name, other))
}

/// Whether a field differs from one request to the next because the edge writes it, or because it tells who asks.
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
