//! Cells by their numbers, where the product of all axes is too large to be listed.

use super::{Cell, Design};

/// Combinations of levels at most that have numbers.
pub const PRODUCT_MAX: u64 = 1 << 48;

impl Design {
    /// How many combinations of levels there are; `None` without any, or above [`PRODUCT_MAX`].
    pub fn product_len(&self) -> Option<usize> {
        let mut lens = self.axes.iter().map(|axis| axis.levels.len());
        let len = lens.try_fold(1_usize, usize::checked_mul)?;
        let is_valid = u64::try_from(len).is_ok_and(|len| (1..=PRODUCT_MAX).contains(&len));
        (is_valid && !self.axes.is_empty()).then_some(len)
    }

    /// The number of the combination of these levels, one for each axis: the first axis is the most significant, as in
    /// [`Design::cells`].
    pub fn index_of(&self, levels: &[usize]) -> usize {
        let levels = self.axes.iter().zip(levels);
        levels.fold(0_usize, |index, (axis, level)| {
            let shifted = index.saturating_mul(axis.levels.len());
            shifted.saturating_add(*level)
        })
    }

    /// The levels of the combination with this number, one for each axis.
    pub fn levels_at(&self, index: usize) -> Vec<usize> {
        let mut rest = index;
        let mut levels = vec![0; self.axes.len()];
        for (level, axis) in levels.iter_mut().zip(&self.axes).rev() {
            let len = axis.levels.len().max(1);
            *level = rest % len;
            rest /= len;
        }
        levels
    }

    /// The cell of the combination with this number.
    pub fn cell_at(&self, index: usize) -> Cell {
        Cell::new(self.levels_at(index).into_iter().map(Some).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{AXES_MAX, Axis};
    use super::*;

    fn design(lens: &[usize]) -> Design {
        let axes = lens.iter().enumerate().map(|(axis, len)| {
            let levels = (0..*len).map(|level| level.to_string());
            Axis::new(format!("a{axis}"), levels.collect())
        });
        Design::new(axes.collect())
    }

    #[test]
    fn products_have_a_limit() {
        assert_eq!(Design::default().product_len(), None);
        assert_eq!(design(&[3, 0]).product_len(), None);
        assert_eq!(design(&[3, 4]).product_len(), Some(12));
        assert_eq!(design(&[16; 12]).product_len(), Some(1 << 48));
        assert_eq!(design(&[16; 13]).product_len(), None);
        assert_eq!(design(&[256; AXES_MAX]).product_len(), None);
    }

    #[test]
    fn numbers_follow_the_list_of_cells() {
        let design = design(&[2, 3, 4]);
        let cells = design.cells().unwrap();
        assert_eq!(design.product_len(), Some(cells.len()));
        for (index, cell) in cells.iter().enumerate() {
            assert_eq!(&design.cell_at(index), cell);
        }
    }

    proptest! {
        /// Numbers and levels are the same thing, also where nobody could list them.
        #[test]
        fn numbers_and_levels_are_one_to_one(
            axes in prop::collection::vec((1_usize..17, 0_usize..16), 1..13),
        ) {
            let lens: Vec<usize> = axes.iter().map(|(len, _)| *len).collect();
            let levels: Vec<usize> = axes.iter().map(|(len, level)| level % len).collect();
            let design = design(&lens);
            let index = design.index_of(&levels);
            prop_assert!(index < design.product_len().unwrap());
            prop_assert_eq!(design.levels_at(index), levels);
        }
    }
}
