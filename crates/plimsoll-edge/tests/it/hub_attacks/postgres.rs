//! A malicious PostgreSQL.

use plimsoll_config::edge::{HubSource, HubSourceKind};

use super::goes_on;
use super::peers::{Speech, received_to_end, scripted_peer};
use crate::hub::sources::{source, with_source};
use crate::support::ObservedEdge;

#[test]
fn a_server_without_sense_or_end_ends_the_connection_and_learns_no_password() {
    let speeches: Vec<Speech> = vec![
        // It requests only the MD5 of the password, with a salt of its choice.
        (b"R\0\0\0\x0c\0\0\0\x05salt", b""),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", b""),
        // Lengths of 4 GiB, zero, and negative.
        (b"R\xff\xff\xff\xff", &[b'x'; 4096]),
        (b"R\0\0\0\0", &[0; 4096]),
        (b"R\0\0\0\x03", &[0; 4096]),
        // A SASL continuation that was not started.
        (b"R\0\0\0\x08\0\0\0\x0c", b""),
        (b"E\0\0\0\x13MI hate you\x1b[2J\0\0", b""),
    ];
    let count = speeches.len();
    let (address, ended) = scripted_peer(speeches);
    let kind = HubSourceKind::Postgres {
        database: "shop".to_owned(),
    };
    let observed = ObservedEdge::start(&with_source(HubSource {
        user: Some("app".to_owned()),
        password: Some("the-password".to_owned()),
        ..source(kind, address, &["odds"])
    }));
    let message = observed.wait_for_message("is unavailable");
    assert!(
        message.contains("the server stores only the MD5"),
        "{message}"
    );
    for (number, received) in (0..).zip(received_to_end(&ended, count)) {
        let received = String::from_utf8_lossy(&received).into_owned();
        assert!(received.contains("database\0shop"), "{received:?}");
        assert!(!received.contains("the-password"), "{number}: {received:?}");
    }
    goes_on(&observed);
}
