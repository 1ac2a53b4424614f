//! Presets of application protocols on WebSockets: handshake, keep-alive and message format.

use std::time::Duration;

use plimsoll_model::journey::{Expectation, Layout, TextMatch, TextPiece, TextTemplate};

use super::{PresetDefaults, contains, literal, with_value};
use crate::document::{Choice, one_of};

/// An application protocol on a WebSocket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Preset {
    /// No preset.
    #[default]
    Plain,
    /// Socket.IO 5 over Engine.IO 4 (socket.io-protocol 5, engine.io-protocol 4).
    SocketIo,
    /// GraphQL over WebSocket, `graphql-transport-ws`.
    Graphql,
    /// STOMP 1.2.
    Stomp,
    /// Phoenix channels, serializer 2.0.
    Phoenix,
    /// Centrifugo's JSON protocol.
    Centrifugo,
}

/// The key `preset`: its words.
pub(crate) const PRESET: Choice<Preset> = one_of![
    "socket.io" => Preset::SocketIo,
    "graphql" => Preset::Graphql,
    "stomp" => Preset::Stomp,
    "phoenix" => Preset::Phoenix,
    "centrifugo" => Preset::Centrifugo,
];

impl Preset {
    pub(super) fn socket(self) -> PresetDefaults {
        let plain = PresetDefaults {
            protocols: String::new(),
            first: None,
            ready: Vec::new(),
            replies: Vec::new(),
            beat: None,
            layout: Layout::Plain,
            query: None,
        };
        let reply = |to: &str, with: &str| vec![(to.to_owned(), with.to_owned())];
        match self {
            Self::Plain => plain,
            // Packets of Engine.IO are numbers before the text: 0 open, 2 ping, 3 pong, 4 message; those of Socket.IO
            // follow: 40 connect, 42 event, 43 acknowledgement.
            Self::SocketIo => PresetDefaults {
                first: Some(literal("40")),
                ready: vec![Expectation::Body(TextMatch::Regex("^40".to_owned()))],
                replies: reply("2", "3"),
                layout: Layout::AfterNumber,
                query: Some(("EIO=", "EIO=4&transport=websocket")),
                ..plain
            },
            Self::Graphql => PresetDefaults {
                protocols: "graphql-transport-ws".to_owned(),
                first: Some(literal(r#"{"type":"connection_init"}"#)),
                ready: vec![with_value("$.type", "connection_ack")],
                replies: reply(r#"{"type":"ping"}"#, r#"{"type":"pong"}"#),
                ..plain
            },
            // No heart-beats are offered, so none have to be sent.
            Self::Stomp => PresetDefaults {
                protocols: "v12.stomp".to_owned(),
                first: Some(literal(
                    "CONNECT\naccept-version:1.2\nhost:/\nheart-beat:0,0\n\n\0",
                )),
                ready: contains("CONNECTED"),
                layout: Layout::AfterHead,
                ..plain
            },
            // The server closes connections without a heartbeat for 60 s. Messages: [join, ref, topic, event, payload].
            Self::Phoenix => PresetDefaults {
                beat: Some((
                    Duration::from_secs(30),
                    r#"[null,"beat","phoenix","heartbeat",{}]"#.to_owned(),
                )),
                query: Some(("vsn=", "vsn=2.0.0")),
                ..plain
            },
            // An empty command answers the server's empty ping, which may come together with other messages.
            Self::Centrifugo => PresetDefaults {
                first: Some(literal(r#"{"id":1,"connect":{}}"#)),
                ready: contains("\"connect\""),
                replies: reply("{}", "{}"),
                layout: Layout::Lines,
                ..plain
            },
        }
    }
}

impl PresetDefaults {
    /// A URL with the query parameters of the protocol.
    pub(super) fn address(&self, mut url: TextTemplate) -> TextTemplate {
        let Some((known, query)) = self.query else {
            return url;
        };
        let has = |text: &str| {
            let mut pieces = url.pieces.iter();
            pieces.any(|piece| matches!(piece, TextPiece::Literal(part) if part.contains(text)))
        };
        if has(known) {
            return url;
        }
        let more = format!("{}{query}", if has("?") { '&' } else { '?' });
        if let Some(TextPiece::Literal(last)) = url.pieces.last_mut() {
            last.push_str(&more);
        } else {
            url.pieces.push(TextPiece::Literal(more));
        }
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_what_its_protocol_wants_once() {
        let socket_io = Preset::SocketIo.socket();
        let check = |url: &str, expected: &str| {
            assert_eq!(
                socket_io.address(TextTemplate::literal(url)),
                TextTemplate::literal(expected)
            );
        };
        check("/socket.io/", "/socket.io/?EIO=4&transport=websocket");
        check("/s?a=b", "/s?a=b&EIO=4&transport=websocket");
        check(
            "/s?EIO=4&transport=websocket",
            "/s?EIO=4&transport=websocket",
        );
        let plain = Preset::Plain.socket();
        assert_eq!(
            plain.address(TextTemplate::literal("/live")),
            TextTemplate::literal("/live")
        );
    }
}
