//! As far again from the default as the best so far lies from it.
//!
//! The pattern move of Hooke and Jeeves (Journal of the ACM 8, 1961). A forest says of what lies beyond all that was measured only
//! what it says of the nearest, so it does not propose to go on where a limit was raised and still binds.

use super::space::{Feasible, Levels, Space};

/// The best with each of its changed numbers moved on by as many levels as it was moved from the default, as far as range and
/// constraints allow; choices stay. `None` where nothing moves.
pub(super) fn further(space: &Space, best: &[usize], feasible: Feasible<'_>) -> Option<Levels> {
    let numbers = space.changed(best).into_iter().filter_map(|knob| {
        let range = space.knobs()[knob];
        let level = (2 * best[knob]).saturating_sub(range.default);
        range
            .is_ordered
            .then_some((knob, level.min(range.levels - 1)))
    });
    let wanted: Vec<(usize, usize)> = numbers.collect();
    let levels = space.toward(best, &wanted, feasible);
    (levels != best).then_some(levels)
}

#[cfg(test)]
mod tests {
    use super::super::space::tests::{choice, ordered};
    use super::*;

    #[test]
    fn numbers_go_on_and_choices_stay() {
        let space = Space::new(vec![
            ordered(8, 1),
            ordered(8, 5),
            ordered(4, 0),
            choice(4, 0),
            ordered(5, 2),
        ]);
        // Up, down, to the end of the range, a choice, and a knob that stands.
        let best = [3, 4, 2, 2, 2];
        assert_eq!(further(&space, &best, &|_| true), Some(vec![5, 3, 3, 2, 2]));
        // What the constraints exclude gives way to the next level towards the best.
        let feasible = |levels: &[usize]| levels[0] < 5 && levels[1] != 3;
        assert_eq!(further(&space, &best, &feasible), Some(vec![4, 4, 3, 2, 2]));
    }

    #[test]
    fn at_the_ends_of_all_ranges_nothing_moves() {
        let space = Space::new(vec![ordered(4, 1), ordered(4, 2), choice(3, 0)]);
        assert_eq!(further(&space, &[3, 0, 1], &|_| true), None);
        assert_eq!(further(&space, &space.default_levels(), &|_| true), None);
    }
}
