//! Messages that a subscriber receives again.

use plimsoll_model::window::Window;

/// Share of the messages received from which it is worth a word.
const SHARE_MIN: f64 = 0.05;
/// Messages in all from which a share is known, and repeated ones per second.
const MESSAGES_MIN: u64 = 200;
const PER_SECOND_MIN: f64 = 1.0;
/// What to do about it.
pub const REMEDY: &str = "send each message once to each subscriber: look for handlers that are registered again with each \
    connection or each render, for a client that is a member of a channel twice, and for two publishers of the same change";

/// Messages that subscribers received although they had them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repetition {
    /// Their share of all messages received.
    pub share: f64,
    /// The same, per second.
    pub per_second: f64,
    /// Bytes per second that they took, by the mean size of a message.
    pub bytes_per_second: f64,
}

/// Repeated messages of these seconds; `None` where there are few. Seconds in which connections were opened again are left
/// out: a subscriber that comes back receives the end of the history again, and rightly.
pub fn repetition(windows: &[&Window]) -> Option<Repetition> {
    let (mut repeated, mut received, mut bytes, mut seconds) = (0, 0, 0, 0_u32);
    for websocket in windows
        .iter()
        .filter_map(|window| window.websocket.as_ref())
    {
        if websocket.reconnected > 0 || websocket.reconnects_failed > 0 {
            continue;
        }
        let channels = websocket.channels.values();
        repeated += channels.map(|channel| channel.duplicates).sum::<u64>();
        received += websocket.messages_in;
        bytes += websocket.bytes_in;
        seconds += 1;
    }
    if received < MESSAGES_MIN {
        return None;
    }
    let per_second = repeated as f64 / f64::from(seconds);
    let share = repeated as f64 / received as f64;
    (share >= SHARE_MIN && per_second >= PER_SECOND_MIN).then(|| Repetition {
        share,
        per_second,
        bytes_per_second: per_second * bytes as f64 / received as f64,
    })
}

impl Repetition {
    /// One sentence with the numbers.
    pub fn sentence(&self) -> String {
        format!(
            "{:.0} % of the messages that subscribers received were messages that they had already received: {:.0} a second, \
             {:.1} kB",
            self.share * 100.0,
            self.per_second,
            self.bytes_per_second / 1e3
        )
    }
}
