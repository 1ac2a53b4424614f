//! A tree of nodes, as built by a component renderer, and its serialisation to HTML.

use std::fmt::Write as _;

/// Elements that have no end tag (HTML Living Standard, 13.1.2).
const VOID: [&str; 5] = ["br", "hr", "img", "link", "meta"];

/// A node of the document.
#[derive(Debug)]
pub(crate) enum DomNode {
    Element(Element),
    Text(String),
}

/// An element with its attributes and children.
#[derive(Debug)]
pub(crate) struct Element {
    tag: &'static str,
    classes: Vec<String>,
    attributes: Vec<(&'static str, String)>,
    children: Vec<DomNode>,
}

/// An element without anything.
pub(crate) fn element(tag: &'static str) -> Element {
    Element {
        tag,
        classes: Vec::new(),
        attributes: Vec::new(),
        children: Vec::new(),
    }
}

impl Element {
    /// A class by the block-element-modifier scheme: `block__part`.
    pub(crate) fn class(mut self, block: &str, element: &str) -> Self {
        let name = if element.is_empty() {
            block.to_owned()
        } else {
            format!("{block}__{element}")
        };
        self.classes.push(name);
        self
    }

    /// A modifier of the last class: `block__part--modifier`.
    pub(crate) fn modifier(mut self, modifier: &str) -> Self {
        if let Some(class) = self.classes.last() {
            let name = format!("{class}--{modifier}");
            self.classes.push(name);
        }
        self
    }

    pub(crate) fn attribute(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }

    pub(crate) fn child(mut self, child: Element) -> Self {
        self.push(DomNode::Element(child));
        self
    }

    pub(crate) fn text(mut self, text: impl Into<String>) -> Self {
        self.push(DomNode::Text(text.into()));
        self
    }

    pub(crate) fn push(&mut self, node: DomNode) {
        self.children.push(node);
    }

    /// Elements in this tree, itself included.
    pub(crate) fn count(&self) -> u32 {
        let inner = self.children.iter().map(|child| match child {
            DomNode::Element(element) => element.count(),
            DomNode::Text(_) => 0,
        });
        1 + inner.sum::<u32>()
    }

    /// The first text directly in it.
    pub(crate) fn first_text(&self) -> Option<&str> {
        self.children.iter().find_map(|child| match child {
            DomNode::Text(text) => Some(text.as_str()),
            DomNode::Element(_) => None,
        })
    }

    /// Appends the tree as HTML.
    pub(crate) fn write(&self, html: &mut String) {
        html.push('<');
        html.push_str(self.tag);
        if !self.classes.is_empty() {
            write_attribute(html, "class", &self.classes.join(" "));
        }
        for (name, value) in &self.attributes {
            write_attribute(html, name, value);
        }
        html.push('>');
        if VOID.contains(&self.tag) {
            return;
        }
        for child in &self.children {
            match child {
                DomNode::Element(element) => element.write(html),
                DomNode::Text(text) => escape(html, text),
            }
        }
        write!(html, "</{}>", self.tag).expect("a string takes every character");
    }
}

fn write_attribute(html: &mut String, name: &str, value: &str) {
    html.push(' ');
    html.push_str(name);
    html.push_str("=\"");
    escape(html, value);
    html.push('"');
}

fn escape(html: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            c => html.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialises_and_escapes() {
        let tree = element("p")
            .class("teaser", "text")
            .modifier("lead")
            .attribute("title", "a \"b\"")
            .text("1 < 2 & 3")
            .child(element("br"))
            .child(element("em").text("x"));
        let mut html = String::new();
        tree.write(&mut html);
        assert_eq!(
            html,
            "<p class=\"teaser__text teaser__text--lead\" title=\"a &quot;b&quot;\">1 &lt; 2 &amp; 3<br><em>x</em></p>"
        );
        assert_eq!(tree.count(), 3);
    }
}
