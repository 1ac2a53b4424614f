//! Metrics pages in the text format of Prometheus and OpenMetrics.

use std::collections::BTreeMap;

/// Suffixes of counter names, used where no type is given.
const ENDINGS: [&str; 4] = ["_total", "_count", "_sum", "_bucket"];

/// One line of a page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MetricSample {
    /// Its name.
    pub(crate) name: String,
    /// Its labels, unparsed.
    pub(crate) labels: Vec<(String, String)>,
    /// Its value; finite.
    pub(crate) value: f64,
    /// When it was read, ms since 1970, where the page has it.
    pub(crate) time_ms: Option<i64>,
    /// It only rises.
    pub(crate) is_counter: bool,
}

/// Content of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ParsedExposition {
    /// The samples with a selected name.
    pub(crate) samples: Vec<MetricSample>,
    /// Names of all samples, each once.
    pub(crate) names: Vec<String>,
}

/// Parses a page as far as possible; labels and values only of selected names.
pub(crate) fn page(text: &str, is_wanted: impl Fn(&str) -> bool) -> ParsedExposition {
    let mut page = ParsedExposition::default();
    let mut types = BTreeMap::new();
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix('#') {
            let mut words = comment.split_whitespace();
            if words.next() == Some("TYPE")
                && let (Some(name), Some(kind)) = (words.next(), words.next())
            {
                types.insert(name, kind);
            }
            continue;
        }
        let end = line.find(|c: char| c == '{' || c.is_whitespace());
        let Some((name, rest)) = end.map(|end| line.split_at(end)) else {
            continue;
        };
        if name.is_empty() {
            continue;
        }
        if page.names.last().is_none_or(|last| last != name) {
            page.names.push(name.to_owned());
        }
        if is_wanted(name)
            && let Some((labels, value, time_ms)) = labels_value_and_time(rest)
        {
            page.samples.push(MetricSample {
                name: name.to_owned(),
                labels,
                value,
                time_ms,
                is_counter: is_counter(&types, name),
            });
        }
    }
    page.names.sort_unstable();
    page.names.dedup();
    page
}

fn is_counter(types: &BTreeMap<&str, &str>, name: &str) -> bool {
    match types.get(name) {
        Some(&"counter") => return true,
        Some(&("unknown" | "untyped")) | None => {}
        Some(_) => return false,
    }
    // Of a family, the lines have endings that its name has not.
    ENDINGS.iter().any(|ending| {
        let family = name
            .strip_suffix(ending)
            .and_then(|family| types.get(family));
        name.ends_with(ending) && family.is_none_or(|&kind| kind != "gauge")
    })
}

/// The labels, the value and the timestamp of a line.
type SampleParts = (Vec<(String, String)>, f64, Option<i64>);

/// The rest after a name: optional labels, and a value, with an optional timestamp or exemplar. OpenMetrics writes timestamps in
/// seconds, with a dot: these are not read.
fn labels_value_and_time(rest: &str) -> Option<SampleParts> {
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (Vec::new(), rest),
    };
    let mut words = rest.split_whitespace();
    let value: f64 = words.next()?.parse().ok()?;
    let time_ms = words.next().and_then(|word| word.parse().ok());
    value.is_finite().then_some((labels, value, time_ms))
}

/// `name="value",…}` and the rest.
fn labels(mut rest: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start().strip_prefix('"')?;
        let mut value = String::new();
        let mut characters = after.char_indices();
        let end = loop {
            match characters.next()? {
                (at, '"') => break at + 1,
                (_, '\\') => value.push(match characters.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (_, other) => value.push(other),
            }
        };
        labels.push((name.trim().to_owned(), value));
        rest = after.get(end..)?;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGE: &str = "# HELP http_requests_total The total.\n# TYPE http_requests_total counter\n\
        http_requests_total{method=\"post\",code=\"200\"} 1027 1395066363000\n\
        http_requests_total{method=\"a \\\"b\\\\c}\\n\", code=\"500\",} 3\n# TYPE load gauge\nload 0.25\n\
        # TYPE took histogram\ntook_bucket{le=\"+Inf\"} 144320 # {trace_id=\"x\"} 0.67\ntook_sum 53423\ntook_count 144320\n\
        # TYPE odd_count gauge\nodd_count 7\nplain_total 1e3\nnothing NaN\n# EOF\n";

    #[test]
    fn lines_are_read_with_their_labels_and_kinds() {
        let read = page(PAGE, |name| name != "took_sum");
        let shown: Vec<_> = read
            .samples
            .iter()
            .map(|sample| (sample.name.as_str(), sample.value, sample.is_counter))
            .collect();
        assert_eq!(
            shown,
            [
                ("http_requests_total", 1027.0, true),
                ("http_requests_total", 3.0, true),
                ("load", 0.25, false),
                ("took_bucket", 144_320.0, true),
                ("took_count", 144_320.0, true),
                ("odd_count", 7.0, false),
                ("plain_total", 1000.0, true),
            ]
        );
        let times: Vec<_> = read.samples.iter().map(|sample| sample.time_ms).collect();
        assert_eq!(times[..2], [Some(1_395_066_363_000), None]);
        assert!(times[2..].iter().all(Option::is_none), "{times:?}");
        let odd = ("method".to_owned(), "a \"b\\c}\n".to_owned());
        assert_eq!(read.samples[1].labels[0], odd);
        assert_eq!(read.names.len(), 8, "{:?}", read.names);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,300}") {
            let _ = page(&text, |_| true);
            let _ = page(&PAGE.replace("code", &text), |_| true);
        }
    }
}
