//! Origins that the environment gives.

/// The text of an origin in which each `env('NAME')` has a default, so that the plan is valid before the variable is set.
/// The default is a host that cannot exist (RFC 6761, 6.4): a run without the variable reaches nobody.
pub(super) fn with_defaults(origin: &str) -> String {
    const START: &str = "{{ env('";
    let mut out = String::new();
    let mut rest = origin;
    while let Some(at) = rest.find(START) {
        let (before, behind) = rest.split_at(at);
        out.push_str(before);
        let behind = &behind[START.len()..];
        let end = behind.find('\'').unwrap_or(behind.len());
        let (name, behind) = behind.split_at(end);
        let Some(after) = behind.strip_prefix("') }}") else {
            // It has a default already.
            out.push_str(START);
            out.push_str(name);
            rest = behind;
            continue;
        };
        let default = default(&out, name, after);
        for piece in [START, name, "', '", &default, "') }}"] {
            out.push_str(piece);
        }
        rest = after;
    }
    out + rest
}

/// The default of a variable between two texts.
fn default(before: &str, name: &str, after: &str) -> String {
    let label: String = name
        .chars()
        .map(|c| {
            if c == '_' {
                '-'
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect();
    let label = label.trim_matches('-');
    let label = if label.is_empty() { "site" } else { label };
    let ends_host = after.is_empty() || after.starts_with([':', '/']);
    if before.is_empty() && after.starts_with("://") {
        "http".to_owned()
    } else if before.is_empty() {
        format!("http://{label}.invalid")
    } else if !before.contains("://") {
        String::new()
    } else if before.ends_with(':') {
        "80".to_owned()
    } else if ends_host {
        format!("{label}.invalid")
    } else {
        label.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_an_origin_have_defaults() {
        for (origin, expected) in [
            ("http://a:80", "http://a:80"),
            (
                "{{ env('BASE_URL') }}",
                "{{ env('BASE_URL', 'http://base-url.invalid') }}",
            ),
            (
                "http://{{ env('HOST') }}:{{ env('PORT') }}",
                "http://{{ env('HOST', 'host.invalid') }}:{{ env('PORT', '80') }}",
            ),
            (
                "https://{{ env('SHOP') }}.example",
                "https://{{ env('SHOP', 'shop') }}.example",
            ),
            (
                "{{ env('PROTOCOL') }}://a",
                "{{ env('PROTOCOL', 'http') }}://a",
            ),
            ("{{ env('A', 'http://b') }}", "{{ env('A', 'http://b') }}"),
        ] {
            assert_eq!(with_defaults(origin), expected);
        }
    }
}
