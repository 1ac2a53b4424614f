//! Names that Kubernetes takes, checked before it sees them.

use thiserror::Error;

/// Longest name of a label or its value, and longest label of a domain name, characters.
const LABEL_MAX: usize = 63;
/// Longest prefix of the name of a label, characters.
const PREFIX_MAX: usize = 253;
/// Longest name of an image, characters.
const IMAGE_MAX: usize = 512;

const NAMESPACE_VALID: &str =
    "1 to 63 small letters, digits and `-`, the first and last of them no `-`";
const LABEL_VALID: &str = "LABEL=VALUE as in `kubectl get nodes --show-labels`, such as pool=load";
const REGIONS_VALID: &str = "LABEL=VALUE,VALUE… of a label of nodes, such as topology.kubernetes.io/region=eu-west-1,us-east-1";
const IMAGE_VALID: &str =
    "REGISTRY/NAME:TAG or REGISTRY/NAME@DIGEST, such as registry.example/plimsoll:0.2.0";

/// A name that Kubernetes does not take.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not {what}; valid: {valid}")]
pub struct NameError {
    what: &'static str,
    text: String,
    valid: &'static str,
}

/// A namespace.
///
/// # Errors
/// When it is no label of a domain name.
pub fn namespace(text: &str) -> Result<String, NameError> {
    checked(text, "a namespace", NAMESPACE_VALID, is_dns_label)
}

/// An image.
///
/// # Errors
/// When it has characters that no image has.
pub fn image(text: &str) -> Result<String, NameError> {
    checked(text, "an image", IMAGE_VALID, |text| {
        let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        let is_of_image = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
        begins && text.len() <= IMAGE_MAX && text.chars().all(is_of_image)
    })
}

/// A label of nodes with its value, of `LABEL=VALUE`.
///
/// # Errors
/// When one of the two is none.
pub fn label(text: &str) -> Result<(String, String), NameError> {
    let parts = text.split_once('=');
    let valid = parts
        .filter(|(key, value)| is_label_name(key) && (value.is_empty() || is_label_value(value)));
    valid
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .ok_or_else(|| error(text, "a label of nodes", LABEL_VALID))
}

/// A label of nodes with values that name regions, of `LABEL=VALUE,VALUE…`.
pub(crate) fn region_labels(text: &str) -> Result<(String, Vec<String>), NameError> {
    let parts = text.split_once('=');
    let valid =
        parts.filter(|(key, values)| is_label_name(key) && values.split(',').all(is_label_value));
    valid
        .map(|(key, values)| {
            let values = values.split(',').map(str::to_owned);
            (key.to_owned(), values.collect())
        })
        .ok_or_else(|| error(text, "a label of regions", REGIONS_VALID))
}

fn checked(
    text: &str,
    what: &'static str,
    valid: &'static str,
    is_valid: impl Fn(&str) -> bool,
) -> Result<String, NameError> {
    if is_valid(text) {
        return Ok(text.to_owned());
    }
    Err(error(text, what, valid))
}

fn error(text: &str, what: &'static str, valid: &'static str) -> NameError {
    NameError {
        what,
        text: text.to_owned(),
        valid,
    }
}

/// Whether a text is a label of a domain name (RFC 1123).
pub(crate) fn is_dns_label(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    is_between(text, is_inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// Whether a text is the name of a label: `[PREFIX/]NAME`.
fn is_label_name(text: &str) -> bool {
    match text.split_once('/') {
        None => is_label_value(text),
        Some((prefix, name)) => {
            prefix.len() <= PREFIX_MAX
                && prefix.split('.').all(is_dns_label)
                && is_label_value(name)
        }
    }
}

fn is_label_value(text: &str) -> bool {
    let is_end = |c: char| c.is_ascii_alphanumeric();
    let is_inner = |c: char| is_end(c) || "._-".contains(c);
    is_between(text, is_inner) && text.starts_with(is_end) && text.ends_with(is_end)
}

fn is_between(text: &str, is_inner: impl Fn(char) -> bool) -> bool {
    (1..=LABEL_MAX).contains(&text.len()) && text.chars().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_a_cluster_takes() {
        for text in ["load", "a", "load-2", &"x".repeat(63)] {
            assert_eq!(namespace(text).as_deref(), Ok(text));
        }
        for text in ["", "-a", "a-", "Load", "a.b", "a b", &"x".repeat(64)] {
            let error = namespace(text).unwrap_err().to_string();
            assert!(
                error.contains("is not a namespace; valid: 1 to 63"),
                "{error}"
            );
        }
        for text in [
            "registry.example:5000/a/plimsoll:0.2.0",
            "plimsoll@sha256:0a",
            "a",
        ] {
            assert_eq!(image(text).as_deref(), Ok(text));
        }
        for text in ["", "-it", "a b", "a\n", "$(X)"] {
            let error = image(text).unwrap_err().to_string();
            assert!(error.contains("REGISTRY/NAME:TAG"), "{error}");
        }
    }

    #[test]
    fn labels_have_a_key_and_a_value() {
        let pair = |key: &str, value: &str| Ok((key.to_owned(), value.to_owned()));
        assert_eq!(label("pool=load"), pair("pool", "load"));
        let zone = "topology.kubernetes.io/zone";
        assert_eq!(label(&format!("{zone}=eu-1a")), pair(zone, "eu-1a"));
        // Roles of nodes are labels without a value.
        let role = "node-role.kubernetes.io/worker";
        assert_eq!(label(&format!("{role}=")), pair(role, ""));
        for text in ["pool", "=a", "a/b/c=d", "-a=b", "a=b c", "A.B/c=d", "a=-"] {
            assert!(
                label(text).unwrap_err().to_string().contains("LABEL=VALUE"),
                "{text}"
            );
        }
        let regions = Ok((zone.to_owned(), vec!["EU_1.a".to_owned(), "us".to_owned()]));
        assert_eq!(region_labels(&format!("{zone}=EU_1.a,us")), regions);
        for text in ["a", "a=", "a=b,", "a=_b", "a=b:c", "=a"] {
            assert!(
                region_labels(text)
                    .unwrap_err()
                    .to_string()
                    .contains("VALUE,VALUE"),
                "{text}"
            );
        }
    }
}
