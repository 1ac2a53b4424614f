//! WebSockets of users that are cut from this side: by a user who drops out of the network, or many at a moment.

use plimsoll_model::journey::Drops;
use plimsoll_model::websocket::SocketCut;
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::VirtualUsers;
use super::user::UserSocket;
use crate::clock::SECOND_NS;

/// How often a user whose WebSocket was cut looks whether it is open again, ns.
const LOOK_AGAIN_NS: u64 = 250_000_000;

impl VirtualUsers {
    /// The WebSocket of a user on this connection is cut, and nobody misses it before `since`. Returns the user's number;
    /// `None` when it has none there.
    pub(crate) fn cut_socket(
        &mut self,
        id: u32,
        connection: u32,
        last_event: String,
        (cut, since): (SocketCut, u64),
    ) -> Option<u64> {
        if !self.socket_lost(id, connection, last_event, since) {
            return None;
        }
        let user = self.users.get_mut(id as usize)?;
        user.socket.as_mut()?.cut = Some(cut);
        Some(user.number)
    }

    /// Why the lost WebSocket of a user was cut, if this side did it.
    pub(crate) fn cut_of(&self, id: u32) -> Option<SocketCut> {
        self.user_socket(id).and_then(UserSocket::cut)
    }

    /// Until when a user waits because its WebSocket was cut and is not back: it does nothing meanwhile.
    #[inline]
    pub(crate) fn waits_until(&self, id: u32, now: u64) -> Option<u64> {
        if !self.cuts_sockets {
            return None;
        }
        let socket = self.user_socket(id).filter(|socket| socket.is_lost())?;
        socket.cut?;
        Some(socket.lost_ns.max(now.saturating_add(LOOK_AGAIN_NS)))
    }

    /// How long the WebSocket of a user stays open until the user drops, ns: a share of the open ones drops in any time.
    pub(crate) fn draw_drop(&mut self, id: u32, drops: &Drops) -> u64 {
        until_drop_ns(drops, &mut self.users[id as usize].random)
    }

    /// How long a user who dropped is away, ns.
    pub(crate) fn draw_away(&mut self, id: u32, drops: &Drops) -> u64 {
        drops.away.draw_ns(&mut self.users[id as usize].random)
    }

    /// Whether a user is among this share of all.
    pub(crate) fn draws_share(&mut self, id: u32, share: f64) -> bool {
        share >= 1.0 || self.users[id as usize].random.random::<f64>() < share
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from a float saturates, and a load does not last for 584 years"
)]
fn until_drop_ns(drops: &Drops, random: &mut Xoshiro256PlusPlus) -> u64 {
    // 1 − u lies in (0, 1], so the logarithm is finite.
    let means = -(1.0 - random.random::<f64>()).ln();
    (means / drops.per_second * SECOND_NS as f64) as u64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::distribution::DurationDistribution;
    use plimsoll_model::seed::Seed;

    use super::*;

    #[test]
    fn a_share_of_the_open_ones_drops_in_any_minute() {
        let drops = Drops {
            per_second: 0.05 / 60.0,
            away: DurationDistribution::Fixed(Duration::ZERO),
        };
        let mut random = Seed(7).generator();
        let drawn: Vec<u64> = (0..40_000)
            .map(|_| until_drop_ns(&drops, &mut random))
            .collect();
        let minute_ns = 60 * SECOND_NS;
        let share = |from: u64| {
            let open = drawn.iter().filter(|&&ns| ns >= from).count() as f64;
            let dropped = drawn
                .iter()
                .filter(|&&ns| (from..from + minute_ns).contains(&ns));
            dropped.count() as f64 / open
        };
        for from in [0, 10 * minute_ns] {
            let found = share(from);
            assert!((found - (1.0 - (-0.05_f64).exp())).abs() < 0.005, "{found}");
        }
    }
}
