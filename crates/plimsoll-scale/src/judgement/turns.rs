//! Oscillation: supply that turns although demand does not.

use crate::whole::{replicas, time};

/// Demand counts as its highest of so many seconds, so that noise between two numbers is no turn.
const DEMAND_S: usize = 300;
/// Further turns from which a supply oscillates.
const OSCILLATES_FROM: u32 = 2;

/// Turns of supply and demand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// How often supply went down after it had gone up, and the other way round.
    pub supply: u32,
    /// The same of demand, of which short noise is left out.
    pub demand: u32,
    /// Mean time between two turns of supply, s; 0 for fewer than two.
    pub period_s: u32,
    /// The lowest and the highest supply from its first to its last turn.
    pub between: (u32, u32),
}

impl Turns {
    /// The turns of equally long records.
    pub fn of(demand: &[u32], supply: &[u32]) -> Self {
        let demand = turning_points(&smooth(demand));
        let points = turning_points(supply);
        let ends = points.first().zip(points.last());
        let period_s = match (ends, points.len()) {
            (Some((first, last)), 2..) => (last - first) / (points.len() - 1),
            _ => 0,
        };
        let between = ends.map_or((0, 0), |(first, last)| {
            let part = &supply[first.saturating_sub(1)..=*last];
            let (low, high) = (part.iter().min(), part.iter().max());
            (low.copied().unwrap_or(0), high.copied().unwrap_or(0))
        });
        let count = |points: &[usize]| u32::try_from(points.len()).unwrap_or(u32::MAX);
        Self {
            supply: count(&points),
            demand: count(&demand),
            period_s: u32::try_from(period_s).unwrap_or(u32::MAX),
            between,
        }
    }

    /// Whether supply turned more often than demand explains.
    pub fn oscillates(&self) -> bool {
        self.supply >= self.demand.saturating_add(OSCILLATES_FROM)
    }

    /// The turns in a sentence without a full stop.
    pub(super) fn sentence(&self, demand_max: u32, held_max: u32) -> String {
        let beyond = format!(
            "; it held {} at most where {demand_max} were needed at most",
            replicas(held_max)
        );
        if self.oscillates() {
            return format!(
                "it oscillated: {} turns of the number of replicas at {} of the demand, between {} and {}, {} apart on average{beyond}",
                self.supply,
                self.demand,
                self.between.0,
                self.between.1,
                time(self.period_s)
            );
        }
        format!(
            "it did not oscillate: {} of the number of replicas at {} of the demand{beyond}",
            counted(self.supply),
            self.demand
        )
    }
}

fn counted(turns: u32) -> String {
    if turns == 1 {
        "1 turn".to_owned()
    } else {
        format!("{turns} turns")
    }
}

/// The highest of the last seconds.
fn smooth(values: &[u32]) -> Vec<u32> {
    let mut highest = std::collections::VecDeque::<(usize, u32)>::new();
    let mut smoothed = Vec::with_capacity(values.len());
    for (at, &value) in values.iter().enumerate() {
        while highest.back().is_some_and(|(_, last)| *last <= value) {
            highest.pop_back();
        }
        highest.push_back((at, value));
        while highest
            .front()
            .is_some_and(|(first, _)| first + DEMAND_S <= at)
        {
            highest.pop_front();
        }
        smoothed.push(highest.front().map_or(value, |(_, value)| *value));
    }
    smoothed
}

/// Places at which values begin to move the other way.
fn turning_points(values: &[u32]) -> Vec<usize> {
    let mut points = Vec::new();
    let mut before: Option<bool> = None;
    for (at, pair) in values.windows(2).enumerate() {
        if pair[0] == pair[1] {
            continue;
        }
        let is_up = pair[1] > pair[0];
        if before.is_some_and(|before| before != is_up) {
            points.push(at + 1);
        }
        before = Some(is_up);
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supply_that_turns_alone_oscillates() {
        let demand = [4_u32; 40];
        let supply: Vec<u32> = (0..40_u32)
            .map(|second| if second / 10 % 2 == 0 { 4 } else { 8 })
            .collect();
        let turns = Turns::of(&demand, &supply);
        // Up at 10, down at 20, up at 30.
        assert_eq!(
            (turns.supply, turns.demand, turns.period_s, turns.between),
            (2, 0, 10, (4, 8))
        );
        assert!(turns.oscillates());
        assert_eq!(
            turns.sentence(4, 8),
            "it oscillated: 2 turns of the number of replicas at 0 of the demand, between 4 and 8, 10 s apart on average; it \
             held 8 replicas at most where 4 were needed at most"
        );
    }

    #[test]
    fn supply_that_follows_does_not() {
        let demand: Vec<u32> = (0..2000)
            .map(|second| if (500..1000).contains(&second) { 8 } else { 2 })
            .collect();
        let supply: Vec<u32> = (0..2000)
            .map(|second| if (540..1400).contains(&second) { 8 } else { 2 })
            .collect();
        let turns = Turns::of(&demand, &supply);
        assert_eq!((turns.supply, turns.demand), (1, 1));
        assert_eq!(
            turns.sentence(8, 8),
            "it did not oscillate: 1 turn of the number of replicas at 1 of the demand; it held 8 replicas at most where 8 were \
             needed at most"
        );
    }
}
