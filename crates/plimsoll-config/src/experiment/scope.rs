//! Texts in which levels are inserted.

use std::cell::RefCell;
use std::collections::BTreeSet;

use plimsoll_model::experiment::{Axis, Cell, Design, HiddenText, LevelPiece, LevelText, PerCell};

use super::axes::DesignRead;
use crate::Problem;
use crate::document::{
    DocumentNode, DocumentReader, Expression, MapFields, NodeKind, Spot, TemplateSegment,
};
use crate::problem::nearest;

/// Faulty values or placeholders of a text that are reported.
const FAULTS_MAX: usize = 10;

/// The axes of an experiment, for the values that mention them.
pub(super) struct ExperimentScope<'d, 'a> {
    pub(super) reader: &'d DocumentReader<'a>,
    design: Design,
    /// Empty when there are errors in the axes.
    cells: Vec<Cell>,
    /// Indexes of axes that a text mentions.
    used: RefCell<BTreeSet<usize>>,
    /// Names in texts that no axis has.
    unknown: RefCell<Vec<String>>,
}

impl<'d, 'a> ExperimentScope<'d, 'a> {
    pub(super) fn new(reader: &'d DocumentReader<'a>, read: DesignRead) -> Self {
        Self {
            reader,
            design: read.design,
            cells: read.cells,
            used: RefCell::default(),
            unknown: RefCell::default(),
        }
    }

    /// How many cells there are; none when there are errors in the axes.
    pub(super) fn cells_len(&self) -> usize {
        self.cells.len()
    }

    /// The design, and its cells.
    pub(super) fn into_design(self) -> (Design, Vec<Cell>) {
        (self.design, self.cells)
    }

    /// A text that is not empty.
    pub(super) fn text(&self, node: &DocumentNode, valid: &str) -> Option<LevelText> {
        let text = self.reader.scalar(node, valid)?;
        if text.is_empty() {
            self.reader.report(node, "the value is empty", valid);
            return None;
        }
        self.pieces(&Spot::of(node, text))
    }

    /// A text that may be empty, such as an argument.
    pub(super) fn text_or_empty(&self, node: &DocumentNode, valid: &str) -> Option<LevelText> {
        let text = self.reader.scalar(node, valid)?;
        self.pieces(&Spot::of(node, text))
    }

    /// The texts of a list, or of one item; an invalid one is left out.
    pub(super) fn texts(&self, node: &DocumentNode, valid: &str) -> Vec<LevelText> {
        let items = self.reader.one_or_more(node).iter();
        items
            .filter_map(|item| self.text_or_empty(item, valid))
            .collect()
    }

    /// A text as pieces; errors are reported.
    pub(super) fn pieces(&self, spot: &Spot<'_>) -> Option<LevelText> {
        let segments = spot.segments(self.reader)?;
        let mut pieces = Vec::with_capacity(segments.len());
        let mut faulty = 0;
        for segment in segments {
            match self.piece(spot, segment) {
                Some(piece) => pieces.push(piece),
                None => faulty += 1,
            }
            if faulty == FAULTS_MAX {
                break;
            }
        }
        (faulty == 0).then(|| LevelText::new(pieces))
    }

    fn piece(&self, spot: &Spot<'_>, segment: TemplateSegment) -> Option<LevelPiece> {
        let expression = match segment {
            TemplateSegment::Literal(text) => return Some(LevelPiece::Text(text)),
            TemplateSegment::Hole(expression) => expression,
        };
        match expression {
            Expression::Text(text, _) => Some(LevelPiece::Text(text)),
            Expression::Name(name, at) => self.level(spot, &name, at.start),
            Expression::Call(name, at, arguments) if name == "env" => {
                let value = spot.environment(self.reader, at.start, &arguments)?;
                let Some(Expression::Text(name, _)) = arguments.into_iter().next() else {
                    return None;
                };
                let value = HiddenText::new(value);
                Some(LevelPiece::Variable { name, value })
            }
            Expression::Column(..) | Expression::Call(..) => {
                let message = "the placeholder is not an axis".to_owned();
                let valid = format!(
                    "{{{{ AXIS }}}}: {}; or env('NAME')",
                    self.names().join(", ")
                );
                spot.report(self.reader, expression.start(), (message, valid), None);
                None
            }
        }
    }

    /// The level of the axis that a placeholder names.
    fn level(&self, spot: &Spot<'_>, name: &str, at: usize) -> Option<LevelPiece> {
        let names = self.names();
        if let Some(axis) = names.iter().position(|known| *known == name) {
            self.used.borrow_mut().insert(axis);
            return Some(LevelPiece::Level(axis));
        }
        let valid = if names.is_empty() {
            "none; the file has no axes".to_owned()
        } else {
            names.join(", ")
        };
        let message = format!("unknown axis `{name}`");
        spot.report(self.reader, at, (message, valid), nearest(name, &names));
        self.unknown.borrow_mut().push(name.to_owned());
        None
    }

    fn names(&self) -> Vec<&str> {
        self.design.axes().iter().map(Axis::name).collect()
    }

    /// A value of a text, which must be valid in every cell.
    pub(super) fn each<T>(
        &self,
        node: &DocumentNode,
        valid: &str,
        read: impl Fn(&str) -> Result<T, Problem>,
    ) -> Option<PerCell<T>> {
        let text = self.text(node, valid)?;
        if text.axes().next().is_none() {
            return self.reader.value(node, valid, read).map(PerCell::Every);
        }
        let mut faulty = BTreeSet::new();
        let mut values = Vec::with_capacity(self.cells.len());
        for cell in &self.cells {
            let Some(filled) = text.in_cell(&self.design, cell) else {
                values.push(None);
                continue;
            };
            match read(&filled) {
                Ok(value) => values.push(Some(value)),
                Err(problem) if faulty.len() < FAULTS_MAX && faulty.insert(filled.clone()) => {
                    let cell = self.design.describe(cell);
                    let message = format!("`{filled}` with {cell}: {}", problem.message);
                    self.reader.report(node, message, problem.valid);
                }
                Err(_) => {}
            }
        }
        faulty.is_empty().then_some(PerCell::Each(values))
    }

    /// Reports axes that no text mentions, unless a text misspells them.
    pub(super) fn report_unused_axes(&self, fields: &MapFields<'_>) {
        let Some(NodeKind::Map(axes)) = fields.get("axes").map(|node| &node.kind) else {
            return;
        };
        let names = self.names();
        let (used, unknown) = (self.used.borrow(), self.unknown.borrow());
        for (key, _) in axes {
            let name = key.text.as_str();
            let index = names.iter().position(|known| *known == name);
            let is_misspelt = unknown
                .iter()
                .any(|written| nearest(written, &names) == Some(name));
            if index.is_some_and(|index| !used.contains(&index)) && !is_misspelt {
                let message = format!("the axis `{name}` is not applied");
                let valid = format!("{{{{ {name} }}}} in a value of `apply` or `measure`");
                self.reader.report_at(key.span.start, message, valid, None);
            }
        }
    }
}
