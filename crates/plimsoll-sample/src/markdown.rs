//! Articles are stored as Markdown: converted to nodes for the article, to plain text for excerpt and reading time.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::dom::{DomNode, Element, element};

/// Words an adult reads in a minute (Brysbaert 2019: 238 for non-fiction).
const WORDS_PER_MINUTE: usize = 238;

fn parser(source: &str) -> Parser<'_> {
    Parser::new_ext(source, Options::ENABLE_SMART_PUNCTUATION)
}

/// The blocks of a text, in order.
pub(crate) fn blocks(source: &str) -> Vec<Element> {
    let mut done = Vec::new();
    let mut open: Vec<Element> = Vec::new();
    for event in parser(source) {
        match event {
            Event::Start(tag) => open.push(start(&tag)),
            Event::End(end) => {
                let Some(mut closed) = open.pop() else {
                    continue;
                };
                if let (TagEnd::Heading(_), Some(anchor)) = (end, first_text(&closed)) {
                    closed = closed.attribute("id", anchor);
                }
                match open.last_mut() {
                    Some(parent) => parent.push(DomNode::Element(closed)),
                    None => done.push(closed),
                }
            }
            Event::Text(text) | Event::Code(text) => append(&mut open, &text),
            Event::SoftBreak | Event::HardBreak => append(&mut open, " "),
            _ => {}
        }
    }
    done
}

fn append(open: &mut [Element], text: &str) {
    if let Some(parent) = open.last_mut() {
        parent.push(DomNode::Text(text.to_owned()));
    }
}

fn start(tag: &Tag<'_>) -> Element {
    match tag {
        Tag::Heading { .. } => element("h2").class("story", "heading"),
        Tag::BlockQuote(_) => element("blockquote").class("story", "quote"),
        Tag::List(_) => element("ul").class("story", "list"),
        Tag::Item => element("li"),
        Tag::Emphasis => element("em"),
        Tag::Strong => element("strong"),
        Tag::Link { dest_url, .. } => element("a")
            .class("story", "link")
            .attribute("href", dest_url.to_string()),
        _ => element("p").class("story", "text"),
    }
}

fn first_text(element: &Element) -> Option<String> {
    let text = element.first_text()?;
    Some(
        text.to_lowercase()
            .replace(|c: char| !c.is_alphanumeric(), "-"),
    )
}

/// A text without its markup, and its properties.
pub(crate) struct Digest {
    /// The first sentences, at most the requested number of characters, cut at a word.
    pub(crate) excerpt: String,
    /// Minutes it takes to read, at least one.
    pub(crate) minutes: usize,
}

pub(crate) fn digest(source: &str, excerpt_size: usize) -> Digest {
    let mut plain = String::with_capacity(source.len());
    for event in parser(source) {
        match event {
            Event::Text(text) | Event::Code(text) => plain.push_str(&text),
            Event::SoftBreak
            | Event::HardBreak
            | Event::End(TagEnd::Paragraph | TagEnd::Heading(_)) => plain.push(' '),
            _ => {}
        }
    }
    let words = plain.split_whitespace().count();
    let mut excerpt = String::new();
    for word in plain.split_whitespace() {
        if excerpt.len() + word.len() + 1 > excerpt_size {
            excerpt.push('…');
            break;
        }
        if !excerpt.is_empty() {
            excerpt.push(' ');
        }
        excerpt.push_str(word);
    }
    Digest {
        excerpt,
        minutes: words.div_ceil(WORDS_PER_MINUTE).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_nodes() {
        let html: String = blocks("## A \"title\"\n\nOne *two* [three](/topic/x).\n\n> Four\n")
            .iter()
            .map(|block| {
                let mut html = String::new();
                block.write(&mut html);
                html
            })
            .collect();
        assert_eq!(
            html,
            "<h2 class=\"story__heading\" id=\"a-\">A “title”</h2>\
             <p class=\"story__text\">One <em>two</em> <a class=\"story__link\" href=\"/topic/x\">three</a>.</p>\
             <blockquote class=\"story__quote\"><p class=\"story__text\">Four</p></blockquote>"
        );
    }

    #[test]
    fn a_digest_is_plain_and_cut_at_a_word() {
        let digest = digest("One *two* three.\n\nFour five", 16);
        assert_eq!(
            (digest.excerpt.as_str(), digest.minutes),
            ("One two three.…", 1)
        );
        assert_eq!(super::digest(&"word ".repeat(239), 20).minutes, 2);
    }
}
