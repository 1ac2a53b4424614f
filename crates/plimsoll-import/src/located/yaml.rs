//! YAML with places. Depth and size are limited before memory is allocated.

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use super::{Located, LocatedError, LocatedKey, LocatedValue};

/// Deepest nesting of values.
const DEPTH_MAX: usize = 100;
/// Most values, including those that aliases repeat.
const NODES_MAX: usize = 2_000_000;
/// Most bytes of text that aliases repeat.
const REPEATED_MAX: usize = 64 << 20;
/// Characters between two known places.
const PLACE_STRIDE: usize = 64;

/// Reads a YAML document: scalars by the core schema of YAML 1.2; aliases and merge keys are resolved.
///
/// # Errors
/// When it is no YAML, has a key twice, is nested too deeply, or repeats too much by aliases.
pub(crate) fn read(source: &str) -> Result<Located, LocatedError> {
    let mut builder = Builder::new(source);
    let mut parser = Parser::new_from_str(source);
    while let Some(step) = parser.next_event() {
        match step {
            Ok((event, span)) => builder.take(event, span)?,
            Err(error) => {
                let at = builder.places.byte(error.marker().index());
                return Err(error_at(at, format!("invalid YAML: {}", error.info())));
            }
        }
    }
    builder
        .root
        .ok_or_else(|| error_at(0, "the document is empty"))
}

fn error_at(at: usize, message: impl Into<String>) -> LocatedError {
    LocatedError {
        at,
        message: message.into(),
    }
}

/// Bytes of the characters of a text.
struct CharPlaces<'s> {
    source: &'s str,
    /// The byte of every [`PLACE_STRIDE`]th character; none if each character is one byte.
    known: Option<Vec<usize>>,
}

impl<'s> CharPlaces<'s> {
    fn new(source: &'s str) -> Self {
        let known = (!source.is_ascii()).then(|| {
            let bytes = source.char_indices().step_by(PLACE_STRIDE);
            bytes.map(|(byte, _)| byte).collect()
        });
        Self { source, known }
    }

    /// The byte at which a character begins.
    fn byte(&self, index: usize) -> usize {
        let len = self.source.len();
        let Some(known) = &self.known else {
            return index.min(len);
        };
        let Some(&start) = known.get(index / PLACE_STRIDE) else {
            return len;
        };
        self.source[start..]
            .char_indices()
            .nth(index % PLACE_STRIDE)
            .map_or(len, |(offset, _)| start + offset)
    }
}

/// Size of a value and all below it.
#[derive(Clone, Copy)]
struct Extent {
    nodes: usize,
    levels: usize,
    /// Bytes of its texts.
    len: usize,
}

impl Extent {
    fn of(node: &Located) -> Self {
        let len = match &node.value {
            LocatedValue::Text(text) | LocatedValue::Number(text) => text.len(),
            _ => 0,
        };
        let mut whole = Self {
            nodes: 1,
            levels: 1,
            len,
        };
        for item in node.items() {
            whole.add(Self::of(item));
        }
        for (key, value) in node.entries() {
            whole.len += key.text.len();
            whole.add(Self::of(value));
        }
        whole
    }

    fn add(&mut self, below: Self) {
        self.nodes += below.nodes;
        self.levels = self.levels.max(below.levels + 1);
        self.len += below.len;
    }
}

/// A list or map that is not closed yet.
struct OpenCollection {
    at: usize,
    anchor: usize,
    items: Vec<Located>,
    entries: Vec<(LocatedKey, Located)>,
    /// Keys so far, each with the byte at which it was first written.
    keys: HashMap<String, usize>,
    key: Option<LocatedKey>,
    is_map: bool,
}

struct Builder<'s> {
    places: CharPlaces<'s>,
    open: Vec<OpenCollection>,
    anchors: HashMap<usize, (Located, Extent)>,
    root: Option<Located>,
    nodes: usize,
    repeated: usize,
}

impl<'s> Builder<'s> {
    fn new(source: &'s str) -> Self {
        Self {
            places: CharPlaces::new(source),
            open: Vec::new(),
            anchors: HashMap::new(),
            root: None,
            nodes: 0,
            repeated: 0,
        }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), LocatedError> {
        let at = self.places.byte(span.start.index());
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(error_at(at, "the file has a second document"))
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(&text, style, tag.as_deref());
                self.add(Located { at, value }, anchor)
            }
            Event::SequenceStart(anchor, _) => self.open(at, anchor, false),
            Event::MappingStart(anchor, _) => self.open(at, anchor, true),
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => self.repeat(anchor, at),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn open(&mut self, at: usize, anchor: usize, is_map: bool) -> Result<(), LocatedError> {
        if self.open.len() >= DEPTH_MAX {
            return Err(too_deep(at));
        }
        let awaits_key = |open: &OpenCollection| open.is_map && open.key.is_none();
        if self.open.last().is_some_and(awaits_key) {
            return Err(error_at(at, "the key is not a string"));
        }
        self.open.push(OpenCollection {
            at,
            anchor,
            items: Vec::new(),
            entries: Vec::new(),
            keys: HashMap::new(),
            key: None,
            is_map,
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), LocatedError> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let value = if open.is_map {
            LocatedValue::Map(merged(open.entries)?)
        } else {
            LocatedValue::List(open.items)
        };
        let at = open.at;
        self.add(Located { at, value }, open.anchor)
    }

    /// Adds a finished value to its parent.
    fn add(&mut self, node: Located, anchor: usize) -> Result<(), LocatedError> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(too_many(node.at));
        }
        if anchor > 0 {
            let extent = Extent::of(&node);
            self.count_again(extent, node.at)?;
            self.anchors.insert(anchor, (node.clone(), extent));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        if !open.is_map {
            open.items.push(node);
            return Ok(());
        }
        match open.key.take() {
            Some(key) => open.entries.push((key, node)),
            None => self.begin_entry(node)?,
        }
        Ok(())
    }

    /// The next key of the innermost map.
    fn begin_entry(&mut self, node: Located) -> Result<(), LocatedError> {
        let at = node.at;
        let text = match node.value {
            LocatedValue::Text(text) | LocatedValue::Number(text) => text,
            LocatedValue::Bool(value) => value.to_string(),
            LocatedValue::Null => "null".to_owned(),
            LocatedValue::List(_) | LocatedValue::Map(_) => {
                return Err(error_at(at, "the key is not a string"));
            }
        };
        let Some(open) = self.open.last_mut() else {
            return Ok(());
        };
        if text != "<<"
            && let Some(first) = open.keys.insert(text.clone(), at)
        {
            let before = &self.places.source[..first];
            let line = before.matches('\n').count() + 1;
            return Err(error_at(
                at,
                format!("duplicate key `{text}`, first in line {line}"),
            ));
        }
        open.key = Some(LocatedKey { at, text });
        Ok(())
    }

    fn repeat(&mut self, anchor: usize, at: usize) -> Result<(), LocatedError> {
        let Some((node, extent)) = self.anchors.get(&anchor) else {
            return Err(error_at(
                at,
                "an alias refers to the anchor that contains it",
            ));
        };
        let extent = *extent;
        if self.open.len() + extent.levels > DEPTH_MAX {
            return Err(too_deep(at));
        }
        // Counted before the copy is made.
        if self.nodes + extent.nodes > NODES_MAX || self.repeated + extent.len > REPEATED_MAX {
            return Err(too_many(at));
        }
        let node = node.clone();
        self.count_again(extent, at)?;
        self.add(node, 0)
    }

    /// Repeated memory counts as if it were written again.
    fn count_again(&mut self, extent: Extent, at: usize) -> Result<(), LocatedError> {
        self.nodes += extent.nodes;
        self.repeated += extent.len;
        if self.nodes > NODES_MAX || self.repeated > REPEATED_MAX {
            return Err(too_many(at));
        }
        Ok(())
    }
}

/// Keys of merged maps follow the map's own, which take precedence.
fn merged(entries: Vec<(LocatedKey, Located)>) -> Result<Vec<(LocatedKey, Located)>, LocatedError> {
    if entries.iter().all(|(key, _)| key.text != "<<") {
        return Ok(entries);
    }
    let (merges, mut own): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|(key, _)| key.text == "<<");
    let mut names: HashSet<String> = own.iter().map(|(key, _)| key.text.clone()).collect();
    for (key, value) in merges {
        let at = value.at;
        let maps = match value.value {
            LocatedValue::List(items) => items,
            value => vec![Located { at, value }],
        };
        for map in maps {
            let LocatedValue::Map(more) = map.value else {
                return Err(error_at(key.at, "the value of `<<` is not a map"));
            };
            own.extend(
                more.into_iter()
                    .filter(|(key, _)| names.insert(key.text.clone())),
            );
        }
    }
    Ok(own)
}

fn too_deep(at: usize) -> LocatedError {
    error_at(
        at,
        format!("the values are nested too deeply; at most {DEPTH_MAX} levels"),
    )
}

fn too_many(at: usize) -> LocatedError {
    error_at(
        at,
        format!(
            "there are too many values; at most {NODES_MAX}, including those that aliases repeat"
        ),
    )
}

/// A scalar by the core schema of YAML 1.2.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> LocatedValue {
    let is_text = match tag {
        Some(tag) if tag.is_yaml_core_schema() => tag.suffix == "str",
        Some(_) => true,
        None => style != ScalarStyle::Plain,
    };
    if is_text {
        return LocatedValue::Text(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => LocatedValue::Null,
        "true" | "True" | "TRUE" => LocatedValue::Bool(true),
        "false" | "False" | "FALSE" => LocatedValue::Bool(false),
        _ if is_number(text) => LocatedValue::Number(text.to_owned()),
        _ => match based(text) {
            Some(number) => LocatedValue::Number(number),
            None => LocatedValue::Text(text.to_owned()),
        },
    }
}

/// Whether it is an integer or a finite decimal number.
fn is_number(text: &str) -> bool {
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (rest, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_exponent = |text: &str| {
        let text = text.strip_prefix(['-', '+']).unwrap_or(text);
        !text.is_empty() && digits(text)
    };
    digits(whole)
        && digits(fraction)
        && whole.len() + fraction.len() > 0
        && exponent.is_none_or(is_exponent)
}

/// The decimal digits of a hexadecimal or octal integer.
fn based(text: &str) -> Option<String> {
    let (digits, radix) = match text.get(..2)? {
        "0x" => (&text[2..], 16),
        "0o" => (&text[2..], 8),
        _ => return None,
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(digits, radix)
        .ok()
        .map(|number| number.to_string())
}

#[cfg(test)]
mod tests;
