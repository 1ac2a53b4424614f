//! The process between Plimsoll and a browser: it owns the profile, and ends the browser when Plimsoll is gone, however
//! that happened.
//!
//! Its standard input is a pipe whose other end only Plimsoll holds. The browser inherits the descriptors 3 and 4, by which
//! Plimsoll commands it; nothing passes through this process.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process_group, set_child_subreaper, waitid,
};

use crate::program::profile_argument;

/// Runs a browser with a new profile until it ends, or standard input does; then removes the profile. `arguments` are the
/// browser's.
///
/// # Errors
/// When the profile cannot be made, or the browser cannot be started.
pub fn run(program: &Path, arguments: &[OsString]) -> io::Result<()> {
    let profile = tempfile::Builder::new()
        .prefix("plimsoll-browser-")
        .tempdir()?;
    // Processes whose parent has ended become children of this one, which waits for them.
    set_child_subreaper(Some(getpid()))?;
    let child = Command::new(program)
        .arg(profile_argument(profile.path()))
        .args(arguments)
        .env("HOME", profile.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        // What a terminal sends is meant for Plimsoll; and the browser's own processes end with it.
        .process_group(0)
        .spawn()?;
    let group = Pid::from_child(&child);
    end_with_input(group)?;
    wait(child, group)?;
    profile.close()?;
    // Crash handlers begin a group of their own, and end after the browser.
    while wait_for(&WaitId::All, WaitIdOptions::EXITED).is_ok() {}
    Ok(())
}

/// Kills the browser when standard input ends.
fn end_with_input(group: Pid) -> io::Result<()> {
    std::thread::Builder::new()
        .name("input".to_owned())
        .spawn(move || {
            let mut input = io::stdin().lock();
            let mut bytes = [0; 64];
            while !matches!(input.read(&mut bytes), Ok(0) | Err(_)) {}
            // While its first process is not waited for, no other group can have the number.
            let _ = kill_process_group(group, Signal::KILL);
        })?;
    Ok(())
}

/// Waits for the browser, and for what it left behind: its profile can be removed when nothing uses it any more.
fn wait(mut child: Child, group: Pid) -> io::Result<()> {
    // Its number stays taken until all of its group are killed.
    wait_for(
        &WaitId::Pid(group),
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
    )?;
    let _ = kill_process_group(group, Signal::KILL);
    child.wait()?;
    while wait_for(&WaitId::Pgid(Some(group)), WaitIdOptions::EXITED).is_ok() {}
    Ok(())
}

fn wait_for(id: &WaitId<'_>, options: WaitIdOptions) -> rustix::io::Result<()> {
    loop {
        match waitid(id.clone(), options) {
            Err(rustix::io::Errno::INTR) => {}
            other => return other.map(drop),
        }
    }
}
