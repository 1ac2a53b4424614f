//! MongoDB, by `serverStatus`.

use plimsoll_model::component::Login;
use plimsoll_model::metric;
use plimsoll_wire::postgres::scram::ScramExchange;

use super::parse::{BsonArgument, BsonValue, Document, answer, command, message_len, number};
use crate::collectors::link::{ComponentLink, ScrapeError};
use crate::collectors::metrics::{MetricsRecorder, Sink};
use crate::collectors::query_error::QueryError;
use crate::collectors::{Collected, Scraper};

/// Default authentication database.
const USERS: &str = "admin";
/// Long sections of the response that are not used.
const WITHOUT: [&str; 5] = [
    "repl",
    "metrics",
    "locks",
    "tcmalloc",
    "logicalSessionRecordCache",
];
/// Error codes of denied access: `Unauthorized`, `AuthenticationFailed`, and that a login is needed first.
const DENIED: [&str; 3] = ["13", "18", "12"];
/// Messages of a login: two, and an empty one where the server sends a final message.
const LOGIN_MESSAGES_MAX: usize = 4;
/// Tickets by kind, and their paths: since 8.0, since 3.0.
const TICKETS: [(&str, [&str; 2]); 2] = [
    (
        "read",
        [
            "queues.execution.read.available",
            "wiredTiger.concurrentTransactions.read.available",
        ],
    ),
    (
        "write",
        [
            "queues.execution.write.available",
            "wiredTiger.concurrentTransactions.write.available",
        ],
    ),
];

/// MongoDB.
#[derive(Debug)]
pub(crate) struct MongoCollector {
    login: Option<Login>,
    id: u32,
}

impl MongoCollector {
    pub(crate) fn new(login: Option<Login>) -> Self {
        Self { login, id: 0 }
    }

    /// Runs a command; a refusal by the server is an error.
    fn run_command(
        &mut self,
        link: &mut ComponentLink,
        words: &[(&str, BsonArgument<'_>)],
    ) -> Result<Document, QueryError> {
        self.id = self.id.wrapping_add(1);
        link.send(&command(self.id, words))?;
        let mut bytes = Vec::new();
        loop {
            if let Some(len) = message_len(&bytes)
                && let Some(message) = bytes.get(..len)
            {
                let read = answer(message).ok_or_else(|| QueryError::strange(message))?;
                if number(&read, "ok") == Some(1.0) {
                    return Ok(read);
                }
                let code = number(&read, "code").unwrap_or(0.0);
                let message = match read.get("errmsg") {
                    Some(BsonValue::Text(text)) => text.clone(),
                    _ => "no".to_owned(),
                };
                return Err(QueryError::Rejected {
                    code: format!("{code:.0}"),
                    message,
                });
            }
            if link.fill(&mut bytes)? == 0 {
                return Err(ScrapeError::Closed.into());
            }
        }
    }

    /// Authenticates by SCRAM-SHA-256, and verifies the server's proof.
    fn enter(&mut self, link: &mut ComponentLink, login: &Login) -> Result<(), QueryError> {
        let refused = |message: &str| QueryError::Rejected {
            code: DENIED[1].to_owned(),
            message: message.to_owned(),
        };
        let users = if login.database.is_empty() {
            USERS
        } else {
            &login.database
        };
        let exchange = ScramExchange::begin_as(&login.user);
        let exchange = exchange.ok_or_else(|| refused("this machine has no random numbers"))?;
        let first = exchange.first();
        let words = [
            ("saslStart", BsonArgument::Number(1)),
            ("mechanism", BsonArgument::Text("SCRAM-SHA-256")),
            ("payload", BsonArgument::Bytes(first.as_bytes())),
            ("$db", BsonArgument::Text(users)),
        ];
        let mut read = self.run_command(link, &words)?;
        let mut challenge = payload(&read);
        let proof = exchange.answer(&challenge, &login.password);
        let proof = proof.ok_or_else(|| refused("its challenge is not supported"))?;
        let mut next = proof.text;
        let mut was_proved = false;
        for _ in 0..LOGIN_MESSAGES_MAX {
            let conversation = number(&read, "conversationId").unwrap_or(1.0);
            let words = [
                ("saslContinue", BsonArgument::Number(1)),
                (
                    "conversationId",
                    BsonArgument::Number(conversation_id(conversation)),
                ),
                ("payload", BsonArgument::Bytes(next.as_bytes())),
                ("$db", BsonArgument::Text(users)),
            ];
            read = self.run_command(link, &words)?;
            challenge = payload(&read);
            was_proved |= challenge == proof.expected;
            if number(&read, "done") == Some(1.0) {
                return if was_proved {
                    Ok(())
                } else {
                    Err(refused("its proof of the password is wrong"))
                };
            }
            next = String::new();
        }
        Err(refused("the login does not complete"))
    }

    fn status(&mut self, link: &mut ComponentLink) -> Result<Document, QueryError> {
        if link.open()?
            && let Some(login) = self.login.clone()
        {
            self.enter(link, &login)?;
        }
        let without = WITHOUT
            .iter()
            .map(|section| (*section, BsonArgument::Number(0)));
        let words: Vec<(&str, BsonArgument<'_>)> =
            std::iter::once(("serverStatus", BsonArgument::Number(1)))
                .chain(without)
                .chain([("$db", BsonArgument::Text(USERS))])
                .collect();
        self.run_command(link, &words)
    }
}

/// The payload of a login message.
fn payload(read: &Document) -> String {
    match read.get("payload") {
        Some(BsonValue::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        Some(BsonValue::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the number of a conversation, which the server counts from 1"
)]
fn conversation_id(number: f64) -> i32 {
    number as i32
}

fn record(status: &Document, metrics: &mut MetricsRecorder<'_>) {
    let level = |name: &str| number(status, name);
    if let Some(pid) = level("pid") {
        metrics.identity(&format!("{pid:.0}"));
    }
    for (kind, places) in TICKETS {
        let free = places.iter().find_map(|place| level(place));
        metrics.level(metric::MONGO_TICKETS, &[("kind", kind)], free);
    }
    metrics.level(
        metric::MONGO_QUEUE,
        &[],
        level("globalLock.currentQueue.total"),
    );
    metrics.level(
        metric::MONGO_ACTIVE,
        &[],
        level("globalLock.activeClients.total"),
    );
    metrics.level(metric::MONGO_CONNECTIONS, &[], level("connections.current"));
    let places = level("connections.current").zip(level("connections.available"));
    metrics.setting(
        "maxIncomingConnections",
        "",
        "",
        places.map(|(used, free)| used + free),
    );
    for kind in ["query", "insert", "update", "delete", "getmore", "command"] {
        let all = level(&format!("opcounters.{kind}")).map(crate::parse::whole);
        metrics.counter(metric::MONGO_OPERATIONS, &[("kind", kind)], all, 1.0);
    }
    let read = level("wiredTiger.cache.pages read into cache").map(crate::parse::whole);
    metrics.counter(metric::MONGO_PAGES_READ, &[], read, 1.0);
}

impl Scraper for MongoCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let status = self.status(link);
        let status = status.map_err(|error| error.into_scrape_error(&DENIED))?;
        record(&status, sink.answered());
        Ok(())
    }

    fn remedy(&self, error: &ScrapeError) -> String {
        match error {
            ScrapeError::Denied(_) => "as its administrator: `db.getSiblingDB('admin').createUser({ user: 'plimsoll', pwd: 'PASSWORD', roles: \
                ['clusterMonitor'] })`, and give name and password: `watch: { mongodb: mongodb://plimsoll:PASSWORD@127.0.0.1:27017 }`"
                .to_owned(),
            _ => "name the address it listens on, `net.port` in /etc/mongod.conf: `watch: { mongodb: \
                127.0.0.1:27017 }`; TLS is not supported"
                .to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::parse::tests::{bson, message};
    use super::*;
    use crate::collectors::WatchedGauges;
    use crate::meter::Meter;

    /// Built from the manual's description of `serverStatus`: no package registry here has a server.
    #[test]
    fn tickets_queue_and_operations_are_told() {
        let mut meter = Meter::default();
        let (mut identity, mut was_restarted, mut notes) = (None, false, Vec::new());
        let mut readings = BTreeMap::new();
        for (second, queries) in [(1, 100.0), (2, 150.0)] {
            let values = [
                ("pid", 7.0),
                ("globalLock.currentQueue.total", 12.0),
                ("wiredTiger.concurrentTransactions.read.available", 0.0),
                ("wiredTiger.concurrentTransactions.write.available", 128.0),
                ("connections.current", 40.0),
                ("connections.available", 60.0),
                ("opcounters.query", queries),
                ("ok", 1.0),
            ];
            meter.begin(second * 1_000_000_000);
            let mut metrics = MetricsRecorder {
                meter: &mut meter,
                gauges: &WatchedGauges::default(),
                at: "db:1",
                identity: &mut identity,
                was_restarted: &mut was_restarted,
                notes: &mut notes,
            };
            let status = answer(&message(&bson(&values))).unwrap();
            record(&status, &mut metrics);
            readings = meter.finish(0).values;
        }
        let of = |metric: &str, name: &str, value: &str| {
            let labels = [("at", "db:1"), (name, value)];
            metric::series(metric, &labels[..if name.is_empty() { 1 } else { 2 }])
        };
        for (series, right) in [
            (of(metric::MONGO_TICKETS, "kind", "read"), 0.0),
            (of(metric::MONGO_TICKETS, "kind", "write"), 128.0),
            (of(metric::MONGO_QUEUE, "", ""), 12.0),
            (of(metric::MONGO_OPERATIONS, "kind", "query"), 50.0),
            (
                of(metric::SETTING, "setting", "maxIncomingConnections"),
                100.0,
            ),
        ] {
            assert_eq!(
                readings.get(&series),
                Some(&right),
                "{series}: {readings:#?}"
            );
        }
    }
}
