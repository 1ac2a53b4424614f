//! Readings without load: samples of the probes while others use the service.

mod log;

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use plimsoll_agent::AgentSpec;
use plimsoll_model::reading::Readings;
use plimsoll_probe::{Activity, Probe, ProbePlan};

use crate::clock::RunClock;
use crate::error::LabError;
use crate::probes::{END_PATIENCE, Reads, RemotePlan, Stopped, WithAgents, connect, left_behind};
use crate::progress::StopFlag;

pub use log::WatchLog;

/// Polling interval for a request to stop.
const GLANCE: Duration = Duration::from_millis(100);
/// How long a second's readings may be missing before a note is emitted.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// Messages of the sampling thread.
enum ProbeMessage {
    /// A second was sampled: its readings, and the notes about components since the last.
    Second(Box<Readings>, Vec<String>),
    /// The last second was sampled: all notes, and those since the last second.
    Ended(Vec<String>, Vec<String>),
}

/// Samples the probes at the end of each of so many seconds, or until a stop is requested. `each` receives the
/// readings of a second, and the notes about components since the last; at the end no readings, and the last notes. A
/// probe that does not return is abandoned. The agents' readings are added to those of the same second.
///
/// # Errors
/// When an agent cannot be read, or a thread cannot be started.
pub fn watch(
    plan: ProbePlan,
    agents: Vec<AgentSpec>,
    seconds: u32,
    stop: &StopFlag,
    each: &mut dyn FnMut(Option<&Readings>, &[String]),
) -> Result<Stopped, LabError> {
    let agents = connect(agents, &plan)?;
    let open = move |activity| {
        let remote = RemotePlan::of(&plan, &agents);
        WithAgents::new(Probe::open_with(plan, activity), agents, remote)
    };
    watch_with(open, seconds, stop, each)
}

fn watch_with<R: Reads>(
    open: impl FnOnce(Activity) -> R + Send + 'static,
    seconds: u32,
    stop: &StopFlag,
    each: &mut dyn FnMut(Option<&Readings>, &[String]),
) -> Result<Stopped, LabError> {
    let (sender, receiver) = sync_channel(4);
    let activity = Activity::default();
    let (theirs, flag) = (activity.clone(), stop.clone());
    std::thread::Builder::new()
        .name("probes".to_owned())
        .spawn(move || read(open(theirs), seconds, &flag, &sender))
        .map_err(LabError::Thread)?;
    Ok(listen(&receiver, stop, &activity, each))
}

fn listen(
    receiver: &Receiver<ProbeMessage>,
    stop: &StopFlag,
    activity: &Activity,
    each: &mut dyn FnMut(Option<&Readings>, &[String]),
) -> Stopped {
    let (mut next, mut silence, mut since_stop) = (0, Duration::ZERO, Duration::ZERO);
    let mut known: Vec<String> = Vec::new();
    loop {
        match receiver.recv_timeout(GLANCE) {
            Ok(ProbeMessage::Second(readings, component_notes)) => {
                next = readings.second.saturating_add(1);
                silence = Duration::ZERO;
                each(Some(&readings), &component_notes);
                known.extend(component_notes);
            }
            Ok(ProbeMessage::Ended(notes, component_notes)) => {
                each(None, &component_notes);
                return Stopped {
                    notes,
                    left_behind: None,
                };
            }
            Err(RecvTimeoutError::Timeout) => {
                silence += GLANCE;
                since_stop += if stop.is_raised() {
                    GLANCE
                } else {
                    Duration::ZERO
                };
                if since_stop > END_PATIENCE || silence > SILENCE_MAX {
                    break;
                }
            }
            // It panicked, and has printed why.
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Stopped {
        notes: known,
        left_behind: Some(left_behind(activity, next)),
    }
}

/// The thread's work.
fn read(mut probe: impl Reads, seconds: u32, stop: &StopFlag, sender: &SyncSender<ProbeMessage>) {
    let clock = RunClock::start();
    probe.begin(clock);
    // Counters have no predecessor yet; the definitions come with the first second.
    let mut defined = probe.read(0).new_series;
    let mut second = 0;
    while second < seconds {
        clock.wait_until(second + 1, GLANCE, || stop.is_raised());
        if stop.is_raised() {
            break;
        }
        let mut readings = probe.read(second);
        readings.new_series.append(&mut defined);
        probe.add_remote(&mut readings);
        if sender
            .send(ProbeMessage::Second(
                Box::new(readings),
                probe.take_component_notes(),
            ))
            .is_err()
        {
            return;
        }
        // Seconds missed while the machine was too busy stay missing.
        let now = u32::try_from(clock.elapsed().as_secs()).unwrap_or(u32::MAX);
        second = (second + 1).max(now);
    }
    // Whoever waited may have gone.
    let _ = sender.send(ProbeMessage::Ended(
        probe.notes(),
        probe.take_component_notes(),
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::tests::Stuck;

    #[test]
    fn who_asks_to_stop_is_not_held_by_a_probe_that_does_not_come_back() {
        let (stuck, hold) = Stuck::from(1);
        let (stop, mut seconds) = (StopFlag::default(), Vec::new());
        let asked = stop.clone();
        let stopped = watch_with(|_| stuck, 600, &stop, &mut |readings, _| {
            seconds.extend(readings.map(|readings| readings.second));
            hold.beginning.recv().unwrap();
            asked.raise();
        });
        assert_eq!(seconds, [0]);
        let stopped = stopped.unwrap();
        let message = stopped.left_behind.unwrap_or_default();
        assert!(message.contains("before second 1"), "{message}");
    }

    #[test]
    fn a_probe_that_does_not_begin_holds_up_nobody() {
        let stop = StopFlag::default();
        stop.raise();
        let (stuck, _hold) = Stuck::from(0);
        let stopped = watch_with(|_| stuck, 600, &stop, &mut |_, _| {}).unwrap();
        let message = stopped.left_behind.unwrap_or_default();
        assert!(message.contains("before second 0"), "{message}");
    }
}
