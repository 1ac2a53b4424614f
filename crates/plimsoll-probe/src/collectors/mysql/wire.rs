//! The protocol of MariaDB and MySQL, as far as a collector needs it: log in, query, read rows of text.

use plimsoll_model::component::ComponentAddress;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};

use super::parse::{Greeting, error, greeting, row};
use crate::clock;
use crate::collectors::link::{ComponentLink, ScrapeError};
use crate::collectors::query_error::QueryError;

/// Long passwords, protocol 4.1, transactions, proofs of 20 bytes, ways of proof by name.
const CAPABILITIES: u32 = 0x1 | 0x200 | 0x2000 | 0x8000 | 0x8_0000;
/// Longest packet that we send, bytes.
const PACKET_LEN_MAX: u32 = 1 << 24;
/// `utf8mb4_general_ci`.
const CHARACTERS: u8 = 45;
/// Command byte of a query packet.
const QUERY: u8 = 3;
/// Rows of one result at most.
const ROWS_MAX: usize = 1000;

/// State of a session besides its connection.
#[derive(Debug, Default)]
pub(super) struct MysqlSession {
    buffer: Vec<u8>,
    /// Shortest time of a login, s.
    pub(super) entered_s: Option<f64>,
    sequence: u8,
    /// The server's version.
    pub(super) version: String,
}

impl MysqlSession {
    /// Logs in over a new connection.
    pub(super) fn enter(
        &mut self,
        link: &mut ComponentLink,
        user: &str,
        password: &str,
    ) -> Result<(), QueryError> {
        let begin_ns = clock::now_ns();
        self.buffer.clear();
        let first = self.packet(link)?;
        let hello = greeting(&first).ok_or_else(|| refusal(&first))?;
        self.version.clone_from(&hello.version);
        let proof = proof(&hello.plugin, password, &hello.challenge).unwrap_or_default();
        let mut body = CAPABILITIES.to_le_bytes().to_vec();
        body.extend(PACKET_LEN_MAX.to_le_bytes());
        body.push(CHARACTERS);
        body.extend([0; 23]);
        body.extend(user.bytes().filter(|&byte| byte != 0));
        body.push(0);
        body.push(u8::try_from(proof.len()).unwrap_or(0));
        body.extend(&proof);
        body.extend(hello.plugin.bytes());
        body.push(0);
        self.send(link, &body)?;
        self.prove(link, password, hello)?;
        self.entered_s = Some(clock::shortest_s(self.entered_s, begin_ns));
        Ok(())
    }

    /// Continues the authentication until the server accepts or rejects it.
    fn prove(
        &mut self,
        link: &mut ComponentLink,
        password: &str,
        mut hello: Greeting,
    ) -> Result<(), QueryError> {
        loop {
            let packet = self.packet(link)?;
            match packet.split_first() {
                Some((0, _)) => return Ok(()),
                Some((0xfe, rest)) => {
                    let mut fields = rest.splitn(2, |&byte| byte == 0);
                    let plugin = fields.next().unwrap_or_default();
                    hello.plugin = String::from_utf8_lossy(plugin).into_owned();
                    let challenge = fields.next().unwrap_or_default();
                    hello.challenge = challenge.strip_suffix(&[0]).unwrap_or(challenge).to_vec();
                    let Some(proof) = proof(&hello.plugin, password, &hello.challenge) else {
                        let why = format!(
                            "its account uses an authentication plugin that is not supported, {}",
                            hello.plugin
                        );
                        return Err(ScrapeError::Denied(why).into());
                    };
                    self.send(link, &proof)?;
                }
                // It knew the proof.
                Some((1, [3])) => {}
                // It needs the password in clear text, which is sent only over a private connection.
                Some((1, [4])) if matches!(link.place(), ComponentAddress::Socket(_)) => {
                    self.send(link, &[password.as_bytes(), b"\0"].concat())?;
                }
                Some((1, [4])) => {
                    let why = "its account must log in once through the socket, or with any client over TLS, before \
                        it can log in here";
                    return Err(ScrapeError::Denied(why.to_owned()).into());
                }
                _ => return Err(refusal(&packet)),
            }
        }
    }

    /// Runs a query, and appends the rows to `lines`.
    pub(super) fn query(
        &mut self,
        link: &mut ComponentLink,
        question: &str,
        lines: &mut String,
    ) -> Result<(), QueryError> {
        self.sequence = 0;
        self.send(link, &[&[QUERY][..], question.as_bytes()].concat())?;
        let first = self.packet(link)?;
        match first.first() {
            // Nothing but success.
            Some(0) => return Ok(()),
            Some(1..=0xfa) => {}
            _ => return Err(refusal(&first)),
        }
        // Column descriptions come first; the query knows them.
        while !is_end(&self.packet(link)?) {}
        for _ in 0..ROWS_MAX {
            let packet = self.packet(link)?;
            if is_end(&packet) {
                return Ok(());
            }
            if packet.first() == Some(&0xff) {
                return Err(refusal(&packet));
            }
            let values = row(&packet).ok_or_else(|| QueryError::strange(&packet))?;
            lines.push_str(&values.join("\t"));
            lines.push('\n');
        }
        Err(QueryError::strange(b"more rows than requested"))
    }

    fn send(&mut self, link: &mut ComponentLink, body: &[u8]) -> Result<(), QueryError> {
        let len = u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes();
        let head = [len[0], len[1], len[2], self.sequence];
        link.send(&[&head[..], body].concat())?;
        Ok(())
    }

    /// The next packet, without its head. A collector never receives packets longer than 16 MiB.
    fn packet(&mut self, link: &mut ComponentLink) -> Result<Vec<u8>, QueryError> {
        while self.buffer.len() < 4 {
            self.more(link)?;
        }
        let len = u32::from_le_bytes([self.buffer[0], self.buffer[1], self.buffer[2], 0]);
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        self.sequence = self.buffer[3].wrapping_add(1);
        while self.buffer.len() < len + 4 {
            self.more(link)?;
        }
        let rest = self.buffer.split_off(len + 4);
        let packet = std::mem::replace(&mut self.buffer, rest);
        Ok(packet[4..].to_vec())
    }

    fn more(&mut self, link: &mut ComponentLink) -> Result<(), QueryError> {
        match link.fill(&mut self.buffer)? {
            0 => Err(ScrapeError::Closed.into()),
            _ => Ok(()),
        }
    }
}

/// Whether a packet ends columns or rows.
fn is_end(packet: &[u8]) -> bool {
    packet.len() < 9 && packet.first() == Some(&0xfe)
}

fn refusal(packet: &[u8]) -> QueryError {
    match error(packet) {
        Some((code, message)) => QueryError::Rejected { code, message },
        None => QueryError::strange(packet),
    }
}

/// Proof of the password; `None` for an unknown authentication plugin.
fn proof(plugin: &str, password: &str, challenge: &[u8]) -> Option<Vec<u8>> {
    let mix = |a: &[u8], b: &[u8]| -> Vec<u8> { a.iter().zip(b).map(|(a, b)| a ^ b).collect() };
    match plugin {
        // A client on the Unix socket is authenticated by its user on the machine.
        "auth_socket" | "unix_socket" => Some(Vec::new()),
        _ if password.is_empty() => Some(Vec::new()),
        "mysql_native_password" => {
            let hash = |text: &[u8]| digest(&SHA1_FOR_LEGACY_USE_ONLY, text);
            let once = hash(password.as_bytes());
            let twice = hash(once.as_ref());
            let mixed = hash(&[challenge, twice.as_ref()].concat());
            Some(mix(once.as_ref(), mixed.as_ref()))
        }
        "caching_sha2_password" => {
            let hash = |text: &[u8]| digest(&SHA256, text);
            let once = hash(password.as_bytes());
            let twice = hash(once.as_ref());
            let mixed = hash(&[twice.as_ref(), challenge].concat());
            Some(mix(once.as_ref(), mixed.as_ref()))
        }
        _ => None,
    }
}
