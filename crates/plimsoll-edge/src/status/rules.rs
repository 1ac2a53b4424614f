//! What is wrong between two snapshots, with its remedy.

use std::time::{Duration, SystemTime};

use plimsoll_hub_io::hub::HubView;
use plimsoll_net::reason::Reason;
use plimsoll_proxy::balance::health::ServerState;

use super::condition::{ConditionKind, FoundCondition};
use super::format::{count, percent};
use super::window::{ServerRates, Window};
use crate::overview::{HubLimits, PoolView, ServerView, Surroundings};

/// Servers whose failures are below this share are not worth a word.
const FAILED_SHARE_MIN: f64 = 0.01;
/// Failures per second below which a share says little.
const FAILED_RATE_MIN: f64 = 0.5;
/// Share of a limit from which on it is told.
const NEAR_LIMIT: f64 = 0.95;
/// How long before its end a certificate is told.
const EXPIRES_SOON: Duration = Duration::from_hours(14 * 24);

/// All that is wrong; `wall` is the time of the day.
pub(super) fn examine(
    window: &Window<'_>,
    surroundings: &Surroundings,
    wall: SystemTime,
) -> Vec<FoundCondition> {
    let mut found = Vec::new();
    servers(&mut found, window);
    room(&mut found, window);
    memory(&mut found, window, surroundings);
    cache(&mut found, window, surroundings);
    certificates(&mut found, surroundings, wall);
    if let (Some(now), Some(limits)) = (&window.to.hub, surroundings.hub) {
        let empty = HubView::default();
        let before = window.from.hub.as_ref().unwrap_or(&empty);
        hub(&mut found, before, now, limits);
        hub_backends(&mut found, before, now);
    }
    alerts(&mut found, window);
    outward(&mut found, window);
    found
}

fn add(
    found: &mut Vec<FoundCondition>,
    kind: ConditionKind,
    subject: impl Into<String>,
    text: String,
    remedy: &str,
) {
    found.push(FoundCondition {
        kind,
        subject: subject.into(),
        text,
        remedy: remedy.to_owned(),
    });
}

fn servers(found: &mut Vec<FoundCondition>, window: &Window<'_>) {
    for pool in &window.to.pools {
        let is_out = |server: &ServerView| server.state != ServerState::In;
        if !pool.servers.is_empty() && pool.servers.iter().all(is_out) {
            add(
                found,
                ConditionKind::PoolDown,
                &pool.name,
                format!("Pool {} has no server that gets requests", pool.name),
                "Start a server, or end its drain; until then the edge answers with the fallback, stale copies or 503.",
            );
        }
        for server in &pool.servers {
            server_state(found, pool, server);
        }
    }
    for rates in window.servers() {
        server_errors(found, window, rates);
    }
}

fn server_state(found: &mut Vec<FoundCondition>, pool: &PoolView, server: &ServerView) {
    let named = format!("Server {} of pool {}", server.name, pool.name);
    let (kind, text, remedy) = match server.state {
        // A drain is wanted.
        ServerState::In | ServerState::Drained => return,
        ServerState::FailsChecks => (
            ConditionKind::ServerDown,
            format!("{named} fails its health checks"),
            "Look at that server and its log; it gets requests again when its checks pass (`check.rise`).",
        ),
        ServerState::Ejected => (
            ConditionKind::ServerEjected,
            format!("{named} is ejected after failed responses"),
            "Look at that server and its log; it is tried again by itself (`eject.for`).",
        ),
    };
    add(
        found,
        kind,
        format!("{} {}", pool.name, server.name),
        text,
        remedy,
    );
}

fn server_errors(found: &mut Vec<FoundCondition>, window: &Window<'_>, rates: ServerRates) {
    let Some(pool) = window.to.pools.get(rates.pool) else {
        return;
    };
    let Some(server) = pool.servers.get(rates.server) else {
        return;
    };
    let share = rates.failed / rates.answers.max(f64::MIN_POSITIVE);
    if rates.failed < FAILED_RATE_MIN || share < FAILED_SHARE_MIN {
        return;
    }
    add(
        found,
        ConditionKind::ServerErrors,
        format!("{} {}", pool.name, server.name),
        format!(
            "Server {} of pool {} fails {} of its requests",
            server.name,
            pool.name,
            percent(share)
        ),
        "Look at the log of that server; the access log of the edge has the requests.",
    );
}

/// Requests that find no room: answered with the fallback, or turned away.
fn room(found: &mut Vec<FoundCondition>, window: &Window<'_>) {
    let waiting = window.to.pools.iter().filter(|pool| pool.waiting > 0);
    let waiting: Vec<&str> = waiting.map(|pool| pool.name.as_str()).collect();
    let of_pool = match waiting[..] {
        [pool] => format!(" of pool {pool}"),
        _ => String::new(),
    };
    let turned_away = |reason: Reason| {
        let sum = window.own(reason) + window.fell_back(reason);
        (sum > 0).then(|| count(sum as f64 / window.seconds))
    };
    if let Some(rate) = turned_away(Reason::QueueFull) {
        add(
            found,
            ConditionKind::QueueFull,
            "",
            format!("The queue{of_pool} is full: {rate} requests/s find no place"),
            "Add servers or make them faster; raise `max_in_flight` only if they have CPU to spare. `plimsoll limit` finds what limits them.",
        );
    }
    if let Some(rate) = turned_away(Reason::QueueTimeout) {
        add(
            found,
            ConditionKind::QueueTimeout,
            "",
            format!(
                "The queue{of_pool} is too slow: {rate} requests/s wait longer than `queue_timeout`"
            ),
            "Add servers or make them faster. `plimsoll limit` finds what limits them.",
        );
    }
    let is_full = window.count(|overview| overview.memory_full) > 0;
    if let Some(rate) = turned_away(Reason::Shed).filter(|_| !is_full) {
        add(
            found,
            ConditionKind::Shed,
            "",
            format!("{rate} requests/s are shed so that others are served in time"),
            "Add servers or make them faster; `class` of a route says what goes first.",
        );
    }
    let is_down = found
        .iter()
        .any(|condition| condition.kind == ConditionKind::PoolDown);
    if let Some(rate) = turned_away(Reason::NoServer).filter(|_| !is_down) {
        add(
            found,
            ConditionKind::NoServer,
            "",
            format!("{rate} requests/s get no response of a server"),
            "See whether the servers run and are reached from here; the access log has the requests (`reason` is `no-server`).",
        );
    }
}

fn memory(found: &mut Vec<FoundCondition>, window: &Window<'_>, surroundings: &Surroundings) {
    let shed = window.count(|overview| overview.memory_full);
    if shed > 0 {
        add(
            found,
            ConditionKind::MemoryFull,
            "",
            format!(
                "Connections hold as much memory as `limits.memory` permits: {} requests/s are turned away",
                count(shed as f64 / window.seconds)
            ),
            "Raise `limits.memory`, or lower `limits.connections`; slow clients and servers hold it.",
        );
    }
    let connections = window.to.connections as f64;
    let most = surroundings.connections_max as f64;
    let rejected = window.count(|overview| overview.rejected_connections);
    if rejected > 0 && most > 0.0 && connections >= NEAR_LIMIT * most {
        add(
            found,
            ConditionKind::Connections,
            "",
            format!(
                "{} of {} client connections are open, more are rejected",
                count(connections),
                count(most)
            ),
            "Raise `limits.connections` and the limit of open files, or shorten `limits.idle_timeout`.",
        );
    }
}

fn cache(found: &mut Vec<FoundCondition>, window: &Window<'_>, surroundings: &Surroundings) {
    let Some(now) = &window.to.cache else {
        return;
    };
    if surroundings.has_disk && now.disk.is_none() {
        add(
            found,
            ConditionKind::CacheDisk,
            "",
            "The cache does without its folder on disk".to_owned(),
            "The edge's log has the reason; another edge may still use the folder.",
        );
    }
    let before = window
        .from
        .cache
        .as_ref()
        .and_then(|cache| cache.disk.as_ref());
    if let Some(disk) = &now.disk {
        let errors =
            disk.errors - before.map_or(disk.errors, |before| before.errors.min(disk.errors));
        if errors > 0 {
            add(
                found,
                ConditionKind::CacheDiskErrors,
                "",
                format!("The disk of the cache fails: {errors} errors in ten seconds"),
                "Look at the disk (`dmesg`), its free space and the rights of the cache's folder.",
            );
        }
    }
}

fn certificates(found: &mut Vec<FoundCondition>, surroundings: &Surroundings, wall: SystemTime) {
    for (file, until) in &surroundings.certificates {
        match until.duration_since(wall) {
            Err(_) => add(
                found,
                ConditionKind::CertificateExpired,
                file.as_str(),
                format!("The certificate {file} has expired"),
                "Renew it; the edge loads a changed file by itself.",
            ),
            Ok(left) if left < EXPIRES_SOON => add(
                found,
                ConditionKind::CertificateExpires,
                file.as_str(),
                format!("The certificate {file} expires in {}", days(left)),
                "Renew it; the edge loads a changed file by itself.",
            ),
            Ok(_) => {}
        }
    }
}

fn days(left: Duration) -> String {
    let hours = left.as_secs() / 3600;
    match hours {
        0 => "less than an hour".to_owned(),
        1..48 => format!("{hours} h"),
        _ => format!("{} days", hours / 24),
    }
}

fn hub(found: &mut Vec<FoundCondition>, before: &HubView, now: &HubView, limits: HubLimits) {
    if now.channels as f64 >= NEAR_LIMIT * limits.channels as f64 {
        add(
            found,
            ConditionKind::HubChannels,
            "",
            format!(
                "The hub has {} of at most {} channels",
                count(now.channels as f64),
                count(limits.channels as f64)
            ),
            "Raise `hub.most_channels`, or end channels that nobody needs.",
        );
    }
    if now.history_bytes as f64 >= NEAR_LIMIT * limits.history_bytes as f64 {
        add(
            found,
            ConditionKind::HubHistory,
            "",
            "The histories of the hub's channels are full: the oldest messages go".to_owned(),
            "Raise `hub.history_size`, or keep less with `rules`.",
        );
    }
    let dropped = now.dropped.saturating_sub(before.dropped);
    let let_go = now.disconnected.saturating_sub(before.disconnected);
    if dropped + let_go > 0 {
        add(
            found,
            ConditionKind::HubSlowClients,
            "",
            format!(
                "Clients of the hub read too slowly: {} messages dropped, {} clients disconnected in ten seconds",
                count(dropped as f64),
                count(let_go as f64)
            ),
            "Send less often, or conflate (`interval` of a rule); `hub.waiting` is the length of a client's queue.",
        );
    }
}

fn hub_backends(found: &mut Vec<FoundCondition>, before: &HubView, now: &HubView) {
    for source in now.sources.iter().filter(|source| !source.is_there) {
        add(
            found,
            ConditionKind::HubSource,
            source.name.as_str(),
            format!("The hub's source {} is not connected", source.name),
            "See whether it runs and is reached from here; the edge's log has the error, and it tries again by itself.",
        );
    }
    if now.shared.is_some_and(|shared| !shared.is_joined) {
        add(
            found,
            ConditionKind::HubShared,
            "",
            "The hub has lost the broker that it shares with other edges".to_owned(),
            "See whether the broker runs and is reached from here; the edge's log has the error.",
        );
    }
    let down = |view: &HubView| -> u64 {
        let rows = view.hooks.iter().flat_map(|(rows, _)| rows);
        let down = rows.filter(|(_, answer, _)| *answer == "down");
        down.map(|(_, _, count)| count).sum()
    };
    let failed = down(now).saturating_sub(down(before));
    if failed > 0 {
        add(
            found,
            ConditionKind::HubHooks,
            "",
            format!("The application fails the hub's requests: {failed} in ten seconds"),
            "Look at the application's log; `hub.hooks` has its URLs and time limits.",
        );
    }
}

fn alerts(found: &mut Vec<FoundCondition>, window: &Window<'_>) {
    for alert in window
        .to
        .rate_alerts
        .iter()
        .filter(|alert| alert.is_alarmed)
    {
        add(
            found,
            ConditionKind::RateAlert,
            format!("{} {}", alert.kind, alert.name),
            format!(
                "The rate of the {} {} is out of its usual range",
                alert.kind, alert.name
            ),
            "Compare it with the last hour below; the edge's log has the usual range.",
        );
    }
}

/// What the edge writes elsewhere.
fn outward(found: &mut Vec<FoundCondition>, window: &Window<'_>) {
    let lines = window.count(|overview| overview.log_lines_dropped);
    if lines > 0 {
        add(
            found,
            ConditionKind::LogLines,
            "",
            format!("The access log is too slow: {lines} lines dropped in ten seconds"),
            "Look at the disk of the log, or write it to a faster one.",
        );
    }
    let spans = window.count(|overview| overview.spans_dropped + overview.spans_lost);
    if spans > 0 {
        add(
            found,
            ConditionKind::Spans,
            "",
            format!("The collector of traces takes too few: {spans} spans lost in ten seconds"),
            "See whether the collector runs, or lower `traces.share`.",
        );
    }
    if window.count(|overview| overview.webhooks_failed) > 0 {
        add(
            found,
            ConditionKind::Webhooks,
            "",
            "The webhook does not accept rate alerts".to_owned(),
            "The edge's log has the error; `alarm.webhook` has its address.",
        );
    }
}
