//! Words about the hub.

use super::{RATE, SERVER_TLS};
use crate::plan::keywords::Shape::{
    Count, Duration, Either, ListOf, MapOf, Of, OneOf, OneOrMore, Rate, Size, Switch, Text,
};
use crate::plan::keywords::{KeywordTable, word};

/// The hub.
pub(crate) static HUB: KeywordTable = KeywordTable {
    name: "hub",
    meaning: "Channels that browsers subscribe to. `hub: /live` is all defaults: everybody may read every channel.",
    words: &[
        word!(
            "path",
            Text,
            "Where clients open it: `/live`, for WebSockets and Server-Sent Events."
        ),
        word!(
            "publish_token",
            Text,
            "What whoever publishes at the admin address must know, as `Authorization: Bearer TOKEN`; without it, the admin address's own."
        ),
        word!(
            "tokens",
            Of(&HUB_TOKENS),
            "Signed tokens that say what a client may do; without this, everybody may read every channel."
        ),
        word!(
            "origins",
            OneOrMore(&Text),
            "Pages of these origins (`https://a.example`) may open it besides those of the host that is asked; `*` is all."
        ),
        word!(
            "channels",
            ListOf(&Of(&HUB_CHANNELS)),
            "Rules for channels; the first that matches a name."
        ),
        word!(
            "slow",
            OneOf(&["newest", "drop", "disconnect"]),
            "What becomes of a client that does not read as fast as it is written to: older messages of a channel give way to newer ones, new ones are dropped, or it is disconnected and may return; `newest`."
        ),
        word!(
            "waiting",
            Count(1, 100_000),
            "Messages that may wait for a client; 64."
        ),
        word!(
            "waiting_size",
            Size,
            "Bytes that may wait for a client, 1KiB to 64MiB; 256KiB."
        ),
        word!(
            "subscriptions",
            Count(1, 100_000),
            "Channels that a client may subscribe to; 100."
        ),
        word!(
            "commands",
            Of(&RATE),
            "How often a client may say something; 10/s, 100 at once. Who does not stop is disconnected."
        ),
        word!(
            "message",
            Size,
            "Longest message of a client, 128 bytes to 16MiB; 64KiB."
        ),
        word!(
            "ping",
            Duration,
            "How often a client is asked whether it is still there; who has not answered by the next time is gone; 25s."
        ),
        word!(
            "compress",
            Switch,
            "Messages of 128 bytes and more are compressed, once for everybody who takes that (permessage-deflate); false."
        ),
        word!(
            "most_channels",
            Count(1, 10_000_000),
            "Channels at once; 1000000."
        ),
        word!(
            "history_size",
            Size,
            "Bytes that the histories of all channels may take, 64KiB to 64GiB; 64MiB."
        ),
        word!(
            "mercure",
            Switch,
            "Browsers and publishers that speak Mercure are served at `/.well-known/mercure`, by the same tokens; false."
        ),
        word!(
            "redis",
            Either(&[Text, Of(&HUB_REDIS)]),
            "A Redis whose published messages go to channels of the same name: its address, or more about it; none."
        ),
        word!(
            "sources",
            ListOf(&Of(&HUB_SOURCES)),
            "What else is listened to: streams of Redis, subjects of NATS, notifications of PostgreSQL; none."
        ),
        word!(
            "shared",
            Either(&[Text, Of(&HUB_SHARED)]),
            "A Redis (6 or later) or NATS (with JetStream) through which several edges share their channels: the address of a Redis, or more about it; none."
        ),
        word!(
            "hooks",
            Of(&HUB_HOOKS),
            "An application that is asked over HTTP what a client may do, and is given what clients send; none."
        ),
        word!(
            "per_user",
            Count(1, 1_000_000),
            "Connections of one user, by the `sub` of tokens or the `user` of `hooks: { connect }`; as many as anybody likes."
        ),
        word!(
            "per_token",
            Count(1, 1_000_000),
            "Connections with the same token; as many as anybody likes."
        ),
    ],
};

/// Rules for channels.
pub(crate) static HUB_CHANNELS: KeywordTable = KeywordTable {
    name: "hub_channels",
    meaning: "What holds for the channels of a pattern.",
    words: &[
        word!(
            "match",
            Text,
            "Names of channels: `game-1`, `game-*`; `*` stands for anything."
        ),
        word!(
            "history",
            Count(0, 1_000_000),
            "Messages that are remembered for those who return; 100."
        ),
        word!("history_age", Duration, "How long; 1m."),
        word!(
            "history_size",
            Size,
            "Bytes that a channel's history may take, up to 1GiB; 256KiB."
        ),
        word!(
            "interval",
            Duration,
            "At most one message goes out in so long; what is published in between becomes one. Without it all go out."
        ),
        word!(
            "conflate",
            OneOf(&["newest", "merge"]),
            "What becomes of them: the newest is sent, or JSON objects are merged key by key; `newest`."
        ),
        word!(
            "aggregate",
            Text,
            "Or an application makes one of them: `POST` with `{\"channel\":…,\"data\":[…]}`, and its answer is sent, or nothing if that is empty; the newest if it fails. `hooks` has time-out and headers."
        ),
        word!(
            "data",
            Size,
            "Longest data of a message, 1 byte to 16MiB; 64KiB."
        ),
        word!(
            "rate",
            Rate,
            "How often may be published to a channel; as often as anybody likes."
        ),
        word!(
            "subscribers",
            Count(1, 10_000_000),
            "Subscribers of a channel; 1000000."
        ),
        word!("publish", Switch, "Clients may publish; false."),
        word!(
            "presence",
            Switch,
            "Who subscribes may ask who is there (`{\"presence\":[\"chat\"]}`), by the `sub` of their tokens; false."
        ),
        word!(
            "patches",
            Switch,
            "Clients that say `{\"patches\":true}` are sent what has changed since the message before (`\"patch\"`, a merge patch, RFC 7396) where that is shorter; false."
        ),
        word!(
            "replay",
            Count(0, 100_000),
            "Newest messages that a new subscriber is given; 0."
        ),
    ],
};

/// A Redis that is listened to.
pub(crate) static HUB_REDIS: KeywordTable = KeywordTable {
    name: "hub_redis",
    meaning: "A Redis that is listened to. Data that is no JSON becomes a string.",
    words: &[
        word!("address", Text, "Host and port: `127.0.0.1:6379`."),
        word!(
            "user",
            Text,
            "Who listens, where Redis knows several users."
        ),
        word!(
            "password",
            Text,
            "What it asks for: `{{ env('REDIS_PASSWORD') }}`."
        ),
        word!(
            "tls",
            Either(&[Switch, Of(&SERVER_TLS)]),
            "Whether it is spoken to by TLS, or how; it is not."
        ),
        word!(
            "channels",
            OneOrMore(&Text),
            "Patterns of its channels, as `PSUBSCRIBE` takes them; `*`. What two of them mean comes twice."
        ),
    ],
};

/// What else is listened to.
pub(crate) static HUB_SOURCES: KeywordTable = KeywordTable {
    name: "hub_sources",
    meaning: "A program whose messages go to the hub: one of `redis_stream`, `nats`, `postgres`. Data that is no JSON becomes a string. It is tried again until it is there.",
    words: &[
        word!(
            "redis_stream",
            Text,
            "Host and port of a Redis: `127.0.0.1:6379`. Entries (`XADD`) have fields `data` and, if it is not the key, `channel`; without `data`, all fields become an object. What is added while the edge is away comes when it is back."
        ),
        word!(
            "nats",
            Text,
            "Host and port of a NATS server: `127.0.0.1:4222`. What is published while the connection is gone is lost."
        ),
        word!(
            "postgres",
            Text,
            "Host and port of a PostgreSQL: `127.0.0.1:5432` (`NOTIFY`, at most 8,000 bytes). What is notified while the connection is gone is lost."
        ),
        word!(
            "listen",
            OneOrMore(&Text),
            "Keys of streams, subjects (`game.>`), or channels of `NOTIFY`."
        ),
        word!(
            "channel",
            Text,
            "The hub's channel; `*` stands for the source's name; `*`."
        ),
        word!("user", Text, "Who listens; for PostgreSQL `postgres`."),
        word!(
            "password",
            Text,
            "What is asked for: `{{ env('NATS_PASSWORD') }}`; for NATS without `user`, a token."
        ),
        word!(
            "tls",
            Either(&[Switch, Of(&SERVER_TLS)]),
            "Whether it is spoken to by TLS, or how; it is not."
        ),
        word!("database", Text, "The database of PostgreSQL; `postgres`."),
        word!(
            "group",
            Text,
            "The consumer group in which Redis keeps how far this edge is, each edge its own; `plimsoll`."
        ),
    ],
};

/// Signed tokens of clients.
pub(crate) static HUB_TOKENS: KeywordTable = KeywordTable {
    name: "hub_tokens",
    meaning: "Signed tokens (JWT) of clients: `exp` in seconds, and `subscribe` and `publish` as lists of patterns such as game-*. They come as `Authorization: Bearer`, in the query as `token=`, or as a first message `{\"token\":\"…\"}`, which later ones replace.",
    words: &[
        word!(
            "secret",
            Text,
            "What signs and checks them (HS256), at least 32 bytes: `{{ env('HUB_SECRET') }}`."
        ),
        word!(
            "key",
            Text,
            "Or a file with the public key that checks them, in PEM: RSA (RS256) or P-256 (ES256)."
        ),
        word!("audience", Text, "What they must say in `aud`; anything."),
        word!(
            "public",
            OneOrMore(&Text),
            "Channels that may be read without a token, as patterns; none."
        ),
    ],
};

/// An application that the hub asks.
pub(crate) static HUB_HOOKS: KeywordTable = KeywordTable {
    name: "hub_hooks",
    meaning: "What the hub asks an application over HTTP: `POST` with JSON. 2xx is yes; 400, 401, 403, 409, 422 and 429 are no, with `{\"error\":\"why\"}` for the client; everything else is an application that is down.",
    words: &[
        word!(
            "connect",
            Text,
            "Asked whether a client may come in: `{\"address\":…}`. The answer says who it is and what it may: `{\"user\":\"17\",\"subscribe\":[\"game-*\"],\"publish\":[\"chat\"],\"exp\":…}`, each if need be."
        ),
        word!(
            "subscribe",
            Text,
            "Asked whether a client may read a channel that neither its token nor the answer of `connect` lets it read: `{\"address\":…,\"user\":…,\"channel\":…}`."
        ),
        word!(
            "publish",
            Text,
            "Asked of everything that a client publishes where a rule lets clients: `{\"address\":…,\"user\":…,\"channel\":…,\"data\":…}`. An answer with `data` is published in its place."
        ),
        word!(
            "messages",
            Text,
            "Given what clients send (`{\"send\":…,\"id\":1}`): `{\"address\":…,\"user\":…,\"client\":…,\"data\":…}`. The answer, JSON or nothing, goes back (`{\"id\":1,\"answer\":…}`)."
        ),
        word!(
            "disconnect",
            Text,
            "Told, once, that a client has left that was let in: `{\"address\":…,\"user\":…,\"client\":…}`, with `client` if it ever sent anything. Nobody waits for the answer."
        ),
        word!(
            "pass",
            OneOrMore(&Text),
            "Headers of the client's request that the application is given; `[cookie, authorization]`."
        ),
        word!(
            "headers",
            MapOf(&Text),
            "Headers to send, such as a secret by which the application knows who asks."
        ),
        word!(
            "timeout",
            Duration,
            "Longest time until an answer is there; 2s."
        ),
        word!(
            "in_flight",
            Count(1, 10_000),
            "Requests at once, of all clients; others wait in line; 64."
        ),
        word!(
            "per_client",
            Count(1, 1000),
            "Messages and publications of one client that wait for an answer; further ones are refused; 16."
        ),
        word!(
            "cache",
            Duration,
            "How long an answer of `connect` or `subscribe` holds for the same question; it is asked anew each time."
        ),
        word!(
            "down",
            OneOf(&["deny", "allow"]),
            "What clients may do while the application does not answer: nothing that it would be asked about, or all of that; `deny`."
        ),
    ],
};

/// What edges share.
pub(crate) static HUB_SHARED: KeywordTable = KeywordTable {
    name: "hub_shared",
    meaning: "A Redis or NATS through which edges share their channels: what is published to one reaches the clients of all, and a client that comes to another recovers there. Needs no persistence: when it begins anew, all clients are told that they may have missed something.",
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
            "Who asks, where several users are known; without one NATS takes the password as a token."
        ),
        word!(
            "password",
            Text,
            "What it asks for: `{{ env('REDIS_PASSWORD') }}`."
        ),
        word!(
            "tls",
            Either(&[Switch, Of(&SERVER_TLS)]),
            "Whether it is spoken to by TLS, or how; it is not."
        ),
        word!(
            "name",
            Text,
            "What keys of Redis begin with, or the name of the stream; edges of the same name share; `plimsoll`."
        ),
        word!(
            "messages",
            Count(1, 10_000_000),
            "Messages of all channels that it holds, for edges that start or were cut off; 100000."
        ),
        word!("size", Size, "Bytes of them, 64KiB to 64GiB; 64MiB."),
    ],
};
