//! Who is let in, and what the others learn.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plimsoll_peer::{
    Channel, ChannelError, ClientStream, Hello, Identity, Role, ServerStream, TlsRefusal, Token,
};
use rustls::ServerConfig;

/// Far beyond what a handshake takes: a test that hangs ends.
const TIME_OUT: Duration = Duration::from_secs(20);
const LONGEST: usize = 1_024;
/// Seconds since 1970: in 2100, and in 2001.
const LATER: u64 = 4_102_444_800;
const EARLIER: u64 = 1_000_000_000;

fn limited(socket: TcpStream) -> TcpStream {
    socket.set_read_timeout(Some(TIME_OUT)).unwrap();
    socket.set_write_timeout(Some(TIME_OUT)).unwrap();
    socket
}

/// A server that sends its hello to the first who connects, and gives back what it received.
fn serve(config: Arc<ServerConfig>) -> (SocketAddr, JoinHandle<Result<String, ChannelError>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let mut channel = Channel::<ServerStream>::accept(limited(socket), config, LONGEST)?;
        channel.send(&Hello::of_this_build(Role::Agent))?;
        let other: Hello = channel.receive()?;
        Hello::of_this_build(Role::Agent).judge(&other).unwrap();
        channel.receive()
    });
    (address, thread)
}

fn connect(address: SocketAddr, token: &Token) -> Result<Channel<ClientStream>, ChannelError> {
    let socket = limited(TcpStream::connect(address).unwrap());
    Channel::<ClientStream>::connect(socket, token.client_config().unwrap(), LONGEST)
}

#[test]
fn both_sides_of_an_invitation_speak() {
    let mut identity = Identity::generate().unwrap();
    let token = identity.invite(0, LATER).unwrap();
    let (address, server) = serve(identity.server_config().unwrap());
    let token = Token::parse(&token.to_text()).unwrap();
    let mut channel = connect(address, &token).unwrap();
    let hello: Hello = channel.receive().unwrap();
    let own = Hello::of_this_build(Role::Reader);
    own.judge(&hello).unwrap();
    channel.send(&own).unwrap();
    channel.send(&"good morning").unwrap();
    assert_eq!(server.join().unwrap().unwrap(), "good morning");
}

#[test]
fn an_identity_that_was_stored_is_the_same() {
    let mut identity = Identity::generate().unwrap();
    let token = identity.invite(0, LATER).unwrap();
    let stored = Identity::parse(&identity.to_text()).unwrap();
    let (address, server) = serve(stored.server_config().unwrap());
    let mut channel = connect(address, &token).unwrap();
    let _: Hello = channel.receive().unwrap();
    drop(channel);
    assert!(matches!(server.join().unwrap(), Err(ChannelError::Closed)));
}

#[test]
fn a_token_of_another_server_is_named_by_the_client() {
    let mut identity = Identity::generate().unwrap();
    identity.invite(0, LATER).unwrap();
    let (address, server) = serve(identity.server_config().unwrap());
    let other = Identity::generate().unwrap().invite(0, LATER).unwrap();
    let error = connect(address, &other).unwrap_err();
    assert!(matches!(
        error,
        ChannelError::Refused(TlsRefusal::OtherCertificate)
    ));
    assert!(server.join().unwrap().is_err());
}

#[test]
fn a_token_that_was_taken_back_is_refused_by_an_alert() {
    let mut identity = Identity::generate().unwrap();
    let text = identity.to_text();
    let token = identity.invite(0, LATER).unwrap();
    let without = Identity::parse(&text).unwrap();
    let (address, server) = serve(without.server_config().unwrap());
    let refused = connect(address, &token).and_then(|mut channel| channel.receive::<Hello>());
    assert!(matches!(
        refused,
        Err(ChannelError::Refused(TlsRefusal::UnknownToken))
    ));
    assert!(server.join().unwrap().is_err());
}

#[test]
fn a_token_that_ended_is_refused_by_an_alert() {
    let mut identity = Identity::generate().unwrap();
    let token = identity.invite(0, EARLIER).unwrap();
    let (address, server) = serve(identity.server_config().unwrap());
    let refused = connect(address, &token).and_then(|mut channel| channel.receive::<Hello>());
    assert!(matches!(
        refused,
        Err(ChannelError::Refused(TlsRefusal::ExpiredToken))
    ));
    assert!(server.join().unwrap().is_err());
}

#[test]
fn who_does_not_speak_tls_receives_an_alert_and_no_more() {
    let identity = Identity::generate().unwrap();
    let (address, server) = serve(identity.server_config().unwrap());
    let mut socket = limited(TcpStream::connect(address).unwrap());
    socket.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    // A reset ends it as well as a close.
    let _ = socket.read_to_end(&mut answer);
    drop(socket);
    // A record of TLS with an alert: 21, the version, two bytes.
    assert!(
        answer.is_empty() || (answer[0] == 21 && answer.len() <= 7),
        "{answer:?}"
    );
    assert!(server.join().unwrap().is_err());
}

#[test]
fn a_server_without_tls_is_named() {
    let token = Identity::generate().unwrap().invite(0, LATER).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest);
    });
    let error = connect(address, &token).unwrap_err();
    assert!(
        matches!(error, ChannelError::Refused(TlsRefusal::NotTls)),
        "{error}"
    );
    server.join().unwrap();
}
