//! The settings that are tried first: what usually suffices, and as much of it as the constraints allow.
//!
//! A sample that is spread over the space can miss what anyone who knows the programs would try. Of a service that has too
//! little of something, one of these two carries more in the first block (docs/decisions/0591).

use super::space::{Feasible, Levels, Space};

/// Knobs at their highest level: the likeliest limits. More of them would take the memory of a machine.
const MOST: usize = 3;

/// The settings, at most two, without the default: all knobs whose usual level is known at that, then the likeliest of them at
/// the highest. All other knobs stay as they are. A level that the constraints exclude gives way to the next towards the
/// default; knobs come in their order, the likeliest limit first.
pub(super) fn advised(space: &Space, feasible: Feasible<'_>) -> Vec<Levels> {
    let knobs = || {
        let knobs = space.knobs().iter().enumerate();
        knobs.filter_map(|(index, knob)| Some((index, knob, knob.usual?)))
    };
    let usual = knobs().map(|(index, _, usual)| (index, usual));
    let most = knobs().take(MOST).map(|(index, knob, usual)| {
        let is_more = knob.is_ordered && usual > knob.default;
        (index, if is_more { knob.levels - 1 } else { usual })
    });
    let mut settings = Vec::new();
    for wanted in [usual.collect::<Vec<_>>(), most.collect()] {
        let levels = space.toward(&space.default_levels(), &wanted, feasible);
        if !space.is_default(&levels) && !settings.contains(&levels) {
            settings.push(levels);
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::super::space::KnobSpace;
    use super::super::space::tests::{choice, ordered};
    use super::*;

    fn usual(knob: KnobSpace, usual: usize) -> KnobSpace {
        KnobSpace {
            usual: Some(usual),
            ..knob
        }
    }

    #[test]
    fn the_likeliest_limits_are_raised_as_far_as_constraints_allow() {
        // Connections, workers of 1, 2, 4, 8, 16, threads of the same, and a setting of which nothing is known.
        let space = Space::new(vec![
            usual(ordered(7, 0), 5),
            usual(ordered(5, 0), 2),
            usual(ordered(5, 0), 2),
            ordered(4, 1),
        ]);
        let feasible = |levels: &[usize]| (1 << levels[1]) * (1 << levels[2]) <= 20;
        assert_eq!(
            advised(&space, &feasible),
            [vec![5, 2, 2, 1], vec![6, 4, 0, 1]]
        );
        assert!(advised(&space, &|levels| space.is_default(levels)).is_empty());
    }

    #[test]
    fn what_usually_suffices_may_be_less_or_another_word() {
        let space = Space::new(vec![usual(ordered(5, 4), 2), usual(choice(3, 2), 0)]);
        // The fourth is among what usually suffices, and not among the highest.
        let four = Space::new(vec![usual(ordered(4, 0), 1); 4]);
        assert_eq!(advised(&four, &|_| true), [[1, 1, 1, 1], [3, 3, 3, 0]]);
        assert_eq!(advised(&space, &|_| true), [vec![2, 0]]);
        let feasible = |levels: &[usize]| levels[0] != 2 && levels[1] != 0;
        assert_eq!(advised(&space, &feasible), [vec![3, 2]]);
    }

    #[test]
    fn nothing_is_advised_where_nothing_is_known() {
        let space = Space::new(vec![ordered(5, 1), choice(3, 2)]);
        assert!(advised(&space, &|_| true).is_empty());
    }
}
