//! Elements of a document as the server sent it, before any script added or removed some.
//!
//! Counts the start tags of the text. What a parser would add (`html`, `head`, `tbody`) is left out: the server did not
//! render it.

/// Elements whose content is text, up to their own end tag.
const RAW_TEXT: [&str; 6] = ["script", "style", "textarea", "title", "xmp", "iframe"];

/// Number of start tags.
pub fn count(html: &str) -> u64 {
    let mut elements = 0;
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, behind)| behind);
            continue;
        }
        let name_len = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(name_len);
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            continue;
        }
        elements += 1;
        rest = behind_tag(behind);
        let raw = RAW_TEXT.iter().find(|raw| raw.eq_ignore_ascii_case(name));
        if let Some(raw) = raw {
            rest = behind_text(rest, raw);
        }
    }
    elements
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-:_".contains(c)
}

/// What follows the end of a tag; a `>` within quotes is part of a value.
fn behind_tag(text: &str) -> &str {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => return &text[at + 1..],
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    ""
}

/// What follows the text of an element: its end tag.
fn behind_text<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        let tag = &rest[at + 2..];
        let is_end = tag.get(..name.len());
        if is_end.is_some_and(|end| end.eq_ignore_ascii_case(name)) {
            return tag;
        }
        rest = tag;
    }
    ""
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn start_tags_are_counted() {
        let page = "<!doctype html><html><head><title>1 < 2 <b></title></head><body class='a>b'>\
                    <p>one<p>two<br/><IMG src=\"x>y\"><my-card></my-card></body></html>";
        // html, head, title, body, p, p, br, img, my-card.
        assert_eq!(count(page), 9);
    }

    /// A piece of a document, and how many elements it has.
    fn piece() -> impl Strategy<Value = (String, u64)> {
        let quoted = "[a-z<>/!-]{0,8}";
        prop_oneof![
            "[a-z &;>/]{0,12}".prop_map(|text| (text, 0)),
            "[a-z<>]{0,12}".prop_map(|text| (format!("<!--{text}-->"), 0)),
            "[a-z]{1,6}".prop_map(|name| (format!("</{name}>"), 0)),
            ("[a-z0-9]{0,5}", quoted)
                .prop_map(|(name, value)| (format!("<q{name} a=\"{value}\">"), 1)),
            quoted.prop_map(|text| (format!("<SCRIPT src='{text}'>{text}</script>"), 1)),
            quoted.prop_map(|text| (format!("<title>{text}</title>"), 1)),
        ]
    }

    proptest! {
        #[test]
        fn elements_of_pieces_add_up(pieces in proptest::collection::vec(piece(), 0..20)) {
            let page: String = pieces.iter().map(|piece| piece.0.as_str()).collect();
            let expected: u64 = pieces.iter().map(|piece| piece.1).sum();
            prop_assert_eq!(count(&page), expected, "{}", page);
        }

        #[test]
        fn any_text_has_an_end(page in ".*") {
            prop_assert!(count(&page) <= page.matches('<').count() as u64);
        }
    }

    #[test]
    fn text_of_scripts_and_comments_has_no_elements() {
        let page = "<script>document.write('<p></p></scr' + 'ipt>')</SCRIPT><!-- <p> --><style>a::after{content:'<i>'}</style><p>";
        assert_eq!(count(page), 3);
        assert_eq!(count("<script>for (;;) {}"), 1);
        assert_eq!(count("a < b, 1 <2, </p>, <"), 0);
        assert_eq!(count("<!-- never closed <p>"), 0);
    }
}
