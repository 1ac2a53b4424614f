//! Collectors that components send to: they listen at an address of this machine, and open it again where that failed.

use std::io;

use plimsoll_model::component::ComponentAddress;

use super::link::ScrapeError;
use crate::clock;

/// Samples without any message after which a note explains how to send some.
pub(super) const SILENT_MAX: u32 = 10;

/// A receiver at an address.
#[derive(Debug)]
pub(super) struct Receiving<R> {
    place: ComponentAddress,
    open: fn(&str, u16) -> io::Result<R>,
    receiver: io::Result<R>,
    before_ns: u64,
    samples: u32,
    is_silence_reported: bool,
}

impl<R> Receiving<R> {
    /// Begins to receive there.
    pub(super) fn at(place: ComponentAddress, open: fn(&str, u16) -> io::Result<R>) -> Self {
        Self {
            receiver: open_at(&place, open),
            place,
            open,
            before_ns: clock::now_ns(),
            samples: 0,
            is_silence_reported: false,
        }
    }

    /// Where it receives.
    pub(super) fn place(&self) -> &ComponentAddress {
        &self.place
    }

    /// The receiver, and the time since it was sampled last, s.
    pub(super) fn sample(&mut self) -> Result<(&mut R, f64), ScrapeError> {
        if self.receiver.is_err() {
            self.receiver = open_at(&self.place, self.open);
        }
        let receiver = match &mut self.receiver {
            Ok(receiver) => receiver,
            Err(error) => return Err(ScrapeError::CannotListen(error.to_string())),
        };
        let now_ns = clock::now_ns();
        let seconds = now_ns.saturating_sub(self.before_ns) as f64 / 1e9;
        self.before_ns = now_ns;
        Ok((receiver, seconds))
    }

    /// To be called once a sample with whether anything was received so far: `true` once, after a long silence.
    pub(super) fn is_silent(&mut self, has_received: bool) -> bool {
        self.samples = self.samples.saturating_add(1);
        if has_received || self.samples < SILENT_MAX || self.is_silence_reported {
            return false;
        }
        self.is_silence_reported = true;
        true
    }
}

fn open_at<R>(place: &ComponentAddress, open: fn(&str, u16) -> io::Result<R>) -> io::Result<R> {
    match place {
        ComponentAddress::Tcp { host, port } => open(host, *port),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}
