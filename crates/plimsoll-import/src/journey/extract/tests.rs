use url::Url;

use super::*;
use crate::recording::ResourceKind;

fn answer(media_type: &str, content: &str, headers: &[(&str, &str)]) -> RecordedExchange {
    RecordedExchange {
        started_ms: None,
        lasted_ms: None,
        method: "GET".to_owned(),
        url: Url::parse("http://site/").unwrap(),
        headers: Vec::new(),
        payload: None,
        status: 200,
        answer_headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        media_type: media_type.to_owned(),
        content: Some(content.to_owned()),
        page: None,
        kind: ResourceKind::Document,
        from_cache: false,
        place: (0, 0),
    }
}

fn check(
    media_type: &str,
    content: &str,
    headers: &[(&str, &str)],
    value: &str,
) -> Option<(ValueLocator, usize, bool)> {
    let exchange = answer(media_type, content, headers);
    let answer = ParsedResponse::new(&exchange, std::iter::once(&exchange));
    answer
        .find(value)
        .map(|found| (found.way, found.pick, found.unescape))
}

fn css(selector: &str, attribute: &str) -> ValueLocator {
    ValueLocator::Css {
        selector: selector.to_owned(),
        attribute: attribute.to_owned(),
    }
}

#[test]
fn hidden_fields_and_meta_are_found_by_selector() {
    let page = r#"<meta name="csrf-token" content="m1m2m3"><form action="/search"><input name="t" value="first1"></form>
        <form action="/post"><input type="hidden" name="t" value="a&amp;b123"></form>"#;
    assert_eq!(
        check("text/html", page, &[], "m1m2m3"),
        Some((css("meta[name=\"csrf-token\"]", "content"), 1, false))
    );
    assert_eq!(
        check("text/html", page, &[], "a&b123"),
        Some((
            css("form[action=\"/post\"] input[name=\"t\"]", "value"),
            1,
            false
        ))
    );
    assert_eq!(
        check("text/html", page, &[], "first1"),
        Some((css("input[name=\"t\"]", "value"), 1, false))
    );
}

#[test]
fn the_one_of_many_is_picked_by_number() {
    let page = r#"<form><input name="id" value="abc123"></form><form><input name="id" value="abc124"></form>"#;
    assert_eq!(
        check("text/html", page, &[], "abc124"),
        Some((css("input[name=\"id\"]", "value"), 2, false))
    );
}

#[test]
fn json_is_found_by_path() {
    let json = r#"{"items":[{"id":9000001,"it's":"tok-77"}]}"#;
    let way = |path: &str| Some((ValueLocator::Json(path.to_owned()), 1, false));
    assert_eq!(
        check("application/json", json, &[], "9000001"),
        way("$.items[0].id")
    );
    assert_eq!(
        check("application/json", json, &[], "tok-77"),
        way("$.items[0]['it\\'s']")
    );
}

#[test]
fn headers_and_cookies_are_found_by_name() {
    let headers = [("X-Token", "abc123"), ("Set-Cookie", "xsrf=zz99zz; Path=/")];
    assert_eq!(
        check("text/html", "", &headers, "abc123"),
        Some((ValueLocator::Header("x-token".to_owned()), 1, false))
    );
    assert_eq!(
        check("text/html", "", &headers, "zz99zz"),
        Some((ValueLocator::Cookie("xsrf".to_owned()), 1, false))
    );
}

#[test]
fn the_rest_is_found_by_what_stands_around_it() {
    let script = "<script>var a = 1; window.nonce = 'abc999def'; </script>";
    assert_eq!(
        check("text/html", script, &[], "abc999def"),
        Some((ValueLocator::Regex("once = '([^']+)'".to_owned()), 1, false))
    );
    let link = r#"<a href="/w?do=edit&amp;n=a1b2c3">x</a>"#;
    assert_eq!(
        check("text/html", link, &[], "a1b2c3"),
        Some((
            ValueLocator::Regex("t\\&amp;n=([^\"]+)\"".to_owned()),
            1,
            false
        ))
    );
    assert_eq!(check("text/html", link, &[], "nowhere1"), None);
}
