//! What a link is: where it listens and forwards, how far it reaches, how often a segment waits.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use plimsoll_model::distribution::DurationDistribution;

use crate::distribution::distribution;
use crate::{Problem, units};

/// Longest mean round trip, and longest wait of a stalled segment.
pub const WAIT_MAX: Duration = Duration::from_mins(1);

const PAIR_VALID: &str = "LISTEN=TO, such as 127.0.0.1:7000=127.0.0.1:3000, with @DELAY or @REGION behind it for a distance \
     of its own: 127.0.0.1:7000=127.0.0.1:3000@80ms";
const LISTEN_VALID: &str = "an IP address and a port, such as 127.0.0.1:7000 or [::1]:7000";
const TO_VALID: &str = "a host and a port, such as 127.0.0.1:3000 or db.internal:5432";
const STALL_VALID: &str = "a share and a time up to 1m, such as 1%:200ms";

/// A listening address and where it leads.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkPair {
    /// The listening address.
    pub listen: SocketAddr,
    /// Host of the target, without the brackets of an IPv6 address.
    pub host: String,
    /// Port of the target.
    pub port: u16,
    /// Its own distance.
    pub distance: Option<LinkDistance>,
}

/// How far a target is.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkDistance {
    /// By a distribution of round trips.
    Delay(DurationDistribution),
    /// From this region, by a table of round trips.
    Region(String),
}

/// Reads `LISTEN=TO`, `LISTEN=TO@80ms` or `LISTEN=TO@japan-east`.
///
/// # Errors
/// When an address, the delay or the form is invalid.
pub fn pair(text: &str) -> Result<LinkPair, Problem> {
    let Some((listen, rest)) = text.split_once('=') else {
        return Err(wrong(text, 0..text.len(), "not a link", PAIR_VALID));
    };
    let (to, distance) = match rest.split_once('@') {
        Some((to, distance)) => (to, Some(distance)),
        None => (rest, None),
    };
    let to_at = listen.len() + 1;
    let listen_at = 0..listen.len();
    let listen = listen.parse().map_err(|_| {
        wrong(
            text,
            listen_at,
            "not an IP address with a port",
            LISTEN_VALID,
        )
    })?;
    let (host, port) = target(to).ok_or_else(|| {
        wrong(
            text,
            to_at..to_at + to.len(),
            "not a host with a port",
            TO_VALID,
        )
    })?;
    let distance = distance
        .map(|written| read_distance(written).map_err(|e| e.within(text, to_at + to.len() + 1)));
    Ok(LinkPair {
        listen,
        host,
        port,
        distance: distance.transpose()?,
    })
}

fn wrong(text: &str, span: Range<usize>, message: &str, valid: &str) -> Problem {
    Problem::new(text, span, message, valid)
}

/// Host and port of `127.0.0.1:3000`, `[::1]:3000` or `db.internal:5432`.
fn target(text: &str) -> Option<(String, u16)> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some((address.ip().to_string(), address.port())).filter(|(_, port)| *port != 0);
    }
    let (host, port) = text.rsplit_once(':')?;
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let port = port.parse().ok().filter(|port: &u16| *port != 0)?;
    (!host.is_empty() && host.chars().all(is_host)).then(|| (host.to_owned(), port))
}

/// A region begins with a letter and has no `:`; everything else is a distribution.
fn read_distance(text: &str) -> Result<LinkDistance, Problem> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(is_name) {
        return Ok(LinkDistance::Region(text.to_owned()));
    }
    delay(text).map(LinkDistance::Delay)
}

/// A distribution of round trips.
///
/// # Errors
/// When it is no distribution, or its mean is above a minute.
pub fn delay(text: &str) -> Result<DurationDistribution, Problem> {
    let delay = distribution(text)?;
    if delay.mean_s() > WAIT_MAX.as_secs_f64() {
        let message = "the mean round trip is above a minute";
        return Err(wrong(text, 0..text.len(), message, "0 to 1m"));
    }
    Ok(delay)
}

/// Reads `1%:200ms`: which share of the segments waits, and for how long.
///
/// # Errors
/// When the share or the time is invalid, the share is 0, or the time is 0 or above a minute.
pub fn stall(text: &str) -> Result<(f64, Duration), Problem> {
    let Some((share, lasting)) = text.split_once(':') else {
        return Err(wrong(text, 0..text.len(), "not a stall", STALL_VALID));
    };
    let lasting_at = share.len() + 1;
    let share_at = 0..share.len();
    let share = units::share(share).map_err(|problem| problem.within(text, 0))?;
    if share <= 0.0 {
        return Err(wrong(text, share_at, "must be above zero", STALL_VALID));
    }
    let lasting =
        units::duration_above_zero(lasting).map_err(|problem| problem.within(text, lasting_at))?;
    if lasting > WAIT_MAX {
        let span = lasting_at..text.len();
        return Err(wrong(text, span, "longer than a minute", STALL_VALID));
    }
    Ok((share, lasting))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn links_are_read() {
        let link = pair("127.0.0.1:7000=db.internal:5432").unwrap();
        assert_eq!(link.listen.port(), 7_000);
        assert_eq!((link.host.as_str(), link.port), ("db.internal", 5_432));
        assert_eq!(link.distance, None);
        let link = pair("[::1]:7000=[::1]:3000@lognormal: [80ms, 0.3]").unwrap();
        assert_eq!((link.host.as_str(), link.port), ("::1", 3_000));
        let delay = DurationDistribution::LogNormal(Duration::from_millis(80), 0.3);
        assert_eq!(link.distance, Some(LinkDistance::Delay(delay)));
        let link = pair("127.0.0.1:0=127.0.0.1:3000@japan-east").unwrap();
        let region = LinkDistance::Region("japan-east".to_owned());
        assert_eq!(link.distance, Some(region));
    }

    #[test]
    fn what_is_no_link_is_named_with_its_place() {
        for (wrong, at) in [
            ("", 0),
            ("127.0.0.1:1", 0),
            ("localhost:1=127.0.0.1:2", 0),
            ("127.0.0.1:1=127.0.0.1", 12),
            ("127.0.0.1:1=127.0.0.1:0", 12),
            ("127.0.0.1:1=http://a:2", 12),
            ("127.0.0.1:1=127.0.0.1:2@", 24),
            ("127.0.0.1:1=127.0.0.1:2@77", 26),
            ("127.0.0.1:1=127.0.0.1:2@2m", 24),
        ] {
            let problem = pair(wrong).unwrap_err();
            assert_eq!(problem.span.start, at, "{wrong}: {problem}");
        }
    }

    #[test]
    fn stalls_are_a_share_and_a_time() {
        assert_eq!(stall("1%:200ms"), Ok((0.01, Duration::from_millis(200))));
        for (wrong, at) in [
            ("1%", 0),
            ("0%:1s", 0),
            ("200%:1s", 0),
            ("1%:0", 3),
            ("1%:2m", 3),
            ("1%:soon", 3),
        ] {
            let problem = stall(wrong).unwrap_err();
            assert_eq!(problem.span.start, at, "{wrong}: {problem}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            let _ = (pair(&text), stall(&text), delay(&text));
        }
    }
}
