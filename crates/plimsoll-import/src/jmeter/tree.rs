//! The tree of a JMeter plan: elements with their properties, and the elements below them.

use roxmltree::{Document, Node, ParsingOptions};

use crate::script::{Script, ScriptError};

/// Deepest nesting of XML elements; the parser and all that follows it recurse.
const DEPTH_MAX: usize = 100;

/// An element of the test plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Element {
    /// Byte of the script.
    pub(super) at: usize,
    /// Its test class without the package.
    pub(super) class: String,
    /// Its GUI class without the package, which tells kinds of configuration apart.
    pub(super) gui: String,
    /// Its name in JMeter's tree.
    pub(super) name: String,
    pub(super) is_enabled: bool,
    own: Property,
    /// The elements of its `hashTree`.
    pub(super) below: Vec<Element>,
}

/// A property; those of elements and collections have further ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) at: usize,
    pub(super) text: String,
    pub(super) items: Vec<Property>,
}

impl Property {
    /// A property below this one.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        self.items.iter().find(|item| item.name == name)
    }

    /// The text of a property below this one; empty if there is none.
    pub(super) fn text_of(&self, name: &str) -> &str {
        self.get(name).map_or("", |item| item.text.as_str())
    }

    /// Whether a property below this one is true.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.text_of(name).trim().eq_ignore_ascii_case("true")
    }

    /// The items of a collection below this one.
    pub(super) fn items_of(&self, name: &str) -> &[Self] {
        self.get(name).map_or(&[], |item| item.items.as_slice())
    }
}

impl Element {
    /// A property.
    pub(super) fn get(&self, name: &str) -> Option<&Property> {
        self.own.get(name)
    }

    /// The text of a property; empty if there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.own.text_of(name)
    }

    /// Whether a property is true.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.own.is_set(name)
    }

    /// Whether a property is true; `default` if there is none.
    pub(super) fn is_set_or(&self, name: &str, default: bool) -> bool {
        match self.text(name) {
            "" => default,
            _ => self.is_set(name),
        }
    }

    /// The items of a collection.
    pub(super) fn items(&self, name: &str) -> &[Property] {
        self.own.items_of(name)
    }

    /// All properties.
    pub(super) fn properties(&self) -> &[Property] {
        &self.own.items
    }

    /// The place of a property, or else of the element.
    pub(super) fn at_of(&self, name: &str) -> usize {
        self.get(name).map_or(self.at, |property| property.at)
    }

    /// Sets the place of this element and of everything below it.
    pub(super) fn place_all(&mut self, at: usize) {
        fn place(property: &mut Property, at: usize) {
            property.at = at;
            property.items.iter_mut().for_each(|item| place(item, at));
        }
        self.at = at;
        place(&mut self.own, at);
        self.below.iter_mut().for_each(|below| below.place_all(at));
    }

    /// Elements of this one's tree, itself included.
    pub(super) fn count(&self) -> usize {
        1 + self.below.iter().map(Self::count).sum::<usize>()
    }
}

/// The top elements of a `.jmx`.
///
/// # Errors
/// When it is no XML, has a DTD, is nested too deeply, or is no JMeter plan.
pub(super) fn read(script: &Script<'_>) -> Result<Vec<Element>, ScriptError> {
    let text = script.text.strip_prefix('\u{feff}').unwrap_or(script.text);
    let offset = script.text.len() - text.len();
    if let Some(at) = too_deep(text) {
        let message = format!("the XML is nested more than {DEPTH_MAX} levels deep");
        return Err(script.error(at + offset, message, "import a part of the test plan"));
    }
    let options = ParsingOptions {
        allow_dtd: false,
        ..ParsingOptions::default()
    };
    let document =
        Document::parse_with_options(text, options).map_err(|error| invalid(script, &error))?;
    let root = document.root_element();
    if root.tag_name().name() != "jmeterTestPlan" {
        let message = format!(
            "the XML is not a JMeter test plan: its root is `{}`",
            root.tag_name().name()
        );
        let remedy = "save the test plan with JMeter as .jmx (root `jmeterTestPlan`)";
        return Err(script.error(root.range().start + offset, message, remedy));
    }
    let trees = root
        .children()
        .filter(|node| node.tag_name().name() == "hashTree");
    Ok(trees.flat_map(|tree| elements(tree, offset)).collect())
}

fn invalid(script: &Script<'_>, error: &roxmltree::Error) -> ScriptError {
    const NO_ENTITIES: &str = "remove it; JMeter itself writes neither DTDs nor entities";
    match error {
        roxmltree::Error::DtdDetected => {
            let at = script.text.find("<!DOCTYPE").unwrap_or(0);
            let message = "the file has a DTD, which is refused: entities are never expanded";
            script.error(at, message, NO_ENTITIES)
        }
        roxmltree::Error::UnknownEntityReference(name, _) => {
            let at = script.text.find(&format!("&{name};")).unwrap_or(0);
            let message = format!("the entity `&{name};` is refused: entities are never expanded");
            script.error(at, message, NO_ENTITIES)
        }
        _ => {
            let place = error.pos();
            ScriptError {
                file: script.name.to_owned(),
                line: usize::try_from(place.row).unwrap_or(1),
                column: usize::try_from(place.col).unwrap_or(1),
                message: format!("the file is not valid XML: {error}"),
                remedy: "save the test plan with JMeter again".to_owned(),
                losses: Vec::new(),
            }
        }
    }
}

/// Pairs of an element and its `hashTree`.
fn elements(tree: Node<'_, '_>, offset: usize) -> Vec<Element> {
    let mut found: Vec<Element> = Vec::new();
    for node in tree.children().filter(Node::is_element) {
        if node.tag_name().name() == "hashTree" {
            let below = elements(node, offset);
            match found.last_mut() {
                Some(owner) => owner.below.extend(below),
                None => found.extend(below),
            }
            continue;
        }
        let tag = node.tag_name().name();
        found.push(Element {
            at: node.range().start + offset,
            class: simple(node.attribute("testclass").unwrap_or(tag)).to_owned(),
            gui: simple(node.attribute("guiclass").unwrap_or_default()).to_owned(),
            name: node.attribute("testname").unwrap_or_default().to_owned(),
            is_enabled: node.attribute("enabled") != Some("false"),
            own: property(node, offset),
            below: Vec::new(),
        });
    }
    found
}

/// The name of a class without its package.
fn simple(class: &str) -> &str {
    class.rsplit('.').next().unwrap_or(class)
}

fn property(node: Node<'_, '_>, offset: usize) -> Property {
    let items: Vec<Property> = node
        .children()
        .filter(Node::is_element)
        .map(|child| property(child, offset))
        .collect();
    let text = if items.is_empty() {
        // A value may stand in several pieces: around CDATA sections and comments.
        let pieces = node.children().filter(Node::is_text);
        pieces.filter_map(|piece| piece.text()).collect()
    } else {
        String::new()
    };
    // Numbers of some classes have their name and value as elements.
    let part = |name: &str| items.iter().find(|item| item.name == name);
    if node.attribute("name").is_none()
        && let (Some(name), Some(value)) = (part("name"), part("value"))
    {
        return Property {
            name: name.text.clone(),
            at: node.range().start + offset,
            text: value.text.clone(),
            items: Vec::new(),
        };
    }
    let name = node.attribute("name").unwrap_or(node.tag_name().name());
    Property {
        name: name.to_owned(),
        at: node.range().start + offset,
        text,
        items,
    }
}

/// The byte at which elements are nested too deeply. Counted ahead of the parser, which recurses.
fn too_deep(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(found) = text[at..].find('<') {
        let open = at + found;
        let rest = &text[open..];
        let end = |mark: &str| rest.find(mark).map(|end| open + end + mark.len());
        at = if rest.starts_with("<!--") {
            end("-->")?
        } else if rest.starts_with("<![CDATA[") {
            end("]]>")?
        } else if rest.starts_with("<?") {
            end("?>")?
        } else if rest.starts_with("</") {
            depth = depth.saturating_sub(1);
            open + 2
        } else if rest.starts_with("<!") {
            open + 2
        } else {
            let close = tag_end(rest)?;
            if !rest[..close].ends_with('/') {
                depth += 1;
            }
            if depth > DEPTH_MAX {
                return Some(open);
            }
            open + close
        };
    }
    None
}

/// The place of the `>` that ends a tag; one within quotes does not.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_ahead_of_the_parser() {
        let deep = |levels: usize| "<a>".repeat(levels) + &"</a>".repeat(levels);
        assert_eq!(too_deep(&deep(DEPTH_MAX)), None);
        assert_eq!(too_deep(&deep(DEPTH_MAX + 1)), Some(3 * DEPTH_MAX));
        let flat = "<r><!-- <a><a> --><![CDATA[<a><a>]]><a b='>'/><?p <a>?></r>".repeat(200);
        assert_eq!(too_deep(&flat), None);
        assert_eq!(too_deep("<"), None);
    }
}
