//! The end of a connection, without losing its last message.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use plimsoll_peer::{Channel, ChannelError};
use serde::de::IgnoredAny;

/// Sends no more, and reads until the other side has closed, for so many time-outs of the socket at most: a socket that is
/// closed with something unread resets the connection, and what was sent last may be lost.
pub(crate) fn linger<S: Read + Write>(
    channel: &mut Channel<S>,
    socket: impl Fn(&S) -> &TcpStream,
    looks: u32,
) {
    if socket(channel.stream()).shutdown(Shutdown::Write).is_err() {
        return;
    }
    for _ in 0..looks {
        match channel.receive::<IgnoredAny>() {
            Ok(_) | Err(ChannelError::Silent) => {}
            Err(_) => return,
        }
    }
}
