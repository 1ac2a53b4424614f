//! Resolves names in templates: captured values, columns of data sets, functions.

use std::cell::RefCell;
use std::collections::BTreeSet;

use plimsoll_model::journey::{Feed, Function, SlotId, StepId, StepInfo, TextPiece, TextTemplate};

use super::functions::{Does, FUNCTIONS, function_names};
use super::target::{Base, PlanOrigin};
use crate::document::{DocumentNode, DocumentReader, Expression, Spot, TemplateSegment};
use crate::problem::nearest;

/// Maximum size of a file that a template inserts, bytes.
pub(crate) const FILE_LEN_MAX: u64 = 16 << 20;
/// Maximum length of `random_string`.
const RANDOM_LEN_MAX: u64 = 65_536;

/// State shared by all journeys of a plan while it is read.
pub(crate) struct PlanScope<'a> {
    pub(crate) reader: &'a DocumentReader<'a>,
    pub(crate) base: Option<Base>,
    pub(crate) steps: Vec<StepInfo>,
    pub(crate) slots: Vec<String>,
    pub(crate) feeds: Vec<Feed>,
    pub(crate) rows: Vec<Vec<Vec<String>>>,
    pub(crate) files: Vec<String>,
    pub(crate) contents: Vec<Vec<u8>>,
    pub(crate) origins: Vec<PlanOrigin>,
    pub(crate) may_miss_variables: bool,
    pub(crate) variables_missing: Vec<String>,
    /// Slots that are used by some text.
    used: RefCell<BTreeSet<SlotId>>,
    /// Notes that are not errors, with their byte.
    pub(crate) notes: Vec<(usize, String)>,
}

/// Slots that the texts of a journey may use.
#[derive(Clone, Debug, Default)]
pub(crate) struct VisibleSlots {
    /// Slots that some step of the journey sets.
    pub(crate) known: BTreeSet<SlotId>,
    /// Slots that may be set so far; `None` where the order is unknown.
    pub(crate) set: Option<BTreeSet<SlotId>>,
}

impl<'a> PlanScope<'a> {
    pub(crate) fn new(reader: &'a DocumentReader<'a>, base: Option<Base>) -> Self {
        Self {
            reader,
            base,
            steps: Vec::new(),
            slots: Vec::new(),
            feeds: Vec::new(),
            rows: Vec::new(),
            files: Vec::new(),
            contents: Vec::new(),
            origins: Vec::new(),
            may_miss_variables: false,
            variables_missing: Vec::new(),
            used: RefCell::default(),
            notes: Vec::new(),
        }
    }

    /// Whether some text uses the slot of this name.
    pub(crate) fn uses(&self, name: &str) -> bool {
        let used = self.used.borrow();
        used.iter().any(|slot| self.slots[*slot as usize] == name)
    }

    /// The slot of a name; created if it is new.
    pub(crate) fn slot(&mut self, name: &str) -> SlotId {
        place_in(&mut self.slots, name)
    }

    /// Adds a step with statistics; returns its id.
    pub(crate) fn count_step(&mut self, info: StepInfo) -> StepId {
        self.steps.push(info);
        index(self.steps.len() - 1)
    }

    /// A text that templates insert and that is not stored with the plan.
    pub(crate) fn input(
        &mut self,
        name: &str,
        content: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<TextPiece> {
        if let Some(known) = self.files.iter().position(|have| have == name) {
            return Some(TextPiece::File(index(known)));
        }
        let content = content()?;
        self.files.push(name.to_owned());
        self.contents.push(content);
        Some(TextPiece::File(index(self.files.len() - 1)))
    }

    /// The content of a file as a piece of a text.
    pub(crate) fn file(&mut self, at: usize, path: &str) -> Option<TextPiece> {
        let reader = self.reader;
        self.input(path, || reader.file_at(at, path, FILE_LEN_MAX))
    }

    /// The text of a node with its placeholders.
    pub(crate) fn text(
        &mut self,
        node: &DocumentNode,
        reach: &VisibleSlots,
    ) -> Option<TextTemplate> {
        let text = self
            .reader
            .scalar(node, "a text; in quotes if it is more than one word")?;
        self.text_at(Spot::of(node, text), reach)
    }

    /// A text with its placeholders.
    pub(crate) fn text_at(&mut self, spot: Spot<'_>, reach: &VisibleSlots) -> Option<TextTemplate> {
        let segments = spot.segments(self.reader)?;
        let pieces = self.pieces(spot, segments, reach)?;
        Some(merge_literals(pieces))
    }

    /// The pieces of a text; all errors in it are reported.
    pub(crate) fn pieces(
        &mut self,
        spot: Spot<'_>,
        segments: Vec<TemplateSegment>,
        reach: &VisibleSlots,
    ) -> Option<Vec<TextPiece>> {
        let pieces: Vec<Option<TextPiece>> = segments
            .into_iter()
            .map(|segment| match segment {
                TemplateSegment::Literal(text) => Some(TextPiece::Literal(text)),
                TemplateSegment::Hole(expression) => self.piece(spot, expression, reach),
            })
            .collect();
        pieces.into_iter().collect()
    }

    fn piece(
        &mut self,
        spot: Spot<'_>,
        expression: Expression,
        reach: &VisibleSlots,
    ) -> Option<TextPiece> {
        match expression {
            Expression::Text(text, _) => Some(TextPiece::Literal(text)),
            Expression::Name(name, at) => self.named(spot, &name, at.start, reach),
            Expression::Column(feed, column, at) => {
                self.column(spot, &feed, &column, at.start, reach)
            }
            Expression::Call(name, at, arguments) => {
                self.call(spot, &name, at.start, arguments, reach)
            }
        }
    }

    fn named(
        &self,
        spot: Spot<'_>,
        name: &str,
        at: usize,
        reach: &VisibleSlots,
    ) -> Option<TextPiece> {
        let known = |slot: &SlotId| self.slots.get(*slot as usize).map(String::as_str);
        if let Some(slot) = reach.known.iter().find(|slot| known(slot) == Some(name)) {
            if reach.set.as_ref().is_some_and(|set| !set.contains(slot)) {
                let message = format!("`{name}` is used before it is set");
                let valid = format!("a capture or `set: {{ {name}: \"\" }}` in an earlier step");
                spot.report(self.reader, at, (message, valid), None);
                return None;
            }
            self.used.borrow_mut().insert(*slot);
            return Some(TextPiece::Slot(*slot));
        }
        match name {
            "user" => return Some(TextPiece::User),
            "iteration" => return Some(TextPiece::Iteration),
            _ => {}
        }
        if let Some(feed) = self.feeds.iter().find(|feed| feed.name == name) {
            let message = format!("`{name}` is a data set: the column is missing");
            let columns: Vec<String> = feed
                .columns
                .iter()
                .map(|column| format!("{name}.{column}"))
                .collect();
            spot.report(self.reader, at, (message, columns.join(", ")), None);
            return None;
        }
        if let Some(function) = FUNCTIONS.iter().find(|function| function.name == name) {
            let message = format!("`{name}` is a function");
            spot.report(
                self.reader,
                at,
                (message, function.example.to_owned()),
                None,
            );
            return None;
        }
        self.unknown_name(spot, name, at, reach);
        None
    }

    fn unknown_name(&self, spot: Spot<'_>, name: &str, at: usize, reach: &VisibleSlots) {
        let slots = reach
            .known
            .iter()
            .filter_map(|slot| self.slots.get(*slot as usize));
        let columns: Vec<String> = self
            .feeds
            .iter()
            .flat_map(|feed| {
                feed.columns
                    .iter()
                    .map(|column| format!("{}.{column}", feed.name))
            })
            .collect();
        let mut names: Vec<&str> = slots.map(String::as_str).collect();
        names.extend(columns.iter().map(String::as_str));
        names.extend(["user", "iteration"]);
        let near = nearest(name, &names);
        names.truncate(20);
        let message = format!("unknown name `{name}`");
        spot.report(self.reader, at, (message, names.join(", ")), near);
    }

    fn column(
        &self,
        spot: Spot<'_>,
        feed_name: &str,
        column: &str,
        at: usize,
        reach: &VisibleSlots,
    ) -> Option<TextPiece> {
        let Some(place) = self.feeds.iter().position(|feed| feed.name == feed_name) else {
            let at = at.saturating_sub(feed_name.len() + 1);
            let names: Vec<&str> = self.feeds.iter().map(|feed| feed.name.as_str()).collect();
            let is_slot = reach
                .known
                .iter()
                .any(|slot| self.slots[*slot as usize] == feed_name);
            let message = if is_slot {
                format!("`{feed_name}` is a captured value and has no columns")
            } else {
                format!("unknown data set `{feed_name}`")
            };
            let valid = if names.is_empty() {
                "a name under `data:`; this plan has none".to_owned()
            } else {
                names.join(", ")
            };
            spot.report(
                self.reader,
                at,
                (message, valid),
                nearest(feed_name, &names),
            );
            return None;
        };
        let feed = &self.feeds[place];
        if let Some(found) = feed.columns.iter().position(|have| have == column) {
            return Some(TextPiece::Column(index(place), index(found)));
        }
        // An invalid data set has no columns; its error is already reported.
        if !feed.columns.is_empty() {
            let names: Vec<&str> = feed.columns.iter().map(String::as_str).collect();
            let whose = feed.path.as_ref().map_or_else(
                || format!("`{feed_name}`"),
                |path| format!("`{}`", path.display()),
            );
            let message = format!("{whose} has no column `{column}`");
            spot.report(
                self.reader,
                at,
                (message, names.join(", ")),
                nearest(column, &names),
            );
        }
        None
    }

    fn call(
        &mut self,
        spot: Spot<'_>,
        name: &str,
        at: usize,
        arguments: Vec<Expression>,
        reach: &VisibleSlots,
    ) -> Option<TextPiece> {
        let Some(function) = FUNCTIONS.iter().find(|function| function.name == name) else {
            let names = function_names();
            let message = format!("unknown function `{name}`");
            spot.report(
                self.reader,
                at,
                (message, names.join(", ")),
                nearest(name, &names),
            );
            return None;
        };
        let (least, most) = function.arguments;
        if !(least..=most).contains(&arguments.len()) {
            let message = format!("`{name}` does not take {} arguments", arguments.len());
            spot.report(
                self.reader,
                at,
                (message, function.example.to_owned()),
                None,
            );
            return None;
        }
        match function.does {
            Does::Environment => self.variable(spot, at, &arguments),
            Does::File => {
                let [Expression::Text(path, _)] = arguments.as_slice() else {
                    let message = "a file name must be constant".to_owned();
                    spot.report(
                        self.reader,
                        at,
                        (message, function.example.to_owned()),
                        None,
                    );
                    return None;
                };
                let place = spot.place(self.reader, at);
                self.file(place, path)
            }
            Does::Compute(does) => {
                self.check_arguments(spot, does, &arguments, function.example)?;
                let texts: Vec<Option<TextTemplate>> = arguments
                    .into_iter()
                    .map(|argument| Some(merge_literals(vec![self.piece(spot, argument, reach)?])))
                    .collect();
                Some(TextPiece::Call(
                    does,
                    texts.into_iter().collect::<Option<_>>()?,
                ))
            }
        }
    }

    /// An environment variable, passed as an input of the run so that it is never stored.
    fn variable(
        &mut self,
        spot: Spot<'_>,
        at: usize,
        arguments: &[Expression],
    ) -> Option<TextPiece> {
        if let [Expression::Text(name, _)] = arguments
            && self.may_miss_variables
            && self.reader.variable(name).is_none()
        {
            if !self.variables_missing.contains(name) {
                self.variables_missing.push(name.clone());
            }
            return Some(TextPiece::Literal(String::new()));
        }
        let value = spot.environment(self.reader, at, arguments)?;
        let Some(Expression::Text(name, _)) = arguments.first() else {
            return None;
        };
        self.input(&format!("env('{name}')"), || Some(value.into_bytes()))
    }

    /// Reports constant arguments that are always invalid.
    fn check_arguments(
        &self,
        spot: Spot<'_>,
        does: Function,
        arguments: &[Expression],
        example: &str,
    ) -> Option<()> {
        let constants: Vec<Option<(&str, usize)>> = arguments
            .iter()
            .map(|argument| match argument {
                Expression::Text(text, at) => Some((text.as_str(), at.start)),
                _ => None,
            })
            .collect();
        let report = |(text, at): (&str, usize), message: &str, valid: &str| {
            let words = (
                format!("`{text}` {message}"),
                format!("{valid}, such as {example}"),
            );
            spot.report(self.reader, at, words, None);
            None
        };
        match (does, constants.as_slice()) {
            (Function::RandomInt, [low, high]) => {
                for constant in [low, high].into_iter().flatten() {
                    if constant.0.parse::<i64>().is_err() {
                        return report(*constant, "is not a whole number", "whole numbers");
                    }
                }
                if let (Some(low), Some(high)) = (low, high)
                    && low.0.parse::<i64>().ok() > high.0.parse::<i64>().ok()
                {
                    return report(
                        *high,
                        "is lower than the first number",
                        "the lower number first",
                    );
                }
            }
            (Function::RandomString, [Some(len)]) => {
                let is_valid = len
                    .0
                    .parse::<u64>()
                    .is_ok_and(|len| (1..=RANDOM_LEN_MAX).contains(&len));
                if !is_valid {
                    return report(*len, "is not a valid length", "1 to 65536");
                }
            }
            _ => {}
        }
        Some(())
    }
}

/// An index in the type of the model; the number of nodes bounds it.
pub(crate) fn index(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

fn place_in(names: &mut Vec<String>, name: &str) -> u32 {
    if let Some(place) = names.iter().position(|have| have == name) {
        return index(place);
    }
    names.push(name.to_owned());
    index(names.len() - 1)
}

/// A text whose adjacent literals are merged.
pub(crate) fn merge_literals(pieces: Vec<TextPiece>) -> TextTemplate {
    let mut text = TextTemplate::default();
    for piece in pieces {
        match (text.pieces.last_mut(), piece) {
            (Some(TextPiece::Literal(before)), TextPiece::Literal(more)) => before.push_str(&more),
            (_, piece) => text.pieces.push(piece),
        }
    }
    text
}
