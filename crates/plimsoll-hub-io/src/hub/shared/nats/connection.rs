//! A connection to NATS for publishing and requests, with reply subjects of its own.

use plimsoll_config::edge::HubShared;
use serde_json::Value;

use crate::hub::dial::within;
use crate::hub::sources::nats::protocol::NatsOp;
use crate::hub::sources::nats::{NatsLine, PING};

/// Maximum message size if the server announces none, bytes: its own default.
const LEN_MAX_DEFAULT: u64 = 1 << 20;
/// Reply subject of requests that are not messages.
const QUESTION: &str = "question";

/// The connection.
pub(super) struct NatsConnection {
    pub(super) nats: NatsLine,
    /// Prefix of the reply subjects: unique, and unpredictable to other clients of the server, which could otherwise
    /// forge replies.
    inbox: String,
    /// Maximum message size of the server, bytes.
    pub(super) len_max: usize,
}

impl NatsConnection {
    /// Connects and authenticates.
    ///
    /// # Errors
    /// A message.
    pub(super) async fn open(config: &HubShared) -> Result<Self, String> {
        let credentials = (config.user.as_deref(), config.password.as_deref());
        let (nats, info) =
            NatsLine::open(&config.host, config.port, credentials, config.tls.as_ref()).await?;
        if info["jetstream"] != true {
            return Err(
                "JetStream is not enabled; start it with `nats-server -js`, or with `jetstream: enabled` in its file"
                    .to_owned(),
            );
        }
        let server = info["server_id"].as_str().unwrap_or_default();
        let inbox = format!("_INBOX.{server}.{}.{}", info["client_id"], secret()?);
        let len_max = info["max_payload"].as_u64().unwrap_or(LEN_MAX_DEFAULT);
        Ok(Self {
            nats,
            inbox,
            len_max: usize::try_from(len_max).unwrap_or(usize::MAX),
        })
    }

    /// A reply subject of this connection.
    pub(super) fn place(&self, name: &str) -> String {
        format!("{}.{name}", self.inbox)
    }

    /// Subscribes to a reply subject, or to all by a wildcard.
    ///
    /// # Errors
    /// A message, also when the server rejects the client.
    pub(super) async fn listen(&mut self, name: &str) -> Result<(), String> {
        let commands = format!("SUB {} 1\r\n{PING}", self.place(name));
        self.nats.line.send(commands.as_bytes()).await?;
        let confirmed = async {
            loop {
                match self.nats.received().await? {
                    Some(NatsOp::Pong) => return Ok(()),
                    Some(_) => {}
                    None => self.nats.line.must_have_more().await?,
                }
            }
        };
        within(confirmed).await
    }

    /// Writes a message whose reply goes to the subject of its number.
    pub(super) fn publish(&self, out: &mut Vec<u8>, subject: &str, number: u64, message: &[u8]) {
        self.write(out, subject, &number.to_string(), message);
    }

    fn write(&self, out: &mut Vec<u8>, subject: &str, name: &str, message: &[u8]) {
        let place = self.place(name);
        let head = format!("PUB {subject} {place} {}\r\n", message.len());
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(message);
        out.extend_from_slice(b"\r\n");
    }

    /// Sends a request; no other may be in flight.
    ///
    /// # Errors
    /// A message, when there is no reply in time.
    pub(super) async fn request(
        &mut self,
        subject: &str,
        question: &Value,
    ) -> Result<Value, String> {
        let question = match question {
            Value::Null => String::new(),
            question => question.to_string(),
        };
        let mut command = Vec::new();
        self.write(&mut command, subject, QUESTION, question.as_bytes());
        self.nats.line.send(&command).await?;
        let answering = async {
            loop {
                if let Some((_, answer)) = self.answer().await? {
                    return Ok(answer);
                }
                self.nats.line.must_have_more().await?;
            }
        };
        within(answering).await
    }

    /// The next received reply, with the number of its subject where that has one.
    ///
    /// # Errors
    /// A message, when the server reports an error.
    pub(super) async fn answer(&mut self) -> Result<Option<(Option<u64>, Value)>, String> {
        while let Some(op) = self.nats.received().await? {
            if let NatsOp::Message { subject, data, .. } = op {
                let place = String::from_utf8_lossy(subject);
                let number = place.rsplit('.').next().and_then(|last| last.parse().ok());
                let answer = serde_json::from_slice(data).unwrap_or_default();
                return Ok(Some((number, answer)));
            }
        }
        Ok(None)
    }
}

/// Unpredictable letters.
fn secret() -> Result<String, String> {
    let random = ring::rand::SystemRandom::new();
    let bytes = ring::rand::generate::<[u8; 16]>(&random);
    let bytes = bytes.map_err(|_| "the system provides no random bytes".to_owned())?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes.expose())))
}
