//! Response surfaces: what a service would carry at each setting of its knobs, with the best setting known.
//!
//! A search for settings is judged on them without a service: a surface is a pure function of the levels of its knobs and of
//! time, and its noise a function of a seed. The laws are those of servers (workers and their service time, memory that ends,
//! connection pools, buffers), so what a search learns here it may expect there.

mod databases;
mod laws;
mod many_knobs;
mod stacks;
mod web;
mod without_gain;

use plimsoll_model::seed::Seed;

use crate::normal::standard_normal;

/// Standard deviation of the logarithm of a measured line.
pub const NOISE: f64 = 0.05;

/// A setting of a service. A level is the index of a value in its knob's list.
pub type Setting = Vec<usize>;

/// What a knob can be set to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KnobValues {
    /// Numbers, ascending.
    Ordered(&'static [f64]),
    /// Words without an order.
    Choices(&'static [&'static str]),
}

/// A knob of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfaceKnob {
    /// Its name, in words of the server.
    pub name: &'static str,
    /// What it can be set to.
    pub values: KnobValues,
    /// The level that stands before a search.
    pub default: usize,
}

/// A response surface.
#[derive(Debug)]
pub struct ResponseSurface {
    id: &'static str,
    shape: &'static str,
    meaning: &'static str,
    knobs: &'static [SurfaceKnob],
    law: Law,
    drift: fn(f64) -> f64,
}

/// The best setting of a surface.
#[derive(Clone, Debug, PartialEq)]
pub struct BestOfSurface {
    /// The first of the best settings, in the order of levels.
    pub setting: Setting,
    /// The line it carries at second 0, requests per second.
    pub line: f64,
}

/// The line at second 0, requests per second.
#[derive(Clone, Copy, Debug)]
enum Law {
    /// It never fails.
    Carries(fn(&[Level]) -> f64),
    /// `None` where the service fails.
    MayFail(fn(&[Level]) -> Option<f64>),
}

/// A level as laws use it.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Place in the knob's list.
    index: usize,
    /// The number there; of a choice, its place.
    value: f64,
}

/// All twenty surfaces.
pub fn all() -> impl Iterator<Item = &'static ResponseSurface> {
    let surfaces = web::SURFACES.iter().chain(&databases::SURFACES);
    let surfaces = surfaces
        .chain(&stacks::SURFACES)
        .chain(&many_knobs::SURFACES);
    surfaces.chain(&without_gain::SURFACES)
}

impl SurfaceKnob {
    const fn ordered(name: &'static str, values: &'static [f64], default: usize) -> Self {
        Self {
            name,
            values: KnobValues::Ordered(values),
            default,
        }
    }

    const fn choices(name: &'static str, values: &'static [&'static str], default: usize) -> Self {
        Self {
            name,
            values: KnobValues::Choices(values),
            default,
        }
    }

    /// Number of levels.
    pub fn levels(&self) -> usize {
        match self.values {
            KnobValues::Ordered(values) => values.len(),
            KnobValues::Choices(values) => values.len(),
        }
    }

    /// Whether neighbouring levels are alike.
    pub fn is_ordered(&self) -> bool {
        matches!(self.values, KnobValues::Ordered(_))
    }

    /// A level as text.
    pub fn text(&self, level: usize) -> String {
        match self.values {
            KnobValues::Ordered(values) => values[level].to_string(),
            KnobValues::Choices(values) => values[level].to_owned(),
        }
    }

    fn level(&self, index: usize) -> Level {
        let value = match self.values {
            KnobValues::Ordered(values) => values[index],
            KnobValues::Choices(_) => index as f64,
        };
        Level { index, value }
    }
}

impl ResponseSurface {
    /// Its id.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// What is difficult about it, in one or two words.
    pub fn shape(&self) -> &'static str {
        self.shape
    }

    /// The service it stands for, in one sentence.
    pub fn meaning(&self) -> &'static str {
        self.meaning
    }

    /// Its knobs, in the order of the levels of a setting.
    pub fn knobs(&self) -> &'static [SurfaceKnob] {
        self.knobs
    }

    /// The setting that stands before a search.
    pub fn default_setting(&self) -> Setting {
        self.knobs.iter().map(|knob| knob.default).collect()
    }

    /// The line that a setting truly carries at this second of the search, in requests per second; `None` where the service
    /// fails. All settings drift alike, so the best is the same at all times.
    pub fn line(&self, setting: &[usize], at_s: f64) -> Option<f64> {
        assert_eq!(setting.len(), self.knobs.len(), "{}: levels", self.id);
        let knobs = self.knobs.iter().zip(setting);
        let levels: Vec<Level> = knobs.map(|(knob, level)| knob.level(*level)).collect();
        let line = match self.law {
            Law::Carries(law) => law(&levels),
            Law::MayFail(law) => law(&levels)?,
        };
        Some(line * (self.drift)(at_s))
    }

    /// The same as a trial of this number would measure it. Trials of equal number and seed err alike at all settings.
    pub fn measured(&self, setting: &[usize], at_s: f64, noise: Seed, trial: u64) -> Option<f64> {
        let mut random = noise.derive(trial).generator();
        let factor = (NOISE * standard_normal(&mut random)).exp();
        Some(self.line(setting, at_s)? * factor)
    }

    /// The best of all settings, by trying each without noise: takes up to some tenths of a second.
    pub fn best(&self) -> BestOfSurface {
        let mut best = BestOfSurface {
            setting: self.default_setting(),
            line: 0.0,
        };
        self.each(|setting, line| {
            if let Some(line) = line.filter(|line| *line > best.line) {
                best.setting = setting.to_vec();
                best.line = line;
            }
        });
        best
    }

    /// Whether no setting carries 3 % more than the default.
    pub fn is_without_gain(&self) -> bool {
        self.shape.starts_with("no gain")
    }

    /// Number of settings.
    pub fn settings(&self) -> usize {
        self.knobs.iter().map(SurfaceKnob::levels).product()
    }

    /// Calls this for each setting with its line at second 0, the last knob changing fastest.
    pub fn each(&self, mut visit: impl FnMut(&[usize], Option<f64>)) {
        let mut setting = vec![0; self.knobs.len()];
        for _ in 0..self.settings() {
            visit(&setting, self.line(&setting, 0.0));
            for (level, knob) in setting.iter_mut().zip(self.knobs).rev() {
                *level += 1;
                if *level < knob.levels() {
                    break;
                }
                *level = 0;
            }
        }
    }
}

/// The levels of a law, by position.
fn levels<const N: usize>(given: &[Level]) -> [Level; N] {
    given
        .try_into()
        .expect("a law has as many levels as its surface has knobs")
}

/// The numbers of a law's levels, by position; a choice is its place in the list.
fn numbers<const N: usize>(given: &[Level]) -> [f64; N] {
    levels(given).map(|level| level.value)
}

#[cfg(test)]
mod tests;
