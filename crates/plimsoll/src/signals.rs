//! Ctrl-C: the first stops the run and keeps its results, the second exits immediately.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plimsoll_lab::progress::StopFlag;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;

/// Connects the signals to the flag.
pub(crate) fn raise_on_interrupt(stop: &StopFlag) -> std::io::Result<()> {
    let again = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Order matters: at the first signal `again` is still unset, so only the second one ends the program.
        flag::register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(&again))?;
        flag::register(signal, Arc::clone(&again))?;
        flag::register(signal, stop.shared())?;
    }
    Ok(())
}

/// Waits until the flag is raised by a signal.
pub(crate) fn wait_for(stop: &StopFlag) -> std::io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    while !stop.is_raised() {
        signals.wait().for_each(drop);
    }
    Ok(())
}
