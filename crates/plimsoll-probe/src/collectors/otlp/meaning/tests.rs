//! Spans by the conventions as they are and as they were.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;

fn span(kind: SpanKind, parent: u64, name: &str, own: &[(&'static str, &str)]) -> OtlpSpan {
    let own = own.iter().map(|&(name, value)| (name, value.to_owned()));
    OtlpSpan {
        service: Arc::from("shop"),
        trace: 1,
        id: 2,
        parent,
        kind,
        name: name.to_owned(),
        start_ns: 0,
        end_ns: 1,
        is_error: false,
        attributes: own.collect(),
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of spans")]
fn conventions_old_and_new_tell_the_same() {
    use SpanKind::{Client, Consumer, Internal, Producer, Server};

    for (kind, parent, name, own, role, right) in [
        (
            Server,
            0,
            "GET",
            &[
                ("http.request.method", "GET"),
                ("http.route", "/orders/{id}"),
            ][..],
            SpanRole::Entry,
            "GET /orders/:id",
        ),
        (
            Server,
            7,
            "GET",
            &[("http.method", "GET"), ("http.target", "/orders/4711?x=1")],
            SpanRole::Entry,
            "GET /orders/:id",
        ),
        (
            Client,
            7,
            "pg.query:SELECT shop",
            &[
                ("db.system", "postgresql"),
                ("net.peer.name", "db"),
                ("net.peer.port", "5432"),
                ("db.statement", "SELECT 1"),
            ],
            SpanRole::Database,
            "postgresql db:5432",
        ),
        (
            Client,
            7,
            "SELECT",
            &[
                ("db.system.name", "postgresql"),
                ("db.namespace", "shop"),
                ("db.query.text", "SELECT 2"),
            ],
            SpanRole::Database,
            "postgresql shop",
        ),
        (
            Internal,
            7,
            "pg-pool.connect",
            &[("db.system", "postgresql")],
            SpanRole::Connecting,
            "postgresql; connecting",
        ),
        (
            Client,
            7,
            "GET",
            &[("db.system", "redis"), ("db.statement", "GET k1")],
            SpanRole::Cache,
            "redis",
        ),
        (
            Client,
            7,
            "GET",
            &[
                ("http.request.method", "GET"),
                ("url.full", "http://me:secret@rates:8080/eur"),
            ],
            SpanRole::Http,
            "rates:8080",
        ),
        (
            Client,
            7,
            "shop.Rates/Get",
            &[("rpc.system", "grpc"), ("rpc.service", "shop.Rates")],
            SpanRole::Rpc,
            "shop.Rates",
        ),
        (
            Producer,
            7,
            "mails publish",
            &[
                ("messaging.system", "kafka"),
                ("messaging.destination", "mails"),
            ],
            SpanRole::Messaging,
            "kafka mails",
        ),
        (
            Consumer,
            7,
            "mails process",
            &[
                ("messaging.system", "kafka"),
                ("messaging.destination.name", "mails"),
            ],
            SpanRole::Entry,
            "kafka mails",
        ),
        (
            Internal,
            7,
            "fs readFile",
            &[],
            SpanRole::Step,
            "fs readFile",
        ),
        (Internal, 0, "nightly", &[], SpanRole::Entry, "nightly"),
    ] {
        let meaning = of(&span(kind, parent, name, own));
        assert_eq!(
            (meaning.role, meaning.name.as_str()),
            (role, right),
            "{own:?}"
        );
    }
}

#[test]
fn statements_frames_and_refusals_are_told() {
    let statement = |text: &str| {
        let own = [("db.system", "mysql"), ("db.statement", text)];
        of(&span(SpanKind::Client, 7, "x", &own))
    };
    let right = "SELECT a FROM t WHERE id = ?";
    let meaning = statement("SELECT a FROM t WHERE id = 4711");
    assert_eq!(meaning.statement.as_deref(), Some(right));
    assert_eq!(statement("begin").frame, Some(TransactionBoundary::Begin));
    assert_eq!(statement("COMMIT").frame, Some(TransactionBoundary::End));
    let own = [
        ("db.system", "mongodb"),
        ("db.operation", "find"),
        ("db.sql.table", "users"),
    ];
    let meaning = of(&span(SpanKind::Client, 7, "x", &own));
    assert_eq!(meaning.statement.as_deref(), Some("find users"));
    for (name, status, right) in [
        (
            "http.response.status_code",
            "429",
            Some(CallRefusal::TooMany),
        ),
        ("http.status_code", "503", Some(CallRefusal::Unavailable)),
        ("http.status_code", "404", None),
    ] {
        let own = [("http.method", "GET"), ("http.host", "a:1"), (name, status)];
        let meaning = of(&span(SpanKind::Client, 7, "x", &own));
        assert_eq!(
            (meaning.refusal, meaning.is_failed),
            (right, true),
            "{status}"
        );
        let meaning = of(&span(SpanKind::Server, 7, "x", &own));
        assert_eq!(
            (meaning.refusal, meaning.is_failed),
            (None, status == "503")
        );
    }
}

#[test]
fn ids_are_left_out_of_names() {
    for (name, right) in [
        ("/users/12/orders?page=3", "/users/:id/orders"),
        ("/f/0b9d6a1e-55c0-4c3e-a8f0-0123456789ab", "/f/:id"),
        ("/facade/defaced", "/facade/defaced"),
        ("/", "/"),
        ("", ""),
    ] {
        assert_eq!(plain(name), right);
    }
}

proptest! {
    #[test]
    fn no_texts_are_too_strange(name in ".{0,300}", value in ".{0,40}", which in 0_usize..6) {
        let key = ["http.url", "http.target", "db.statement", "http.host", "rpc.service", "db.system"][which];
        for kind in [SpanKind::Server, SpanKind::Client, SpanKind::Internal] {
            let meaning = of(&span(kind, 1, &name, &[(key, &value), ("http.method", "GET")]));
            prop_assert!(meaning.name.len() <= NAME_LEN_MAX + '…'.len_utf8());
        }
    }
}
