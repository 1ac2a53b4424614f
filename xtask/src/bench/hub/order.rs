//! What is published, and the small requests that a hub is sent beside its load.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result};
use jiff::Timestamp;

/// Longer than a hub that hands out 20,000 messages first takes to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where stamp and number stand in a message, as JSON paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) stamp: &'static str,
    pub(super) sequence: &'static str,
}

/// A JSON object of exactly so many bytes, with the moment in µs and a number.
pub(in crate::bench) fn message(number: u32, len: usize) -> String {
    let stamp = Timestamp::now().as_microsecond();
    let head = format!(r#"{{"t":{stamp},"n":{number},"p":""#);
    let filled = len.saturating_sub(head.len() + 2);
    format!(r#"{head}{}"}}"#, "x".repeat(filled))
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

pub(crate) fn post(port: u16, path: &str, body: &str) -> Result<Answer> {
    exchange(port, "POST", path, body)
}

pub(in crate::bench) fn get(port: u16, path: &str) -> Result<Answer> {
    exchange(port, "GET", path, "")
}

/// Asks on a connection of its own.
fn exchange(port: u16, method: &str, path: &str, body: &str) -> Result<Answer> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .with_context(|| format!("no whole answer to {method} {path}"))?;
    read(&answer).with_context(|| format!("no answer to {method} {path}: {answer}"))
}

fn read(answer: &str) -> Option<Answer> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some(Answer {
        status: head.split(' ').nth(1)?.parse().ok()?,
        body: body.to_owned(),
    })
}

/// The sum over all labels of a metric in Prometheus' text.
pub(super) fn sum_of(text: &str, name: &str) -> Option<f64> {
    let values = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let value = match rest.strip_prefix('{') {
            Some(labels) => labels.split_once('}')?.1,
            None => rest.strip_prefix(' ')?,
        };
        value.trim().parse::<f64>().ok()
    });
    values.fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_json_of_the_length_that_was_asked() {
        let message = message(7, 200);
        assert_eq!(message.len(), 200);
        let read: serde_json::Value = serde_json::from_str(&message).unwrap();
        assert_eq!(read["n"], 7);
        // Microseconds have 16 digits from 2001 to 2286.
        assert_eq!(read["t"].to_string().len(), 16);
    }

    #[test]
    fn metrics_are_added_up_over_their_labels() {
        let text = "# TYPE hub_dropped_total counter\nhub_dropped_total{kind=\"a\"} 3\nhub_dropped_total{kind=\"b\"} 4\n\
                    hub_dropped_total_other 9\nhub_lag 2.5\n";
        assert_eq!(sum_of(text, "hub_dropped_total"), Some(7.0));
        assert_eq!(sum_of(text, "hub_lag"), Some(2.5));
        assert_eq!(sum_of(text, "hub"), None);
    }

    #[test]
    fn an_answer_is_its_status_and_what_follows() {
        let answer = read("HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok").unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (202, "ok"));
        assert!(read("HTTP/1.1 202").is_none());
    }
}
