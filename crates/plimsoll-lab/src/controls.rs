//! Acts on a run that is going on, from outside of it: the live page. Each is an event of its log.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_load::LoadChanger;
use plimsoll_model::event::Event;
use plimsoll_model::lock::lock;
use plimsoll_model::plan::{Load, LoadChangeError, LoadUnit};
use plimsoll_model::redact;

use crate::clock::RunClock;
use crate::progress::StopFlag;
use crate::run_log::SharedLog;

/// Marks that a run may have: a mark is an event on disk.
const MARKS_MAX: u32 = 1_000;
/// Longest text of a mark, characters.
const MARK_LEN_MAX: usize = 200;
/// Time that the loops have, at least, to take a change of the load up before it holds.
const CHANGE_LEAD: Duration = Duration::from_millis(500);

/// Why the load was not changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChangeLoadError {
    /// It is the load of a search or of an experiment, whose results would not be comparable.
    #[error(
        "only the load of `plimsoll run` can be changed: a search or an experiment sets its own"
    )]
    Forbidden,
    /// No load goes on.
    #[error("no load goes on at this moment")]
    Idle,
    /// Several processes carry the load.
    #[error(
        "a load that several processes or workers carry cannot change; let one process of this machine carry it: without --on, \
         and with enough open files (ulimit -n)"
    )]
    Shared,
    /// It was changed too often.
    #[error("the load was changed a thousand times; start another run")]
    TooOften,
    /// The load, or the level.
    #[error(transparent)]
    Load(#[from] LoadChangeError),
}

/// Acts on the run that is going on; clones act on the same one.
#[derive(Clone, Debug, Default)]
pub struct RunControls {
    stop: StopFlag,
    may_change: bool,
    active: Arc<Mutex<Option<ActiveLog>>>,
}

#[derive(Debug)]
struct ActiveLog {
    log: SharedLog,
    clock: RunClock,
    marks: u32,
    load: Option<ActiveLoad>,
}

/// A load that goes on.
#[derive(Debug)]
struct ActiveLoad {
    /// `None` where several processes carry it.
    changer: Option<LoadChanger>,
    /// With the changes so far.
    load: Load,
    start_second: u32,
    /// The level that was set last.
    level: Option<(f64, LoadUnit)>,
}

impl ActiveLog {
    fn second(&self) -> u32 {
        u32::try_from(self.clock.elapsed().as_secs()).unwrap_or(u32::MAX)
    }
}

impl RunControls {
    /// Controls that stop by raising `stop`.
    pub fn new(stop: StopFlag) -> Self {
        Self {
            stop,
            may_change: false,
            active: Arc::default(),
        }
    }

    /// The same controls, which may also change the load.
    #[must_use]
    pub fn with_load_changes(self) -> Self {
        Self {
            may_change: true,
            ..self
        }
    }

    /// Whether the load may be changed.
    pub fn may_change_load(&self) -> bool {
        self.may_change
    }

    /// A run has begun; it replaces an earlier one.
    pub(crate) fn attach(&self, log: SharedLog, clock: RunClock) {
        *lock(&self.active) = Some(ActiveLog {
            log,
            clock,
            marks: 0,
            load: None,
        });
    }

    /// A load has begun.
    pub(crate) fn attach_load(&self, changer: Option<LoadChanger>, load: Load, start_second: u32) {
        if let Some(active) = &mut *lock(&self.active) {
            active.load = Some(ActiveLoad {
                changer,
                load,
                start_second,
                level: None,
            });
        }
    }

    /// The load has ended.
    pub(crate) fn detach_load(&self) {
        if let Some(active) = &mut *lock(&self.active) {
            active.load = None;
        }
    }

    /// The level that the load was changed to last.
    pub(crate) fn level(&self) -> Option<(f64, LoadUnit)> {
        lock(&self.active).as_ref()?.load.as_ref()?.level
    }

    /// Changes the rate or the number of users of the load, in its unit, from the next whole second but half a second on,
    /// up to its end. Returns that second of run time. `by` names the place the request came from.
    ///
    /// # Errors
    /// When no load goes on, or this one cannot change, not to this level, or ends before.
    pub fn change_load(&self, to: f64, by: &str) -> Result<u32, ChangeLoadError> {
        if !self.may_change {
            return Err(ChangeLoadError::Forbidden);
        }
        let mut guard = lock(&self.active);
        let active = guard.as_mut().filter(|_| !self.stop.is_raised());
        let active = active.ok_or(ChangeLoadError::Idle)?;
        let ready_s = (active.clock.elapsed() + CHANGE_LEAD).as_secs() + 1;
        let running = active.load.as_mut().ok_or(ChangeLoadError::Idle)?;
        let second = u32::try_from(ready_s).unwrap_or(u32::MAX);
        let second = second.max(running.start_second);
        let after_s = second - running.start_second;
        let unit = running.load.changeable_unit()?;
        let load = running
            .load
            .changed(Duration::from_secs(after_s.into()), to)?;
        let changer = running.changer.as_ref().ok_or(ChangeLoadError::Shared)?;
        if !changer.change(second, to) {
            return Err(ChangeLoadError::TooOften);
        }
        running.load = load;
        running.level = Some((to, unit));
        active.log.append(Event::LoadChanged {
            second,
            after_s,
            to,
            unit,
            by: by.to_owned(),
        });
        Ok(second)
    }

    /// Ends the run early; what was measured is kept. `by` names the place the request came from.
    pub fn stop(&self, by: &str) {
        if !self.stop.is_raised()
            && let Some(active) = &*lock(&self.active)
        {
            active.log.append(Event::StopRequested {
                second: active.second(),
                by: by.to_owned(),
            });
        }
        self.stop.raise();
    }

    /// Marks this moment; false where no run is going on, and after a thousand marks. A long text is cut.
    pub fn mark(&self, text: &str) -> bool {
        let mut guard = lock(&self.active);
        let Some(active) = guard.as_mut().filter(|active| active.marks < MARKS_MAX) else {
            return false;
        };
        if active.log.lock().is_none() {
            return false;
        }
        active.marks += 1;
        let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        let text: String = printable.take(MARK_LEN_MAX).collect();
        active.log.append(Event::MomentMarked {
            second: active.second(),
            text: redact::text(text.trim()).into_owned(),
        });
        true
    }
}
