//! WebSockets of a program: what is opened, sent and subscribed to.

use std::time::Duration;

use plimsoll_model::journey::{
    Disconnect, Drops, Journey, Layout, OutgoingMessage, Reconnect, RequestStep, SendStep,
    SocketStep, Step, SubscribeStep,
};
use plimsoll_wire::websocket::deflate::Offer;
use plimsoll_wire::websocket::handshake;

use super::{Builder, Op, Program, index, step_error};
use crate::clock::nanoseconds;
use crate::due::NEVER;
use crate::error::LoadError;
use crate::finder::Marks;
use crate::handshake::{KEY, stream_headers};
use crate::scenario::expect::Expectations;
use crate::scenario::text::CompiledText;

/// A compiled WebSocket.
#[derive(Clone, Debug)]
pub(crate) struct CompiledSocket {
    /// The request of its handshake.
    pub(crate) request: u32,
    pub(crate) protocols: String,
    /// The compression offered.
    pub(crate) offer: Option<Offer>,
    pub(crate) reconnect: Option<Reconnect>,
    pub(crate) drops: Option<Drops>,
    pub(crate) disconnects: Box<[Disconnect]>,
    pub(crate) first: Option<MessageTemplate>,
    pub(crate) ready: Option<Expectations>,
    pub(crate) replies: Vec<AutoReply>,
    /// Interval of keep-alive messages, ns, and their text.
    pub(crate) beat: Option<(u64, Box<[u8]>)>,
    pub(crate) layout: Layout,
    pub(crate) unsolicited: UnsolicitedMessages,
    /// Whether it is an event stream.
    pub(crate) is_stream: bool,
}

/// A message that is replied to at once.
#[derive(Clone, Debug)]
pub(crate) struct AutoReply {
    pub(crate) to: Box<[u8]>,
    pub(crate) with: Box<[u8]>,
}

/// Handling of unsolicited messages that match no subscription.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum UnsolicitedMessages {
    /// Broadcasts of the URL's channel.
    #[default]
    Broadcasts,
    /// Stored for an `await` without `send`.
    Queued,
    /// Counted and dropped.
    Nothing,
}

impl UnsolicitedMessages {
    pub(super) fn of(journey: &Journey) -> Self {
        let (mut subscribes, mut awaits_alone) = (false, false);
        journey.each_step(&mut |step| match step {
            Step::Subscribe(_) => subscribes = true,
            Step::Send(message_step) => awaits_alone |= message_step.message.is_none(),
            _ => {}
        });
        match (awaits_alone, subscribes) {
            (true, _) => Self::Queued,
            (false, true) => Self::Nothing,
            (false, false) => Self::Broadcasts,
        }
    }
}

/// A compiled message.
#[derive(Clone, Debug)]
pub(crate) struct MessageTemplate {
    pub(crate) text: CompiledText,
    pub(crate) binary: bool,
}

impl MessageTemplate {
    fn new(message: &OutgoingMessage) -> Self {
        Self {
            text: CompiledText::new(&message.text),
            binary: message.binary,
        }
    }
}

/// The message to send, and the request under which the awaited message is counted.
#[derive(Clone, Debug)]
pub(crate) struct MessageExchange {
    pub(crate) message: Option<MessageTemplate>,
    pub(crate) awaited: Option<u32>,
}

/// The marks of a broadcast and its channel.
#[derive(Clone, Debug)]
pub(crate) struct Subscription {
    pub(crate) channel: Option<CompiledText>,
    pub(crate) marks: Marks,
    pub(crate) conditions: Expectations,
    /// The subscription message, repeated after a reconnect.
    pub(crate) exchange: Option<u32>,
}

impl Subscription {
    /// Whether broadcasts can be distinguished from other messages.
    pub(crate) fn is_marked(&self) -> bool {
        !self.marks.is_empty() || !self.conditions.is_empty()
    }
}

impl CompiledSocket {
    /// Whether open ones are cut from this side.
    pub(crate) fn is_cut(&self) -> bool {
        self.drops.is_some() || !self.disconnects.is_empty()
    }
}

impl Program {
    /// Whether WebSockets of any journey are cut from this side.
    pub(crate) fn cuts_sockets(&self) -> bool {
        self.sockets.iter().any(CompiledSocket::is_cut)
    }

    /// Every mass disconnect, ns from the start of the load: the WebSocket that it cuts, and its index there.
    pub(crate) fn disconnects(&self) -> impl Iterator<Item = (u64, u32, u32)> {
        let sockets = (0_u32..).zip(&self.sockets);
        sockets.flat_map(|(socket, compiled)| {
            let moments = (0_u32..).zip(compiled.disconnects.iter());
            moments.map(move |(place, disconnect)| (nanoseconds(disconnect.at), socket, place))
        })
    }

    /// Feeds whose columns an operation on a WebSocket uses.
    pub(super) fn feeds_of_socket(&self, op: &Op, named: &mut Vec<u32>) {
        let template = match op {
            Op::Open(socket) => self.sockets[*socket as usize].first.as_ref(),
            Op::Exchange(exchange) => self.exchanges[*exchange as usize].message.as_ref(),
            Op::Listen(subscription) => {
                let subscription = &self.subscriptions[*subscription as usize];
                subscription.conditions.feeds(named);
                if let Some(channel) = &subscription.channel {
                    channel.feeds(named);
                }
                None
            }
            Op::BeginPoll(poll) => {
                if let Some(channel) = &self.polls[*poll as usize].channel {
                    channel.feeds(named);
                }
                None
            }
            _ => None,
        };
        if let Some(template) = template {
            template.text.feeds(named);
        }
    }
}

impl Builder<'_> {
    pub(super) fn socket(
        &mut self,
        step: &SocketStep,
        journey: &Journey,
        once: bool,
    ) -> Result<(), LoadError> {
        let offer = step.compress.then(Offer::default);
        let mut request = step.request.clone();
        let own: Vec<_> = if step.is_stream {
            stream_headers().into()
        } else {
            handshake::request_headers(KEY, &step.protocols, offer)
        };
        let own = own.into_iter();
        request.headers.extend(
            own.map(|(name, value)| (name, plimsoll_model::journey::TextTemplate::literal(value))),
        );
        let request = self.request(&request, journey, once)?;
        let ready = (!step.ready.is_empty()).then(|| Expectations::new(&step.ready));
        let socket_error = |reason| step_error(&journey.name, reason);
        let bytes = |text: &String| text.as_bytes().into();
        let replies = step.replies.iter();
        self.program.sockets.push(CompiledSocket {
            request,
            protocols: step.protocols.clone(),
            offer,
            reconnect: step.reconnect,
            drops: step.drops,
            disconnects: step.disconnects.as_slice().into(),
            first: step.first.as_ref().map(MessageTemplate::new),
            ready: ready.transpose().map_err(socket_error)?,
            replies: replies
                .map(|(to, with)| AutoReply {
                    to: bytes(to),
                    with: bytes(with),
                })
                .collect(),
            beat: step
                .beat
                .as_ref()
                .map(|(every, text)| (nanoseconds(*every).max(1_000_000), bytes(text))),
            layout: step.layout,
            unsolicited: self.unsolicited,
            is_stream: step.is_stream,
        });
        let socket = index(self.program.sockets.len() - 1);
        self.program.ops.push(Op::Open(socket));
        Ok(())
    }

    /// `None` without a condition.
    pub(super) fn exchange(
        &mut self,
        step: &SendStep,
        journey: &Journey,
        once: bool,
    ) -> Result<Option<u32>, LoadError> {
        let awaited = match &step.awaited {
            Some(awaited) => Some(self.awaited(awaited, journey, once)?),
            None => None,
        };
        let message = step.message.as_ref().map(MessageTemplate::new);
        if message.is_none() && awaited.is_none() {
            return Ok(None);
        }
        self.program
            .exchanges
            .push(MessageExchange { message, awaited });
        Ok(Some(index(self.program.exchanges.len() - 1)))
    }

    fn awaited(
        &mut self,
        step: &RequestStep,
        journey: &Journey,
        once: bool,
    ) -> Result<u32, LoadError> {
        let request = self.request(step, journey, once)?;
        // The message is needed for captures and for failure reports.
        self.program.requests[request as usize].wants_body = true;
        Ok(request)
    }

    pub(super) fn subscribe(
        &mut self,
        step: &SubscribeStep,
        journey: &Journey,
        once: bool,
    ) -> Result<(), LoadError> {
        let exchange = self.exchange(&step.send, journey, once)?;
        let marks = Marks::of(step.timestamp.as_deref(), step.sequence.as_deref())?;
        let conditions = Expectations::new(&step.conditions);
        self.program.subscriptions.push(Subscription {
            channel: step.channel.as_ref().map(CompiledText::new),
            marks,
            conditions: conditions.map_err(|reason| step_error(&journey.name, reason))?,
            exchange,
        });
        let subscription = index(self.program.subscriptions.len() - 1);
        self.program.ops.push(Op::Listen(subscription));
        self.program.ops.extend(exchange.map(Op::Exchange));
        Ok(())
    }

    pub(super) fn every(
        &mut self,
        (interval, lasting): (Duration, Option<Duration>),
        steps: &[Step],
        journey: &Journey,
        once: bool,
        level: u32,
    ) -> Result<(), LoadError> {
        let interval_ns = nanoseconds(interval).max(1);
        let pace = index(self.program.paces);
        self.program.paces += 1;
        self.program.ops.push(Op::Every {
            pace,
            interval_ns,
            lasting_ns: lasting.map_or(NEVER, nanoseconds),
        });
        let round = self.here();
        self.program.ops.push(Op::Jump(0));
        self.steps(steps, journey, once, level)?;
        self.program.ops.push(Op::Jump(round));
        let after = self.here();
        self.program.ops[round as usize] = Op::Round {
            pace,
            interval_ns,
            after,
        };
        Ok(())
    }
}
