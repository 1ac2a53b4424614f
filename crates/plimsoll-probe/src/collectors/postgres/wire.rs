//! PostgreSQL's protocol, as far as a collector needs it: log in, query, read rows of text.

use plimsoll_model::component::ComponentAddress;
use plimsoll_wire::postgres::{
    self, AuthError, AuthStep, Authentication, BackendMessage, error_field,
};

use super::parse::{columns, row};
use crate::clock;
use crate::collectors::link::{ComponentLink, ScrapeError};
use crate::collectors::query_error::QueryError;

/// Longest message accepted, bytes.
const MESSAGE_LEN_MAX: usize = 1 << 20;

/// The login, and the database.
#[derive(Clone, Copy, Debug)]
pub(in crate::collectors) struct PostgresLogin<'a> {
    pub(in crate::collectors) user: &'a str,
    pub(in crate::collectors) password: &'a str,
    pub(in crate::collectors) database: &'a str,
}

/// State of a session besides its connection.
#[derive(Debug, Default)]
pub(in crate::collectors) struct PostgresSession {
    buffer: Vec<u8>,
    /// Shortest time of a login, s.
    pub(in crate::collectors) entered_s: Option<f64>,
    /// The server's major version; 0 when unknown.
    pub(in crate::collectors) version: u32,
}

impl PostgresSession {
    /// Logs in over a new connection.
    pub(in crate::collectors) fn enter(
        &mut self,
        link: &mut ComponentLink,
        entry: PostgresLogin<'_>,
    ) -> Result<(), QueryError> {
        let begin_ns = clock::now_ns();
        self.prove(link, entry)?;
        self.entered_s = Some(clock::shortest_s(self.entered_s, begin_ns));
        Ok(())
    }

    fn prove(
        &mut self,
        link: &mut ComponentLink,
        entry: PostgresLogin<'_>,
    ) -> Result<(), QueryError> {
        self.buffer.clear();
        link.send(&postgres::entry(entry.user, entry.database))?;
        let mut entrance = Authentication::new(entry.password, is_near(link.place()));
        loop {
            let (kind, body) = self.message(link)?;
            match kind {
                b'R' => match entrance.answer(&body) {
                    Ok(AuthStep::Send(answer)) => link.send(&answer)?,
                    Ok(AuthStep::Wait) => {}
                    Err(why) => return Err(refused(why, &body)),
                },
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
                _ => return Err(QueryError::strange(&body)),
            }
        }
    }

    /// Runs a query, and appends the rows to `lines`.
    pub(in crate::collectors) fn query(
        &mut self,
        link: &mut ComponentLink,
        question: &str,
        lines: &mut String,
    ) -> Result<(), QueryError> {
        self.put(link, question, false, lines)
    }

    /// The same with the names of the columns in the first line.
    pub(in crate::collectors) fn table(
        &mut self,
        link: &mut ComponentLink,
        question: &str,
        lines: &mut String,
    ) -> Result<(), QueryError> {
        self.put(link, question, true, lines)
    }

    fn put(
        &mut self,
        link: &mut ComponentLink,
        question: &str,
        with_names: bool,
        lines: &mut String,
    ) -> Result<(), QueryError> {
        link.send(&postgres::question(question))?;
        let mut refused = None;
        loop {
            let (kind, body) = self.message(link)?;
            match kind {
                b'T' if with_names => {
                    let names = columns(&body).ok_or_else(|| QueryError::strange(&body))?;
                    lines.push_str(&names.join("\t"));
                    lines.push('\n');
                }
                b'D' => {
                    let values = row(&body).ok_or_else(|| QueryError::strange(&body))?;
                    lines.push_str(&values.join("\t"));
                    lines.push('\n');
                }
                b'E' => refused = Some(refusal(&body)),
                b'Z' => return refused.map_or(Ok(()), Err),
                _ => {}
            }
        }
    }

    /// The next message: type and content.
    fn message(&mut self, link: &mut ComponentLink) -> Result<(u8, Vec<u8>), QueryError> {
        loop {
            let read = postgres::read(&self.buffer, MESSAGE_LEN_MAX);
            match read.map_err(|_| QueryError::strange(&self.buffer))? {
                Some((len, BackendMessage { kind, body })) => {
                    let message = (kind, body.to_vec());
                    self.buffer.drain(..len);
                    return Ok(message);
                }
                None => self.more(link)?,
            }
        }
    }

    fn more(&mut self, link: &mut ComponentLink) -> Result<(), QueryError> {
        match link.fill(&mut self.buffer)? {
            0 => Err(ScrapeError::Closed.into()),
            _ => Ok(()),
        }
    }
}

/// Why the way in ends.
fn refused(why: AuthError, body: &[u8]) -> QueryError {
    match why {
        AuthError::Denied(why) => ScrapeError::Denied(why.to_owned()).into(),
        AuthError::Strange(why) => ScrapeError::Strange(why.to_owned()).into(),
        AuthError::Malformed => QueryError::strange(body),
    }
}

fn refusal(body: &[u8]) -> QueryError {
    QueryError::Rejected {
        code: error_field(body, b'C').unwrap_or_default(),
        message: error_field(body, b'M').unwrap_or_default(),
    }
}

/// Whether the path to the server is private.
fn is_near(place: &ComponentAddress) -> bool {
    match place {
        ComponentAddress::Socket(_)
        | ComponentAddress::File(_)
        | ComponentAddress::Command(_)
        | ComponentAddress::SocketPage { .. } => true,
        ComponentAddress::Tcp { host, .. }
        | ComponentAddress::Page { host, .. }
        | ComponentAddress::Figures { host, .. }
        | ComponentAddress::Machine { host, .. } => {
            host == "localhost"
                || host
                    .parse::<std::net::IpAddr>()
                    .is_ok_and(|address| address.is_loopback())
        }
    }
}
