//! Waiting room: places in line that outlive a request, and the page that displays them.
//!
//! A place is a number in a signed cookie. The line records when each was last seen, so that those who leave make room.
//! Places within a window at the front may try for a server; the window widens while servers have room and narrows when
//! they have none, so order holds to within the window, and servers do not idle between two polls of a page.

mod line;
mod page;

use crate::respond::synthetic_response::WaitingPage;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use plimsoll_config::edge::WaitingRoomConfig;
use plimsoll_net::clock::Nanoseconds;
use plimsoll_net::lock::lock;
use plimsoll_wire::request_head::RequestHead;
use ring::hmac;

use line::WaitingLine;

/// Longest lifetime of a place, ns.
const PLACE_LIFE_NS: Nanoseconds = 6 * 3600 * SECOND_NS;
const SECOND_NS: Nanoseconds = 1_000_000_000;

/// The line of a route.
#[derive(Debug)]
pub(crate) struct WaitingRoom {
    config: WaitingRoomConfig,
    cookie: String,
    key: hmac::Key,
    line: Mutex<WaitingLine>,
    len: AtomicU32,
}

/// Admission verdict for a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WaitingDecision {
    /// It may bypass the line; with a new cookie when its own is about to expire.
    Past(Option<String>),
    /// It may try for a server with this place.
    Try(u64),
    /// It waits.
    Wait(QueuePosition),
    /// The line is full.
    Full,
}

/// Position in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuePosition {
    number: u64,
    /// Number of places ahead.
    before: u32,
    /// Estimated wait, seconds; `None` is unknown.
    wait_s: Option<u32>,
    retry_s: u32,
    is_new: bool,
}

/// Content of a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    Place(u64),
    /// Admitted; until when.
    Pass(Nanoseconds),
}

impl WaitingRoom {
    /// An empty line; `name` distinguishes it from those of other routes.
    ///
    /// # Errors
    /// When the system provides no random bytes.
    pub(crate) fn new(
        config: &WaitingRoomConfig,
        name: u64,
    ) -> Result<Self, ring::error::Unspecified> {
        let random = ring::rand::SystemRandom::new();
        Ok(Self {
            config: config.clone(),
            cookie: format!("plimsoll_place_{:08x}", name & 0xffff_ffff),
            key: hmac::Key::generate(hmac::HMAC_SHA256, &random)?,
            line: Mutex::new(WaitingLine::new(config.queue_len_max, config.retry)),
            len: AtomicU32::new(0),
        })
    }

    /// Length of the line.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.len.load(Ordering::Relaxed)
    }

    /// Verdict for a browser at a line that is not empty. `places` is the capacity of the servers.
    pub(crate) fn decide(
        &self,
        head: &RequestHead<'_, '_>,
        now: Nanoseconds,
        secure: bool,
        places: u32,
    ) -> WaitingDecision {
        match self.claim(head, now) {
            Some(Claim::Pass(until)) => {
                let left = until - now;
                let is_old = u128::from(left) < self.config.stay.as_nanos() / 2;
                WaitingDecision::Past(is_old.then(|| self.pass(now, secure)))
            }
            claim => self.in_line(claim, now, places),
        }
    }

    fn in_line(&self, claim: Option<Claim>, now: Nanoseconds, places: u32) -> WaitingDecision {
        let mut line = lock(&self.line);
        line.sweep(now);
        let known = match claim {
            Some(Claim::Place(number)) => line.come(number, now).map(|before| (number, before)),
            _ => None,
        };
        let decision = match known {
            Some((number, before)) if line.may_try(before, places) => WaitingDecision::Try(number),
            Some((number, before)) => {
                WaitingDecision::Wait(line.place(number, before, false, places))
            }
            // An empty line is inactive: the next request is served if there is room.
            None if line.len() == 0 => WaitingDecision::Past(None),
            None => match line.join(now) {
                Some((number, before)) => {
                    WaitingDecision::Wait(line.place(number, before, true, places))
                }
                None => WaitingDecision::Full,
            },
        };
        self.len.store(line.len(), Ordering::Relaxed);
        decision
    }

    /// A browser was served; returns the cookie that lets it bypass the line from now on.
    pub(crate) fn got_in(&self, number: u64, now: Nanoseconds, secure: bool) -> String {
        let mut line = lock(&self.line);
        line.got_in(number, now);
        self.len.store(line.len(), Ordering::Relaxed);
        drop(line);
        self.pass(now, secure)
    }

    /// A browser in line found no room.
    pub(crate) fn capacity_exhausted(
        &self,
        number: u64,
        now: Nanoseconds,
        places: u32,
    ) -> WaitingDecision {
        let mut line = lock(&self.line);
        line.shrink_window(now);
        match line.come(number, now) {
            Some(before) => WaitingDecision::Wait(line.place(number, before, false, places)),
            None => WaitingDecision::Full,
        }
    }

    /// A browser without a place found no room.
    pub(crate) fn join(&self, now: Nanoseconds, places: u32) -> WaitingDecision {
        let mut line = lock(&self.line);
        line.sweep(now);
        let joined = line.join(now);
        self.len.store(line.len(), Ordering::Relaxed);
        joined.map_or(WaitingDecision::Full, |(number, before)| {
            WaitingDecision::Wait(line.place(number, before, true, places))
        })
    }

    /// The page for a place.
    pub(crate) fn page(
        &self,
        place: &QueuePosition,
        now: Nanoseconds,
        secure: bool,
    ) -> WaitingPage {
        let cookie = place.is_new.then(|| {
            let until = now.saturating_add(PLACE_LIFE_NS);
            self.cookie(b'w', place.number, until, PLACE_LIFE_NS / SECOND_NS, secure)
        });
        self.fill(place.before + 1, place.wait_s, place.retry_s, cookie)
    }

    /// The page for a browser that may bypass the line and found no room.
    pub(crate) fn page_at_front(&self, cookie: Option<String>) -> WaitingPage {
        self.fill(1, None, 1, cookie)
    }

    fn fill(
        &self,
        place: u32,
        wait_s: Option<u32>,
        retry_s: u32,
        cookie: Option<String>,
    ) -> WaitingPage {
        let template = self.config.page.as_deref().unwrap_or(page::TEMPLATE);
        WaitingPage {
            content: page::fill(template, place, wait_s, retry_s),
            retry_s,
            retries_itself: template.contains("{retry}"),
            cookie,
        }
    }

    fn pass(&self, now: Nanoseconds, secure: bool) -> String {
        let stay = plimsoll_net::clock::nanoseconds(self.config.stay);
        self.cookie(b'p', 0, now.saturating_add(stay), stay / SECOND_NS, secure)
    }

    fn cookie(
        &self,
        kind: u8,
        number: u64,
        until: Nanoseconds,
        max_age_s: u64,
        secure: bool,
    ) -> String {
        let payload = format!("{}{number:x}.{until:x}", char::from(kind));
        let tag = hmac::sign(&self.key, payload.as_bytes());
        let mut cookie = format!("{}={payload}.", self.cookie);
        for byte in tag.as_ref() {
            let _ = write!(cookie, "{byte:02x}");
        }
        let _ = write!(
            cookie,
            "; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Lax"
        );
        if secure {
            cookie.push_str("; Secure");
        }
        cookie
    }

    /// Parses a request's cookie, if this process has signed it and it is still valid.
    fn claim(&self, head: &RequestHead<'_, '_>, now: Nanoseconds) -> Option<Claim> {
        let cookies = head
            .headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case("cookie"))
            .filter_map(|header| std::str::from_utf8(header.value).ok());
        let mut pairs = cookies
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(name, _)| *name == self.cookie)?;
        let (payload, tag) = value.rsplit_once('.')?;
        hmac::verify(&self.key, payload.as_bytes(), &from_hex(tag)?).ok()?;
        let (number, until) = payload.get(1..)?.split_once('.')?;
        let until = u64::from_str_radix(until, 16).ok()?;
        let number = u64::from_str_radix(number, 16).ok()?;
        if until <= now {
            return None;
        }
        Some(if payload.starts_with('p') {
            Claim::Pass(until)
        } else {
            Claim::Place(number)
        })
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| {
            let pair = std::str::from_utf8(pair)
                .ok()
                .filter(|pair| pair.len() == 2)?;
            u8::from_str_radix(pair, 16).ok()
        })
        .collect()
}

#[cfg(test)]
mod tests;
