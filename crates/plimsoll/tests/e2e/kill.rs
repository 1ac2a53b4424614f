//! A killed process loses no measured data.

use std::sync::mpsc;
use std::time::Duration;

use plimsoll_lab::run_log::{self, LoadedRunLog};
use plimsoll_testkit::origin::fault::{self, OriginFault};

use crate::support::Sandbox;

/// Returns when so much time has passed: waits for a message that nobody sends.
pub(crate) fn after(time: Duration) {
    let (_sender, receiver) = mpsc::sync_channel::<()>(1);
    let _ = receiver.recv_timeout(time);
}

/// The current content of a run file; `None` before its header is complete.
pub(crate) fn so_far(place: &Sandbox) -> Option<LoadedRunLog> {
    run_log::read(&place.run_files().pop()?).ok()
}

/// Twenty runs at once, each killed at its own moment of the first three seconds or later.
#[test]
fn a_killed_run_is_readable_up_to_its_last_second() {
    let origin = fault::start(OriginFault::None).unwrap();
    let runs: Vec<_> = (0..20)
        .map(|_| {
            let place = Sandbox::new();
            let child = place.start(&[
                "run",
                &origin.url(),
                "--rate",
                "20/s",
                "--for",
                "1h",
                "--quiet",
            ]);
            (place, child)
        })
        .collect();
    let mut killed = Vec::new();
    // A fixed set of odd moments; they fall anywhere within a window because the runs start at different times. The
    // later half has begun, however long this machine takes to start twenty of them.
    for (index, (place, mut child)) in runs.into_iter().enumerate() {
        after(Duration::from_millis(97 + 7 * index as u64));
        for _ in 0..3000 {
            if index < 10 || so_far(&place).is_some() {
                break;
            }
            after(Duration::from_millis(20));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        killed.push(place);
    }
    let readable = killed.iter().filter(|place| is_readable(place)).count();
    assert!(
        readable >= 10,
        "only {readable} of 20 runs had a readable file"
    );
}

/// Whether a killed run left a header; if so, all that follows must be whole, and the report must be made.
fn is_readable(place: &Sandbox) -> bool {
    let Some(reading) = so_far(place) else {
        // Killed before its header was written: nothing had been sent.
        return false;
    };
    let file = place.run_files().pop().unwrap();
    let seconds: Vec<u32> = reading
        .run
        .windows
        .iter()
        .map(|window| window.second)
        .collect();
    let expected: Vec<u32> = (0..u32::try_from(seconds.len()).unwrap()).collect();
    assert_eq!(seconds, expected);
    assert!(reading.run.ending.is_none());
    let output = place.run(&["report", file.to_str().unwrap()]);
    assert_eq!(output.code, 0, "{output:?}");
    true
}
