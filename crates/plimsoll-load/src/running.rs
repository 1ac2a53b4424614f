//! A running job: the threads of its loops, and their seconds merged into windows.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use plimsoll_model::plan::{Load, Plan};
use plimsoll_model::window::Window;
use rustix::process::{Resource, getrlimit};

use crate::affinity;
use crate::clock::{SECOND_NS, nanoseconds};
use crate::descriptors;
use crate::engine::{Engine, Returns};
use crate::error::LoadError;
use crate::job::Job;
use crate::load_changes::LoadChange;
use crate::loop_share::LoopShare;
use crate::prepared_load::PreparedLoad;
use crate::realtime_priority;
use crate::recorder::{Recorder, WindowBuilder};
use crate::session_carry_over::{SessionCarryOver, Stay};
use crate::stop_signal::{StopSignal, command};
use crate::virtual_users::LoopCarryOver;
use crate::worker_processes::{
    self, OTHER_DESCRIPTORS, Used, WorkerProcess, WorkerProcesses, WorkerTask,
};

/// Seconds of a loop that may be pending; a loop stops while its seconds are not taken.
const SECONDS_MAX: usize = 32;

/// Starts a job on `plan.cores` threads. Raises the process's soft limit of descriptors to its hard limit when its
/// connections would not fit.
///
/// # Errors
/// When a value of the plan is out of range, a certificate file cannot be read, or the system refuses threads
/// or descriptors. Later failures of requests are data in the windows.
pub fn start(job: Job) -> Result<RunningLoad, LoadError> {
    begin(job, None, LoopShare::WHOLE)
}

/// The same with session carry-over: users of the previous load resume, and [`RunningLoad::take_carry_over`] returns
/// the users of this one. The load wants its users from its start on; new users arrive over the time in `stay`.
///
/// # Errors
/// As [`start`].
pub fn start_with(job: Job, stay: Stay) -> Result<RunningLoad, LoadError> {
    begin(job, Some(stay), LoopShare::WHOLE)
}

/// The same for a load that may need worker processes, which are started as given: one whose WebSockets need more
/// descriptors than this process may have open. [`RunningLoad::notice`] reports it.
///
/// # Errors
/// As [`start`]; also when worker processes cannot be started.
pub fn start_over(mut job: Job, workers: &WorkerProcesses) -> Result<RunningLoad, LoadError> {
    let limit = getrlimit(Resource::Nofile).maximum;
    let Some(processes) = worker_processes::processes(&job.plan, &job.load, limit)? else {
        return start(job);
    };
    worker_processes::widen(&mut job, processes);
    let notice = worker_processes::describe(&job.plan, &job.load, limit, processes);
    let share = |index| LoopShare::of_process(index, processes);
    // They take longer to start than threads. This process reports errors of the job.
    let others = (1..processes)
        .map(|index| WorkerProcess::start(workers, &WorkerTask::new(&job, share(index))));
    let others = others.collect::<Result<Vec<_>, _>>()?;
    let mut running = begin(job, None, share(0))?;
    running.others = others;
    running.notice = Some(notice);
    Ok(running)
}

/// The same for one of several hosts: `plan.cores` counts the loops of all of them, of which those of `share` run here. With
/// `stay`, users of an earlier load of the same share resume, as by [`start_with`].
///
/// # Errors
/// As [`start`].
pub fn start_share(
    job: Job,
    share: LoopShare,
    stay: Option<Stay>,
) -> Result<RunningLoad, LoadError> {
    begin(job, stay, share)
}

/// Whether [`start_share`] would start this job, so far as this is known without threads and descriptors.
///
/// # Errors
/// When a value of the plan is out of range, or a certificate file cannot be read.
pub fn check_share(job: Job, share: LoopShare) -> Result<(), LoadError> {
    PreparedLoad::new(job, share).map(drop)
}

/// Additional seconds before the start of a load, for the worker processes of [`start_over`].
pub fn seconds_to_start(plan: &Plan) -> u32 {
    let limit = getrlimit(Resource::Nofile).maximum;
    let takes_several = worker_processes::processes(plan, &plan.load, limit)
        .is_ok_and(|processes| processes.is_some());
    u32::from(takes_several)
}

pub(crate) fn begin(
    job: Job,
    mut stay: Option<Stay>,
    share: LoopShare,
) -> Result<RunningLoad, LoadError> {
    let kept = stay
        .as_mut()
        .map(|stay| std::mem::take(&mut stay.carry_over));
    let returns = stay.map(|stay| Returns {
        within_ns: nanoseconds(stay.within),
        seed: stay.seed,
    });
    let prepared = Arc::new(PreparedLoad::new(job, share)?);
    let mut kept = kept
        .unwrap_or_default()
        .into_loops(prepared.loops().count())
        .into_iter();
    prepare_descriptors(&prepared)?;
    let places = affinity::places(prepared.plan().cores);
    let mut running = RunningLoad {
        loops: Vec::new(),
        others: Vec::new(),
        prepared: Arc::clone(&prepared),
        notice: None,
    };
    for index in prepared.loops() {
        // There is one for each of these loops.
        let carry_over = kept.next().unwrap_or_default();
        let place = places.get(index as usize).copied();
        // An error drops what is already running, which stops it.
        let event_loop = spawn(&prepared, index, place, (returns, carry_over))?;
        running.loops.push(event_loop);
    }
    Ok(running)
}

/// # Errors
/// When not all WebSockets can be opened: what a plain load lacks shows in its windows.
fn prepare_descriptors(prepared: &PreparedLoad) -> Result<(), LoadError> {
    let wanted = (prepared.connections_max() as u64).saturating_add(OTHER_DESCRIPTORS);
    let limit = getrlimit(Resource::Nofile);
    if let Some(held) = held_connections(prepared)
        && let wanted = held.saturating_add(OTHER_DESCRIPTORS)
        && let Some(limit) = limit.maximum.filter(|limit| *limit < wanted)
    {
        return Err(LoadError::Descriptors {
            required: wanted,
            limit,
        });
    }
    descriptors::prepare(wanted);
    Ok(())
}

/// Connections that this process's loops hold at once, if known: those of WebSockets.
fn held_connections(prepared: &PreparedLoad) -> Option<u64> {
    let all = worker_processes::held(prepared.plan(), prepared.load())?;
    let (loops, own) = (
        u64::from(prepared.plan().cores),
        prepared.loops().count() as u64,
    );
    Some((all * own).div_ceil(loops))
}

/// A job that runs. Dropping it aborts it.
#[derive(Debug)]
pub struct RunningLoad {
    loops: Vec<Loop>,
    /// Worker processes that carry shares of it.
    others: Vec<WorkerProcess>,
    prepared: Arc<PreparedLoad>,
    notice: Option<String>,
}

/// Stops the loops of this process, from another thread.
#[derive(Debug)]
pub struct Stopper(Vec<Arc<StopSignal>>);

impl Stopper {
    /// Stops arrivals, as [`RunningLoad::stop`].
    pub fn stop(&self) {
        self.send_command(command::STOP);
    }

    /// Stops without a drain, as [`RunningLoad::abort`].
    pub fn abort(&self) {
        self.send_command(command::ABORT);
    }

    pub(crate) fn send_command(&self, command: u8) {
        for signal in &self.0 {
            signal.send(command);
        }
    }
}

/// Changes the rate or the number of users of a running load, from another thread.
#[derive(Debug)]
pub struct LoadChanger {
    signals: Vec<Arc<StopSignal>>,
    prepared: Arc<PreparedLoad>,
}

impl LoadChanger {
    /// From this second of run time on, which begins in some tenths of a second or later, the load is another one: arrivals
    /// per second, or users, up to its end. False if it was changed too often.
    pub fn change(&self, second: u32, to: f64) -> bool {
        let from_ns = u64::from(second) * SECOND_NS;
        let is_added = self.prepared.changes().add(LoadChange { from_ns, to });
        for signal in &self.signals {
            // A loop that waits for a later arrival must look again.
            signal.send(command::RUN);
        }
        is_added
    }
}

/// The handle of a loop.
#[derive(Debug)]
struct Loop {
    signal: Arc<StopSignal>,
    seconds: Receiver<Box<WindowBuilder>>,
    spares: SyncSender<Box<WindowBuilder>>,
    /// The next window, taken and not yet merged.
    next: Option<Window>,
    thread: Option<JoinHandle<LoopCarryOver>>,
    /// Users of a finished loop.
    carry_over: LoopCarryOver,
}

fn spawn(
    prepared: &Arc<PreparedLoad>,
    index: u32,
    place: Option<usize>,
    who: (Option<Returns>, LoopCarryOver),
) -> Result<Loop, LoadError> {
    let system = |action| move |source| LoadError::System { action, source };
    let signal = StopSignal::new().map_err(|error| system("make a waker")(error.into()))?;
    let signal = Arc::new(signal);
    let (seconds_sender, seconds) = sync_channel(SECONDS_MAX);
    let (spares, spare) = sync_channel(SECONDS_MAX);
    let recorder = Recorder::new(
        prepared.start_second(),
        prepared.timing().highest_us(),
        prepared.load().is_open(),
        seconds_sender,
        spare,
    );
    let paced = prepared.is_paced();
    let engine = Engine::new(prepared, index, Arc::clone(&signal), recorder, who)?;
    let thread = std::thread::Builder::new()
        .name(format!("load-{index}"))
        .spawn(move || {
            if let Some(place) = place {
                affinity::pin(place);
            }
            if paced {
                realtime_priority::raise();
            }
            engine.run()
        })
        .map_err(system("start a thread"))?;
    Ok(Loop {
        signal,
        seconds,
        spares,
        next: None,
        thread: Some(thread),
        carry_over: LoopCarryOver::default(),
    })
}

impl Loop {
    /// Peeks at the next window; `None` when the loop has ended.
    fn peek(&mut self) -> Option<&Window> {
        if self.next.is_none() {
            let Ok(mut second) = self.seconds.recv() else {
                self.join();
                return None;
            };
            self.next = Some(second.close());
            // A full channel has enough spares.
            let _ = self.spares.try_send(second);
        }
        self.next.as_ref()
    }

    /// Joins the thread. Its panic is propagated: windows that end early must not look complete.
    fn join(&mut self) {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(carry_over)) => self.carry_over = carry_over,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => {}
        }
    }
}

impl RunningLoad {
    /// The next second of all loops together, in ascending order from the start second to the end of the drain.
    /// Blocks until it is over; `None` when all loops have ended.
    ///
    /// A loop whose windows are not taken for half a minute stops until they are, which its lag shows.
    pub fn next_window(&mut self) -> Option<Window> {
        let loops = self.loops.iter_mut();
        let own = loops.filter_map(|each| each.peek().map(|window| window.second));
        let others = self.others.iter_mut();
        let others = others.filter_map(|each| each.peek().map(|window| window.second));
        let second = own.chain(others).min()?;
        let mut merged = Window::new(second);
        self.share_plan_error();
        for each in &mut self.loops {
            if let Some(window) = each.next.take_if(|window| window.second == second) {
                merged.merge(&window);
            }
        }
        let are_named = matches!(self.prepared.load(), Load::Users { .. });
        for each in &mut self.others {
            if let Some(mut window) = each.take_window(second) {
                if let Some(websocket) = window.websocket.as_deref_mut().filter(|_| are_named) {
                    each.translate_channels(websocket, self.prepared.channels());
                }
                merged.merge(&window);
            }
        }
        Some(merged)
    }

    /// A plan error in one process ends the load in all.
    fn share_plan_error(&mut self) {
        if let Some(plan_error) = self.others.iter().find_map(WorkerProcess::plan_error) {
            // A loop of this process may have reported it first.
            let _ = self.prepared.end_by_plan_error(plan_error.to_owned());
        }
        if self.prepared.plan_error().is_some() {
            for each in &mut self.others {
                each.send_command(command::STOP);
            }
        }
    }

    /// The users of a finished load, for a session carry-over; empty unless it was started for that.
    pub fn take_carry_over(&mut self) -> SessionCarryOver {
        let loops = self.loops.iter_mut();
        loops
            .map(|each| std::mem::take(&mut each.carry_over))
            .collect()
    }

    /// The plan error that ended the load early, such as exhausted data; `None` otherwise. Results up to
    /// that point are in the windows.
    pub fn plan_error(&self) -> Option<&str> {
        self.prepared.plan_error()
    }

    /// Why worker processes carry shares of the load, and how one process would suffice; `None` without them.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// Resources used by the worker processes, once the load has ended.
    pub fn used(&self) -> Used {
        let each = self.others.iter().map(WorkerProcess::used);
        each.fold(Used::default(), |sum, used| Used {
            cpu_us: sum.cpu_us + used.cpu_us,
            rss_bytes_max: sum.rss_bytes_max + used.rss_bytes_max,
        })
    }

    /// What changes the load while it goes on; `None` where several processes carry it.
    pub fn changer(&self) -> Option<LoadChanger> {
        let signals = self.loops.iter().map(|each| Arc::clone(&each.signal));
        self.others.is_empty().then(|| LoadChanger {
            signals: signals.collect(),
            prepared: Arc::clone(&self.prepared),
        })
    }

    /// What stops its loops from another thread, while this one waits for a window.
    pub fn stopper(&self) -> Stopper {
        let signals = self.loops.iter().map(|each| Arc::clone(&each.signal));
        Stopper(signals.collect())
    }

    /// Stops arrivals. Requests in flight drain, for at most the time-out or 10 s; then the windows end.
    pub fn stop(&mut self) {
        self.send_command(command::STOP);
    }

    /// Stops arrivals without a drain: unfinished requests count as failed.
    pub fn abort(&mut self) {
        self.send_command(command::ABORT);
    }

    fn send_command(&mut self, command: u8) {
        for each in &self.loops {
            each.signal.send(command);
        }
        for each in &mut self.others {
            each.send_command(command);
        }
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        self.abort();
        for each in &mut self.loops {
            // A loop blocked by a full channel continues when its receiver is gone.
            let (_, gone) = sync_channel(1);
            each.seconds = gone;
            if let Some(thread) = each.thread.take() {
                // The panic has been printed; no second one is needed.
                let _ = thread.join();
            }
        }
    }
}
