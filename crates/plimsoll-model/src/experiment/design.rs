//! Axes and the cells that they make.

mod factors;
mod product;

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use serde::{Deserialize, Serialize};

pub use factors::Factor;
pub use product::PRODUCT_MAX;

/// Axes of an experiment at most.
pub const AXES_MAX: usize = 16;
/// Levels of an axis at most.
pub const LEVELS_MAX: usize = 256;
/// Combinations of levels at most, before `exclude` and `only_if`.
pub const CANDIDATES_MAX: usize = 1_000_000;
/// Cells of an experiment at most.
pub const CELLS_MAX: usize = 10_000;

/// Something that is varied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    name: String,
    levels: Vec<String>,
}

impl Axis {
    /// An axis with its levels, as a person wrote them.
    pub fn new(name: impl Into<String>, levels: Vec<String>) -> Self {
        let name = name.into();
        Self { name, levels }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its levels, in their order.
    pub fn levels(&self) -> &[String] {
        &self.levels
    }
}

/// A condition on the levels of a cell: each of its terms holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    terms: Vec<ConditionTerm>,
}

/// An axis and the levels that it may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionTerm {
    /// Index of the axis.
    pub axis: usize,
    /// Indexes of its levels.
    pub levels: Vec<usize>,
}

impl Condition {
    /// The condition that each of these terms holds.
    pub fn new(terms: Vec<ConditionTerm>) -> Self {
        Self { terms }
    }

    /// Whether it holds in a cell. An axis without a level meets no term.
    pub fn holds(&self, cell: &Cell) -> bool {
        self.terms.iter().all(|term| {
            cell.level(term.axis)
                .is_some_and(|level| term.levels.contains(&level))
        })
    }
}

/// An axis that is varied only where a condition holds; elsewhere it has no level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnlyIf {
    /// Index of the axis.
    pub axis: usize,
    /// The condition.
    pub condition: Condition,
}

/// An assignment of levels to axes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cell {
    levels: Vec<Option<usize>>,
}

/// The cells of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellList {
    /// Those of [`Design::cells`].
    Listed(Vec<Cell>),
    /// Every combination of levels, by its number; too many to be listed.
    Product,
}

impl Cell {
    /// A cell with the levels of all axes; `None` where an axis is not varied.
    pub fn new(levels: Vec<Option<usize>>) -> Self {
        Self { levels }
    }

    /// The indexes of its levels on these axes.
    pub fn levels_on(&self, axes: &[usize]) -> Vec<Option<usize>> {
        axes.iter().map(|axis| self.level(*axis)).collect()
    }

    /// A cell that has its levels on these axes alone.
    #[must_use]
    pub fn only(&self, axes: &BTreeSet<usize>) -> Self {
        let levels = self.levels.iter().enumerate();
        Self {
            levels: levels
                .map(|(axis, level)| level.filter(|_| axes.contains(&axis)))
                .collect(),
        }
    }

    /// The index of its level on an axis; `None` where the axis is not varied.
    pub fn level(&self, axis: usize) -> Option<usize> {
        self.levels.get(axis).copied().flatten()
    }
}

/// How axes make cells: the product of all axes, with restrictions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Design {
    axes: Vec<Axis>,
    zip: Vec<Vec<usize>>,
    exclude: Vec<Condition>,
    only_if: Vec<OnlyIf>,
}

/// Why a design has no valid list of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DesignError {
    /// A group of `zip` has axes of different lengths.
    #[error("zipped axes have different numbers of levels")]
    UnequalZip,
    /// An axis is in two groups of `zip`, twice in a group, or unknown.
    #[error("an axis is zipped twice")]
    ZippedTwice,
    /// The product of the axes is too large to be enumerated.
    #[error("the axes have more than {CANDIDATES_MAX} combinations")]
    TooManyCandidates,
    /// Too many cells are left.
    #[error("the axes make more than {CELLS_MAX} cells")]
    TooManyCells,
    /// No cell is left, or there is no axis.
    #[error("no cell is left")]
    NoCells,
}

/// Axes that advance together.
struct Dimension {
    axes: Vec<usize>,
    len: usize,
}

impl Design {
    /// The product of these axes.
    pub fn new(axes: Vec<Axis>) -> Self {
        Self {
            axes,
            ..Self::default()
        }
    }

    /// With groups of axes that advance together, by index.
    #[must_use]
    pub fn zipped(self, zip: Vec<Vec<usize>>) -> Self {
        Self { zip, ..self }
    }

    /// Without the cells in which one of these conditions holds.
    #[must_use]
    pub fn excluding(self, exclude: Vec<Condition>) -> Self {
        Self { exclude, ..self }
    }

    /// With axes that are varied under a condition alone.
    #[must_use]
    pub fn varying_only(self, only_if: Vec<OnlyIf>) -> Self {
        Self { only_if, ..self }
    }

    /// The axes.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The level of a cell on an axis, as a person wrote it.
    pub fn level_text(&self, cell: &Cell, axis: usize) -> Option<&str> {
        let level = cell.level(axis)?;
        self.axes.get(axis)?.levels.get(level).map(String::as_str)
    }

    /// The levels of a cell for people: `cores=2 cache=page`.
    pub fn describe<'d>(&'d self, cell: &'d Cell) -> impl fmt::Display + 'd {
        CellText { design: self, cell }
    }

    /// The cells: of the product of all axes, in which the last axis changes fastest, those that are not excluded. Cells
    /// that differ only on an axis that is not varied in them are one cell.
    ///
    /// # Errors
    /// When zipped axes do not fit, or there are no cells or too many.
    pub fn cells(&self) -> Result<Vec<Cell>, DesignError> {
        let dimensions = self.dimensions()?;
        let count = dimensions
            .iter()
            .try_fold(1_usize, |product, dimension| {
                product.checked_mul(dimension.len)
            })
            .filter(|count| *count <= CANDIDATES_MAX)
            .ok_or(DesignError::TooManyCandidates)?;
        let mut cells = Vec::new();
        let mut known = HashSet::new();
        for index in 0..count {
            let mut cell = self.candidate(index, &dimensions);
            self.clear_inactive(&mut cell);
            let is_excluded = self.exclude.iter().any(|condition| condition.holds(&cell));
            if is_excluded || !known.insert(cell.clone()) {
                continue;
            }
            if cells.len() == CELLS_MAX {
                return Err(DesignError::TooManyCells);
            }
            cells.push(cell);
        }
        if self.axes.is_empty() || cells.is_empty() {
            return Err(DesignError::NoCells);
        }
        Ok(cells)
    }

    /// The groups of `zip`, each at the place of its first axis, and the other axes.
    fn dimensions(&self) -> Result<Vec<Dimension>, DesignError> {
        let mut members = HashSet::new();
        let is_known = |axis: usize| axis < self.axes.len();
        let mut zipped = self.zip.iter().flatten();
        if !zipped.all(|axis| is_known(*axis) && members.insert(*axis)) {
            return Err(DesignError::ZippedTwice);
        }
        let mut dimensions = Vec::new();
        for (index, axis) in self.axes.iter().enumerate() {
            let len = axis.levels.len();
            let group = self.zip.iter().find(|group| group.contains(&index));
            let axes = match group {
                None => vec![index],
                Some(group) if group.iter().min() == Some(&index) => group.clone(),
                Some(_) => continue,
            };
            if axes.iter().any(|axis| self.axes[*axis].levels.len() != len) {
                return Err(DesignError::UnequalZip);
            }
            dimensions.push(Dimension { axes, len });
        }
        Ok(dimensions)
    }

    /// The combination of levels with this number.
    fn candidate(&self, index: usize, dimensions: &[Dimension]) -> Cell {
        let mut levels = vec![None; self.axes.len()];
        let mut rest = index;
        for dimension in dimensions.iter().rev() {
            for axis in &dimension.axes {
                levels[*axis] = Some(rest % dimension.len);
            }
            rest /= dimension.len;
        }
        Cell { levels }
    }

    /// Takes away the levels of axes that are not varied in this cell. An axis without a level never makes a condition
    /// true, so the result does not depend on the order of the conditions.
    fn clear_inactive(&self, cell: &mut Cell) {
        loop {
            let inactive = self.only_if.iter().find(|only_if| {
                cell.level(only_if.axis).is_some() && !only_if.condition.holds(cell)
            });
            let Some(only_if) = inactive else {
                return;
            };
            cell.levels[only_if.axis] = None;
        }
    }
}

struct CellText<'d> {
    design: &'d Design,
    cell: &'d Cell,
}

impl fmt::Display for CellText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (index, axis) in self.design.axes.iter().enumerate() {
            if let Some(level) = self.design.level_text(self.cell, index) {
                write!(f, "{separator}{}={level}", axis.name)?;
                separator = " ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
