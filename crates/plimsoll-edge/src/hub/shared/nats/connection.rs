//! A connection to NATS for publishing and requests, with reply subjects of its own.

use plimsoll_config::edge::HubShared;
use serde_json::Value;

use crate::hub::dial::within;
use crate::hub::sources::BufferedConnection;
use crate::hub::sources::nats::protocol::{self, NatsOp};
use crate::hub::sources::nats::{PING, PONG, connect, greet, not_understood};

/// Maximum message size if the server announces none, bytes: its own default.
const LEN_MAX_DEFAULT: u64 = 1 << 20;
/// Reply subject of requests that are not messages.
const QUESTION: &str = "question";

/// The connection.
pub(super) struct NatsConnection {
    pub(super) line: BufferedConnection,
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
        let line = BufferedConnection::open(&config.host, config.port).await?;
        let (mut line, info) = greet(line, &config.host, config.tls.as_ref()).await?;
        if info["jetstream"] != true {
            return Err(
                "JetStream is not enabled; start it with `nats-server -js`, or with `jetstream: enabled` in its file"
                    .to_owned(),
            );
        }
        let server = info["server_id"].as_str().unwrap_or_default();
        let inbox = format!("_INBOX.{server}.{}.{}", info["client_id"], secret()?);
        let len_max = info["max_payload"].as_u64().unwrap_or(LEN_MAX_DEFAULT);
        let (user, password) = (config.user.as_deref(), config.password.as_deref());
        let who = connect(user, password, config.tls.is_some());
        line.send(who.as_bytes()).await?;
        Ok(Self {
            line,
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
        let mut commands = format!("SUB {} 1\r\n", self.place(name)).into_bytes();
        commands.extend_from_slice(PING);
        self.line.send(&commands).await?;
        within(self.confirm_subscription()).await
    }

    /// Waits for the reply to a ping.
    async fn confirm_subscription(&mut self) -> Result<(), String> {
        loop {
            let read = protocol::read(self.line.bytes()).map_err(not_understood)?;
            match read {
                Some((_, NatsOp::Error(why))) => return Err(in_words(why)),
                Some((len, op)) => {
                    let (is_confirmed, is_asked) = (op == NatsOp::Pong, op == NatsOp::Ping);
                    self.line.advance(len);
                    if is_asked {
                        self.line.send(PONG).await?;
                    }
                    if is_confirmed {
                        return Ok(());
                    }
                }
                None => self.line.must_have_more().await?,
            }
        }
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
        self.line.send(&command).await?;
        let answering = async {
            loop {
                if let Some((_, answer)) = self.answer().await? {
                    return Ok(answer);
                }
                self.line.must_have_more().await?;
            }
        };
        within(answering).await
    }

    /// The next received reply, with the number of its subject where that has one.
    ///
    /// # Errors
    /// A message, when the server reports an error.
    pub(super) async fn answer(&mut self) -> Result<Option<(Option<u64>, Value)>, String> {
        loop {
            let read = protocol::read(self.line.bytes()).map_err(not_understood)?;
            let Some((len, op)) = read else {
                return Ok(None);
            };
            let mut is_asked = false;
            let mut answer = None;
            match op {
                NatsOp::Message { subject, data, .. } => {
                    let place = String::from_utf8_lossy(subject);
                    let number = place.rsplit('.').next().and_then(|last| last.parse().ok());
                    answer = Some((number, serde_json::from_slice(data).unwrap_or_default()));
                }
                NatsOp::Error(why) => return Err(in_words(why)),
                NatsOp::Ping => is_asked = true,
                NatsOp::Pong | NatsOp::Info(_) | NatsOp::Ok => {}
            }
            self.line.advance(len);
            if is_asked {
                self.line.send(PONG).await?;
            }
            if answer.is_some() {
                return Ok(answer);
            }
        }
    }
}

/// Unpredictable letters.
fn secret() -> Result<String, String> {
    let random = ring::rand::SystemRandom::new();
    let bytes = ring::rand::generate::<[u8; 16]>(&random);
    let bytes = bytes.map_err(|_| "the system provides no random bytes".to_owned())?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes.expose())))
}

fn in_words(why: &[u8]) -> String {
    String::from_utf8_lossy(why).into_owned()
}
