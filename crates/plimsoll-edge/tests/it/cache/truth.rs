//! Whatever the order of requests: a response is one that the origin could have given to this very request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::{cached, request, value};
use crate::support::{Scripted, start, status_and_body};

/// Kinds of pages, by the first part of their path: the header lines, and the request fields that they depend on.
const KINDS: [(&str, &str, &[&str]); 10] = [
    ("public", "Cache-Control: public, max-age=600", &[]),
    (
        "tongue",
        "Cache-Control: max-age=600\r\nVary: Accept-Language",
        &["accept-language"],
    ),
    ("asked", "Cache-Control: no-cache\r\nETag: \"V\"", &[]),
    (
        "short",
        "Cache-Control: max-age=0, must-revalidate\r\nETag: \"V\"",
        &[],
    ),
    (
        "whose",
        "Vary: Cookie\r\nCache-Control: max-age=600",
        &["cookie"],
    ),
    (
        "private",
        "Cache-Control: private, max-age=600",
        &["cookie", "authorization"],
    ),
    (
        "never",
        "Cache-Control: no-store",
        &["cookie", "authorization"],
    ),
    ("silent", "X-Nothing: said", &["cookie", "authorization"]),
    ("proof", "Cache-Control: max-age=600", &["authorization"]),
    (
        "sets",
        "Cache-Control: max-age=600\r\nSet-Cookie: a=b",
        &["cookie"],
    ),
];

/// One request of a client.
#[derive(Clone, Debug)]
struct GeneratedRequest {
    kind: usize,
    page: u8,
    method: &'static str,
    headers: Vec<(&'static str, &'static str)>,
}

fn generated_request() -> impl Strategy<Value = GeneratedRequest> {
    let optional_header = |name: &'static str, values: &'static [&'static str]| {
        proptest::option::weighted(0.4, proptest::sample::select(values))
            .prop_map(move |value| value.map(|value| (name, value)))
    };
    let headers = [
        optional_header("Accept-Language", &["de", "en", "en, de"]),
        optional_header("Cookie", &["session=anna", "session=bert"]),
        optional_header("Authorization", &["anna", "bert"]),
        optional_header("Range", &["bytes=0-3", "bytes=-2", "bytes=500-"]),
        optional_header("If-None-Match", &["\"0\"", "\"1\"", "\"2\""]),
        optional_header(
            "Cache-Control",
            &["no-cache", "max-age=0", "no-store", "max-stale"],
        ),
        optional_header("Accept-Encoding", &["gzip", "br, gzip"]),
    ];
    let method = proptest::sample::select(&["GET", "GET", "GET", "GET", "HEAD", "POST"][..]);
    (0..KINDS.len(), 0_u8..2, method, headers).prop_map(|(kind, page, method, headers)| {
        GeneratedRequest {
            kind,
            page,
            method,
            headers: headers.into_iter().flatten().collect(),
        }
    })
}

impl GeneratedRequest {
    fn path(&self) -> String {
        format!("/{}/{}", KINDS[self.kind].0, self.page)
    }

    fn header(&self, name: &str) -> &'static str {
        let mut headers = self.headers.iter();
        let found = headers.find(|(candidate, _)| candidate.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }
}

/// The origin's page for a client with these properties, at a version.
fn body(path: &str, header: impl Fn(&str) -> String, version: usize) -> String {
    let kind = path.split('/').nth(1).unwrap_or_default();
    let (_, _, vary_names) = KINDS.iter().find(|(name, _, _)| *name == kind).unwrap();
    let of: Vec<String> = vary_names.iter().map(|name| header(name)).collect();
    format!("{path} for {} at {version}", of.join("+"))
}

/// An origin whose pages change only by a POST.
fn origin(versions: &Arc<Mutex<HashMap<String, usize>>>) -> Scripted {
    let versions = Arc::clone(versions);
    Scripted::start(move |mut connection| {
        while let Some(head) = connection.head() {
            let mut words = head.split(' ');
            let (method, path) = (words.next().unwrap(), words.next().unwrap());
            let mut versions = versions.lock().unwrap();
            let version = versions.entry(path.to_owned()).or_default();
            if method == "POST" {
                *version += 1;
            }
            let version = *version;
            let header = |name: &str| value(&head, name).to_owned();
            let kind = path.split('/').nth(1).unwrap_or_default();
            let (_, lines, _) = KINDS.iter().find(|(name, _, _)| *name == kind).unwrap();
            let lines = lines.replace("\"V\"", &format!("\"{version}\""));
            let body = body(path, header, version);
            let len = body.len();
            let is_known = lines.contains("ETag")
                && header("if-none-match").contains(&format!("\"{version}\""));
            connection.send(match method {
                "GET" | "HEAD" if is_known => {
                    format!("HTTP/1.1 304 Not Modified\r\n{lines}\r\n\r\n")
                }
                "HEAD" => format!("HTTP/1.1 200 OK\r\n{lines}\r\nContent-Length: {len}\r\n\r\n"),
                _ => format!("HTTP/1.1 200 OK\r\n{lines}\r\nContent-Length: {len}\r\n\r\n{body}"),
            });
        }
    })
}

fn check(asked: &[GeneratedRequest]) {
    let versions = Arc::default();
    let origin = origin(&versions);
    let edge = start(&cached(origin.address));
    for (number, generated) in asked.iter().enumerate() {
        let (path, method) = (generated.path(), generated.method);
        let mut headers: Vec<String> = generated
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        if method == "POST" {
            headers.push("Content-Length: 0".to_owned());
        }
        let answer = request(
            edge.address,
            &format!("{method} {path}"),
            &headers.join("\n"),
        );
        let version = versions.lock().unwrap()[&path];
        let expected = body(&path, |name| generated.header(name).to_owned(), version);
        let (status, got) = status_and_body(&answer);
        let story = format!(
            "{number}: {generated:?}\n{answer}\nexpected: {expected}\nafter {:?}",
            &asked[..number]
        );
        match (status, method) {
            (200, "HEAD") => {
                assert_eq!(
                    value(&answer, "content-length"),
                    expected.len().to_string(),
                    "{story}"
                );
                assert_eq!(got, "", "{story}");
            }
            (200, _) => assert_eq!(got, expected, "{story}"),
            (206, "GET") => {
                let range = value(&answer, "content-range").trim_start_matches("bytes ");
                let (span, len) = range.split_once('/').expect("a range");
                let (first, last) = span.split_once('-').expect("a range");
                let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
                assert_eq!(len, expected.len().to_string(), "{story}");
                assert_eq!(got, &expected[first..=last], "{story}");
                assert!(!generated.header("range").is_empty(), "{story}");
            }
            (304, "GET" | "HEAD") => {
                let knows = generated.header("if-none-match");
                assert_eq!(knows, format!("\"{version}\""), "{story}");
            }
            (416, "GET") => assert_eq!(generated.header("range"), "bytes=500-", "{story}"),
            _ => panic!("{story}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_is_one_that_the_origin_could_have_given(
        asked in proptest::collection::vec(generated_request(), 1..60)
    ) {
        check(&asked);
    }
}
