//! Settings that hold a limit and can be raised while the component runs: what `limit --confirm` changes.
//!
//! Only settings that components apply at run time, and that lose nothing when reverted. A setting that costs memory
//! is raised only as far as twice that memory is available.

use plimsoll_model::finding::Finding;
use plimsoll_model::metric;
use plimsoll_model::reading::{SeriesTable, label};

use crate::diagnosis::SecondRange;

/// A mitigation of a limit.
#[derive(Clone, Debug, PartialEq)]
pub enum Mitigation {
    /// A setting of a component.
    Setting {
        /// Address of the component, as in the label `at` of its series.
        at: String,
        /// Name of the setting.
        setting: String,
        /// Its owner, such as a server; empty where there is only one.
        of: String,
        /// Its value now, bytes where it is a size.
        now: f64,
        /// The raised value.
        to: f64,
    },
    /// The limit of open files of a process.
    Descriptors {
        /// The process.
        pid: u32,
        /// Its name.
        comm: String,
        /// The limit now.
        now: f64,
        /// The raised limit.
        to: f64,
    },
    /// A setting of the kernel, which holds for the whole machine.
    Kernel {
        /// Its name, as `sysctl` has it.
        name: &'static str,
    },
}

/// The setting that holds the limit of a rule.
#[derive(Debug)]
pub(crate) enum LimitSetting {
    /// A kernel setting that takes effect at once, also for existing listeners, as `sysctl` has it.
    Kernel(&'static str),
    /// A setting of a component, and what it takes when it is raised.
    Component(&'static str, Takes),
    /// A setting that depends on the finding.
    Found(fn(&SeriesTable, &Finding, SecondRange) -> Option<Mitigation>),
}

/// What a setting takes when it is raised.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Takes {
    Nothing,
    /// Memory, once.
    Memory,
    /// Memory in each session of a component: the series that counts them, by its address.
    MemoryOfEach(fn(&str) -> String),
}

/// Factors by which a limit is raised, largest first. The method requires a quarter at least.
const FACTORS: [f64; 5] = [16.0, 4.0, 2.0, 1.5, 1.25];
/// The same where nothing but the setting itself counts.
pub(crate) const FACTOR: f64 = 4.0;

impl LimitSetting {
    /// How it is raised; `None` where the finding, or the readings, do not tell.
    pub(crate) fn raised(
        &self,
        readings: &SeriesTable,
        finding: &Finding,
        failing: SecondRange,
    ) -> Option<Mitigation> {
        match *self {
            Self::Kernel(name) => Some(Mitigation::Kernel { name }),
            Self::Component(name, takes) => component(readings, finding, (name, takes), failing),
            Self::Found(raise) => raise(readings, finding, failing),
        }
    }
}

/// The highest value of a series in a stretch.
pub(crate) fn level(readings: &SeriesTable, series: &str, (from, to): SecondRange) -> Option<f64> {
    let values = readings.between(series, from, to).into_iter();
    values.reduce(f64::max)
}

fn component(
    readings: &SeriesTable,
    finding: &Finding,
    (name, takes): (&str, Takes),
    failing: SecondRange,
) -> Option<Mitigation> {
    let at = finding
        .evidence
        .iter()
        .find_map(|line| label(&line.series, "at"))?;
    let mut own = readings.names_of(metric::SETTING);
    let series = own
        .find(|series| label(series, "at") == Some(at) && label(series, "setting") == Some(name))?;
    let now = level(readings, series, failing).filter(|&now| now > 0.0)?;
    let factor = match takes {
        Takes::Nothing => FACTOR,
        Takes::Memory => affordable(readings, failing, now)?,
        Takes::MemoryOfEach(sessions) => {
            let sessions = level(readings, &sessions(at), failing)?;
            affordable(readings, failing, now * sessions.max(1.0))?
        }
    };
    Some(Mitigation::Setting {
        at: at.to_owned(),
        setting: name.to_owned(),
        of: label(series, "of").unwrap_or_default().to_owned(),
        now,
        to: (now * factor).ceil(),
    })
}

/// The factor by which a consumer of so many bytes may grow; `None` where memory is short or unknown.
fn affordable(readings: &SeriesTable, failing: SecondRange, bytes: f64) -> Option<f64> {
    let (from, to) = failing;
    let free = readings.between(metric::MEMORY_AVAILABLE, from, to);
    let free = free.into_iter().reduce(f64::min)?;
    FACTORS
        .into_iter()
        .find(|factor| 2.0 * (factor - 1.0) * bytes <= free)
}
