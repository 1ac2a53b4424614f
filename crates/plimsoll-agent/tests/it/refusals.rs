//! Who is not served, and what the reader reads about it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use plimsoll_agent::{AgentError, AgentSpec, Agents};
use plimsoll_peer::{ChannelError, TlsRefusal};

use crate::support::{DAY, RunningAgent};

/// Readers that an agent serves at once.
const READERS_MAX: usize = 8;

fn refusal(spec: AgentSpec) -> AgentError {
    Agents::connect(vec![spec]).unwrap_err()
}

#[test]
fn tokens_of_others_are_refused() {
    let agent = RunningAgent::start("db1");
    let other = RunningAgent::start("db2");
    agent.invite(DAY);
    let error = refusal(agent.spec(vec![other.invite(DAY)]));
    assert!(
        matches!(
            error,
            AgentError::Channel {
                source: ChannelError::Refused(TlsRefusal::OtherCertificate),
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("another certificate"), "{error}");
    let error = refusal(agent.spec(Vec::new()));
    assert!(matches!(error, AgentError::NoToken(_)), "{error}");
}

#[test]
fn a_token_that_was_taken_back_is_refused() {
    let agent = RunningAgent::start("db1");
    let token = agent.invite(DAY);
    let before = std::fs::read_to_string(agent.folder().join("agent.json")).unwrap();
    let later = agent.invite(DAY);
    // As if only the first had ever been invited.
    let path = agent.folder().join("agent.json");
    plimsoll_agent::write_secret(&path, &before).unwrap();
    Agents::connect(vec![agent.spec(vec![token])]).unwrap();
    let error = refusal(agent.spec(vec![later]));
    assert!(
        error.to_string().contains("does not know the token"),
        "{error}"
    );
}

#[test]
fn tokens_end() {
    let agent = RunningAgent::start("db1");
    let error = refusal(agent.spec(vec![agent.invite(Duration::ZERO)]));
    assert!(matches!(error, AgentError::Token { .. }), "{error}");
    assert!(error.to_string().contains("expired"), "{error}");
}

#[test]
fn who_has_no_token_reads_nothing() {
    let agent = RunningAgent::start("db1");
    agent.invite(DAY);
    let mut socket = TcpStream::connect(agent.address()).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    socket.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    // A reset ends it as well as a close.
    let _ = socket.read_to_end(&mut answer);
    assert!(answer.len() <= 7, "an alert at most: {answer:?}");
}

#[test]
fn two_machines_of_one_name_are_refused() {
    let first = RunningAgent::start("db1");
    let second = RunningAgent::start("db1");
    let specs = vec![
        first.spec(vec![first.invite(DAY)]),
        second.spec(vec![second.invite(DAY)]),
    ];
    let error = Agents::connect(specs).unwrap_err();
    assert!(error.to_string().contains("both named db1"), "{error}");
}

#[test]
fn readers_are_bounded() {
    let agent = RunningAgent::start("db1");
    let token = agent.invite(DAY);
    let connect = || Agents::connect(vec![agent.spec(vec![token.clone()])]);
    // Each waits for its run to begin.
    let readers: Vec<Agents> = (0..READERS_MAX).map(|_| connect().unwrap()).collect();
    let error = connect().unwrap_err();
    assert!(error.to_string().contains("serves 8 readers"), "{error}");
    drop(readers);
}

#[test]
fn nothing_listens_there() {
    let mut agent = RunningAgent::start("db1");
    let token = agent.invite(DAY);
    agent.end();
    let error = refusal(agent.spec(vec![token]));
    assert!(matches!(error, AgentError::Unreachable { .. }), "{error}");
}
