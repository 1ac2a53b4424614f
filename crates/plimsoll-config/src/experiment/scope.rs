//! Texts in which levels are inserted.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};

use plimsoll_model::experiment::{
    Axis, CELLS_MAX, Cell, CellList, Design, HiddenText, LevelPiece, LevelText, PerCell,
};

use super::axes::{DesignRead, Varied};
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
    varied: Varied,
    design: Design,
    /// An empty list when there are errors in the axes.
    cells: CellList,
    /// Indexes of axes that a text mentions.
    used: RefCell<BTreeSet<usize>>,
    /// Names in texts that no axis has.
    unknown: RefCell<Vec<String>>,
}

impl<'d, 'a> ExperimentScope<'d, 'a> {
    pub(super) fn new(reader: &'d DocumentReader<'a>, read: DesignRead) -> Self {
        Self {
            reader,
            varied: read.varied,
            design: read.design,
            cells: read.cells,
            used: RefCell::default(),
            unknown: RefCell::default(),
        }
    }

    /// Whether the file has knobs.
    pub(super) fn is_tuning(&self) -> bool {
        self.varied == Varied::Knobs
    }

    /// The design, and its cells.
    pub(super) fn into_design(self) -> (Design, CellList) {
        (self.design, self.cells)
    }

    /// The levels of these axes that occur together, each as a cell without other levels. Too many of them are reported.
    pub(super) fn combinations(
        &self,
        node: &DocumentNode,
        axes: &BTreeSet<usize>,
    ) -> Option<Vec<Cell>> {
        let cells = match &self.cells {
            CellList::Listed(cells) => cells,
            CellList::Product => return self.product_of(node, axes),
        };
        let mut known = HashSet::new();
        let combinations = cells.iter().map(|cell| cell.only(axes));
        Some(
            combinations
                .filter(|cell| known.insert(cell.clone()))
                .collect(),
        )
    }

    /// All levels of these axes with each other.
    fn product_of(&self, node: &DocumentNode, axes: &BTreeSet<usize>) -> Option<Vec<Cell>> {
        let all = self.design.axes();
        let members = axes.iter().filter_map(|axis| all.get(*axis).cloned());
        let product = Design::new(members.collect());
        let Some(len) = product.product_len().filter(|len| *len <= CELLS_MAX) else {
            let message = "the value depends on too many combinations of levels";
            let valid = format!("at most {CELLS_MAX}; fewer placeholders in a value");
            self.reader.report(node, message, valid);
            return None;
        };
        let combination = |index| {
            let mut levels = vec![None; all.len()];
            for (axis, level) in axes.iter().zip(product.levels_at(index)) {
                levels[*axis] = Some(level);
            }
            Cell::new(levels)
        };
        Some((0..len).map(combination).collect())
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
                let noun = self.varied.noun();
                let article = if self.is_tuning() { "a" } else { "an" };
                let message = format!("the placeholder is not {article} {noun}");
                let names = self.names().join(", ");
                let valid = format!("{{{{ {} }}}}: {names}; or env('NAME')", noun.to_uppercase());
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
            format!("none; the file has no {}", self.varied.key())
        } else {
            names.join(", ")
        };
        let message = format!("unknown {} `{name}`", self.varied.noun());
        spot.report(self.reader, at, (message, valid), nearest(name, &names));
        self.unknown.borrow_mut().push(name.to_owned());
        None
    }

    fn names(&self) -> Vec<&str> {
        self.design.axes().iter().map(Axis::name).collect()
    }

    /// A value of a text, which must be valid for all levels of its axes that occur together.
    pub(super) fn each<T>(
        &self,
        node: &DocumentNode,
        valid: &str,
        read: impl Fn(&str) -> Result<T, Problem>,
    ) -> Option<PerCell<T>> {
        let text = self.text(node, valid)?;
        let axes: BTreeSet<usize> = text.axes().collect();
        if axes.is_empty() {
            return self.reader.value(node, valid, read).map(PerCell::Every);
        }
        let mut faulty = BTreeSet::new();
        let mut values = Vec::new();
        for cell in self.combinations(node, &axes)? {
            let Some(filled) = text.in_cell(&self.design, &cell) else {
                continue;
            };
            match read(&filled) {
                Ok(value) => values.push((cell, value)),
                Err(problem) if faulty.len() < FAULTS_MAX && faulty.insert(filled.clone()) => {
                    let cell = self.design.describe(&cell);
                    let message = format!("`{filled}` with {cell}: {}", problem.message);
                    self.reader.report(node, message, problem.valid);
                }
                Err(_) => {}
            }
        }
        let axes = axes.into_iter().collect();
        faulty.is_empty().then(|| PerCell::by_axes(axes, values))
    }

    /// Reports axes or knobs that no text mentions, unless a text misspells them.
    pub(super) fn report_unused(&self, fields: &MapFields<'_>) {
        let Some(NodeKind::Map(axes)) = fields.get(self.varied.key()).map(|node| &node.kind) else {
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
                let message = format!("the {} `{name}` is not applied", self.varied.noun());
                let place = match self.varied {
                    Varied::Axes => "`apply` or `measure`",
                    Varied::Knobs => "`apply`",
                };
                let valid = format!("{{{{ {name} }}}} in a value of {place}");
                self.reader.report_at(key.span.start, message, valid, None);
            }
        }
    }
}
