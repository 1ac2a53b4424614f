//! Keys of the hub.

use super::{RATE, SERVER_TLS};
use crate::document::Shape::{
    Count, Duration, Either, ListOf, MapOf, Of, OneOf, OneOrMore, Rate, Size, Switch, Text,
};
use crate::document::{KeywordTable, word};

/// The hub.
pub(crate) static HUB: KeywordTable = KeywordTable {
    name: "hub",
    meaning: "WebSocket hub: channels that browsers subscribe to. `hub: /live` selects all defaults: every client may read every channel.",
    words: &[
        word!(
            "path",
            Text,
            "Path of the hub, for WebSockets and Server-Sent Events: `/live`."
        ),
        word!(
            "publish_token",
            Text,
            "Token of publishers at the admin endpoint, sent as `Authorization: Bearer TOKEN`. Default: the token of the admin endpoint."
        ),
        word!(
            "tokens",
            Of(&HUB_TOKENS),
            "Signed tokens that authorize clients. Without them, every client may read every channel."
        ),
        word!(
            "origins",
            OneOrMore(&Text),
            "Allowed origins (`https://a.example`) besides the origin of the hub itself; `*` allows all."
        ),
        word!(
            "channels",
            ListOf(&Of(&HUB_CHANNELS)),
            "Rules for channels; the first whose pattern matches applies."
        ),
        word!(
            "slow",
            OneOf(&["newest", "drop", "disconnect"]),
            "Backpressure: what happens to a client that reads too slowly. Older messages of a channel are replaced by newer ones, new ones are dropped, or the client is disconnected and may reconnect. Default: `newest`."
        ),
        word!(
            "waiting",
            Count(1, 100_000),
            "Maximum queued messages per client. Default: 64."
        ),
        word!(
            "waiting_size",
            Size,
            "Maximum queued bytes per client, 1KiB to 64MiB. Default: 256KiB."
        ),
        word!(
            "subscriptions",
            Count(1, 100_000),
            "Maximum subscriptions per client. Default: 100."
        ),
        word!(
            "commands",
            Of(&RATE),
            "Rate limit of messages from a client; a client that continues to exceed it is disconnected. Default: 10/s, 100 at once."
        ),
        word!(
            "message",
            Size,
            "Maximum size of a message from a client, 128 bytes to 16MiB. Default: 64KiB."
        ),
        word!(
            "ping",
            Duration,
            "Ping interval; a client that has not replied by the next ping is disconnected. Default: 25s."
        ),
        word!(
            "compress",
            Switch,
            "Whether messages of 128 bytes and more are compressed, once for all clients that accept it (permessage-deflate). Default: false."
        ),
        word!(
            "most_channels",
            Count(1, 10_000_000),
            "Maximum number of channels. Default: 1000000."
        ),
        word!(
            "history_size",
            Size,
            "Total size of the histories of all channels, 64KiB to 64GiB. Default: 64MiB."
        ),
        word!(
            "mercure",
            Switch,
            "Whether Mercure subscribers and publishers are served at `/.well-known/mercure`, with the same tokens. Default: false."
        ),
        word!(
            "redis",
            Either(&[Text, Of(&HUB_REDIS)]),
            "Redis whose published messages are delivered to channels of the same name: an address, or a map with options. Default: none."
        ),
        word!(
            "sources",
            ListOf(&Of(&HUB_SOURCES)),
            "Other message sources: Redis streams, NATS subjects, PostgreSQL notifications. Default: none."
        ),
        word!(
            "shared",
            Either(&[Text, Of(&HUB_SHARED)]),
            "Broker through which several edges share their channels: Redis (6 or later) or NATS (with JetStream); the address of a Redis, or a map with options. Default: none."
        ),
        word!(
            "hooks",
            Of(&HUB_HOOKS),
            "Application that authorizes clients and receives their messages, over HTTP. Default: none."
        ),
        word!(
            "per_user",
            Count(1, 1_000_000),
            "Maximum connections per user, by the `sub` of tokens or the `user` from `hooks: { connect }`. Default: unlimited."
        ),
        word!(
            "per_token",
            Count(1, 1_000_000),
            "Maximum connections per token. Default: unlimited."
        ),
    ],
};

/// Rules for channels.
pub(crate) static HUB_CHANNELS: KeywordTable = KeywordTable {
    name: "hub_channels",
    meaning: "Settings of the channels that match a pattern.",
    words: &[
        word!(
            "match",
            Text,
            "Channel names or patterns: `game-1`, `game-*`; `*` matches any text."
        ),
        word!(
            "history",
            Count(0, 1_000_000),
            "Length of the history from which reconnecting clients recover, in messages. Default: 100."
        ),
        word!(
            "history_age",
            Duration,
            "Retention of the history. Default: 1m."
        ),
        word!(
            "history_size",
            Size,
            "Size of the history of a channel, up to 1GiB. Default: 256KiB."
        ),
        word!(
            "interval",
            Duration,
            "Minimum interval between two messages; those published in between are conflated into one. By default every message is sent."
        ),
        word!(
            "conflate",
            OneOf(&["newest", "merge"]),
            "How messages are conflated: the newest is sent, or JSON objects are merged key by key. Default: `newest`."
        ),
        word!(
            "aggregate",
            Text,
            "Or an application conflates them: it receives `POST` with `{\"channel\":…,\"data\":[…]}`, and its response is sent; nothing if that is empty, the newest message if the request fails. Time-out and headers are those of `hooks`."
        ),
        word!(
            "data",
            Size,
            "Maximum size of a message's data, 1 byte to 16MiB. Default: 64KiB."
        ),
        word!(
            "rate",
            Rate,
            "Rate limit of publications to a channel. Default: unlimited."
        ),
        word!(
            "subscribers",
            Count(1, 10_000_000),
            "Maximum subscribers of a channel. Default: 1000000."
        ),
        word!(
            "publish",
            Switch,
            "Whether clients may publish. Default: false."
        ),
        word!(
            "presence",
            Switch,
            "Whether subscribers may request the list of users (`{\"presence\":[\"chat\"]}`), by the `sub` of their tokens. Default: false."
        ),
        word!(
            "patches",
            Switch,
            "Delta messages: a client that sends `{\"patches\":true}` receives only the change since the previous message (`\"patch\"`, a merge patch, RFC 7396) where that is shorter. Default: false."
        ),
        word!(
            "replay",
            Count(0, 100_000),
            "Number of recent messages that a new subscriber receives. Default: 0."
        ),
    ],
};

/// A Redis that the hub subscribes to.
pub(crate) static HUB_REDIS: KeywordTable = KeywordTable {
    name: "hub_redis",
    meaning: "A Redis that the hub subscribes to. Data that is not JSON becomes a string.",
    words: &[
        word!("address", Text, "Host and port: `127.0.0.1:6379`."),
        word!("user", Text, "User name, where Redis has several users."),
        word!("password", Text, "Password: `{{ env('REDIS_PASSWORD') }}`."),
        word!(
            "tls",
            Either(&[Switch, Of(&SERVER_TLS)]),
            "TLS: `true`, or a map with options. Default: false."
        ),
        word!(
            "channels",
            OneOrMore(&Text),
            "Channel patterns, as in `PSUBSCRIBE`. A message that matches two of them arrives twice. Default: `*`."
        ),
    ],
};

/// Message sources.
pub(crate) static HUB_SOURCES: KeywordTable = KeywordTable {
    name: "hub_sources",
    meaning: "A message source; one of `redis_stream`, `nats`, `postgres`. Data that is not JSON becomes a string. The hub reconnects until the source is available.",
    words: &[
        word!(
            "redis_stream",
            Text,
            "Host and port of a Redis: `127.0.0.1:6379`. Entries (`XADD`) have the fields `data` and, if it differs from the key, `channel`; without `data`, all fields become an object. Entries added while the edge is down are delivered after its restart."
        ),
        word!(
            "nats",
            Text,
            "Host and port of a NATS server: `127.0.0.1:4222`. Messages published while the connection is down are lost."
        ),
        word!(
            "postgres",
            Text,
            "Host and port of a PostgreSQL: `127.0.0.1:5432` (`NOTIFY`, at most 8,000 bytes). Notifications sent while the connection is down are lost."
        ),
        word!(
            "listen",
            OneOrMore(&Text),
            "Keys of streams, subjects (`game.>`), or `NOTIFY` channels."
        ),
        word!(
            "channel",
            Text,
            "Channel of the hub; `*` stands for the name at the source. Default: `*`."
        ),
        word!(
            "user",
            Text,
            "User name. Default for PostgreSQL: `postgres`."
        ),
        word!(
            "password",
            Text,
            "Password: `{{ env('NATS_PASSWORD') }}`. For NATS without `user`, a token."
        ),
        word!(
            "tls",
            Either(&[Switch, Of(&SERVER_TLS)]),
            "TLS: `true`, or a map with options. Default: false."
        ),
        word!(
            "database",
            Text,
            "PostgreSQL database. Default: `postgres`."
        ),
        word!(
            "group",
            Text,
            "Redis consumer group that stores the position of this edge; each edge needs its own. Default: `plimsoll`."
        ),
    ],
};

/// Signed tokens of clients.
pub(crate) static HUB_TOKENS: KeywordTable = KeywordTable {
    name: "hub_tokens",
    meaning: "Signed tokens (JWT) of clients. Claims: `exp` in seconds, and `subscribe` and `publish` as lists of patterns such as game-*. A client sends its token as `Authorization: Bearer`, in the query as `token=`, or as the first message `{\"token\":\"…\"}`; later tokens replace earlier ones.",
    words: &[
        word!(
            "secret",
            Text,
            "Secret that signs and verifies tokens (HS256), at least 32 bytes: `{{ env('HUB_SECRET') }}`."
        ),
        word!(
            "key",
            Text,
            "Or a PEM file with the public key that verifies tokens: RSA (RS256) or P-256 (ES256)."
        ),
        word!(
            "audience",
            Text,
            "Required value of the claim `aud`. Default: any."
        ),
        word!(
            "public",
            OneOrMore(&Text),
            "Patterns of channels that may be read without a token. Default: none."
        ),
    ],
};

/// Hooks of the application.
pub(crate) static HUB_HOOKS: KeywordTable = KeywordTable {
    name: "hub_hooks",
    meaning: "Hooks of the application, called by `POST` with JSON. 2xx allows; 400, 401, 403, 409, 422 and 429 deny, with `{\"error\":\"why\"}` for the client; any other result counts as an unavailable application.",
    words: &[
        word!(
            "connect",
            Text,
            "Called when a client connects: `{\"address\":…}`. The response identifies and authorizes it: `{\"user\":\"17\",\"subscribe\":[\"game-*\"],\"publish\":[\"chat\"],\"exp\":…}`; all fields are optional."
        ),
        word!(
            "subscribe",
            Text,
            "Called when a client subscribes to a channel that neither its token nor the response of `connect` allows: `{\"address\":…,\"user\":…,\"channel\":…}`."
        ),
        word!(
            "publish",
            Text,
            "Called for every message that a client publishes where a rule allows clients to publish: `{\"address\":…,\"user\":…,\"channel\":…,\"data\":…}`. If the response has `data`, that is published instead."
        ),
        word!(
            "messages",
            Text,
            "Receives what clients send (`{\"send\":…,\"id\":1}`): `{\"address\":…,\"user\":…,\"client\":…,\"data\":…}`. The response, JSON or empty, is returned to the client (`{\"id\":1,\"answer\":…}`)."
        ),
        word!(
            "disconnect",
            Text,
            "Notified once when an admitted client disconnects: `{\"address\":…,\"user\":…,\"client\":…}`, with `client` only if it sent a message. The response is ignored."
        ),
        word!(
            "pass",
            OneOrMore(&Text),
            "Headers of the client's request that are forwarded to the application. Default: `[cookie, authorization]`."
        ),
        word!(
            "headers",
            MapOf(&Text),
            "Headers to set, such as a secret that authenticates the edge to the application."
        ),
        word!("timeout", Duration, "Time-out of a call. Default: 2s."),
        word!(
            "in_flight",
            Count(1, 10_000),
            "Maximum concurrent calls of all clients; further calls are queued. Default: 64."
        ),
        word!(
            "per_client",
            Count(1, 1000),
            "Maximum pending messages and publications per client; further ones are refused. Default: 16."
        ),
        word!(
            "cache",
            Duration,
            "How long responses of `connect` and `subscribe` are cached. Default: not cached."
        ),
        word!(
            "down",
            OneOf(&["deny", "allow"]),
            "What clients may do while the application is unavailable: nothing that a hook decides, or all of it. Default: `deny`."
        ),
    ],
};

/// The broker that edges share.
pub(crate) static HUB_SHARED: KeywordTable = KeywordTable {
    name: "hub_shared",
    meaning: "Broker (Redis or NATS) through which edges share their channels: a message published to one edge reaches the clients of all, and a client that reconnects to a different edge recovers there. Needs no persistence: after a restart of the broker, all clients are notified that messages may be missing.",
    words: &[
        word!(
            "address",
            Text,
            "Host and port of a Redis: `127.0.0.1:6379`."
        ),
        word!(
            "nats",
            Text,
            "Or of a NATS with JetStream: `127.0.0.1:4222`."
        ),
        word!(
            "user",
            Text,
            "User name, where the broker has several users. Without one, NATS takes the password as a token."
        ),
        word!("password", Text, "Password: `{{ env('REDIS_PASSWORD') }}`."),
        word!(
            "tls",
            Either(&[Switch, Of(&SERVER_TLS)]),
            "TLS: `true`, or a map with options. Default: false."
        ),
        word!(
            "name",
            Text,
            "Prefix of Redis keys, or name of the NATS stream; edges with the same name share channels. Default: `plimsoll`."
        ),
        word!(
            "messages",
            Count(1, 10_000_000),
            "Maximum messages stored for edges that start or reconnect, over all channels. Default: 100000."
        ),
        word!(
            "size",
            Size,
            "Maximum size of these messages, 64KiB to 64GiB. Default: 64MiB."
        ),
    ],
};
