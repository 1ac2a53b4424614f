//! Searches that have time for few blocks.

use super::*;

/// Users that the CPUs of the case study of the tutor carry.
const MOST: f64 = 380.0;

/// What the case study of the tutor carries: programs take a second, and run as many at a time as the engine has workers and HAProxy
/// hands to it, until the CPUs are busy. The other knobs do nothing.
fn tutor(levels: &[usize]) -> Score {
    let workers = 2_u32 << levels[1];
    let handed = 5_u32 << levels[2];
    Score::Line((23.0 * f64::from(workers.min(handed))).min(MOST))
}

/// Processes of the web part, workers of the engine, requests that HAProxy hands to a server, the time that one waits for that,
/// connections, and threads that hash.
fn tutor_space() -> Space {
    Space::new(vec![
        ordered(4, 0),
        ordered(8, 0),
        ordered(8, 0),
        ordered(4, 0),
        ordered(5, 1),
        ordered(4, 1),
    ])
}

/// The connections of all processes together.
fn is_tutor_feasible(levels: &[usize]) -> bool {
    ((1_u32 << levels[0]) + 1) * (5 << levels[4]) <= 490
}

fn tutor_search(seed: u64, blocks: usize) -> TuneSearch {
    let limits = TuneLimits { blocks, ..LIMITS };
    TuneSearch::new(tutor_space(), Seed(seed), limits)
}

/// Adds a block of the search.
fn add_block(observations: &mut Vec<Observation>, settings: Vec<Levels>, noise: u64) {
    let block = observations.last().map_or(0, |last| last.block + 1);
    for levels in settings {
        let trial = observations.len() as u64;
        observations.push(Observation {
            score: noisy(tutor(&levels), trial + noise),
            levels,
            block,
            at_s: trial as f64 * 60.0,
            ..Observation::default()
        });
    }
}

/// The only block of a search of 50 minutes on that stack.
fn recorded_block() -> Vec<Observation> {
    let settings = [
        [3, 1, 2, 0, 0, 0],
        [2, 3, 0, 0, 2, 3],
        [1, 2, 5, 3, 4, 0],
        [0, 0, 0, 0, 1, 1],
        [0, 2, 0, 1, 4, 2],
    ];
    let mut observations = Vec::new();
    let settings: Vec<Levels> = settings.into_iter().map(Vec::from).collect();
    add_block(&mut observations, settings, 0);
    observations
}

fn settings_of(step: Step) -> Vec<Levels> {
    match step {
        Step::Search(settings) => settings,
        other => panic!("a block of the search, not {other:?}"),
    }
}

#[test]
fn a_search_with_time_for_one_block_goes_on_from_the_best() {
    let observations = recorded_block();
    // Eight programs at a time so far; then 32.
    let beyond = vec![2, 4, 7, 3, 4, 0];
    assert_eq!(tutor(&beyond), Score::Line(MOST));
    for seed in 0..5 {
        let next = |blocks| {
            let search = tutor_search(seed, blocks);
            settings_of(search.next(&observations, &is_tutor_feasible))
        };
        let mixed = next(1);
        let distinct: BTreeSet<&Levels> = mixed.iter().collect();
        assert_eq!((mixed.len(), distinct.len()), (5, 5));
        assert!(mixed.contains(&beyond), "{mixed:?}");
        // The others are spread over the space, as all are where there is time.
        let spread = next(usize::MAX);
        let both = mixed.iter().filter(|levels| spread.contains(levels));
        assert!(both.count() >= 3, "{mixed:?} and {spread:?}");
    }
}

#[test]
fn a_block_without_time_for_four_settings_has_both_kinds() {
    let limits = TuneLimits {
        blocks: 1,
        settings: 2,
        ..LIMITS
    };
    let search = TuneSearch::new(tutor_space(), Seed(1), limits);
    let observations = recorded_block();
    let settings = settings_of(search.next(&observations, &is_tutor_feasible));
    let whole = tutor_search(1, usize::MAX).next(&observations, &is_tutor_feasible);
    let whole = settings_of(whole);
    assert_eq!(settings.len(), 3);
    assert!(settings.contains(&vec![2, 4, 7, 3, 4, 0]));
    // The default, and one that is spread over the space.
    assert_eq!(settings.iter().filter(|it| whole.contains(it)).count(), 2);
}

#[test]
fn two_blocks_find_what_a_plain_limit_leaves() {
    let found = (0..20).filter(|&seed| {
        let mut observations: Vec<Observation> = Vec::new();
        for blocks in [2, 1] {
            let search = tutor_search(seed, blocks);
            let step = search.next(&observations, &is_tutor_feasible);
            add_block(&mut observations, settings_of(step), 1_000 * seed);
        }
        let best = tutor_search(seed, 0).incumbent(&observations).unwrap();
        matches!(tutor(&best), Score::Line(line) if line >= 0.9 * MOST)
    });
    let count = found.count();
    assert!(count >= 16, "{count} of 20");
}

#[test]
fn a_search_climbs_as_long_as_blocks_raise_the_best() {
    let mut observations = recorded_block();
    let is_climbing = |observations: &[Observation]| tutor_search(1, 1).is_climbing(observations);
    assert!(!is_climbing(&[]));
    assert!(is_climbing(&observations));
    // Twice as many users as with the best so far.
    let mut higher = observations.clone();
    let twice = vec![vec![0, 0, 0, 0, 1, 1], vec![0, 4, 2, 0, 1, 1]];
    add_block(&mut higher, twice, 0);
    assert!(is_climbing(&higher));
    // As many as others have.
    let others = vec![vec![0, 0, 0, 0, 1, 1], vec![0, 2, 0, 0, 1, 1]];
    add_block(&mut observations, others, 0);
    assert!(!is_climbing(&observations));
}
