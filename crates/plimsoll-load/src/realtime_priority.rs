//! Lets a paced loop run on time even where the target's work fills its CPU.
//!
//! The fair scheduler lets a running thread finish a slice of about 3 ms before a waking thread gets its turn, so a
//! target on the same machine would make the generator late. A real-time priority avoids that. It needs a privilege
//! (root, `CAP_SYS_NICE` or an `RLIMIT_RTPRIO`); without it the loop runs as any other thread, and the lag is measured
//! either way. A loop that is never idle must not have it: it would take the CPU away from the target.

use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// Lowest real-time priority: below the kernel's own threads, above all that is fair.
const PRIORITY: u8 = 1;

/// Sets it for the calling thread; a refusal is ignored, because the lag shows it.
pub(crate) fn raise() {
    let Ok(priority) = ThreadPriorityValue::try_from(PRIORITY) else {
        return;
    };
    let _ = set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Crossplatform(priority),
        ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::RoundRobin),
    );
}
