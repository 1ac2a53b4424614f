//! The cells of known designs, and laws of any design.

use proptest::prelude::*;

use super::*;

fn axis(name: &str, levels: &[&str]) -> Axis {
    Axis::new(
        name,
        levels.iter().map(|level| (*level).to_owned()).collect(),
    )
}

fn condition(terms: &[(usize, &[usize])]) -> Condition {
    let terms = terms.iter().map(|(axis, levels)| ConditionTerm {
        axis: *axis,
        levels: levels.to_vec(),
    });
    Condition::new(terms.collect())
}

/// Cells as texts.
fn cells(design: &Design) -> Vec<String> {
    let cells = design.cells().unwrap();
    cells
        .iter()
        .map(|cell| design.describe(cell).to_string())
        .collect()
}

fn caches() -> Design {
    Design::new(vec![
        axis("cores", &["1", "2"]),
        axis("cache", &["none", "page"]),
        axis("ttl", &["1s", "60s"]),
    ])
}

#[test]
fn the_last_axis_changes_fastest() {
    let design = Design::new(vec![axis("a", &["1", "2"]), axis("b", &["x", "y"])]);
    assert_eq!(cells(&design), ["a=1 b=x", "a=1 b=y", "a=2 b=x", "a=2 b=y"]);
}

#[test]
fn zipped_axes_advance_together() {
    let design = Design::new(vec![
        axis("a", &["1", "2"]),
        axis("b", &["x", "y"]),
        axis("c", &["p", "q"]),
    ])
    .zipped(vec![vec![2, 0]]);
    assert_eq!(
        cells(&design),
        ["a=1 b=x c=p", "a=1 b=y c=p", "a=2 b=x c=q", "a=2 b=y c=q"]
    );
}

#[test]
fn excluded_cells_are_left_out() {
    let design = caches().excluding(vec![condition(&[(0, &[0]), (1, &[1])])]);
    assert_eq!(
        cells(&design),
        [
            "cores=1 cache=none ttl=1s",
            "cores=1 cache=none ttl=60s",
            "cores=2 cache=none ttl=1s",
            "cores=2 cache=none ttl=60s",
            "cores=2 cache=page ttl=1s",
            "cores=2 cache=page ttl=60s",
        ]
    );
}

#[test]
fn an_axis_without_effect_is_not_varied() {
    let design = caches().varying_only(vec![OnlyIf {
        axis: 2,
        condition: condition(&[(1, &[1])]),
    }]);
    assert_eq!(
        cells(&design),
        [
            "cores=1 cache=none",
            "cores=1 cache=page ttl=1s",
            "cores=1 cache=page ttl=60s",
            "cores=2 cache=none",
            "cores=2 cache=page ttl=1s",
            "cores=2 cache=page ttl=60s",
        ]
    );
}

#[test]
fn conditions_follow_each_other_in_any_order() {
    // The cache is varied with two cores alone, and its time to live where there is a cache.
    let first = OnlyIf {
        axis: 1,
        condition: condition(&[(0, &[1])]),
    };
    let second = OnlyIf {
        axis: 2,
        condition: condition(&[(1, &[1])]),
    };
    let forth = caches().varying_only(vec![first.clone(), second.clone()]);
    let back = caches().varying_only(vec![second, first]);
    assert_eq!(forth.cells(), back.cells());
    assert_eq!(
        cells(&forth),
        [
            "cores=1",
            "cores=2 cache=none",
            "cores=2 cache=page ttl=1s",
            "cores=2 cache=page ttl=60s",
        ]
    );
}

#[test]
fn designs_without_valid_cells_are_refused() {
    let two = || vec![axis("a", &["1", "2"]), axis("b", &["x"])];
    let error = |design: Design| design.cells().unwrap_err();
    assert_eq!(error(Design::default()), DesignError::NoCells);
    assert_eq!(
        error(Design::new(two()).excluding(vec![Condition::default()])),
        DesignError::NoCells
    );
    assert_eq!(
        error(Design::new(two()).zipped(vec![vec![0, 1]])),
        DesignError::UnequalZip
    );
    for zip in [vec![vec![0, 0]], vec![vec![0], vec![0]], vec![vec![7]]] {
        assert_eq!(
            error(Design::new(two()).zipped(zip)),
            DesignError::ZippedTwice
        );
    }
    let level = |index: usize| index.to_string();
    let wide = || Axis::new("w", (0..LEVELS_MAX).map(level).collect());
    assert_eq!(
        error(Design::new(vec![wide(), wide()])),
        DesignError::TooManyCells
    );
    let all = (0..AXES_MAX).map(|_| wide()).collect();
    assert_eq!(error(Design::new(all)), DesignError::TooManyCandidates);
}

proptest! {
    /// Every combination is either excluded or a cell, and no cell occurs twice.
    #[test]
    fn cells_and_excluded_cells_are_the_product(
        lens in prop::collection::vec(1_usize..4, 1..5),
        excluded in prop::collection::vec(0_usize..3, 0..3),
    ) {
        let level = |index: usize| index.to_string();
        let axes = lens.iter().enumerate();
        let axes: Vec<Axis> = axes
            .map(|(index, len)| Axis::new(format!("a{index}"), (0..*len).map(level).collect()))
            .collect();
        let terms: Vec<Condition> = excluded.iter().map(|level| condition(&[(0, &[*level])])).collect();
        let kept: usize = (0..lens[0]).filter(|level| !excluded.contains(level)).count();
        let expected = kept * lens[1..].iter().product::<usize>();
        match Design::new(axes).excluding(terms).cells() {
            Ok(cells) => {
                prop_assert_eq!(cells.len(), expected);
                let distinct: HashSet<&Cell> = cells.iter().collect();
                prop_assert_eq!(distinct.len(), cells.len());
            }
            Err(error) => {
                prop_assert_eq!(error, DesignError::NoCells);
                prop_assert_eq!(expected, 0);
            }
        }
    }
}
