//! A run while it is going on: starts its threads in order, writes every event to the log, and ends the threads.

mod round;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use plimsoll_agent::AgentSpec;
use plimsoll_browser::{BrowserSpec, Browsers};
use plimsoll_load::{Used, WorkerProcesses};
use plimsoll_model::browser::PageVisit;
use plimsoll_model::component::Component;
use plimsoll_model::event::{Event, FORMAT_MAJOR, FORMAT_MINOR, Header};
use plimsoll_model::journey::{Inputs, Scenario, StepId, StepInfo};
use plimsoll_model::lock::lock;
use plimsoll_model::plan::{Facts, LoadUnit, Plan};
use plimsoll_model::redact;
use plimsoll_model::run::Run;
use plimsoll_model::verdict::{Verdict, VoidReason};
use plimsoll_model::window::Window;
use plimsoll_probe::ProbePlan;
use plimsoll_workers::Coordinator;

use crate::carried_load::CarriedLoad;
use crate::clock::{self, RunClock};
use crate::controls::RunControls;
use crate::error::LabError;
use crate::probes::{self, MachineUse, Probes, Stopped};
use crate::progress::StopFlag;
use crate::run_log::{self, Followers, RunLog, SharedLog};

pub(crate) use round::{Round, RoundEnd, RoundOfTrial};

/// What to do and where to keep it.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// What to do.
    pub plan: Plan,
    /// Rows and files that the plan's users take from; never stored.
    pub inputs: Arc<Inputs>,
    /// `run` or `limit`, for the header.
    pub command: &'static str,
    /// Wall-clock start, RFC 3339.
    pub started_at: String,
    /// The run log to make.
    pub log_path: PathBuf,
    /// What to watch.
    pub probes: ProbePlan,
    /// Agents that watch other machines.
    pub agents: Vec<AgentSpec>,
    /// Versions for the header.
    pub versions: Facts,
    /// The browser of the plan; `None` where it has none.
    pub browser: Option<BrowserSpec>,
    /// How further processes of a load are started that needs more descriptors than one may have; `None` refuses it.
    pub worker_processes: Option<WorkerProcesses>,
    /// The coordinator whose workers carry the load, or each trial of a search, all of them ready; `None` for this machine.
    pub workers: Option<Coordinator>,
    /// Who sees the events of the log.
    pub followers: Followers,
    /// What others may do to the run while it goes on.
    pub controls: RunControls,
}

/// Seconds between the decision to start and the start of a load that workers carry: until then each of them must know.
const SECONDS_TO_WORKERS: u32 = 2;
/// The same for a trial: it costs the search as much, and the workers are there.
const SECONDS_TO_WORKERS_OF_TRIAL: u32 = 1;

/// Whether to go on after a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// No further arrivals; let requests in flight finish.
    Stop,
    /// End at once; what is in flight has failed.
    Abort,
}

/// A run that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Everything that was recorded.
    pub run: Run,
    /// The run log.
    pub log_path: PathBuf,
    /// What the disk refused: the reason. The run holds those events all the same.
    pub not_written: Option<String>,
    /// The probe of this machine did not return, and its readings end early: its last activity.
    pub left_behind: Option<String>,
}

/// One run that is going on.
#[derive(Debug)]
pub struct ActiveRun {
    plan: Arc<Plan>,
    inputs: Arc<Inputs>,
    clock: RunClock,
    log: SharedLog,
    followers: Followers,
    controls: RunControls,
    probes: Option<Probes>,
    browsers: Option<Browsers>,
    stop: StopFlag,
    cpu_us_at_start: u64,
    /// Steps that processes have named so far: the same label keeps its id from trial to trial.
    named: Mutex<BTreeMap<StepId, StepInfo>>,
    worker_processes: Option<WorkerProcesses>,
    workers: Option<Coordinator>,
    worker_notes: Mutex<WorkerNotes>,
}

/// State of the further worker processes of a load.
#[derive(Debug, Default)]
struct WorkerNotes {
    used: Used,
    /// Notes not yet passed to the user.
    notes: Vec<String>,
}

impl ActiveRun {
    /// Connects to the agents, starts the browser, writes the header of the log and starts the probes.
    ///
    /// # Errors
    /// When an agent cannot be read, the browser does not start, the log cannot be made or a thread cannot be started.
    pub fn open(assignment: Assignment, stop: StopFlag) -> Result<Self, LabError> {
        let agents = probes::connect(assignment.agents, &assignment.probes)?;
        // Its start takes CPU, so it ends before second 0 of the run; without it there is no run, and no log of one.
        let mut browsers = assignment.browser.map(Browsers::start).transpose()?;
        let mut versions = assignment.versions;
        if let Some(browsers) = &browsers {
            versions.insert("browser".to_owned(), browsers.product().to_owned());
        }
        let header = Header {
            format_major: FORMAT_MAJOR,
            format_minor: FORMAT_MINOR,
            command: assignment.command.to_owned(),
            started_at: assignment.started_at,
            plan: assignment.plan.redacted(),
            host: plimsoll_probe::host_facts(),
            versions,
        };
        let log = SharedLog::new(RunLog::create(
            &assignment.log_path,
            header,
            assignment.followers.clone(),
        )?);
        let clock = RunClock::start();
        let browser_process = browsers.as_ref().map(Browsers::process_id);
        let probes = Probes::start(
            assignment.probes,
            agents,
            browser_process,
            clock,
            log.clone(),
        )?;
        if let Some(browsers) = &mut browsers {
            let log = log.clone();
            let sink = move |visit: PageVisit| {
                let second = u32::try_from(clock.elapsed().as_secs()).unwrap_or(u32::MAX);
                log.append(Event::PageVisited(Box::new(PageVisit { second, ..visit })));
            };
            let begun = browsers.begin(Box::new(sink));
            begun.map_err(LabError::Thread)?;
        }
        assignment.controls.attach(log.clone(), clock);
        Ok(Self {
            plan: Arc::new(assignment.plan),
            inputs: assignment.inputs,
            clock,
            log,
            followers: assignment.followers,
            controls: assignment.controls,
            probes: Some(probes),
            browsers,
            stop,
            cpu_us_at_start: clock::process_cpu_us(),
            named: Mutex::default(),
            worker_processes: assignment.worker_processes,
            workers: assignment.workers,
            worker_notes: Mutex::default(),
        })
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// What users do, with the steps that processes have named so far.
    pub fn scenario(&self) -> Option<Scenario> {
        let mut scenario = self.plan.scenario.clone()?;
        scenario.name_steps(&*self.named());
        Some(scenario)
    }

    fn named(&self) -> MutexGuard<'_, BTreeMap<StepId, StepInfo>> {
        lock(&self.named)
    }

    fn worker_notes(&self) -> MutexGuard<'_, WorkerNotes> {
        lock(&self.worker_notes)
    }

    /// A plan with the steps that processes have named so far.
    fn with_named(&self, plan: &Arc<Plan>) -> Arc<Plan> {
        let mut plan = Arc::clone(plan);
        let named = self.named();
        if !named.is_empty()
            && let Some(scenario) = &mut Arc::make_mut(&mut plan).scenario
        {
            scenario.name_steps(&*named);
        }
        plan
    }

    /// Rows and files that the plan's users take from.
    pub fn inputs(&self) -> &Arc<Inputs> {
        &self.inputs
    }

    /// Time since the start of the run.
    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    /// The first second that a trial started now would use.
    pub fn next_second(&self) -> u32 {
        let next = self.clock.next_second();
        match self.workers {
            Some(_) => next + SECONDS_TO_WORKERS_OF_TRIAL,
            None => next,
        }
    }

    /// The same of this plan's own load, which may need further processes or hosts.
    pub fn next_second_of(&self, plan: &Plan) -> u32 {
        let next = self.clock.next_second();
        match self.worker_processes {
            _ if self.workers.is_some() => next + SECONDS_TO_WORKERS,
            Some(_) => next + plimsoll_load::seconds_to_start(plan),
            None => next,
        }
    }

    /// Whether the user requested a stop.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_raised()
    }

    /// The level that somebody changed the load to last, in its unit.
    pub fn changed_level(&self) -> Option<(f64, LoadUnit)> {
        self.controls.level()
    }

    /// Puts an event into the log.
    pub fn append(&self, event: Event) {
        self.log.append(event);
    }

    /// Puts a note into the log.
    pub fn note(&self, text: impl Into<String>) {
        let second = u32::try_from(self.clock.elapsed().as_secs()).unwrap_or(u32::MAX);
        self.append(Event::NoteMade {
            second,
            // Notes quote texts of services, drivers and logs.
            text: redact::text(&text.into()).into_owned(),
        });
    }

    /// Machine use in the seconds `[from, to)`.
    pub fn machine_use(&self, from: u32, to: u32) -> Vec<MachineUse> {
        self.probes
            .as_ref()
            .map(|probes| probes.machine_use(from, to))
            .unwrap_or_default()
    }

    /// Whether the target runs on this machine.
    pub fn target_is_local(&self) -> bool {
        self.probes.as_ref().is_some_and(Probes::target_is_local)
    }

    /// Components that are scraped, with their logins.
    pub fn components(&self) -> Vec<Component> {
        self.probes
            .as_ref()
            .map(Probes::components)
            .unwrap_or_default()
    }

    /// Notes of the probes about components since the last call, and why further processes carry the load.
    pub fn take_notes(&self) -> Vec<String> {
        let mut notes = std::mem::take(&mut self.worker_notes().notes);
        notes.extend(self.probes.iter().flat_map(Probes::take_component_notes));
        notes
    }

    /// The newest machine use.
    pub fn latest_machine_use(&self) -> Option<MachineUse> {
        self.probes.as_ref().and_then(Probes::latest)
    }

    /// Runs a load. Every window goes into the log and then to `each`, which decides whether to continue.
    ///
    /// # Errors
    /// When the load engine cannot start.
    pub(crate) fn carry_out(
        &self,
        round: Round,
        mut each: impl FnMut(&Window) -> Flow,
    ) -> Result<RoundEnd, LabError> {
        let (load, start_second) = (round.load.clone(), round.start_second);
        let mut running = self.begin(round)?;
        if let Some(note) = running.notice() {
            self.note(note);
            self.worker_notes().notes.push(note.to_owned());
        }
        if self.controls.may_change_load() {
            self.controls
                .attach_load(running.changer(), load, start_second);
        }
        while let Some(window) = running.next_window() {
            self.append(Event::WindowClosed(Box::new(window.clone())));
            self.note_workers(&mut running);
            if !window.steps_named.is_empty() {
                self.named().extend(window.steps_named.clone());
            }
            match each(&window) {
                Flow::Continue if self.is_stopping() => running.abort(),
                Flow::Continue => {}
                Flow::Stop => running.stop(),
                Flow::Abort => running.abort(),
            }
        }
        self.controls.detach_load();
        self.note_workers(&mut running);
        let workers = running.records();
        if !workers.is_empty() {
            self.append(Event::WorkersEnded(workers.clone()));
        }
        let used = running.used();
        let mut worker_notes = self.worker_notes();
        worker_notes.used.cpu_us += used.cpu_us;
        worker_notes.used.rss_bytes_max = worker_notes.used.rss_bytes_max.max(used.rss_bytes_max);
        drop(worker_notes);
        Ok(RoundEnd {
            stayed: running.take_stayed(),
            workers,
            loss: running.take_loss(),
        })
    }

    /// What has happened to workers, for readers of the run and for its user.
    fn note_workers(&self, load: &mut CarriedLoad) {
        for note in load.take_notes() {
            self.note(&note);
            self.worker_notes().notes.push(note);
        }
    }

    /// Everything recorded so far, read back from the log: the evidence that findings rest on.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn recorded(&self) -> Result<Run, LabError> {
        let (path, retained) = {
            let guard = self.log.lock();
            let Some(log) = guard.as_ref() else {
                unreachable!("the log is taken when the run is closed, which consumes it");
            };
            (log.path().to_owned(), log.retained().to_vec())
        };
        read_with(&path, retained)
    }

    /// Ends the browser and the probes, writes the last event, and reads everything back: not only what followed [`Self::recorded`], since
    /// events that the disk had refused may have reached the file meanwhile.
    ///
    /// # Errors
    /// When the log cannot be read back.
    pub fn close(mut self, verdict: Verdict, void: Vec<VoidReason>) -> Result<Finished, LabError> {
        if let Some(fault) = self.browsers.take().and_then(Browsers::stop) {
            self.note(format!(
                "the browser ended before the run did: {fault}; earlier visits are kept"
            ));
        }
        let Stopped { notes, left_behind } =
            self.probes.take().map(Probes::stop).unwrap_or_default();
        let of_followers = self.followers.take_notes();
        for note in notes
            .into_iter()
            .chain(left_behind.clone())
            .chain(of_followers)
        {
            self.note(note);
        }
        let not_written = self.log.write_error();
        let others = self.worker_notes().used;
        let rss_bytes_max = rss_bytes_max(Path::new("/proc/self/status")).unwrap_or(0);
        self.append(Event::RunEnded {
            verdict,
            void,
            process_cpu_us: clock::process_cpu_us() - self.cpu_us_at_start + others.cpu_us,
            rss_bytes_max: rss_bytes_max + others.rss_bytes_max,
        });
        let Some(log) = self.log.lock().take() else {
            unreachable!("a run is closed once, because closing consumes it");
        };
        let (log_path, refused) = log.close();
        let run = read_with(&log_path, refused)?;
        Ok(Finished {
            run,
            log_path,
            not_written,
            left_behind,
        })
    }
}

/// What a log holds, and behind it the events that the disk refused.
fn read_with(path: &Path, refused: Vec<Event>) -> Result<Run, LabError> {
    let mut run = run_log::read(path)?.run;
    for event in refused {
        run.apply(event);
    }
    Ok(run)
}

/// Highest resident memory of a process from its `status` file, bytes.
fn rss_bytes_max(status: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
