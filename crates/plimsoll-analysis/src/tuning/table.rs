//! How many users each setting carries: for a number of users, the smallest settings that were measured to carry more.
//!
//! The line of a single rising load is above the line that a search finds, and it varies. A margin covers both, and a
//! trial at exactly that many users confirms the setting.

use super::{Levels, Observation, Score};

/// Share by which the line of a setting has to exceed the users that it is to carry.
pub const MARGIN: f64 = 0.15;
/// Settings that are tried for a number of users at most.
pub const CANDIDATES_MAX: usize = 3;

/// A setting of which the line is known.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownSetting {
    /// Its level of each knob.
    pub levels: Levels,
    /// The median of its lines, users.
    pub line: f64,
    /// What it takes: the fewer the better.
    pub cost: f64,
}

/// The settings that were measured and never failed, in the order of their first trial. `cost` is what a setting takes, such
/// as its price.
pub fn known_settings(
    observations: &[Observation],
    cost: &dyn Fn(&[usize]) -> f64,
) -> Vec<KnownSetting> {
    let mut settings: Vec<(&Levels, Vec<f64>, bool)> = Vec::new();
    for observation in observations {
        let index = settings
            .iter()
            .position(|known| known.0 == &observation.levels);
        let index = index.unwrap_or_else(|| {
            settings.push((&observation.levels, Vec::new(), false));
            settings.len() - 1
        });
        match observation.score {
            Score::Line(line) | Score::AtLeast(line) => settings[index].1.push(line),
            Score::Failed => settings[index].2 = true,
            Score::Void => {}
        }
    }
    let measured = settings
        .into_iter()
        .filter(|(_, lines, failed)| !lines.is_empty() && !failed);
    measured
        .map(|(levels, mut lines, _)| {
            lines.sort_by(f64::total_cmp);
            KnownSetting {
                line: lines[lines.len() / 2],
                cost: cost(levels),
                levels: levels.clone(),
            }
        })
        .collect()
}

/// The settings that should carry `users`, the smallest first; of equally small ones that with the higher line. None when
/// no setting carries as many.
pub fn candidates(known: &[KnownSetting], users: f64) -> Vec<&KnownSetting> {
    let needed = users * (1.0 + MARGIN);
    let mut enough: Vec<&KnownSetting> = known.iter().filter(|it| it.line >= needed).collect();
    enough.sort_by(|a, b| {
        a.cost
            .total_cmp(&b.cost)
            .then_with(|| b.line.total_cmp(&a.line))
    });
    enough.truncate(CANDIDATES_MAX);
    enough
}

#[cfg(test)]
mod tests {
    use super::super::{Guard, Phase};
    use super::*;

    fn observation(levels: &[usize], score: Score) -> Observation {
        Observation {
            levels: levels.to_vec(),
            block: 0,
            at_s: 0.0,
            phase: Phase::Search,
            score,
            guard: Guard::default(),
        }
    }

    #[test]
    fn the_smallest_setting_that_carries_enough_comes_first() {
        let observations = [
            observation(&[0, 0], Score::Line(100.0)),
            observation(&[1, 0], Score::Line(260.0)),
            observation(&[0, 1], Score::Line(230.0)),
            observation(&[0, 1], Score::Line(240.0)),
            observation(&[0, 1], Score::Line(250.0)),
            observation(&[2, 1], Score::AtLeast(900.0)),
            observation(&[2, 2], Score::Line(950.0)),
            observation(&[2, 2], Score::Failed),
            observation(&[1, 1], Score::Void),
        ];
        let cost = |levels: &[usize]| levels.iter().sum::<usize>() as f64;
        let known = known_settings(&observations, &cost);
        let lines: Vec<f64> = known.iter().map(|setting| setting.line).collect();
        assert_eq!(lines, [100.0, 260.0, 240.0, 900.0]);
        let levels = |users: f64| -> Vec<Levels> {
            let found = candidates(&known, users).into_iter();
            found.map(|setting| setting.levels.clone()).collect()
        };
        // 80 · 1.15 = 92: the default is enough.
        assert_eq!(levels(80.0)[0], [0, 0]);
        // Both take as much, and the first carries more.
        assert_eq!(levels(200.0), [vec![1, 0], vec![0, 1], vec![2, 1]]);
        assert_eq!(levels(500.0), [vec![2, 1]]);
        assert!(levels(800.0).is_empty(), "nothing carries 920");
    }

    #[test]
    fn a_number_of_users_has_few_candidates() {
        let known: Vec<KnownSetting> = (0..9_u8)
            .map(|level| KnownSetting {
                levels: vec![usize::from(level)],
                line: 100.0,
                cost: f64::from(level),
            })
            .collect();
        assert_eq!(candidates(&known, 10.0).len(), CANDIDATES_MAX);
    }
}
