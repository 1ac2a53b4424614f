//! The path of a query to a Prometheus server for all series of one instance of `node_exporter`:
//! `{instance="db1:9100",__name__=~"node_.+"}`.

/// What is before and behind the label, in the form of a URL.
const BEGIN: &str = "/api/v1/query?query=%7Binstance%3D%22";
const END: &str = "%22%2C__name__%3D~%22node_.%2B%22%7D";

/// Brackets, which a URL has in another form there.
const BRACKETS: [(&str, &str); 2] = [("[", "%5B"), ("]", "%5D")];

/// The path below that of the server. The label has letters, digits, `.`, `_`, `-`, `:` and brackets.
pub fn path_of(server: &str, instance: &str) -> String {
    let below = server.trim_end_matches('/');
    let instance = BRACKETS
        .iter()
        .fold(instance.to_owned(), |text, (plain, coded)| {
            text.replace(plain, coded)
        });
    format!("{below}{BEGIN}{instance}{END}")
}

/// The label that a path queries for; `None` of another path.
pub fn instance_of(path: &str) -> Option<String> {
    let (_, rest) = path.split_once(BEGIN)?;
    let instance = rest.strip_suffix(END)?;
    Some(
        BRACKETS
            .iter()
            .fold(instance.to_owned(), |text, (plain, coded)| {
                text.replace(coded, plain)
            }),
    )
}

/// The host of a label: what is before its port, without brackets.
pub fn host_of(instance: &str) -> &str {
    if let Some(rest) = instance.strip_prefix('[') {
        return rest.split(']').next().unwrap_or(rest);
    }
    match instance.split_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        // An IPv6 address without a port has more than one colon.
        _ => instance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_read_from_the_path_that_was_made_of_it() {
        for (server, instance, host) in [
            ("/", "db1:9100", "db1"),
            ("/prometheus/", "db1.internal", "db1.internal"),
            ("", "[fd00::1]:9100", "fd00::1"),
            ("", "fd00::1", "fd00::1"),
            ("", "10.0.0.5:9100", "10.0.0.5"),
            ("", "web:blue", "web:blue"),
        ] {
            let path = path_of(server, instance);
            assert!(!path.contains("//"), "{path}");
            assert_eq!(instance_of(&path).as_deref(), Some(instance));
            assert_eq!(host_of(instance), host);
        }
        for path in ["/metrics", "/api/v1/query?query=up"] {
            assert_eq!(instance_of(path), None);
        }
    }
}
