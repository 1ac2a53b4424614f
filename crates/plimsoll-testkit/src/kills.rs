//! `kill -9` of `plimsoll tune` at random moments, over PostgreSQL, pgbouncer, HAProxy and Puma: everything is as before.
//!
//! The stack is started once. A kill meets the tuner at a random time after its start, in the middle of a reload that
//! applies a setting, or in one that puts it back; its dead-man process lives, or is killed before it, or while it puts
//! things back. In the last two the next start does that.

mod stack;
mod state;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use stack::Stack;
use state::StackState;

/// Time for anything that must happen.
const PATIENCE: Duration = Duration::from_mins(2);
/// Reloads of a trial: of pgbouncer, HAProxy and Puma.
const RELOADS: u32 = 3;
/// Longest time between the begin of a reload and a kill: most reloads end before.
const IN_RELOAD_MAX: Duration = Duration::from_millis(600);
/// Exit codes of an interrupted search, and of one whose file is another than that of the log.
const INTERRUPTED: i32 = 130;
const USAGE: i32 = 2;

/// When the tuner is killed.
#[derive(Clone, Copy, Debug)]
enum KillMoment {
    /// So long after its start.
    AfterStart(Duration),
    /// So long after a reload began that applies a setting.
    InReload(u32, Duration),
    /// So long after a reload began that puts a setting back after an interrupt.
    InReversal(u32, Duration),
}

/// What happens to the dead-man process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeadManFate {
    Lives,
    KilledBefore,
    KilledWhilePuttingBack,
}

/// A stack, and a tuner that is killed over it.
#[derive(Debug)]
pub struct KillRig {
    stack: Stack,
    plimsoll: PathBuf,
    before: StackState,
    events: Events,
    random: Xoshiro256PlusPlus,
    kills: u32,
}

impl KillRig {
    /// Starts the stack; `plimsoll` is the program. A first search is interrupted by the user.
    ///
    /// # Errors
    /// What is not as before after the interrupt.
    ///
    /// # Panics
    /// When the stack does not start.
    pub fn start(plimsoll: &Path, seed: u64) -> Result<Self, String> {
        let stack = Stack::start();
        let mut rig = Self {
            before: StackState::of(&stack),
            events: Events::open(&stack.path("events")).expect("the events can be read"),
            plimsoll: plimsoll.to_owned(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            kills: 0,
            stack,
        };
        rig.begin()?;
        Ok(rig)
    }

    /// A search that the user interrupts: from then on there is a log, with which another experiment does not agree.
    fn begin(&mut self) -> Result<(), String> {
        let _ = fs::remove_dir_all(self.stack.path("plimsoll"));
        self.events.drain();
        let mut tuner = self.tune();
        let begun = self.events.nth(RELOADS, &tuner.handle);
        begun.map_err(|error| format!("{error}: {}", self.output()))?;
        tuner.interrupt();
        let code = tuner.ends()?;
        if code != Some(INTERRUPTED) {
            let output = self.output();
            return Err(format!(
                "the interrupted search ended with {code:?}: {output}"
            ));
        }
        self.check("interrupt".to_owned()).map(drop)
    }

    /// Kills a search at a random moment, at most so long after its start unless it is in a reload, and compares everything.
    /// Returns when that was.
    ///
    /// # Errors
    /// What is not as before.
    pub fn kill(&mut self, within: Duration) -> Result<String, String> {
        let (moment, fate) = self.next_kind(within);
        self.kills += 1;
        let what = format!("kill {}, {moment:?}, dead-man process {fate:?}", self.kills);
        let failed = |error: String| format!("{what}: {error}");
        self.events.drain();
        let mut tuner = self.tune();
        let waited = self.wait_for(moment, &tuner);
        let has_ended = waited.map_err(|error| failed(format!("{error}: {}", self.output())))?;
        if has_ended {
            // A busy machine ends a search: the line of the settings that stand is not found.
            let code = tuner.ends().map_err(failed)?;
            self.check(what.clone())?;
            self.begin()?;
            return Ok(format!("{what}: it had ended with {code:?}"));
        }
        let dead_man = dead_man_of(&tuner.child);
        if let Some(process) = dead_man
            .as_ref()
            .filter(|_| fate == DeadManFate::KilledBefore)
        {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
        let _ = tuner.child.kill();
        tuner.ends().map_err(failed)?;
        if let Some(process) = &dead_man {
            if fate == DeadManFate::KilledWhilePuttingBack {
                self.events.drain();
                // It ends without a reload when nothing is applied.
                if self.events.nth(1, process).is_ok() {
                    poll_for(&[process], self.within(IN_RELOAD_MAX));
                }
                let _ = pidfd_send_signal(process, Signal::KILL);
            }
            if !poll_for(&[process], PATIENCE) {
                return Err(failed(format!(
                    "it still runs after {PATIENCE:?}: {}",
                    self.output()
                )));
            }
        }
        if dead_man.is_none() || fate != DeadManFate::Lives {
            self.start_again().map_err(failed)?;
        }
        self.check(what)
    }

    fn next_kind(&mut self, within: Duration) -> (KillMoment, DeadManFate) {
        let reload = self.random.random_range(1..=RELOADS);
        let in_reload = self.within(IN_RELOAD_MAX);
        let moment = match self.kills % 7 {
            0 | 3 => KillMoment::AfterStart(self.within(within)),
            1 | 2 | 4 => KillMoment::InReload(reload, in_reload),
            _ => KillMoment::InReversal(reload, in_reload),
        };
        let fate = match self.kills % 7 {
            0 | 1 | 5 => DeadManFate::Lives,
            2 | 3 | 6 => DeadManFate::KilledBefore,
            _ => DeadManFate::KilledWhilePuttingBack,
        };
        (moment, fate)
    }

    fn within(&mut self, longest: Duration) -> Duration {
        longest.mul_f64(f64::from(self.random.next_u32()) / f64::from(u32::MAX))
    }

    /// Waits for the moment; returns whether the search ended by itself before.
    fn wait_for(&mut self, moment: KillMoment, tuner: &Tuner) -> Result<bool, String> {
        let after = match moment {
            KillMoment::AfterStart(after) => after,
            KillMoment::InReload(number, after) => {
                self.events.nth(number, &tuner.handle)?;
                after
            }
            KillMoment::InReversal(number, after) => {
                self.events.nth(RELOADS, &tuner.handle)?;
                tuner.interrupt();
                // The last reload may be cut short, and is then put back as all others.
                self.events.nth(number, &tuner.handle)?;
                after
            }
        };
        let has_ended = poll_for(&[&tuner.handle], after);
        Ok(has_ended && matches!(moment, KillMoment::AfterStart(_)))
    }

    /// Starts the tuner with another experiment: it puts everything back, and refuses to go on.
    fn start_again(&self) -> Result<(), String> {
        self.stack.write_knobs("2m");
        let output = self.command().output();
        self.stack.write_knobs("1m");
        let output = output.map_err(|error| error.to_string())?;
        if output.status.code() == Some(USAGE) {
            return Ok(());
        }
        Err(format!(
            "the next start ended with {:?}: {}",
            output.status.code(),
            String::from_utf8_lossy(&output.stderr)
        ))
    }

    fn check(&self, what: String) -> Result<String, String> {
        match self.before.difference(&StackState::of(&self.stack)) {
            None => Ok(what),
            Some(difference) => Err(format!(
                "{what}: not as before:\n{difference}{}",
                self.output()
            )),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.plimsoll);
        command
            .args(["tune", "stack.yaml", "--quiet"])
            .current_dir(self.stack.folder())
            .stdin(Stdio::null());
        command
    }

    fn tune(&self) -> Tuner {
        let output = File::create(self.stack.path("tune.log")).expect("there is room for a file");
        let child = self
            .command()
            .stdout(Stdio::null())
            .stderr(output)
            .spawn()
            .expect("the program starts");
        Tuner {
            handle: handle_of(child.id()).expect("a child has a handle"),
            child,
        }
    }

    /// What the last search and its dead-man process have written.
    fn output(&self) -> String {
        let files = ["tune.log", "plimsoll/stack/dead-man.log"];
        let texts = files.map(|name| fs::read_to_string(self.stack.path(name)).unwrap_or_default());
        texts.concat()
    }
}

#[derive(Debug)]
struct Tuner {
    child: Child,
    handle: OwnedFd,
}

impl Tuner {
    fn interrupt(&self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::INT);
    }

    /// Waits for its end; returns its exit code.
    fn ends(&mut self) -> Result<Option<i32>, String> {
        if !poll_for(&[&self.handle], PATIENCE) {
            let _ = self.child.kill();
            return Err(format!("the search still runs after {PATIENCE:?}"));
        }
        let status = self.child.wait().map_err(|error| error.to_string())?;
        Ok(status.code())
    }
}

/// Reloads that have begun: each writes its name into a FIFO.
#[derive(Debug)]
struct Events(File);

impl Events {
    fn open(path: &Path) -> io::Result<Self> {
        // Open for writing as well, so that it has no end and nobody waits for a reader.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(flags);
        options.open(path).map(Self)
    }

    /// Forgets those that have begun already.
    fn drain(&mut self) {
        let mut bytes = [0; 4096];
        while self.0.read(&mut bytes).is_ok_and(|len| len > 0) {}
    }

    /// Waits until so many more have begun.
    fn nth(&mut self, number: u32, process: &OwnedFd) -> Result<(), String> {
        let mut begun = 0;
        while begun < number {
            let mut byte = [0];
            match self.0.read(&mut byte) {
                Ok(_) => begun += u32::from(byte[0] == b'\n'),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let events = self.0.try_clone().map(OwnedFd::from);
                    let events = events.map_err(|error| error.to_string())?;
                    if !poll_for(&[&events, process], PATIENCE) {
                        return Err(format!("no reload within {PATIENCE:?}"));
                    }
                    if poll_for(&[process], Duration::ZERO) && !poll_for(&[&events], Duration::ZERO)
                    {
                        return Err(format!("it ended after {begun} reloads"));
                    }
                }
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }
}

/// Whether one of these can be read, or has ended, within a time.
fn poll_for(descriptors: &[&OwnedFd], within: Duration) -> bool {
    let mut waiting: Vec<PollFd<'_>> = descriptors
        .iter()
        .map(|descriptor| PollFd::new(*descriptor, PollFlags::IN))
        .collect();
    let within = Timespec::try_from(within).expect("a time of minutes");
    poll(&mut waiting, Some(&within)).is_ok_and(|count| count > 0)
}

fn handle_of(pid: u32) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// The dead-man process of a search, if it runs already.
fn dead_man_of(tuner: &Child) -> Option<OwnedFd> {
    let children = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).ok();
    let threads = fs::read_dir(format!("/proc/{}/task", tuner.id())).ok()?;
    let children: Vec<String> = threads.filter_map(|it| children(it.ok()?)).collect();
    let pids = children.iter().flat_map(|it| it.split_whitespace());
    let is_dead_man = |pid: &u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).nth(1) == Some(b"dead-man")
    };
    handle_of(pids.filter_map(|pid| pid.parse().ok()).find(is_dead_man)?)
}
