//! Thread groups of all kinds as profiles of a load.

use std::time::Duration;

use super::context::Import;
use super::names::title;
use super::open_model;
use super::profile::{LoadUnit, Profile, Stretch};
use super::tree::{Element, Property};

/// How long a load lasts that JMeter runs until it is stopped.
const UNTIL_STOPPED: Duration = Duration::from_mins(10);
/// How long a load may last that ends when its users have done their iterations.
const UNTIL_DONE: Duration = Duration::from_hours(1);
/// Longest time that is taken for one, seconds.
const SECONDS_MAX: f64 = 31_536_000.0;
/// Most users and arrivals per second.
const LEVEL_MAX: f64 = 10_000_000.0;
/// Most steps of a stepped load.
const STEPS_MAX: u32 = 1_000;

/// A thread group's load, and how often each of its users goes through it.
pub(super) struct GroupLoad {
    pub(super) profile: Profile,
    pub(super) iterations: Option<u64>,
}

impl Import<'_> {
    /// The load of a thread group; none if it has no users.
    pub(super) fn group_load(&mut self, group: &Element) -> Option<GroupLoad> {
        let profile = match group.class.as_str() {
            "UltimateThreadGroup" => self.ultimate(group),
            "SteppingThreadGroup" => self.stepping(group),
            "ConcurrencyThreadGroup" => self.leveled(group, LoadUnit::Users),
            "ArrivalsThreadGroup" => self.leveled(group, LoadUnit::Arrivals),
            "FreeFormArrivalsThreadGroup" => self.free_form(group),
            "OpenModelThreadGroup" => self.open_model(group),
            _ => return self.standard(group),
        };
        let Some(profile) = profile.filter(|profile| profile.peak() > 0.0) else {
            self.lose(
                group,
                "its load is not made of constants; here it is one user for 10 minutes",
                "write `load` with phases of users or of sessions",
            );
            let hold = stretch(1.0, 1.0, UNTIL_STOPPED);
            return Some(GroupLoad {
                profile: Profile::users(vec![hold], false),
                iterations: None,
            });
        };
        Some(GroupLoad {
            profile,
            iterations: None,
        })
    }

    fn standard(&mut self, group: &Element) -> Option<GroupLoad> {
        let threads = self
            .level(group, "ThreadGroup.num_threads")
            .unwrap_or(1.0)
            .round();
        if threads < 1.0 {
            self.note(format!("{} has no threads and is left out", title(group)));
            return None;
        }
        let ramp = self
            .seconds(group, "ThreadGroup.ramp_time")
            .unwrap_or_default();
        let is_timed = group.is_set("ThreadGroup.scheduler");
        let lasting = if is_timed {
            self.seconds(group, "ThreadGroup.duration")
        } else {
            None
        };
        let lasting = lasting.filter(|lasting| !lasting.is_zero());
        let delay = if is_timed {
            self.seconds(group, "ThreadGroup.delay")
        } else {
            None
        };
        let iterations = self.group_iterations(group);
        let hold = match (lasting, iterations) {
            (Some(lasting), _) => lasting.saturating_sub(ramp),
            (None, Some(_)) => UNTIL_DONE,
            (None, None) => {
                self.note(format!(
                    "{} runs until it is stopped: here 10 minutes",
                    title(group)
                ));
                UNTIL_STOPPED
            }
        };
        let mut stretches = Vec::new();
        if let Some(delay) = delay.filter(|delay| !delay.is_zero()) {
            stretches.push(stretch(0.0, 0.0, delay));
        }
        // The load may end before all users have started.
        let rising = lasting.map_or(ramp, |lasting| lasting.min(ramp));
        let reached = if rising < ramp {
            (threads * rising.as_secs_f64() / ramp.as_secs_f64()).max(1.0)
        } else {
            threads
        };
        if !rising.is_zero() {
            stretches.push(stretch(0.0, reached, rising));
        }
        if !hold.is_zero() {
            stretches.push(stretch(reached, reached, hold));
        }
        let is_bounded = iterations.is_some() && lasting.is_none();
        Some(GroupLoad {
            profile: Profile::users(stretches, is_bounded),
            iterations,
        })
    }

    /// Iterations of each user; none if they are not limited.
    fn group_iterations(&mut self, group: &Element) -> Option<u64> {
        let controller = group.get("ThreadGroup.main_controller")?;
        let text = controller.text_of("LoopController.loops").trim().to_owned();
        if text == "-1" || (text.is_empty() && controller.is_set("LoopController.continue_forever"))
        {
            return None;
        }
        let value = self.of_item(controller, "LoopController.loops");
        let loops = self.number_of(&value, group, "LoopController.loops");
        match loops {
            Some(loops) if loops < 0.0 => None,
            Some(loops) => {
                super::steps::whole(loops.min(1_000_000.0)).map(|loops| u64::from(loops.max(1)))
            }
            None => Some(1),
        }
    }

    /// Rows of users, delay, start-up, hold and shutdown, in seconds, that add up.
    fn ultimate(&mut self, group: &Element) -> Option<Profile> {
        let mut parts = Vec::new();
        for row in group.items("ultimatethreadgroupdata") {
            let numbers = self.row(row)?;
            let [users, delay, rise, hold, fall] = numbers.as_slice() else {
                return None;
            };
            parts.push(vec![
                timed(0.0, 0.0, *delay)?,
                timed(0.0, *users, *rise)?,
                timed(*users, *users, *hold)?,
                timed(*users, 0.0, *fall)?,
            ]);
        }
        Some(Profile::users(added(&parts), false))
    }

    /// The numbers of a row of a table.
    fn row(&mut self, row: &Property) -> Option<Vec<f64>> {
        let mut numbers = Vec::new();
        for item in &row.items {
            let text = self.value(&item.text, item.at).constant()?;
            numbers.push(text.trim().parse::<f64>().ok()?);
        }
        Some(numbers)
    }

    fn stepping(&mut self, group: &Element) -> Option<Profile> {
        let users = self.level(group, "ThreadGroup.num_threads")?;
        let mut of = |property: &str| self.number(group, property).unwrap_or(0.0);
        let delay = of("Threads initial delay");
        let burst = of("Start users count burst");
        let count = of("Start users count");
        let period = of("Start users period");
        let rise = of("rampUp");
        let hold = of("flighttime");
        let (fewer, every) = (of("Stop users count"), of("Stop users period"));
        let mut stretches = vec![timed(0.0, 0.0, delay)?];
        let mut level = 0.0;
        for _ in 0..STEPS_MAX {
            let step = if level == 0.0 && burst > 0.0 {
                burst
            } else {
                count
            };
            if step <= 0.0 || level >= users {
                break;
            }
            let next = (level + step).min(users);
            stretches.push(timed(level, next, rise)?);
            level = next;
            if level < users {
                stretches.push(timed(level, level, period)?);
            }
        }
        stretches.push(timed(level, level, hold)?);
        for _ in 0..STEPS_MAX {
            if fewer <= 0.0 || every <= 0.0 || level <= 0.0 {
                break;
            }
            level = (level - fewer).max(0.0);
            stretches.push(timed(level, level, every)?);
        }
        Some(Profile::users(stretches, false))
    }

    /// A target level, reached in steps within a time and then held.
    fn leveled(&mut self, group: &Element, unit: LoadUnit) -> Option<Profile> {
        let of_minutes = !group.text("Unit").trim().eq_ignore_ascii_case("S");
        let seconds = if of_minutes { 60.0 } else { 1.0 };
        let mut level = self.level(group, "TargetLevel")?;
        if unit == LoadUnit::Arrivals {
            level /= seconds;
        }
        let mut of = |property: &str| self.number(group, property).unwrap_or(0.0);
        let (rise, hold) = (of("RampUp") * seconds, of("Hold") * seconds);
        let steps = super::steps::whole(of("Steps").round())
            .unwrap_or(0)
            .min(STEPS_MAX);
        let mut stretches = Vec::new();
        if steps == 0 {
            stretches.push(timed(0.0, level, rise)?);
        }
        for step in 1..=steps {
            let reached = level * f64::from(step) / f64::from(steps);
            stretches.push(timed(reached, reached, rise / f64::from(steps))?);
        }
        stretches.push(timed(level, level, hold)?);
        Some(Profile {
            unit,
            ..Profile::users(stretches, false)
        })
    }

    /// Rows of start level, end level and duration.
    fn free_form(&mut self, group: &Element) -> Option<Profile> {
        let of_minutes = !group.text("Unit").trim().eq_ignore_ascii_case("S");
        let seconds = if of_minutes { 60.0 } else { 1.0 };
        let mut stretches = Vec::new();
        for row in group.items("Schedule") {
            let numbers = self.row(row)?;
            let [from, to, lasting] = numbers.as_slice() else {
                return None;
            };
            stretches.push(timed(from / seconds, to / seconds, lasting * seconds)?);
        }
        Some(Profile {
            unit: LoadUnit::Arrivals,
            ..Profile::users(stretches, false)
        })
    }

    fn open_model(&mut self, group: &Element) -> Option<Profile> {
        let schedule = self.of(group, "OpenModelThreadGroup.schedule").constant()?;
        open_model::profile(&schedule)
    }

    fn level(&mut self, group: &Element, property: &str) -> Option<f64> {
        self.number(group, property)
            .filter(|level| (0.0..=LEVEL_MAX).contains(level))
    }

    fn seconds(&mut self, group: &Element, property: &str) -> Option<Duration> {
        if group.text(property).trim().is_empty() {
            return None;
        }
        let seconds = self.number(group, property);
        let seconds = seconds.filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds));
        if seconds.is_none() {
            let written = group.text(property).to_owned();
            self.lose_part(
                group,
                property,
                (
                    &format!("time `{written}`"),
                    "it is not a constant number of seconds",
                    "write `within` and `hold` in the plan's `load`",
                ),
            );
        }
        seconds.map(Duration::from_secs_f64)
    }
}

fn stretch(from: f64, to: f64, lasting: Duration) -> Stretch {
    Stretch { from, to, lasting }
}

/// A stretch of this many seconds, if they and the levels are sensible.
pub(super) fn timed(from: f64, to: f64, seconds: f64) -> Option<Stretch> {
    let levels = 0.0..=LEVEL_MAX;
    let is_valid =
        levels.contains(&from) && levels.contains(&to) && (0.0..=SECONDS_MAX).contains(&seconds);
    is_valid.then(|| stretch(from, to, Duration::from_millis(millis(seconds))))
}

/// Whole milliseconds of a time below [`SECONDS_MAX`].
fn millis(seconds: f64) -> u64 {
    u64::try_from(Duration::from_secs_f64(seconds).as_millis()).unwrap_or(u64::MAX)
}

/// The sum of profiles, by their ends.
fn added(parts: &[Vec<Stretch>]) -> Vec<Stretch> {
    let profiles: Vec<Profile> = parts
        .iter()
        .map(|stretches| Profile::users(stretches.clone(), false))
        .collect();
    super::profile::sum(&profiles)
}
