//! Names of series: a metric with its labels, `cpu{mode=user,statement="SELECT a, b FROM t"}`.
//!
//! The only module that formats and parses such names. A value is written verbatim, or in quotes where it contains
//! a separator. Nothing inside quotes is escaped, so that a label is read without a copy: a value that contains a
//! quote is written between `#"` and `"#`, with as many `#` as are needed for an unambiguous end.

use std::fmt::Write as _;

/// Separators and terminators of labels.
const SEPARATORS: [char; 4] = ['{', '}', ',', '='];

/// The name of a series: a metric with its labels, `cpu{mode=user}`. Without labels, the metric itself; without a metric, a
/// label set that series of several metrics share ([`label_set`]).
///
/// A value may be any text. Control characters become `_`: names are shown on terminals, one a line.
pub fn series(metric: &str, labels: &[(&str, &str)]) -> String {
    let mut name = String::with_capacity(metric.len() + labels.len() * 24);
    name.push_str(metric);
    for (index, (label, value)) in labels.iter().enumerate() {
        let separator = if index == 0 { '{' } else { ',' };
        let fence = fence(value);
        let (open, close) = match &fence {
            Some(fence) => (format!("{fence}\""), format!("\"{fence}")),
            None => (String::new(), String::new()),
        };
        write!(name, "{separator}{label}={open}").expect("writing to a string does not fail");
        name.extend(value.chars().map(|c| if c.is_control() { '_' } else { c }));
        name.push_str(&close);
    }
    if !labels.is_empty() {
        name.push('}');
    }
    name
}

/// The `#` characters around a value's quotes, usually none; `None` for a value that needs no quotes.
fn fence(value: &str) -> Option<String> {
    let is_quoted = value.trim_start_matches('#').starts_with('"');
    if !is_quoted && !value.contains(SEPARATORS) {
        return None;
    }
    let mut fence = String::new();
    while value.contains(&format!("\"{fence}")) {
        fence.push('#');
    }
    Some(fence)
}

/// The metric of a series: its name without labels.
pub fn metric(series: &str) -> &str {
    series.split('{').next().unwrap_or(series)
}

/// The labels of a series, braces included; empty without any. Appended to another metric they form that metric's
/// series.
pub fn label_set(series: &str) -> &str {
    series.find('{').map_or("", |start| &series[start..])
}

/// The labels of a series with their values, in their order.
pub fn labels(series: &str) -> impl Iterator<Item = (&str, &str)> {
    let inside = label_set(series).strip_prefix('{');
    let mut rest = inside
        .and_then(|inside| inside.strip_suffix('}'))
        .unwrap_or_default();
    std::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                return None;
            }
            let end = rest.find([',', '=']).unwrap_or(rest.len());
            let (name, behind) = rest.split_at(end);
            let Some(written) = behind.strip_prefix('=') else {
                // A word without a value: never written by this tool.
                rest = behind.strip_prefix(',').unwrap_or_default();
                continue;
            };
            let (value, behind) = value(written);
            rest = behind;
            return Some((name, value));
        }
    })
}

/// The value of a label in a series' name: `label("x{a=1,b=2}", "b")` is `Some("2")`.
pub fn label<'a>(series: &'a str, name: &str) -> Option<&'a str> {
    labels(series)
        .find(|label| label.0 == name)
        .map(|label| label.1)
}

/// A value, and the rest after its comma.
fn value(written: &str) -> (&str, &str) {
    if let Some(quoted) = quoted(written) {
        return quoted;
    }
    written.split_once(',').unwrap_or((written, ""))
}

/// The same in quotes; `None` for anything else, such as a quote in an old file, from before quoting existed.
fn quoted(written: &str) -> Option<(&str, &str)> {
    let after = written.trim_start_matches('#');
    let fence = &written[..written.len() - after.len()];
    let (value, behind) = after.strip_prefix('"')?.split_once(&format!("\"{fence}"))?;
    match behind.strip_prefix(',') {
        Some(behind) => Some((value, behind)),
        None => behind.is_empty().then_some((value, "")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_value_is_quoted_only_where_it_must_be() {
        for (value, right) in [
            ("target", "target"),
            ("", ""),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("say \"so\" #1", "say \"so\" #1"),
            (
                "SELECT a, b FROM t WHERE c = ?",
                "\"SELECT a, b FROM t WHERE c = ?\"",
            ),
            ("/orders/{id}", "\"/orders/{id}\""),
            ("a=\"b\"", "#\"a=\"b\"\"#"),
            ("\"#,", "##\"\"#,\"##"),
            ("a\nb", "a_b"),
        ] {
            let name = series("m", &[("x", value), ("process", "target")]);
            assert_eq!(name, format!("m{{x={right},process=target}}"));
            assert_eq!(label(&name, "x"), Some(&*value.replace('\n', "_")));
            assert_eq!(label(&name, "process"), Some("target"));
        }
        assert_eq!(series("m", &[]), "m");
        assert_eq!(label("m", "x"), None);
    }

    #[test]
    fn a_series_is_its_metric_and_its_subject() {
        let name = series("m.n", &[("a", "{=}"), ("b", "}")]);
        assert_eq!((metric(&name), label_set(&name)), ("m.n", &name[3..]));
        assert_eq!(series("", &[("a", "{=}"), ("b", "}")]), label_set(&name));
        assert_eq!((metric("m"), label_set("m")), ("m", ""));
    }

    #[test]
    fn files_without_quotes_are_read() {
        for (name, right) in [
            ("m{a=\"b,c=d}", vec![("a", "\"b"), ("c", "d")]),
            ("m{a=#1,c=\"d\"e}", vec![("a", "#1"), ("c", "\"d\"e")]),
            (
                "m{a,b=SELECT a; b,c=}",
                vec![("b", "SELECT a; b"), ("c", "")],
            ),
            ("m{a=1", vec![]),
            ("m{}", vec![]),
        ] {
            assert_eq!(labels(name).collect::<Vec<_>>(), right, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_survives(
            values in proptest::collection::vec("[#\"{},=a]{0,12}|\\PC{0,40}", 0..4),
        ) {
            let labelled = ["a", "b.c", "d", "e"].into_iter().zip(values.iter().map(String::as_str));
            let labelled: Vec<(&str, &str)> = labelled.collect();
            let name = series("some.metric", &labelled);
            prop_assert_eq!(labels(&name).collect::<Vec<_>>(), labelled.clone());
            prop_assert_eq!(series(metric(&name), &labelled), name);
        }

        #[test]
        fn names_of_before_stay_as_they_were(value in "[^#\"{},=\\pC][^{},=\\pC]{0,20}") {
            let right = format!("m{{a={value},b=2}}");
            prop_assert_eq!(series("m", &[("a", &value), ("b", "2")]), right.clone());
            prop_assert_eq!(label(&right, "a"), Some(value.as_str()));
        }

        #[test]
        fn no_name_is_too_strange(name in ".{0,60}", inner in "[#\"{},=a]{0,20}") {
            for name in [name, format!("m{{{inner}}}")] {
                let _ = (metric(&name), label_set(&name), labels(&name).count());
            }
        }
    }
}
