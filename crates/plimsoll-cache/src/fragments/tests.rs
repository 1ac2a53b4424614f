use super::address::Address;
use super::*;

/// A page in short form: text as it is, includes in brackets.
fn rendered(page: &str) -> String {
    let template = EsiTemplate::parse(page.as_bytes());
    let pieces = template.pieces().iter().map(|piece| match piece {
        EsiSegment::Text(range) => page[range.clone()].to_owned(),
        EsiSegment::Include(include) => {
            let alt = include.alt.as_ref().map(|alt| format!(" or {alt}"));
            let may_fail = if include.may_fail { "?" } else { "" };
            format!("[{}{}{may_fail}]", include.src, alt.unwrap_or_default())
        }
    });
    pieces.collect()
}

#[track_caller]
fn check(page: &str, expected: &str) {
    assert_eq!(rendered(page), expected, "{page}");
}

#[track_caller]
fn check_stays(page: &str) {
    check(page, page);
    assert!(EsiTemplate::parse(page.as_bytes()).is_plain(), "{page}");
}

#[test]
fn tags_are_taken_out() {
    check("a<esi:include src=\"/b\"/>c", "a[/b]c");
    check("<esi:include src='/b' />", "[/b]");
    check("<esi:include\n\tsrc = \"/b\"\n></esi:include>c", "[/b]c");
    check("<esi:include src=\"/b\">c", "[/b]c");
    check(
        "<esi:include src=\"/b\" alt=\"/c\" onerror=\"continue\" ttl=\"5\"/>",
        "[/b or /c?]",
    );
    // The form that Symfony writes.
    check(
        "<esi:include src=\"/b\" alt=\"\" onerror=\"stop\" />",
        "[/b]",
    );
    check("<esi:include src=\"/b?x=1&amp;y=2&z\"/>", "[/b?x=1&y=2&z]");
    check("a<esi:comment text=\"b\"/>c", "ac");
    check(
        "a<esi:remove>b<esi:include src=\"/c\"/></esi:remove>d",
        "ad",
    );
    check("a<!--esi b<esi:include src=\"/c\"/>d-->e", "a b[/c]de");
    check("<!--esi a--><!--esi b-->", " a b");
    check("<!--esi <esi:remove>a</esi:remove>-b -- c-->", " -b -- c");
}

#[test]
fn what_is_no_tag_stays() {
    for page in [
        "",
        "plain",
        "<p>a < b</p> - <br/> --> </esi:remove>",
        "<esi:include/>",
        "<esi:include src=\"\"/>",
        "<esi:include src=\"/b/>",
        "<esi:include src=/b/>",
        "<esi:include src=\"/b<c\"/>",
        "<esi:includes src=\"/b\"/>",
        "<esi:include src=\"/b\"alt=\"/c\"/>",
        "<ESI:include src=\"/b\"/>",
        "<esi:remove>a",
        "<esi:remove/>a",
        "<esi:vars>$(HTTP_HOST)</esi:vars>",
        "<!--esi a",
        "<!--esi->",
        // Tags in ordinary comments are text, as with Varnish.
        "<!-- <esi:include src=\"/b\"/> -->",
        "<!-->",
        "<!--",
    ] {
        check_stays(page);
    }
    check("<!--><esi:include src=\"/b\"/>", "<!-->[/b]");
    let long = format!("<esi:include src=\"/{}\"/>", "b".repeat(TAG_LEN_MAX));
    check_stays(&long);
}

#[test]
fn there_are_only_so_many_tags() {
    let page = "<esi:include src=\"/b\"/>".repeat(TAGS_MAX + 10);
    let template = EsiTemplate::parse(page.as_bytes());
    assert_eq!(template.includes(), TAGS_MAX);
    let rest = template.pieces().last().cloned();
    let from = page.len() / (TAGS_MAX + 10) * TAGS_MAX;
    assert_eq!(rest, Some(EsiSegment::Text(from..page.len())));
}

#[track_caller]
fn check_address(reference: &str, expected: Option<(&str, &str, bool)>) {
    let address = Address::resolve("a.example:8080", "/news/today?page=2", reference);
    let components = address
        .as_ref()
        .map(|resolved| (&*resolved.host, &*resolved.target, resolved.is_same_host));
    assert_eq!(components, expected, "{reference}");
}

#[test]
fn references_are_resolved() {
    check_address("/box", Some(("a.example:8080", "/box", true)));
    check_address("box?x=1", Some(("a.example:8080", "/news/box?x=1", true)));
    check_address("../../box", Some(("a.example:8080", "/box", true)));
    check_address("?b#c", Some(("a.example:8080", "/news/today?b", true)));
    check_address("/a b\u{e9}", Some(("a.example:8080", "/a%20b%C3%A9", true)));
    check_address("http://A.example:8080", Some(("a.example:8080", "/", true)));
    check_address("http://a.example/x", Some(("a.example", "/x", false)));
    check_address("//b.example/x", Some(("b.example", "/x", false)));
    check_address("https://b.example:443/x", Some(("b.example", "/x", false)));
    check_address("http://[::1]:80/x", Some(("[::1]", "/x", false)));
    for wrong in [
        "ftp://a.example/x",
        "file:///etc/passwd",
        "data:text/html,x",
        "mailto:a",
        "http://me@a.example:8080/",
        "http://a b/",
    ] {
        check_address(wrong, None);
    }
}

#[track_caller]
fn check_order(value: &str, expected: bool) {
    let line = Header {
        name: "Surrogate-Control",
        value: value.as_bytes(),
    };
    assert_eq!(requests_assembly(&[line], "plimsoll"), expected, "{value}");
}

#[test]
fn orders_are_read() {
    check_order("content=\"ESI/1.0\"", true);
    check_order("no-store, content=\"ESI-Inline/1.0 ESI/1.0\"", true);
    check_order("max-age=60, content=\"ESI/1.0\";plimsoll", true);
    check_order("content=\"ESI/1.0\";other", false);
    check_order("max-age=60", false);
    check_order("content=\"SSI/1.0\"", false);
    assert!(!requests_assembly(&[], "plimsoll"));
}
