//! One event loop and what only its connections share: finished exchanges, and the hub's clients of this loop.

use std::cell::RefCell;
use std::ops::Deref;
use std::rc::Rc;
use std::task::Waker;

use plimsoll_hub_io::hub::ActiveHub;
use plimsoll_hub_io::subscribers::local_hub::LocalHub;

use crate::event_loop::EventLoop;
use crate::exchange::SpareExchanges;
use crate::settings::Settings;

/// One event loop with its connections.
#[derive(Debug)]
pub struct Worker {
    event_loop: EventLoop,
    exchanges: SpareExchanges,
    /// The hub of this loop, created with its first client.
    local_hub: RefCell<Option<Rc<LocalHub>>>,
}

impl Deref for Worker {
    type Target = EventLoop;

    #[inline]
    fn deref(&self) -> &EventLoop {
        &self.event_loop
    }
}

impl Worker {
    /// Without connections.
    pub fn new(event_loop: EventLoop) -> Rc<Self> {
        Rc::new(Self {
            event_loop,
            exchanges: SpareExchanges::default(),
            local_hub: RefCell::default(),
        })
    }

    /// The memory of finished exchanges.
    #[inline]
    pub(crate) fn exchanges(&self) -> &SpareExchanges {
        &self.exchanges
    }

    /// The hub of this loop.
    pub(crate) fn local_hub(&self, hub: &ActiveHub) -> Rc<LocalHub> {
        let mut local_hub = self.local_hub.borrow_mut();
        let before = local_hub.take().filter(|previous| previous.is_of(hub));
        let number = self.settings().number;
        let open = || LocalHub::open(hub, number, self.clock, &self.figures);
        Rc::clone(local_hub.insert(before.unwrap_or_else(open)))
    }

    /// Applies a new configuration; requests in progress keep theirs.
    pub fn follow(&self, settings: Settings) {
        self.follow_hub(settings.hub.as_deref());
        self.event_loop.follow(settings);
    }

    /// Clients of the hub stay as long as the configuration has one.
    fn follow_hub(&self, hub: Option<&ActiveHub>) {
        let mut local_hub = self.local_hub.borrow_mut();
        let Some(open) = local_hub.take() else {
            return;
        };
        match hub {
            Some(hub) if open.is_of(hub) => {
                open.follow(hub);
                *local_hub = Some(open);
            }
            _ => {
                open.close();
                self.wheel.borrow_mut().wake_all(Waker::wake_by_ref);
            }
        }
    }
}
