//! PostgreSQL's protocol, as far as an eye needs it: come in, ask, take rows of text.

use plimsoll_model::part::PartPlace;

use super::super::fault::Fault;
use super::super::link::{Blind, Link};
use super::scram::Exchange;
use crate::parse::postgres::{columns, error_field, row};

/// The version of the protocol, 3.0.
const PROTOCOL: u32 = 196_608;
/// Longest message taken, bytes.
const MESSAGE_LEN_MAX: usize = 1 << 20;

/// As whom, and to which database.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) user: &'a str,
    pub(super) password: &'a str,
    pub(super) database: &'a str,
}

/// What is kept of a session beside its connection.
#[derive(Debug, Default)]
pub(super) struct Session {
    buffer: Vec<u8>,
    /// The server's major version; 0 when it does not say.
    pub(super) version: u32,
}

impl Session {
    /// Comes in, over a connection that was just opened.
    pub(super) fn enter(&mut self, link: &mut Link, entry: Entry<'_>) -> Result<(), Fault> {
        self.buffer.clear();
        let mut body = PROTOCOL.to_be_bytes().to_vec();
        for text in [
            "user",
            entry.user,
            "database",
            entry.database,
            "application_name",
            "plimsoll",
        ] {
            body.extend(text.bytes().filter(|&byte| byte != 0));
            body.push(0);
        }
        body.push(0);
        link.send(&with_len(&body))?;
        loop {
            let (kind, body) = self.message(link)?;
            match kind {
                b'R' => self.prove(link, &body, entry.password)?,
                b'S' => {
                    let text = String::from_utf8_lossy(&body);
                    let version = text.strip_prefix("server_version\0");
                    let digits = version.and_then(|version| {
                        version
                            .split(|c: char| !c.is_ascii_digit())
                            .next()?
                            .parse()
                            .ok()
                    });
                    self.version = digits.unwrap_or(self.version);
                }
                b'Z' => return Ok(()),
                b'E' => return Err(refusal(&body)),
                b'K' | b'N' | b'v' => {}
                _ => return Err(Fault::strange(&body)),
            }
        }
    }

    /// Asks, and adds the rows to `lines`.
    pub(super) fn ask(
        &mut self,
        link: &mut Link,
        question: &str,
        lines: &mut String,
    ) -> Result<(), Fault> {
        self.put(link, question, false, lines)
    }

    /// The same with the names of the columns in the first line.
    pub(super) fn table(
        &mut self,
        link: &mut Link,
        question: &str,
        lines: &mut String,
    ) -> Result<(), Fault> {
        self.put(link, question, true, lines)
    }

    fn put(
        &mut self,
        link: &mut Link,
        question: &str,
        with_names: bool,
        lines: &mut String,
    ) -> Result<(), Fault> {
        link.send(&message(b'Q', &[question.as_bytes(), b"\0"].concat()))?;
        let mut refused = None;
        loop {
            let (kind, body) = self.message(link)?;
            match kind {
                b'T' if with_names => {
                    let names = columns(&body).ok_or_else(|| Fault::strange(&body))?;
                    lines.push_str(&names.join("\t"));
                    lines.push('\n');
                }
                b'D' => {
                    let values = row(&body).ok_or_else(|| Fault::strange(&body))?;
                    lines.push_str(&values.join("\t"));
                    lines.push('\n');
                }
                b'E' => refused = Some(refusal(&body)),
                b'Z' => return refused.map_or(Ok(()), Err),
                _ => {}
            }
        }
    }

    /// Says who asks, in the way that the server wants.
    fn prove(&mut self, link: &mut Link, body: &[u8], password: &str) -> Result<(), Fault> {
        let denied = |why: &str| Err(Fault::Blind(Blind::Denied(why.to_owned())));
        let (way, rest) = way(body)?;
        if way != 0 && password.is_empty() {
            return denied("it wants a password");
        }
        match way {
            0 => Ok(()),
            3 if is_near(link.place()) => {
                link.send(&message(b'p', &[password.as_bytes(), b"\0"].concat()))?;
                Ok(())
            }
            3 => denied("it wants the password as it is, over a network"),
            5 => denied(
                "it knows only the MD5 of the password; as an administrator: `SET password_encryption = 'scram-sha-256'`, \
                 then `ALTER ROLE … PASSWORD '…'`",
            ),
            10 if rest
                .split(|&byte| byte == 0)
                .any(|name| name == b"SCRAM-SHA-256") =>
            {
                self.scram(link, password)
            }
            _ => denied("it wants a proof that is not spoken here"),
        }
    }

    fn scram(&mut self, link: &mut Link, password: &str) -> Result<(), Fault> {
        let strange = |why: &str| Fault::Blind(Blind::Strange(why.to_owned()));
        let exchange = Exchange::begin().ok_or_else(|| strange("no random numbers here"))?;
        let first = exchange.first();
        let len = u32::try_from(first.len()).unwrap_or(0).to_be_bytes();
        let body = [&b"SCRAM-SHA-256\0"[..], &len, first.as_bytes()].concat();
        link.send(&message(b'p', &body))?;
        let said = self.said(link, 11)?;
        let proof = exchange.answer(&said, password);
        let proof = proof.ok_or_else(|| strange("a challenge that is none"))?;
        link.send(&message(b'p', proof.text.as_bytes()))?;
        let said = self.said(link, 12)?;
        if said.trim_end_matches('\0') == proof.expected {
            Ok(())
        } else {
            Err(strange("it does not know the password either"))
        }
    }

    /// What the server says next on the way in.
    fn said(&mut self, link: &mut Link, wanted: u32) -> Result<String, Fault> {
        let (kind, body) = self.message(link)?;
        match (kind, way(&body)) {
            (b'E', _) => Err(refusal(&body)),
            (b'R', Ok((way, rest))) if way == wanted => {
                Ok(String::from_utf8_lossy(rest).into_owned())
            }
            _ => Err(Fault::strange(&body)),
        }
    }

    /// The next message: what it is, and what it holds.
    fn message(&mut self, link: &mut Link) -> Result<(u8, Vec<u8>), Fault> {
        while self.buffer.len() < 5 {
            self.more(link)?;
        }
        let len = [1, 2, 3, 4].map(|index| self.buffer[index]);
        let len = usize::try_from(u32::from_be_bytes(len)).unwrap_or(usize::MAX);
        if !(4..=MESSAGE_LEN_MAX).contains(&len) {
            return Err(Fault::strange(&self.buffer));
        }
        while self.buffer.len() <= len {
            self.more(link)?;
        }
        let rest = self.buffer.split_off(len + 1);
        let message = std::mem::replace(&mut self.buffer, rest);
        Ok((message[0], message[5..].to_vec()))
    }

    fn more(&mut self, link: &mut Link) -> Result<(), Fault> {
        match link.fill(&mut self.buffer)? {
            0 => Err(Blind::Closed.into()),
            _ => Ok(()),
        }
    }
}

/// A message: what it is, its length with the length's own four bytes, and what it holds.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend(with_len(body));
    message
}

fn with_len(body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
    [&len.to_be_bytes()[..], body].concat()
}

/// Which proof is wanted, and what belongs to it.
fn way(body: &[u8]) -> Result<(u32, &[u8]), Fault> {
    match body.split_at_checked(4) {
        Some((way, rest)) => Ok((u32::from_be_bytes([way[0], way[1], way[2], way[3]]), rest)),
        None => Err(Fault::strange(body)),
    }
}

fn refusal(body: &[u8]) -> Fault {
    Fault::Said {
        code: error_field(body, b'C').unwrap_or_default(),
        message: error_field(body, b'M').unwrap_or_default(),
    }
}

/// Whether nobody else can listen on the way there.
fn is_near(place: &PartPlace) -> bool {
    match place {
        PartPlace::Socket(_) | PartPlace::File(_) | PartPlace::SocketPage { .. } => true,
        PartPlace::Tcp { host, .. }
        | PartPlace::Page { host, .. }
        | PartPlace::Figures { host, .. } => {
            host == "localhost"
                || host
                    .parse::<std::net::IpAddr>()
                    .is_ok_and(|address| address.is_loopback())
        }
    }
}
