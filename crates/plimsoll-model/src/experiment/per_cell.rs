//! Values that differ between cells.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::design::{Cell, Design};
use crate::redact::REDACTED;

/// A value in each cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PerCell<T> {
    /// The same in every cell.
    Every(T),
    /// By the levels of some axes.
    ByLevels(LevelTable<T>),
}

/// Values by the levels of some axes, ascending by these levels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelTable<T> {
    axes: Vec<usize>,
    values: Vec<(Vec<Option<usize>>, T)>,
}

impl<T> PerCell<T> {
    /// Values that differ by the levels of these axes alone, each with a cell that has it. Other cells have none.
    pub fn by_axes(axes: Vec<usize>, values: impl IntoIterator<Item = (Cell, T)>) -> Self {
        let values = values.into_iter();
        let values: BTreeMap<_, T> = values
            .map(|(cell, value)| (cell.levels_on(&axes), value))
            .collect();
        Self::ByLevels(LevelTable {
            axes,
            values: values.into_iter().collect(),
        })
    }

    /// The axes by whose levels it differs.
    pub fn axes(&self) -> &[usize] {
        match self {
            Self::Every(_) => &[],
            Self::ByLevels(table) => &table.axes,
        }
    }

    /// The value in a cell; `None` where an axis of the value has no level.
    pub fn at(&self, cell: &Cell) -> Option<&T> {
        match self {
            Self::Every(value) => Some(value),
            Self::ByLevels(LevelTable { axes, values }) => {
                let levels = cell.levels_on(axes);
                let found = values.binary_search_by(|(known, _)| known.cmp(&levels));
                found.ok().map(|index| &values[index].1)
            }
        }
    }
}

/// A text in which levels are inserted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelText {
    pieces: Vec<LevelPiece>,
}

/// A piece of a [`LevelText`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LevelPiece {
    /// Literal text.
    Text(String),
    /// The level of the axis with this index.
    Level(usize),
    /// The value of an environment variable, which no log contains.
    Variable {
        /// Its name.
        name: String,
        /// Its value.
        #[serde(skip)]
        value: HiddenText,
    },
}

/// A text that is neither shown nor stored.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HiddenText(String);

impl HiddenText {
    /// Hides a text.
    pub fn new(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for HiddenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl LevelText {
    /// A text of pieces.
    pub fn new(pieces: Vec<LevelPiece>) -> Self {
        Self { pieces }
    }

    /// The axes whose levels it has.
    pub fn axes(&self) -> impl Iterator<Item = usize> {
        self.pieces.iter().filter_map(|piece| match piece {
            LevelPiece::Text(_) | LevelPiece::Variable { .. } => None,
            LevelPiece::Level(axis) => Some(*axis),
        })
    }

    /// The text in a cell; `None` when one of its axes has no level there, so that what the text sets is left out.
    pub fn in_cell(&self, design: &Design, cell: &Cell) -> Option<String> {
        let mut filled = String::new();
        for piece in &self.pieces {
            match piece {
                LevelPiece::Text(text)
                | LevelPiece::Variable {
                    value: HiddenText(text),
                    ..
                } => filled.push_str(text),
                LevelPiece::Level(axis) => filled.push_str(design.level_text(cell, *axis)?),
            }
        }
        Some(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::super::design::{Axis, Condition, ConditionTerm, OnlyIf};
    use super::*;

    #[test]
    fn values_of_variables_are_neither_shown_nor_stored() {
        let value = HiddenText::new("hunter2".to_owned());
        let name = "PASSWORD".to_owned();
        let text = LevelText::new(vec![LevelPiece::Variable { name, value }]);
        let design = Design::new(vec![Axis::new("a", vec!["1".to_owned()])]);
        let cell = &design.cells().unwrap()[0];
        assert_eq!(text.in_cell(&design, cell).unwrap(), "hunter2");
        for shown in [format!("{text:?}"), serde_json::to_string(&text).unwrap()] {
            assert!(shown.contains("PASSWORD"), "{shown}");
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn a_text_whose_axis_has_no_level_is_left_out() {
        let axis = |name, levels: [&str; 2]| Axis::new(name, levels.map(str::to_owned).to_vec());
        let levels = vec![1];
        let condition = Condition::new(vec![ConditionTerm { axis: 0, levels }]);
        let design = Design::new(vec![
            axis("cache", ["off", "on"]),
            axis("ttl", ["1s", "2s"]),
        ])
        .varying_only(vec![OnlyIf { axis: 1, condition }]);
        let text = LevelText::new(vec![
            LevelPiece::Text("ttl ".to_owned()),
            LevelPiece::Level(1),
        ]);
        let cells = design.cells().unwrap();
        let texts: Vec<_> = cells
            .iter()
            .map(|cell| text.in_cell(&design, cell))
            .collect();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(texts, [None, some("ttl 1s"), some("ttl 2s")]);
        assert_eq!(text.axes().collect::<Vec<_>>(), [1]);
        let filled = cells.iter().cloned().zip(texts);
        let filled = filled.filter_map(|(cell, text)| Some((cell, text?)));
        let by_ttl = PerCell::by_axes(vec![1], filled);
        assert_eq!(by_ttl.axes(), [1]);
        assert_eq!(by_ttl.at(&cells[0]), None);
        assert_eq!(by_ttl.at(&cells[1]), Some(&"ttl 1s".to_owned()));
        // The other axis does not matter.
        let other = Cell::new(vec![Some(0), Some(1)]);
        assert_eq!(by_ttl.at(&other), Some(&"ttl 2s".to_owned()));
        assert_eq!(PerCell::Every(7).at(&Cell::default()), Some(&7));
    }
}
