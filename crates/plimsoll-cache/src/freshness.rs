//! Freshness lifetime and age of a response (RFC 9111, 4.2).

use httparse::Header;

use crate::answer::{OriginExchange, OriginResponse};
use crate::date;
use crate::directives::Directives;
use crate::fields::{decimal, first, lines, members};
use crate::moment::Moment;

/// Source of a lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifetimeSource {
    /// `s-maxage`.
    SharedMaxAge,
    /// `max-age`.
    MaxAge,
    /// `Expires`.
    Expires,
    /// A tenth of the time since `Last-Modified`.
    Heuristic,
    /// The route's minimum lifetime.
    Minimum,
    /// The route's lifetime for this status.
    ByStatus,
    /// No lifetime.
    Nothing,
}

impl LifetimeSource {
    /// Its name in explanations.
    pub fn word(self) -> &'static str {
        match self {
            Self::SharedMaxAge => "s-maxage",
            Self::MaxAge => "max-age",
            Self::Expires => "Expires",
            Self::Heuristic => "a tenth of the time since Last-Modified",
            Self::Minimum => "the route's minimum lifetime",
            Self::ByStatus => "the route's lifetime for this status",
            Self::Nothing => "nothing",
        }
    }

    /// The response fields that contain it; the first that is present counts.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Self::SharedMaxAge | Self::MaxAge => &["cdn-cache-control", "cache-control"],
            Self::Expires => &["expires"],
            Self::Heuristic => &["last-modified"],
            Self::Minimum | Self::ByStatus | Self::Nothing => &[],
        }
    }
}

/// Freshness lifetime of a response, from its date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreshnessLifetime {
    /// Seconds.
    pub seconds: u32,
    /// Its source.
    pub source: LifetimeSource,
}

impl FreshnessLifetime {
    /// Zero.
    pub const NOTHING: Self = Self {
        seconds: 0,
        source: LifetimeSource::Nothing,
    };
}

/// The explicit lifetime (RFC 9111, 4.2.1): `s-maxage`, else `max-age`, else `Expires` less `Date`. `None` without any
/// of them.
pub fn explicit(
    answer: &OriginResponse<'_, '_>,
    directives: &Directives,
    exchange: &OriginExchange,
) -> Option<FreshnessLifetime> {
    let of = |seconds, source| Some(FreshnessLifetime { seconds, source });
    if let Some(seconds) = directives.s_maxage {
        return of(seconds, LifetimeSource::SharedMaxAge);
    }
    if let Some(seconds) = directives.max_age {
        return of(seconds, LifetimeSource::MaxAge);
    }
    if directives.targeted {
        return None;
    }
    let received = exchange.received_at.seconds();
    let date = made(answer.headers, received);
    // An invalid one counts as past (RFC 9111, 5.3), and of several the earliest counts.
    let expires = lines(answer.headers, "expires")
        .map(|line| date::parse(line, received).unwrap_or(i64::MIN))
        .min()?;
    let left = expires.saturating_sub(date).max(0);
    of(
        u32::try_from(left).unwrap_or(u32::MAX),
        LifetimeSource::Expires,
    )
}

/// The heuristic lifetime without an explicit one (RFC 9111, 4.2.2): a tenth of the time since the last change, at most
/// `seconds_max`, for statuses that the standard names and for `public` responses.
pub fn heuristic(
    answer: &OriginResponse<'_, '_>,
    directives: &Directives,
    exchange: &OriginExchange,
    seconds_max: u32,
) -> Option<FreshnessLifetime> {
    if seconds_max == 0 || !(is_heuristic(answer.status) || directives.public) {
        return None;
    }
    let received = exchange.received_at.seconds();
    let modified = date::parse(first(answer.headers, "last-modified")?, received)?;
    let unchanged = made(answer.headers, received).saturating_sub(modified);
    let tenth = u32::try_from(unchanged.max(0) / 10).unwrap_or(u32::MAX);
    (tenth > 0).then_some(FreshnessLifetime {
        seconds: tenth.min(seconds_max),
        source: LifetimeSource::Heuristic,
    })
}

/// Heuristically cacheable statuses (RFC 9110, 15.1), except 206.
pub(crate) fn is_heuristic(status: u16) -> bool {
    matches!(
        status,
        200 | 203 | 204 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501
    )
}

/// When the response was generated, seconds since 1970: its `Date`, or its arrival.
pub fn made(answer: &[Header<'_>], received: i64) -> i64 {
    first(answer, "date")
        .and_then(|date| date::parse(date, received))
        .unwrap_or(received)
}

/// Age of a response on arrival, seconds: `corrected_initial_age` of RFC 9111, 4.2.3.
///
/// Both dates and the standard's arithmetic use whole seconds: a difference of one between two truncated clocks is no
/// age, and would consume the whole lifetime of a page that lives for one second.
pub fn initial_age(answer: &[Header<'_>], exchange: &OriginExchange) -> u32 {
    let received = exchange.received_at.seconds();
    let apparent = match received.saturating_sub(made(answer, received)) {
        ..=1 => 0,
        seconds => u32::try_from(seconds).unwrap_or(u32::MAX),
    };
    let delay = exchange.received_at.since(exchange.requested_at) / 1000;
    let delay = u32::try_from(delay).unwrap_or(u32::MAX);
    apparent.max(age_value(answer).saturating_add(delay))
}

/// Age at `now` of a response that was `initial` seconds old on arrival: `current_age` of RFC 9111, 4.2.3.
pub fn current_age(initial: u32, received_at: Moment, now: Moment) -> u32 {
    let resident = now.since(received_at) / 1000;
    initial.saturating_add(u32::try_from(resident).unwrap_or(u32::MAX))
}

/// The number in `Age`: the first of several, none if it is not a number (RFC 9111, 5.1). Invalid parameters are
/// ignored.
fn age_value(answer: &[Header<'_>]) -> u32 {
    first(answer, "age")
        .and_then(|line| members(line).next())
        .and_then(|member| member.split(|&byte| byte == b';').next())
        .and_then(|number| decimal(number.trim_ascii()))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_fixtures::headers;

    /// 1994-11-06 08:49:37, and a little later.
    const RECEIVED: Moment = Moment::from_ms(784_111_777_900);

    fn exchange(delay_ms: u64) -> OriginExchange {
        OriginExchange {
            requested_at: Moment::from_ms(RECEIVED.ms() - delay_ms),
            received_at: RECEIVED,
            chance: 0,
        }
    }

    const NOW: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:27 GMT";
    const LATER: &str = "Sun, 06 Nov 1994 08:49:57 GMT";
    const DAY_BEFORE: &str = "Sat, 05 Nov 1994 08:49:37 GMT";

    #[track_caller]
    fn check_explicit(lines: &[(&str, &str)], expected: Option<(u32, LifetimeSource)>) {
        let headers = headers(lines);
        let answer = OriginResponse {
            status: 200,
            reason: "OK",
            headers: &headers,
        };
        let found = explicit(&answer, &Directives::of(&headers), &exchange(0));
        let found = found.map(|lifetime| (lifetime.seconds, lifetime.source));
        assert_eq!(found, expected, "{lines:?}");
    }

    #[test]
    fn what_is_said_of_the_lifetime_has_an_order() {
        let control = "Cache-Control";
        let (date, expires) = (("Date", NOW), ("Expires", LATER));
        let of = |seconds, source| Some((seconds, source));
        check_explicit(
            &[(control, "max-age=1, s-maxage=9"), expires],
            of(9, LifetimeSource::SharedMaxAge),
        );
        check_explicit(
            &[(control, "max-age=0"), expires, date],
            of(0, LifetimeSource::MaxAge),
        );
        check_explicit(&[expires, date], of(20, LifetimeSource::Expires));
        check_explicit(
            &[expires, ("Date", BEFORE)],
            of(30, LifetimeSource::Expires),
        );
        check_explicit(&[expires, ("Date", "foo")], of(20, LifetimeSource::Expires));
        check_explicit(&[expires], of(20, LifetimeSource::Expires));
        check_explicit(
            &[("Expires", NOW), ("Date", LATER)],
            of(0, LifetimeSource::Expires),
        );
        check_explicit(&[("Expires", "0")], of(0, LifetimeSource::Expires));
        check_explicit(&[expires, ("Expires", "0")], of(0, LifetimeSource::Expires));
        check_explicit(
            &[("CDN-Cache-Control", "x"), (control, "max-age=1"), expires],
            None,
        );
        check_explicit(&[date], None);
    }

    #[test]
    fn a_lifetime_is_guessed_where_the_standard_allows_it() {
        let guess = |status, lines: &[(&str, &str)]| {
            let headers = headers(lines);
            let answer = OriginResponse {
                status,
                reason: "",
                headers: &headers,
            };
            heuristic(&answer, &Directives::of(&headers), &exchange(0), 10_000)
                .map(|lifetime| lifetime.seconds)
        };
        let modified = ("Last-Modified", DAY_BEFORE);
        for status in [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501] {
            assert_eq!(guess(status, &[modified]), Some(8_640), "{status}");
        }
        for status in [
            201, 202, 206, 302, 303, 307, 400, 403, 500, 502, 503, 504, 599,
        ] {
            assert_eq!(guess(status, &[modified]), None, "{status}");
            let public = [modified, ("Cache-Control", "public")];
            assert_eq!(guess(status, &public), Some(8_640), "{status}");
        }
        assert_eq!(guess(200, &[("Last-Modified", LATER)]), None);
        assert_eq!(guess(200, &[("Last-Modified", "yesterday")]), None);
        assert_eq!(guess(200, &[]), None);
        let old = ("Last-Modified", "Sun, 06 Nov 1904 08:49:37 GMT");
        assert_eq!(guess(200, &[old]), Some(10_000));
    }

    #[track_caller]
    fn check_age(lines: &[(&str, &str)], delay_ms: u64, expected: u32) {
        assert_eq!(
            initial_age(&headers(lines), &exchange(delay_ms)),
            expected,
            "{lines:?}"
        );
    }

    #[test]
    fn age_is_the_greater_of_what_clocks_and_caches_say() {
        check_age(&[], 0, 0);
        check_age(&[("Date", NOW)], 0, 0);
        check_age(&[("Date", "Sun, 06 Nov 1994 08:49:36 GMT")], 0, 0);
        check_age(&[("Date", "Sun, 06 Nov 1994 08:49:35 GMT")], 0, 2);
        check_age(&[("Date", BEFORE)], 0, 10);
        check_age(&[("Date", LATER)], 0, 0);
        check_age(&[("Date", BEFORE), ("Age", "25")], 0, 25);
        check_age(&[("Age", "25")], 200, 25);
        check_age(&[("Age", "25")], 3_100, 28);
        check_age(&[("Age", "4294967295")], 3_100, u32::MAX);
        check_age(&[("Age", "2147483649")], 0, 2_147_483_649);
    }

    #[test]
    fn an_age_that_is_no_number_counts_for_nothing() {
        for (value, expected) in [
            ("abc", 0),
            ("-7200", 0),
            ("7200.0", 0),
            ("7200;foo=bar", 7_200),
            ("7200 ; foo=bar", 7_200),
            (";7200", 0),
            ("7200, 0", 7_200),
            ("0, 7200", 0),
            ("", 0),
        ] {
            check_age(&[("Age", value)], 0, expected);
        }
        check_age(&[("Age", "7200"), ("Age", "0")], 0, 7_200);
        check_age(&[("Age", "0"), ("Age", "7200")], 0, 0);
    }

    proptest! {
        /// Compared with the standard's formula, which may be a second greater because of truncation.
        #[test]
        fn age_is_that_of_the_formula(date in 0_u64..2_000, age: u16, delay in 0_u64..100_000) {
            let date_at = RECEIVED.ms() / 1000 - 1_000 + date;
            let written = httpdate::fmt_http_date(
                std::time::UNIX_EPOCH + std::time::Duration::from_secs(date_at),
            );
            let age_text = age.to_string();
            let headers = headers(&[("Date", &written), ("Age", &age_text)]);
            let apparent = 1_000_u64.saturating_sub(date);
            let corrected = u64::from(age) + delay / 1000;
            let formula = apparent.max(corrected);
            let ours = u64::from(initial_age(&headers, &exchange(delay)));
            prop_assert!(ours == formula || (formula == 1 && ours == 0));
        }
    }
}
