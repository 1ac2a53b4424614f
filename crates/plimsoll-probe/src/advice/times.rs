//! Time-outs that do not nest: each must be shorter than the one before it, or work is wasted.
//!
//! The order of components follows from their configurations: where one forwards requests, another listens.

use std::collections::BTreeSet;

use plimsoll_model::component::ComponentKind;
use plimsoll_model::reading::Readings;

use super::Advice;
use super::component_readings::{ComponentReadings, places_of, written};
use crate::collectors::timeouts::{Ends, Hop, Limit, ServerTimeouts, is_at};

/// Maximum number of pieces of advice.
const ADVICE_MAX: usize = 64;
/// Advised inner time-out as a share of the outer one.
const INNER_SHARE: f64 = 0.9;

/// Time-outs of components of this machine that do not nest.
pub(super) fn advice(readings: &Readings, servers: &[ServerTimeouts]) -> Vec<Advice> {
    let mut advice = of_servers(servers);
    advice.extend(statements(servers, readings));
    advice
}

fn of_servers(servers: &[ServerTimeouts]) -> Vec<Advice> {
    let (mut advice, mut names) = (Vec::new(), BTreeSet::new());
    for server in servers {
        let own = client(server).into_iter().chain(head(server));
        let hops = server.hops.iter().flat_map(|hop| {
            let behind = servers.iter().filter(|other| {
                let mut listens = other.listens.iter();
                !std::ptr::eq(*other, server) && listens.any(|listen| is_at(&hop.to, listen))
            });
            let chain = behind.flat_map(move |inner| {
                let both = [nested(server, hop, inner), keepalive(server, hop, inner)];
                both.into_iter().flatten()
            });
            connecting(server, hop).into_iter().chain(chain)
        });
        // Many paths lead to one server.
        advice.extend(
            own.chain(hops)
                .filter(|item| names.insert((item.name.clone(), item.current.clone()))),
        );
    }
    advice.truncate(ADVICE_MAX);
    advice
}

/// A server as it is called.
fn called(server: &ServerTimeouts) -> String {
    let name = if server.name.is_empty() {
        server.listens.first().map_or("", String::as_str)
    } else {
        &server.name
    };
    format!("{} {name}", server.program).trim_end().to_owned()
}

/// A limit with its value and place; an unset limit is marked as its program's default.
fn describe(limit: &Limit) -> String {
    if limit.place.is_empty() {
        format!("{} (by default)", seconds(limit.seconds))
    } else {
        format!("{} ({})", seconds(limit.seconds), limit.place)
    }
}

fn seconds(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{:.0} ms", seconds * 1e3)
    } else {
        format!("{} s", (seconds * 10.0).round() / 10.0)
    }
}

/// An inner time-out below an outer one.
fn below(outer: f64) -> String {
    let inner = outer * INNER_SHARE;
    seconds(if inner >= 2.0 { inner.floor() } else { inner })
}

/// The upstream's time limit must be shorter than the proxy's time-out.
fn nested(outer: &ServerTimeouts, hop: &Hop, inner: &ServerTimeouts) -> Option<Advice> {
    let waits = &hop.waits;
    let (word, current, advised, ok) = match &inner.ends {
        Ends::Unknown => return None,
        Ends::Never(word, file) => (
            *word,
            format!("none{}", written(file)),
            format!(
                "{word} of {}, less than {}",
                below(waits.seconds),
                seconds(waits.seconds)
            ),
            false,
        ),
        Ends::After(limit) => (
            limit.word,
            describe(limit),
            format!(
                "less than {}, or a longer {}",
                seconds(waits.seconds),
                waits.word
            ),
            limit.seconds <= waits.seconds,
        ),
    };
    Some(
        Advice::new(
            format!(
                "{word} of {} behind {} of {}",
                called(inner),
                waits.word,
                called(outer)
            ),
            format!("{current} behind {}", describe(waits)),
            advised,
            ok,
        )
        .because(format!(
            "after {} {} gives up and returns an error (504) to its client; the work that {} still does is wasted, \
             and it occupies a worker that other requests wait for. The cost: requests that really take that long \
             fail; give these a listener of their own, with longer timeouts on the whole path",
            seconds(waits.seconds),
            outer.program,
            inner.program
        )),
    )
}

/// The upstream must keep idle connections longer than the proxy reuses them.
fn keepalive(outer: &ServerTimeouts, hop: &Hop, inner: &ServerTimeouts) -> Option<Advice> {
    let (before, behind) = (hop.keeps.as_ref()?, inner.keeps.as_ref()?);
    Some(
        Advice::new(
            format!(
                "{} of {} behind {} of {}",
                behind.word,
                called(inner),
                before.word,
                called(outer)
            ),
            format!("{} behind {}", describe(behind), describe(before)),
            format!(
                "more than {}, or a shorter {} in the `upstream` of {}",
                seconds(before.seconds),
                before.word,
                outer.program
            ),
            before.seconds < behind.seconds,
        )
        .because(format!(
            "{} sends requests on connections that have been idle for up to {}; {} closes an idle connection after \
             {}: when both happen at once the client receives a 502, occasionally and even without load. The cost: \
             connections are kept a little longer",
            outer.program,
            seconds(before.seconds),
            inner.program,
            seconds(behind.seconds)
        )),
    )
}

/// A connection is established quickly or never: connecting must not use up the time of the response.
fn connecting(outer: &ServerTimeouts, hop: &Hop) -> Option<Advice> {
    let connects = hop.connects.as_ref()?;
    // Where neither is set, both are defaults.
    (!connects.place.is_empty()).then(|| {
        Advice::new(
            format!(
                "{} before {} of {}",
                connects.word,
                hop.waits.word,
                called(outer)
            ),
            format!("{} before {}", describe(connects), describe(&hop.waits)),
            format!("at most {}; 5 s is generous", seconds(hop.waits.seconds)),
            connects.seconds <= hop.waits.seconds,
        )
        .because(
            "a server that does not accept a connection within seconds is down or full; a request that waits for it \
             longer than for a response occupies a slot here, and is sent to another server too late. The cost: \
             none",
        )
    })
}

/// `HAProxy` waits for its client and for its server at the same time.
fn client(server: &ServerTimeouts) -> Option<Advice> {
    let client = server.client.as_ref()?;
    let hops = server.hops.iter().map(|hop| &hop.waits);
    let longest = hops.max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    Some(
        Advice::new(
            format!(
                "{} before {} of {}",
                client.word,
                longest.word,
                called(server)
            ),
            format!("{} before {}", describe(client), describe(longest)),
            format!("{} or more", seconds(longest.seconds)),
            client.seconds >= longest.seconds,
        )
        .because(
            "a client that has sent its request is silent until the response arrives: with a shorter timeout for \
             clients than for servers HAProxy closes the client's connection (termination code cD), and the \
             server's work is wasted. The cost: idle connections are kept longer; `timeout http-keep-alive` limits \
             these separately",
        ),
    )
}

/// The time for the request headers is part of the client time-out.
fn head(server: &ServerTimeouts) -> Option<Advice> {
    let (request, client) = (server.request.as_ref()?, server.client.as_ref()?);
    Some(
        Advice::new(
            format!(
                "{} inside {} of {}",
                request.word,
                client.word,
                called(server)
            ),
            format!("{} inside {}", describe(request), describe(client)),
            format!("at most {}; usually 10 s", seconds(client.seconds)),
            request.seconds <= client.seconds,
        )
        .because(
            "it disconnects clients that send request headers slowly, byte by byte, to hold connections; when it is \
             longer than the timeout of a silent client, it disconnects only the slowest of them. The cost: clients \
             on very slow links are disconnected too",
        ),
    )
}

/// When a database ends a statement: its word, s (0: never), and file.
fn database(readings: &Readings) -> Option<(&'static str, &str, &'static str, f64, String)> {
    use ComponentKind::{Mysql, Postgres};
    let words = [
        (Postgres, Postgres.name(), "statement_timeout", 1e-3),
        (Mysql, Mysql.name(), "max_statement_time", 1.0),
        // Only MySQL has this setting.
        (Mysql, "MySQL", "max_execution_time", 1e-3),
    ];
    let mut all = words.iter().flat_map(|&(kind, name, word, scale)| {
        places_of(readings, kind).into_iter().filter_map(move |at| {
            let component = ComponentReadings { at, readings };
            let (value, file) = component.setting(word, "")?;
            Some((name, at, word, value * scale, file.to_owned()))
        })
    });
    let first = all.next()?;
    // With several databases it is unknown which worker uses which.
    all.next().is_none().then_some(first)
}

/// The innermost: a statement must end before the worker that runs it is killed.
fn statements(servers: &[ServerTimeouts], readings: &Readings) -> Option<Advice> {
    let (name, at, word, ends, file) = database(readings)?;
    // Only applications: a proxy uses no database.
    let limits = servers.iter().filter_map(|server| match &server.ends {
        Ends::After(limit) if server.hops.is_empty() => Some((server, limit)),
        _ => None,
    });
    let (server, limit) = limits.min_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds))?;
    let current = if ends > 0.0 {
        format!("{}{}", seconds(ends), written(&file))
    } else {
        "none".to_owned()
    };
    let inner = limit.seconds * INNER_SHARE;
    let how = match word {
        "statement_timeout" => format!(
            "`ALTER ROLE … SET statement_timeout = '{:.0}ms'` for the role of the application",
            inner * 1e3
        ),
        "max_statement_time" => format!(
            "`max_statement_time = {inner:.0}` under `[mysqld]`, immediately with `SET GLOBAL max_statement_time = \
            {inner:.0}`"
        ),
        _ => format!(
            "`max_execution_time = {:.0}` (ms, for SELECT only) under `[mysqld]`, immediately with `SET GLOBAL \
            max_execution_time = {:.0}`",
            inner * 1e3,
            inner * 1e3
        ),
    };
    Some(
        Advice::new(
            format!(
                "{word} of {name} ({at}) behind {} of {}",
                limit.word,
                called(server)
            ),
            format!("{current} behind {}", describe(limit)),
            format!(
                "{}, less than {}",
                below(limit.seconds),
                seconds(limit.seconds)
            ),
            ends > 0.0 && ends <= limit.seconds,
        )
        .because(format!(
            "after {} {} kills a worker, but the statement that it waited for continues in {name}, with its locks, \
             until it completes: {how}. The cost: statements that need longer fail; reports and migrations should \
             set their own limit",
            seconds(limit.seconds),
            server.program
        )),
    )
}

#[cfg(test)]
mod tests;
