//! Everything between publisher and subscribers: channels, inboxes, audiences and sockets; and the invariants.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use plimsoll_wire::websocket::{Event, Role, WebSocketLimits as WireLimits, WebSocketReader};

use super::{HISTORY, LOOPS, NAMES, SimulationStep, rules};
use crate::audience::{Audience, AudienceLimits, ClientId, Outlet};
use crate::channels::{ChannelLimits, Channels, HubRefusal, Position, Published, Subscriber};
use crate::message::{ClientFormat, HubMessage};

/// The client side of a socket.
struct SimulatedSocket {
    capacity: usize,
    bytes: Vec<u8>,
}

/// The sockets of a loop, by client index.
#[derive(Default)]
struct SimulatedSockets(BTreeMap<ClientId, SimulatedSocket>);

impl Outlet for SimulatedSockets {
    fn write(&mut self, client: ClientId, bytes: &[u8]) -> usize {
        let Some(socket) = self.0.get_mut(&client) else {
            return 0;
        };
        let taken = bytes.len().min(socket.capacity);
        socket.capacity -= taken;
        socket.bytes.extend_from_slice(&bytes[..taken]);
        taken
    }
}

/// A client, and its state.
pub(super) struct SimulatedClient {
    is_slow: bool,
    id: Option<ClientId>,
    reader: WebSocketReader,
    /// Its last position in each channel.
    knows: BTreeMap<usize, Position>,
    subscribed: BTreeMap<usize, u64>,
    /// Messages that may arrive late, because they were partially written when it unsubscribed.
    late: usize,
    pub(super) received: usize,
}

pub(super) struct Simulation {
    now_ms: u64,
    channels: Channels,
    pub(super) audiences: Vec<Audience>,
    sockets: Vec<SimulatedSockets>,
    inboxes: Vec<VecDeque<Arc<HubMessage>>>,
    pub(super) people: Vec<SimulatedClient>,
    /// All messages sent: by epoch, time and data.
    sent: BTreeMap<u64, Vec<(u64, u64)>>,
    published: u64,
}

impl Simulation {
    pub(super) fn new(fast: usize, slow: usize, limits: AudienceLimits) -> Self {
        let channel_limits = ChannelLimits {
            channels_max: 10,
            history_bytes_max: 100_000,
        };
        let person = |is_slow| SimulatedClient {
            is_slow,
            id: None,
            reader: WebSocketReader::new(Role::Client, false),
            knows: BTreeMap::new(),
            subscribed: BTreeMap::new(),
            late: 0,
            received: 0,
        };
        Self {
            now_ms: 5,
            channels: Channels::new(rules(), channel_limits, (1, 2), 1000, (0, 1)),
            audiences: (0..LOOPS).map(|_| Audience::new(limits)).collect(),
            sockets: (0..LOOPS).map(|_| SimulatedSockets::default()).collect(),
            inboxes: (0..LOOPS).map(|_| VecDeque::new()).collect(),
            people: (0..fast + slow)
                .map(|index| person(index >= fast))
                .collect(),
            sent: BTreeMap::new(),
            published: 0,
        }
    }

    fn loop_of(person: usize) -> usize {
        person % usize::from(LOOPS)
    }

    fn subscriber(event_loop: usize) -> Subscriber<'static> {
        Subscriber {
            event_loop: u8::try_from(event_loop).unwrap(),
            user: Some("someone"),
        }
    }

    pub(super) fn run(&mut self, step: SimulationStep) {
        match step {
            SimulationStep::Subscribe {
                client,
                name,
                recovers,
            } => self.subscribe(client, name, recovers),
            SimulationStep::Unsubscribe { client, name } => self.unsubscribe(client, name),
            SimulationStep::Leave { client } => self.leave(client),
            SimulationStep::Publish { name } => {
                self.published += 1;
                let data = self.published.to_string();
                let published = self.channels.publish(self.now_ms, NAMES[name], &data);
                self.distribute(published.unwrap());
            }
            SimulationStep::Pump { event_loop } => self.pump(event_loop),
            SimulationStep::Wait { ms } => {
                self.now_ms += ms;
                while let Some(published) = self.channels.tick(self.now_ms) {
                    self.distribute(published);
                }
            }
            SimulationStep::Capacity {
                client,
                capacity: room,
            } => {
                if self.people[client].is_slow {
                    self.set_capacity(client, room);
                }
            }
        }
        assert!(self.channels.history_bytes() <= 100_000);
    }

    fn distribute(&mut self, published: Published) {
        let Published::Sent(message, loops) = published else {
            return;
        };
        let data = serde_json::from_slice::<serde_json::Value>(message.text()).unwrap();
        let sent = self.sent.entry(message.channel().epoch()).or_default();
        sent.push((self.now_ms, data["data"].as_u64().unwrap()));
        assert_eq!(sent.len() as u64, message.offset(), "numbered without gaps");
        for (index, inbox) in self.inboxes.iter_mut().enumerate() {
            if loops >> index & 1 == 1 {
                inbox.push_back(Arc::clone(&message));
            }
        }
    }

    fn pump(&mut self, event_loop: usize) {
        let Some(message) = self.inboxes[event_loop].pop_front() else {
            return;
        };
        self.audiences[event_loop].deliver(&message, &mut self.sockets[event_loop]);
        self.close_condemned(event_loop);
        for person in (0..self.people.len()).filter(|&person| Self::loop_of(person) == event_loop) {
            self.read(person);
        }
    }

    fn close_condemned(&mut self, event_loop: usize) {
        for id in self.audiences[event_loop].take_condemned() {
            let person = (0..self.people.len())
                .find(|&person| {
                    Self::loop_of(person) == event_loop && self.people[person].id == Some(id)
                })
                .unwrap();
            assert!(self.people[person].is_slow, "only the slow are closed");
            self.leave(person);
        }
    }

    fn enter(&mut self, person: usize) -> ClientId {
        if let Some(id) = self.people[person].id {
            return id;
        }
        let event_loop = Self::loop_of(person);
        let id = self.audiences[event_loop].enter(self.now_ms, ClientFormat::WebSocket);
        let room = if self.people[person].is_slow {
            100
        } else {
            usize::MAX
        };
        let bytes = Vec::new();
        self.sockets[event_loop].0.insert(
            id,
            SimulatedSocket {
                capacity: room,
                bytes,
            },
        );
        self.people[person].id = Some(id);
        self.people[person].reader = WebSocketReader::new(Role::Client, false);
        id
    }

    fn subscribe(&mut self, person: usize, name: usize, recovers: bool) {
        let id = self.enter(person);
        let event_loop = Self::loop_of(person);
        let since = self.people[person]
            .knows
            .get(&name)
            .copied()
            .filter(|_| recovers);
        let subscriber = Self::subscriber(event_loop);
        let result = self
            .channels
            .subscribe(self.now_ms, NAMES[name], since, subscriber);
        let subscription = result.unwrap();
        let was_there = self.people[person].subscribed.contains_key(&name);
        if let Some(since) = since.filter(|_| !was_there) {
            assert_eq!(
                subscription.is_recovered,
                Some(self.is_recoverable(name, since))
            );
        }
        if !was_there {
            // The replay is read before it is checked against the client's state.
            let epoch = subscription.position.epoch;
            let offset = match (subscription.is_recovered, since) {
                (Some(true), Some(since)) => since.offset,
                _ => subscription.position.offset,
            };
            let person = &mut self.people[person];
            person.knows.insert(name, Position { epoch, offset });
            person.subscribed.insert(name, epoch);
        }
        let sockets = &mut self.sockets[event_loop];
        let taken = self.audiences[event_loop].subscribe(id, &subscription, sockets);
        assert_eq!(
            taken,
            if was_there {
                Err(HubRefusal::Subscribed)
            } else {
                Ok(())
            }
        );
        if was_there {
            // The loop has other subscribers, at least this client.
            self.channels
                .leave(self.now_ms, subscription.channel, false, subscriber);
        }
        self.close_condemned(event_loop);
        self.read(person);
    }

    /// Whether an unlimited history could recover.
    fn is_recoverable(&self, name: usize, since: Position) -> bool {
        let living = self
            .channels
            .find(NAMES[name])
            .map(crate::channels::ChannelRef::epoch);
        let nothing = Vec::new();
        let sent = self.sent.get(&since.epoch).unwrap_or(&nothing);
        let offset = usize::try_from(since.offset).unwrap();
        if living != Some(since.epoch) {
            return false;
        }
        let messages_max = rules().of(NAMES[name]).history.messages_max;
        let missed = &sent[offset..];
        missed.len() <= messages_max
            && missed
                .iter()
                .all(|(at, _)| at + HISTORY.age_ms_max > self.now_ms)
    }

    fn unsubscribe(&mut self, person: usize, name: usize) {
        let Some(id) = self.people[person].id else {
            return;
        };
        let Some(channel) = self.channels.find(NAMES[name]) else {
            return;
        };
        let event_loop = Self::loop_of(person);
        let left = self.audiences[event_loop].unsubscribe(id, channel);
        let was_there = self.people[person].subscribed.remove(&name).is_some();
        assert_eq!(left.is_some(), was_there);
        if was_there && self.audiences[event_loop].is_waiting(id) {
            self.people[person].late += 1;
        }
        if let Some(left) = left {
            let subscriber = Self::subscriber(event_loop);
            self.channels
                .leave(self.now_ms, left.channel, left.is_last, subscriber);
        }
    }

    fn leave(&mut self, person: usize) {
        let Some(id) = self.people[person].id.take() else {
            return;
        };
        let event_loop = Self::loop_of(person);
        let subscriber = Self::subscriber(event_loop);
        for left in self.audiences[event_loop].leave(id) {
            self.channels
                .leave(self.now_ms, left.channel, left.is_last, subscriber);
        }
        self.sockets[event_loop].0.remove(&id);
        self.people[person].subscribed.clear();
        self.people[person].late = 0;
    }

    fn set_capacity(&mut self, person: usize, capacity: usize) {
        let Some(id) = self.people[person].id else {
            return;
        };
        let event_loop = Self::loop_of(person);
        if let Some(socket) = self.sockets[event_loop].0.get_mut(&id) {
            socket.capacity = capacity;
        }
        self.audiences[event_loop].flush(id, &mut self.sockets[event_loop]);
        self.read(person);
    }

    /// A client reads its socket, and checks it against its state.
    fn read(&mut self, index: usize) {
        let Some(id) = self.people[index].id else {
            return;
        };
        let sockets = &mut self.sockets[Self::loop_of(index)];
        let Some(socket) = sockets.0.get_mut(&id) else {
            return;
        };
        let mut bytes = std::mem::take(&mut socket.bytes);
        let mut rest = &mut bytes[..];
        while !rest.is_empty() {
            let person = &mut self.people[index];
            let (taken, event) = person.reader.next(rest, &WireLimits::default()).unwrap();
            if let Some(event) = event {
                let Event::Text(text) = event else {
                    panic!("messages are text: {event:?}");
                };
                let text = text.into_owned();
                self.take(index, &text);
            }
            rest = &mut rest[taken..];
        }
    }

    fn take(&mut self, index: usize, text: &str) {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        let number = |key: &str| value[key].as_u64().unwrap();
        let name = NAMES
            .iter()
            .position(|name| value["channel"] == *name)
            .unwrap();
        let (epoch, offset) = (number("epoch"), number("offset"));
        let (_, data) = self.sent[&epoch][usize::try_from(offset - 1).unwrap()];
        assert_eq!(
            number("data"),
            data,
            "it is what was sent under this number"
        );
        let person = &mut self.people[index];
        person.received += 1;
        let knows = person.knows.get_mut(&name).unwrap();
        let is_new = (epoch, offset) > (knows.epoch, knows.offset);
        if person.late > 0 && !(is_new && person.subscribed.get(&name) == Some(&epoch)) {
            person.late -= 1;
            return;
        }
        assert_eq!(epoch, knows.epoch);
        if person.is_slow {
            assert!(offset > knows.offset, "in order, and once");
        } else {
            assert_eq!(offset, knows.offset + 1, "nothing left out, nothing twice");
        }
        knows.offset = offset;
    }

    /// Delivers everything in flight; then clients that keep up have everything, and the others the newest.
    pub(super) fn settle(&mut self, newest_arrives: bool) {
        self.run(SimulationStep::Wait { ms: 100 });
        for event_loop in 0..usize::from(LOOPS) {
            while !self.inboxes[event_loop].is_empty() {
                self.pump(event_loop);
            }
        }
        for person in 0..self.people.len() {
            if self.people[person].is_slow {
                self.set_capacity(person, usize::MAX);
            }
            let knower = &self.people[person];
            for (name, epoch) in &knower.subscribed {
                let sent = self.sent.get(epoch).map_or(0, Vec::len) as u64;
                if !knower.is_slow || newest_arrives {
                    assert_eq!(
                        knower.knows[name].offset, sent,
                        "{} of {person}",
                        NAMES[*name]
                    );
                }
            }
        }
    }

    /// Removes all clients, lets time pass, and checks that nothing is left.
    pub(super) fn empty(&mut self) {
        for person in 0..self.people.len() {
            self.leave(person);
        }
        // Held data is sent first, and kept in the history once more.
        for _ in 0..2 {
            self.run(SimulationStep::Wait {
                ms: 2 * HISTORY.age_ms_max,
            });
        }
        assert_eq!((self.channels.len(), self.channels.history_bytes()), (0, 0));
        assert_eq!(self.channels.next_due(), None);
        for audience in &self.audiences {
            assert!(audience.is_empty() && audience.has_no_channel());
        }
    }
}
