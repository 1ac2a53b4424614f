//! Timers as think times. A timer waits before every sampler in its scope; several add up.

use std::time::Duration;

use super::context::Import;
use super::scope::ElementScope;
use super::tree::Element;
use crate::script::draft::{StepDraft, StepItem, ThinkDraft};

/// Timers that are read; the others are lost wherever they stand.
const TIMERS: [&str; 6] = [
    "ConstantTimer",
    "UniformRandomTimer",
    "GaussianRandomTimer",
    "PoissonRandomTimer",
    "ConstantThroughputTimer",
    "PreciseThroughputTimer",
];

/// Least mean of a plan's distributions.
const MEAN_MIN: Duration = Duration::from_millis(1);

impl Import<'_> {
    /// The think times before a sampler.
    pub(super) fn thinks(&mut self, scope: &ElementScope<'_>) -> Vec<StepItem> {
        let timers: Vec<&Element> = scope.of(&TIMERS).collect();
        let thinks = timers.into_iter().filter_map(|timer| self.think(timer));
        let mut fixed = Duration::ZERO;
        let mut others = Vec::new();
        for think in thinks {
            match think {
                ThinkDraft::Fixed(time) => fixed = fixed.saturating_add(time),
                other => others.push(other),
            }
        }
        let fixed = (!fixed.is_zero()).then_some(ThinkDraft::Fixed(fixed));
        fixed
            .into_iter()
            .chain(others)
            .map(|think| StepDraft::Think(think).into())
            .collect()
    }

    fn think(&mut self, timer: &Element) -> Option<ThinkDraft> {
        match timer.class.as_str() {
            "ConstantThroughputTimer" => return self.throughput(timer),
            "PreciseThroughputTimer" => {
                self.lose(
                    timer,
                    "a plan sets its pace by its load, not by delays",
                    "write the rate as `sessions` under `load`",
                );
                return None;
            }
            _ => {}
        }
        let (low, high) = self.delay(timer, "ConstantTimer.delay")?;
        let range = if timer.class == "ConstantTimer" {
            Duration::ZERO
        } else {
            self.delay(timer, "RandomTimer.range")?.1
        };
        if range.is_zero() || timer.class == "UniformRandomTimer" {
            return Some(between(low, high.saturating_add(range)));
        }
        if timer.class == "GaussianRandomTimer" {
            return Some(ThinkDraft::Normal(low.max(MEAN_MIN), range));
        }
        // A Poisson law with a large mean is nearly normal, with its square root as deviation.
        let mean = range.as_secs_f64() * 1000.0;
        let deviation = Duration::try_from_secs_f64(mean.sqrt() / 1000.0);
        Some(ThinkDraft::Normal(
            low.saturating_add(range).max(MEAN_MIN),
            deviation.unwrap_or_default(),
        ))
    }

    /// A delay in ms: constant, or random between two bounds.
    pub(super) fn delay(
        &mut self,
        timer: &Element,
        property: &str,
    ) -> Option<(Duration, Duration)> {
        if timer.text(property).trim().is_empty() {
            return Some((Duration::ZERO, Duration::ZERO));
        }
        let value = self.of(timer, property);
        let bounds = match self.number_of(&value, timer, property) {
            Some(number) => Some((number, number)),
            None => value.argument().as_deref().and_then(random_bounds),
        };
        let valid = 0.0..=31_536_000_000.0;
        let bounds = bounds.filter(|(low, high)| valid.contains(low) && valid.contains(high));
        if bounds.is_none() {
            let written = timer.text(property).to_owned();
            self.lose(
                timer,
                &format!("its time `{written}` is not a constant number of milliseconds"),
                "write `think: { exponential: TIME }` or another distribution",
            );
        }
        let ms = |number: f64| Duration::from_secs_f64(number / 1000.0);
        bounds.map(|(low, high)| (ms(low), ms(high)))
    }

    /// Paced per thread, it is about a fixed delay; over all threads it is a load of its own.
    fn throughput(&mut self, timer: &Element) -> Option<ThinkDraft> {
        let per_minute = self.number(timer, "throughput");
        let rate = per_minute.filter(|rate| *rate > 0.0);
        let rate = rate.map_or("RATE".to_owned(), |rate| format!("{rate}/m"));
        self.lose(
            timer,
            "a plan sets its pace by its load, not by delays",
            &format!(
                "write the rate as `sessions` under `load`; the timer asks for {rate} requests"
            ),
        );
        None
    }
}

/// A pause between two bounds.
pub(super) fn between(low: Duration, high: Duration) -> ThinkDraft {
    if high > low {
        ThinkDraft::Uniform(low, high)
    } else {
        ThinkDraft::Fixed(low)
    }
}

/// The bounds of `random_int(low, high)`.
fn random_bounds(expression: &str) -> Option<(f64, f64)> {
    let inside = expression.strip_prefix("random_int(")?.strip_suffix(')')?;
    let (low, high) = inside.split_once(", ")?;
    Some((low.parse().ok()?, high.parse().ok()?))
}
