//! Properties that hold for any bytes: tested with bytes that resemble heads, fuzzed with any. Each function panics
//! where its property is violated.

use httparse::{EMPTY_HEADER, Header, Request, Response, Status};

use crate::answer::{OriginExchange, OriginResponse};
use crate::date;
use crate::directives::{Directives, RequestDirectives};
use crate::disk::{CacheFileHeader, Journal, START_LEN, meta_sum};
use crate::fields::{has, lines, only};
use crate::fragments::address::Address;
use crate::fragments::{EsiSegment, EsiTemplate, TAG_LEN_MAX, TAGS_MAX};
use crate::key::{KeyRef, KeyRule, Query, Seed};
use crate::moment::Moment;
use crate::policy::CachePolicy;
use crate::range::ByteRange;
use crate::request::CacheRequest;
use crate::response::Stored;
use crate::reuse::{self, Decision};
use crate::storing;
use crate::update;
use crate::vary::{SELECTING_LEN_MAX, Vary, write_selecting};

/// Most fields of a head that is tried.
const FIELDS_MAX: usize = 64;

/// Whatever the rest contains, a prohibition is never overlooked, and an addition never lengthens a lifetime.
///
/// # Panics
/// When it does not hold.
pub fn directives_are_read_safely(value: &[u8]) {
    let line = |value| Header {
        name: "cache-control",
        value,
    };
    let with = |other| Directives::of(&[line(other), line(value)]);
    assert!(with(b"no-store").no_store);
    assert!(with(b"private").private);
    assert!(with(b"no-cache").no_cache);
    assert!(with(b"must-revalidate").must_revalidate);
    assert!(with(b"max-age=60").max_age <= Some(60));
    assert!(with(b"s-maxage=60").s_maxage <= Some(60));
    let _ = RequestDirectives::of(&[line(value)]);
    let _ = Directives::of(&[Header {
        name: "cdn-cache-control",
        value,
    }]);
}

/// A date is parsed or rejected; a parsed one round-trips.
///
/// # Panics
/// When it is not.
pub fn date_is_read_or_refused(value: &[u8], now: u32) {
    let Some(at) = date::parse(value, now.into()) else {
        return;
    };
    let Ok(seconds) = u64::try_from(at) else {
        return;
    };
    if seconds >= 253_402_300_800 {
        return;
    }
    let moment = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    let written = httpdate::fmt_http_date(moment);
    assert_eq!(date::parse(written.as_bytes(), now.into()), Some(at));
}

/// A part lies within its body.
///
/// # Panics
/// When it does not.
pub fn range_lies_within(range: &[u8], len: u64) {
    if let ByteRange::Bytes { first, last } = ByteRange::of(range, len) {
        assert!(first <= last && last < len);
    }
}

/// The secondary key of a request does not depend on fields outside `Vary`, and is bounded.
///
/// # Panics
/// When it does.
pub fn selecting_depends_on_what_is_named(vary: &[u8], value: &[u8], other: &[u8]) {
    let Vary::Fields(names) = Vary::of(&[Header {
        name: "vary",
        value: vary,
    }]) else {
        return;
    };
    let policy = CachePolicy::default();
    let write = |headers: &[Header<'_>]| {
        let mut out = Vec::new();
        write_selecting(&mut out, &names, headers, &policy).then_some(out)
    };
    let first = names.split(',').next().unwrap_or_default();
    let line = Header { name: first, value };
    let alone = write(&[line]);
    let beside = write(&[
        Header {
            name: "",
            value: other,
        },
        line,
    ]);
    assert_eq!(alone, beside);
    assert!(alone.is_none_or(|selecting| selecting.len() <= SELECTING_LEN_MAX));
}

/// Two targets share a key under the rule that omits nothing only when they are equal; under any rule a key equals
/// itself.
///
/// # Panics
/// When it does not hold.
pub fn keys_distinguish_targets(host: &str, target: &str, other: &str) {
    for query in [
        Query::All,
        Query::Ignore,
        Query::Only(vec!["id".to_owned()]),
        Query::Tracking,
    ] {
        for sorted in [false, true] {
            let is_exact = query == Query::All && !sorted;
            let rule = KeyRule {
                query: query.clone(),
                sorted,
            };
            let first = KeyRef::new(true, host, target, &rule);
            let second = KeyRef::new(true, host, other, &rule);
            let (key, other_key) = (first.to_key(), second.to_key());
            assert!(first.is(&key) && second.is(&other_key));
            assert_eq!(first.is(&other_key), key == other_key);
            if key == other_key {
                assert_eq!(first.hash(Seed(1, 2)), second.hash(Seed(1, 2)));
                let rooted = |target: &str| match target {
                    "" => "/".to_owned(),
                    query if query.starts_with('?') => format!("/{query}"),
                    target => target.to_owned(),
                };
                assert!(!is_exact || rooted(target) == rooted(other));
            }
        }
    }
}

/// A stored response may be shared, and every head written from it is parsed by a client with the same meaning.
///
/// # Panics
/// When it is not.
pub fn what_is_stored_may_be_shared(request: &[u8], answer: &[u8], seconds: u32) {
    let mut request_room = [EMPTY_HEADER; FIELDS_MAX];
    let mut parsed_request = Request::new(&mut request_room);
    let mut answer_room = [EMPTY_HEADER; FIELDS_MAX];
    let mut parsed_response = Response::new(&mut answer_room);
    let (Ok(Status::Complete(_)), Ok(Status::Complete(_))) =
        (parsed_request.parse(request), parsed_response.parse(answer))
    else {
        return;
    };
    let policy = CachePolicy {
        lifetime_min: 30,
        reload_after: Some(1),
        ..CachePolicy::default()
    };
    let cache_request = CacheRequest::read(
        parsed_request.method.unwrap_or_default(),
        false,
        parsed_request.headers,
        &policy,
    );
    let rule = KeyRule::default();
    let key = KeyRef::new(
        true,
        "a.example",
        parsed_request.path.unwrap_or_default(),
        &rule,
    );
    let answer = OriginResponse {
        status: parsed_response.code.unwrap_or_default(),
        reason: parsed_response.reason.unwrap_or_default(),
        headers: parsed_response.headers,
    };
    let start = Moment::from_ms(1_795_348_800_000);
    let exchange = OriginExchange {
        requested_at: start,
        received_at: start,
        chance: seconds,
    };
    let Ok(storable) = storing::evaluate(&cache_request, &key, &answer, &policy, &exchange) else {
        return;
    };
    let terms = storable.terms;
    let has_cookie = lines(cache_request.headers, "cookie")
        .any(|line| line.iter().any(|byte| !b"; \t".contains(byte)));
    let is_somebody = has_cookie || has(cache_request.headers, "authorization");
    assert!(!is_somebody || terms.plain_until == terms.fresh_until);
    assert!(!cache_request.authorized || terms.for_authorized);
    assert!(!terms.no_cache || terms.stale_if_error == 0);
    let stored = Stored::new(&answer, &storable);
    let now = start.after(u64::from(seconds) * 1000);
    let decision = reuse::decide(&cache_request, &stored, None, Some(10), now, &policy);
    if let Decision::Serve(serve) = decision {
        check_head(&stored, serve.shape, now);
    }
    let renewed = update::renew(&stored, &cache_request, &key, &answer, &policy, &exchange);
    if let update::Renewed::Copy(copy, _) = renewed {
        assert_eq!(copy.status(), stored.status());
        check_head(&copy, crate::response::Shape::Whole, now);
    }
}

fn check_head(stored: &Stored, shape: crate::response::Shape, now: Moment) {
    let mut head = Vec::new();
    stored.write_head(&mut head, shape, Some(10), now);
    head.extend_from_slice(b"\r\n");
    let mut room = [EMPTY_HEADER; FIELDS_MAX + 8];
    let mut response = Response::new(&mut room);
    assert_eq!(response.parse(&head), Ok(Status::Complete(head.len())));
    let count = |name| lines(response.headers, name).count();
    assert!(count("content-length") <= 1);
    assert_eq!(count("age"), 1);
    assert!(only(response.headers, "date").is_some());
    for gone in [
        "connection",
        "transfer-encoding",
        "set-cookie",
        "keep-alive",
    ] {
        assert_eq!(count(gone), 0, "{gone}");
    }
}

/// The pieces of a page are in page order and do not overlap; the bytes between them are tags and what they remove, and
/// without tags there are none. A resolved reference can be requested.
///
/// # Panics
/// When it does not hold.
pub fn pages_come_apart_safely(page: &[u8], reference: &str) {
    let template = EsiTemplate::parse(page);
    let (mut at, mut kept, mut includes) = (0, 0, 0);
    for piece in template.pieces() {
        match piece {
            EsiSegment::Text(range) => {
                assert!(at <= range.start && range.start < range.end && range.end <= page.len());
                let gap = &page[at..range.start];
                assert!(gap.is_empty() || gap.starts_with(b"<") || gap.starts_with(b"-->"));
                at = range.end;
                kept += range.len();
            }
            EsiSegment::Include(include) => {
                assert!(!include.src.is_empty() && include.src.len() <= TAG_LEN_MAX);
                includes += 1;
            }
        }
    }
    assert_eq!(includes, template.includes());
    assert!(includes <= TAGS_MAX);
    assert!(!template.is_plain() || kept == page.len());
    // A page without the start of a tag has no tags.
    let has_tag = |tag: &[u8]| page.windows(tag.len()).any(|window| window == tag);
    assert!(template.is_plain() || has_tag(b"<esi:") || has_tag(b"<!--esi"));
    if let Some(address) = Address::resolve("a.example", "/page?x", reference) {
        let line = ["http://", &address.host, &address.target].concat();
        assert!(line.bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(!address.is_same_host || &*address.host == "a.example");
    }
}

/// A cache file is parsed or rejected; a parsed one round-trips, and its head can be sent.
///
/// # Panics
/// When it does not.
pub fn file_is_read_or_refused(bytes: &[u8]) {
    let Ok(start) = CacheFileHeader::read(bytes) else {
        return;
    };
    assert_eq!(start.write()[..], bytes[..START_LEN]);
    let meta = usize::try_from(start.body_at()).ok();
    let Some(meta) = meta.and_then(|end| bytes.get(START_LEN..end)) else {
        return;
    };
    if let Ok(copy) = start.read_meta(meta) {
        assert_eq!(copy.borrowed().write(), meta);
        let mut sent = copy.stored.head().to_vec();
        assert!(sent.ends_with(b"\r\n"));
        sent.extend_from_slice(b"\r\n");
        assert_eq!(
            sent.windows(4).filter(|end| **end == *b"\r\n\r\n").count(),
            1
        );
    }
}

/// Metadata is parsed or rejected, even under a valid checksum.
///
/// # Panics
/// When it is not.
pub fn description_is_read_or_refused(meta: &[u8]) {
    let start = CacheFileHeader {
        file_id: 1,
        purges: 0,
        hash: 0,
        meta_len: u32::try_from(meta.len()).unwrap_or_default(),
        body_len: 0,
        meta_sum: meta_sum(1, meta),
    };
    file_is_read_or_refused(&[&start.write()[..], meta].concat());
    let _ = Journal::read(meta);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fields() -> impl Strategy<Value = String> {
        let name = prop::sample::select(vec![
            "Cache-Control",
            "CDN-Cache-Control",
            "Pragma",
            "Expires",
            "Date",
            "Age",
            "Vary",
            "ETag",
            "Last-Modified",
            "Set-Cookie",
            "Cookie",
            "Authorization",
            "Range",
            "If-Range",
            "If-None-Match",
            "If-Modified-Since",
            "Connection",
            "Content-Length",
            "Content-Range",
            "Content-Location",
            "Transfer-Encoding",
            "X-Test",
        ]);
        let value = prop_oneof![
            prop::sample::select(vec![
                "max-age=60",
                "max-age=60, public",
                "no-cache",
                "no-store",
                "private=\"x-test\"",
                "s-maxage=5, stale-while-revalidate=60",
                "must-understand, no-store",
                "max-stale",
                "Sun, 22 Nov 2026 12:00:00 GMT",
                "Sun, 22 Nov 2026 11:00:00 GMT",
                "5",
                "\"a\"",
                "W/\"a\"",
                "bytes=0-4",
                "bytes=20-",
                "x-test, date",
                "Cookie",
                "*",
                "a=b",
                "/",
            ])
            .prop_map(str::to_owned),
            "[ -~]{0,20}",
        ];
        prop::collection::vec((name, value), 0..7).prop_map(|fields| {
            let lines = fields
                .iter()
                .map(|(name, value)| [name, ": ", value, "\r\n"].concat());
            lines.collect::<String>()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn what_is_stored_is_shared_rightly(
            method in prop::sample::select(vec!["GET", "GET", "GET", "HEAD", "POST", "PUT"]),
            request in fields(),
            status in prop::sample::select(vec![200, 200, 203, 204, 206, 301, 304, 404, 500, 599]),
            answer in fields(),
            seconds in 0_u32..200,
        ) {
            let request = format!("{method} / HTTP/1.1\r\n{request}\r\n");
            let answer = format!("HTTP/1.1 {status} Said\r\n{answer}\r\n");
            what_is_stored_may_be_shared(request.as_bytes(), answer.as_bytes(), seconds);
        }

        #[test]
        fn fields_are_read_safely(value: Vec<u8>, text in "[ -~]{0,40}", now: u32, len: u64) {
            for value in [&value[..], text.as_bytes()] {
                directives_are_read_safely(value);
                date_is_read_or_refused(value, now);
                range_lies_within(value, len);
                selecting_depends_on_what_is_named(b"foo, accept-encoding", value, b"x");
            }
        }

        #[test]
        fn pages_come_apart(
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "<esi:include src=\"/b\"", "<esi:include", " src='c'", " alt=\"d\"", "/>", ">", "</esi:include>",
                    "<esi:remove>", "</esi:remove>", "<esi:comment", " text=\"e\"", "<!--esi", "<!--", "-->", "text",
                    "<", "-", "\"", "\u{e9}",
                ]),
                0..24,
            ),
            bytes: Vec<u8>,
            reference in "(http:|https:|//|/)?[a-z@:/?#. \u{e9}\\[\\]]{0,20}",
        ) {
            pages_come_apart_safely(words.concat().as_bytes(), &reference);
            pages_come_apart_safely(&bytes, &words.concat());
        }

        #[test]
        fn targets_are_told_apart(
            host in "[aA]{1,3}(:443)?",
            target in "/?[a-c?&=;#]{0,4}",
            other in "/?[a-c?&=;#]{0,4}",
        ) {
            keys_distinguish_targets(&host, &target, &other);
        }
    }
}
