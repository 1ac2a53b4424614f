//! A scenario as a program: steps flattened into operations with jumps, in which each user has a program counter.

use plimsoll_model::distribution::DurationDistribution;
use plimsoll_model::journey::{
    Inputs, Journey, RepeatRange, RequestStep, Resources, Scenario, Step, StepId, ThinkTime,
};
use plimsoll_model::plan::Plan;

use super::condition::Condition;
use super::origin::Origins;
use super::request::CompiledRequest;
use super::text::CompiledText;
use crate::error::LoadError;

mod check;
mod polls;
mod sockets;

pub(crate) use polls::CompiledPoll;
pub(crate) use sockets::{CompiledSocket, MessageExchange, Subscription, UnsolicitedMessages};

/// One operation.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// Sends the request of this index.
    Request(u32),
    /// Loads the page of this index.
    Page(u32),
    Think(ThinkTime),
    Set(u32, CompiledText),
    /// Draws the number of repetitions into the counter of a level; jumps to `after` when it is 0.
    Repeat {
        times: RepeatRange,
        level: u32,
        after: u32,
    },
    /// Jumps back to `start` until the counter of the level is 0.
    Again {
        level: u32,
        start: u32,
    },
    /// Takes one of several branches: (upper end of its share of 0 to 1, target).
    Choose(Box<[(f64, u32)]>),
    /// Continues when the condition holds, otherwise jumps.
    Unless(Box<Condition>, u32),
    Jump(u32),
    OpenGroup(StepId),
    CloseGroup,
    /// Opens the WebSocket of this index.
    Open(u32),
    /// Sends a message, awaits one, or both.
    Exchange(u32),
    /// Subscribes to broadcasts.
    Listen(u32),
    /// Closes the WebSocket with a code.
    Close(u16),
    /// Begins an interval of this length, ns, in the pace of this index, for this time.
    Every {
        pace: u32,
        interval_ns: u64,
        lasting_ns: u64,
    },
    /// Waits for the next round of a pace, or jumps behind its end.
    Round {
        pace: u32,
        interval_ns: u64,
        after: u32,
    },
    /// Begins to fetch messages by the poll of this index.
    BeginPoll(u32),
    /// Ends it.
    EndPoll,
    /// Lets the external script drive the user until it ends the iteration.
    Obey,
    /// An iteration begins.
    Begin,
    /// An iteration ends; the next begins there.
    End(u32),
}

/// A page and its resources.
#[derive(Clone, Debug)]
pub(crate) struct CompiledPage {
    pub(crate) id: StepId,
    /// The request for the page itself.
    pub(crate) request: u32,
    pub(crate) listed: Vec<u32>,
    /// The request of a resource named in the page.
    pub(crate) found: Option<u32>,
    pub(crate) connections: u32,
}

/// The entry point and settings of a journey.
#[derive(Clone, Debug)]
pub(crate) struct CompiledJourney {
    pub(crate) start: u32,
    /// The first iteration's [`Op::Begin`].
    pub(crate) begin: u32,
    pub(crate) iterations: Option<u64>,
    /// Feeds that give each user one row for good.
    pub(crate) feeds: Vec<u32>,
    /// Feeds that give each iteration a row.
    pub(crate) feeds_each: Vec<u32>,
    pub(crate) cache: bool,
    /// Cookies and cache last for one iteration.
    pub(crate) forgets: bool,
    /// How long its users wait for a step before they give up.
    pub(crate) gives_up: Option<DurationDistribution>,
}

/// All journeys of a scenario. Its operations name requests, pages, sockets and each other by index: only compiling
/// makes them, and an index never becomes invalid.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    ops: Vec<Op>,
    journeys: Vec<CompiledJourney>,
    requests: Vec<CompiledRequest>,
    pages: Vec<CompiledPage>,
    origins: Origins,
    sockets: Vec<CompiledSocket>,
    exchanges: Vec<MessageExchange>,
    subscriptions: Vec<Subscription>,
    polls: Vec<CompiledPoll>,
    /// Greatest nesting depth of repetitions.
    levels: usize,
    /// Number of intervals in all journeys.
    paces: usize,
}

impl Program {
    /// # Errors
    /// When something in the scenario is invalid.
    pub(crate) fn new(
        plan: &Plan,
        scenario: &Scenario,
        inputs: &Inputs,
    ) -> Result<Self, LoadError> {
        check::check(scenario)?;
        let origins = Origins::new(plan, &scenario.targets).ok_or_else(|| LoadError::Plan {
            place: "host of a target",
            found: plan.target.host.clone(),
            range: "a name or address",
        })?;
        let mut builder = Builder {
            plan,
            scenario,
            program: Self {
                ops: Vec::new(),
                journeys: Vec::new(),
                requests: Vec::new(),
                pages: Vec::new(),
                origins,
                sockets: Vec::new(),
                exchanges: Vec::new(),
                subscriptions: Vec::new(),
                polls: Vec::new(),
                levels: 0,
                paces: 0,
            },
            unsolicited: UnsolicitedMessages::default(),
        };
        for journey in &scenario.journeys {
            builder.journey(journey, inputs)?;
        }
        Ok(builder.program)
    }

    #[inline]
    pub(crate) fn op(&self, index: u32) -> &Op {
        &self.ops[index as usize]
    }

    #[inline]
    pub(crate) fn journey(&self, index: u32) -> &CompiledJourney {
        &self.journeys[index as usize]
    }

    #[inline]
    pub(crate) fn request(&self, index: u32) -> &CompiledRequest {
        &self.requests[index as usize]
    }

    pub(crate) fn requests_count(&self) -> usize {
        self.requests.len()
    }

    /// Adds a request that a script composed; returns its index.
    pub(crate) fn add_request(&mut self, request: CompiledRequest) -> u32 {
        self.requests.push(request);
        index(self.requests.len() - 1)
    }

    /// Puts a request that a script composed in the place of an earlier one.
    pub(crate) fn replace_request(&mut self, index: u32, request: CompiledRequest) {
        self.requests[index as usize] = request;
    }

    pub(crate) fn page(&self, index: u32) -> &CompiledPage {
        &self.pages[index as usize]
    }

    pub(crate) fn origins(&self) -> &Origins {
        &self.origins
    }

    pub(crate) fn socket(&self, index: u32) -> &CompiledSocket {
        &self.sockets[index as usize]
    }

    /// Whether any journey opens WebSockets.
    pub(crate) fn has_sockets(&self) -> bool {
        !self.sockets.is_empty()
    }

    pub(crate) fn exchange(&self, index: u32) -> &MessageExchange {
        &self.exchanges[index as usize]
    }

    pub(crate) fn subscription(&self, index: u32) -> &Subscription {
        &self.subscriptions[index as usize]
    }

    /// Greatest nesting depth of repetitions.
    pub(crate) fn levels(&self) -> usize {
        self.levels
    }

    /// Number of intervals in all journeys.
    pub(crate) fn paces(&self) -> usize {
        self.paces
    }
}

struct Builder<'a> {
    plan: &'a Plan,
    scenario: &'a Scenario,
    program: Program,
    /// The default for unsolicited messages in the journey being compiled.
    unsolicited: UnsolicitedMessages,
}

impl Builder<'_> {
    fn here(&self) -> u32 {
        index(self.program.ops.len())
    }

    fn journey(&mut self, journey: &Journey, inputs: &Inputs) -> Result<(), LoadError> {
        let (first_op, first_request) = (self.here() as usize, self.program.requests.len());
        self.unsolicited = UnsolicitedMessages::of(journey);
        self.steps(&journey.once, journey, true, 0)?;
        let begin = self.here();
        self.program.ops.push(Op::Begin);
        let mut named = Vec::new();
        if let Some(process) = &journey.process {
            self.program.ops.push(Op::Obey);
            named.extend_from_slice(&process.feeds);
        } else {
            self.steps(&journey.steps, journey, false, 0)?;
        }
        self.program.ops.push(Op::End(begin));
        for request in &self.program.requests[first_request..] {
            request.feeds(&mut named);
        }
        for op in &self.program.ops[first_op..] {
            match op {
                Op::Set(_, text) => text.feeds(&mut named),
                Op::Unless(condition, _) => condition.feeds(&mut named),
                other => self.program.feeds_of_socket(other, &mut named),
            }
        }
        for &feed in &named {
            let rows = inputs.rows.get(feed as usize).map_or(0, Vec::len);
            if rows == 0 {
                let name = self
                    .scenario
                    .feeds
                    .get(feed as usize)
                    .map(|feed| feed.name.clone());
                return Err(LoadError::Plan {
                    place: "number of rows of a feed",
                    found: format!("0 for {}", name.unwrap_or_default()),
                    range: "at least 1",
                });
            }
        }
        let each = |feed: &u32| self.scenario.feeds[*feed as usize].each_iteration;
        let (feeds_each, feeds) = named.into_iter().partition(each);
        self.program.journeys.push(CompiledJourney {
            start: index(first_op),
            begin,
            iterations: journey.iterations,
            feeds,
            feeds_each,
            cache: journey.cache,
            forgets: journey.forgets,
            // Whoever is driven by a script leaves by its script.
            gives_up: journey.gives_up.filter(|_| journey.process.is_none()),
        });
        Ok(())
    }

    fn steps(
        &mut self,
        steps: &[Step],
        journey: &Journey,
        once: bool,
        level: u32,
    ) -> Result<(), LoadError> {
        for step in steps {
            self.step(step, journey, once, level)?;
        }
        Ok(())
    }

    fn step(
        &mut self,
        step: &Step,
        journey: &Journey,
        once: bool,
        level: u32,
    ) -> Result<(), LoadError> {
        match step {
            Step::Request(request) => {
                let request = self.request(request, journey, once)?;
                self.program.ops.push(Op::Request(request));
            }
            Step::Page { page, resources } => self.page(page, resources, journey, once)?,
            Step::Think(pause) => self.program.ops.push(Op::Think(*pause)),
            Step::Set(slot, text) => self
                .program
                .ops
                .push(Op::Set(*slot, CompiledText::new(text))),
            Step::Repeat { times, steps } => {
                let levels = level as usize + 1;
                self.program.levels = self.program.levels.max(levels);
                let repeat = self.here() as usize;
                // The target is known after its steps are compiled.
                self.program.ops.push(Op::Jump(0));
                self.steps(steps, journey, once, level + 1)?;
                let start = index(repeat + 1);
                self.program.ops.push(Op::Again { level, start });
                let after = self.here();
                let times = *times;
                self.program.ops[repeat] = Op::Repeat {
                    times,
                    level,
                    after,
                };
            }
            Step::Choose(choices) => self.choose(choices, journey, once, level)?,
            Step::If {
                condition,
                then,
                otherwise,
            } => {
                let condition = Condition::new(condition)
                    .map_err(|reason| step_error(&journey.name, reason))?;
                let unless = self.here() as usize;
                self.program.ops.push(Op::Jump(0));
                self.steps(then, journey, once, level)?;
                let jump = self.here() as usize;
                self.program.ops.push(Op::Jump(0));
                let other = self.here();
                self.steps(otherwise, journey, once, level)?;
                self.program.ops[unless] = Op::Unless(Box::new(condition), other);
                self.program.ops[jump] = Op::Jump(self.here());
            }
            Step::Socket(socket) => self.socket(socket, journey, once)?,
            Step::Send(message_step) => {
                if let Some(exchange) = self.exchange(message_step, journey, once)? {
                    self.program.ops.push(Op::Exchange(exchange));
                }
            }
            Step::Subscribe(subscribe) => self.subscribe(subscribe, journey, once)?,
            Step::Every {
                interval,
                lasting,
                steps,
            } => self.every((*interval, *lasting), steps, journey, once, level)?,
            Step::Close(code) => self.program.ops.push(Op::Close(*code)),
            Step::Poll(poll) => self.poll(poll, journey, once)?,
            Step::Group { id, steps } => {
                self.program.ops.push(Op::OpenGroup(*id));
                self.steps(steps, journey, once, level)?;
                self.program.ops.push(Op::CloseGroup);
            }
        }
        Ok(())
    }

    fn choose(
        &mut self,
        choices: &[plimsoll_model::journey::Choice],
        journey: &Journey,
        once: bool,
        level: u32,
    ) -> Result<(), LoadError> {
        let total: f64 = choices.iter().map(|choice| choice.weight).sum();
        let valid = choices
            .iter()
            .all(|choice| choice.weight.is_finite() && choice.weight >= 0.0);
        if !valid || total <= 0.0 {
            return Err(LoadError::Plan {
                place: "weights of a choice",
                found: format!("{total} in all in {}", journey.name),
                range: "numbers from 0, at least one above 0",
            });
        }
        let choose = self.here() as usize;
        self.program.ops.push(Op::Jump(0));
        let (mut ways, mut jumps, mut share) = (Vec::new(), Vec::new(), 0.0);
        for choice in choices {
            share += choice.weight / total;
            ways.push((share, self.here()));
            self.steps(&choice.steps, journey, once, level)?;
            jumps.push(self.here() as usize);
            self.program.ops.push(Op::Jump(0));
        }
        let after = self.here();
        for jump in jumps {
            self.program.ops[jump] = Op::Jump(after);
        }
        self.program.ops[choose] = Op::Choose(ways.into());
        Ok(())
    }

    fn page(
        &mut self,
        page: &RequestStep,
        resources: &Resources,
        journey: &Journey,
        once: bool,
    ) -> Result<(), LoadError> {
        let mut compiled = CompiledPage {
            id: page.id,
            request: self.request(page, journey, once)?,
            listed: Vec::new(),
            found: None,
            connections: resources.connections.min(journey.connections).clamp(1, 6),
        };
        for listed in &resources.listed {
            compiled.listed.push(self.request(listed, journey, once)?);
        }
        if let Some(id) = resources.found {
            let step = RequestStep {
                id,
                method: "GET".to_owned(),
                url: plimsoll_model::journey::TextTemplate::literal("/"),
                headers: Vec::new(),
                body: plimsoll_model::journey::RequestBody::Empty,
                follow: page.follow,
                timeout: page.timeout,
                captures: Vec::new(),
                expectations: Vec::new(),
            };
            compiled.found = Some(self.request(&step, journey, once)?);
            self.program.requests[compiled.request as usize].wants_body = true;
        }
        self.program
            .ops
            .push(Op::Page(index(self.program.pages.len())));
        self.program.pages.push(compiled);
        Ok(())
    }

    fn request(
        &mut self,
        step: &RequestStep,
        journey: &Journey,
        once: bool,
    ) -> Result<u32, LoadError> {
        let info = self.scenario.steps.get(step.id as usize);
        let Some(info) = info else {
            let reason = format!("its id {} is not the id of a step", step.id);
            return Err(step_error(&journey.name, reason));
        };
        let request = CompiledRequest::new(step, journey, self.plan, &self.program.origins, once)
            .map_err(|reason| step_error(&info.label, reason))?;
        self.program.requests.push(request);
        Ok(index(self.program.requests.len() - 1))
    }
}

fn step_error(step: &str, reason: String) -> LoadError {
    LoadError::Step {
        step: step.to_owned(),
        reason,
    }
}

fn index(index: usize) -> u32 {
    u32::try_from(index).expect("a plan's parts are far below 2^32")
}
