//! Factors: axes that cannot be varied apart from each other are one factor of the arithmetic.

use super::{Cell, Design};

/// Axes whose levels belong together: zipped ones, and an axis with those on which it depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    axes: Vec<usize>,
    /// Levels of these axes that occur in cells, in the order of the cells.
    levels: Vec<Vec<Option<usize>>>,
}

impl Factor {
    /// Indexes of its axes, ascending.
    pub fn axes(&self) -> &[usize] {
        &self.axes
    }

    /// How many levels it has.
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Its name for people: `cores + memory`.
    pub fn name(&self, design: &Design) -> String {
        let names = self.axes.iter().filter_map(|axis| design.axes.get(*axis));
        names.map(super::Axis::name).collect::<Vec<_>>().join(" + ")
    }

    /// A level for people: `2, 4GiB`. An axis that is not varied there has no text.
    pub fn level_text(&self, design: &Design, level: usize) -> String {
        let levels = self.levels.get(level).into_iter().flatten();
        let texts = self.axes.iter().zip(levels).filter_map(|(axis, level)| {
            let texts = &design.axes.get(*axis)?.levels;
            texts.get((*level)?).map(String::as_str)
        });
        texts.collect::<Vec<_>>().join(", ")
    }

    /// The level of a cell; `None` for a cell of another design.
    pub fn level_of(&self, cell: &Cell) -> Option<usize> {
        let levels = self.of(cell);
        self.levels.iter().position(|known| *known == levels)
    }

    fn of(&self, cell: &Cell) -> Vec<Option<usize>> {
        self.axes.iter().map(|axis| cell.level(*axis)).collect()
    }
}

impl Design {
    /// The factors of these cells, in the order of their first axes.
    pub fn factors(&self, cells: &[Cell]) -> Vec<Factor> {
        // The smallest axis of its group, for each axis.
        let mut group: Vec<usize> = (0..self.axes.len()).collect();
        let mut join = |first: usize, second: usize| {
            let (Some(&a), Some(&b)) = (group.get(first), group.get(second)) else {
                return;
            };
            let (low, high) = (a.min(b), a.max(b));
            for member in &mut group {
                if *member == high {
                    *member = low;
                }
            }
        };
        for zipped in &self.zip {
            for pair in zipped.windows(2) {
                join(pair[0], pair[1]);
            }
        }
        for only_if in &self.only_if {
            for term in &only_if.condition.terms {
                join(only_if.axis, term.axis);
            }
        }
        let firsts = (0..group.len()).filter(|axis| group[*axis] == *axis);
        firsts
            .map(|first| {
                let members = (0..group.len()).filter(|axis| group[*axis] == first);
                let mut factor = Factor {
                    axes: members.collect(),
                    levels: Vec::new(),
                };
                for cell in cells {
                    let levels = factor.of(cell);
                    if !factor.levels.contains(&levels) {
                        factor.levels.push(levels);
                    }
                }
                factor
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Condition, ConditionTerm, OnlyIf};
    use super::*;

    fn design() -> Design {
        let axis = |name: &str, levels: &[&str]| {
            Axis::new(
                name,
                levels.iter().map(|level| (*level).to_owned()).collect(),
            )
        };
        let levels = vec![1];
        let condition = Condition::new(vec![ConditionTerm { axis: 2, levels }]);
        Design::new(vec![
            axis("cores", &["1", "2"]),
            axis("workers", &["1", "4"]),
            axis("cache", &["none", "page"]),
            axis("memory", &["1GiB", "2GiB"]),
            axis("ttl", &["1s", "9s"]),
        ])
        .zipped(vec![vec![0, 3]])
        .varying_only(vec![OnlyIf { axis: 4, condition }])
    }

    #[test]
    fn axes_that_move_together_are_one_factor() {
        let design = design();
        let cells = design.cells().unwrap();
        let factors = design.factors(&cells);
        let names: Vec<String> = factors.iter().map(|factor| factor.name(&design)).collect();
        assert_eq!(names, ["cores + memory", "workers", "cache + ttl"]);
        let texts = |factor: &Factor| -> Vec<String> {
            (0..factor.levels())
                .map(|level| factor.level_text(&design, level))
                .collect()
        };
        assert_eq!(texts(&factors[0]), ["1, 1GiB", "2, 2GiB"]);
        assert_eq!(texts(&factors[2]), ["none", "page, 1s", "page, 9s"]);
        // Every cell has a level of each factor, and no two cells the same.
        let mut levels: Vec<Vec<usize>> = cells
            .iter()
            .map(|cell| {
                let levels = factors.iter().map(|factor| factor.level_of(cell));
                levels.collect::<Option<_>>().unwrap()
            })
            .collect();
        levels.sort();
        levels.dedup();
        assert_eq!(levels.len(), cells.len());
    }
}
