//! Many concurrent clients, each with a connection of its own, and what they received.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use plimsoll_config::edge::{EdgeConfig, Fallback};

use crate::support::{connect, read_until, status_and_body};

/// The complete fallback.
pub(crate) const FALLBACK_BODY: &str = "<p>soon";

/// An edge with a fallback.
pub(crate) fn with_fallback(mut edge: EdgeConfig) -> EdgeConfig {
    edge.routes[0].fallback = Some(Fallback {
        name: "shell.html".to_owned(),
        content: FALLBACK_BODY.as_bytes().to_vec(),
        media_type: "text/html".to_owned(),
    });
    edge
}

/// Closed-loop clients: the next request follows the response, or a pause after the fallback.
#[derive(Clone, Copy)]
pub(crate) struct ConcurrentClients {
    pub(crate) clients: usize,
    /// Pause of a client that was not served; zero for none.
    pub(crate) pause: Duration,
    pub(crate) ends: Ends,
}

/// When a client stops: so long after all have begun, or after so many requests.
#[derive(Clone, Copy)]
pub(crate) enum Ends {
    In(Duration),
    After(usize),
}

/// Response times, by source.
#[derive(Debug, Default)]
pub(crate) struct Got {
    /// From a server, with status 200, complete.
    pub(crate) pages: Vec<Duration>,
    pub(crate) fallbacks: Vec<Duration>,
    /// Anything else, or nothing.
    pub(crate) other: Vec<String>,
    /// How long the last client took, from the moment when all began.
    pub(crate) lasted: Duration,
}

impl ConcurrentClients {
    pub(crate) fn run(self, address: SocketAddr) -> Got {
        // However long it takes to start them.
        let together = Barrier::new(self.clients);
        let mut all = Got::default();
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..self.clients)
                .map(|_| {
                    scope.spawn(|| {
                        together.wait();
                        self.client(address)
                    })
                })
                .collect();
            for client in clients {
                let got = client.join().unwrap();
                all.pages.extend(got.pages);
                all.fallbacks.extend(got.fallbacks);
                all.other.extend(got.other);
                all.lasted = all.lasted.max(got.lasted);
            }
        });
        all.pages.sort();
        all.fallbacks.sort();
        all
    }

    fn client(self, address: SocketAddr) -> Got {
        let began = Instant::now();
        let mut got = Got::default();
        let mut stream = connect(address);
        for number in 0.. {
            let is_over = match self.ends {
                Ends::In(time) => began.elapsed() >= time,
                Ends::After(count) => number == count,
            };
            if is_over {
                break;
            }
            let asked = Instant::now();
            match exchange(&mut stream) {
                Ok(answer) if answer.contains("\r\nX-Plimsoll: fallback\r\n") => {
                    got.fallbacks.push(asked.elapsed());
                    wait(&mut stream, self.pause);
                }
                Ok(answer) if status_and_body(&answer).0 == 200 => got.pages.push(asked.elapsed()),
                Ok(answer) => {
                    let closes = answer.contains("\r\nConnection: close\r\n");
                    got.other.push(answer);
                    if closes {
                        stream = connect(address);
                    }
                }
                Err(error) => {
                    got.other.push(error.to_string());
                    stream = connect(address);
                }
            }
        }
        got.lasted = began.elapsed();
        got
    }
}

/// One request and its complete response of known length.
fn exchange(stream: &mut TcpStream) -> std::io::Result<String> {
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")?;
    let head = read_until(stream, "\r\n\r\n");
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(head + &String::from_utf8_lossy(&body))
}

/// No data arrives, so the read time-out is the pause.
fn wait(stream: &mut TcpStream, pause: Duration) {
    if pause.is_zero() {
        return;
    }
    let before = stream.read_timeout().unwrap();
    stream.set_read_timeout(Some(pause)).unwrap();
    let _ = stream.peek(&mut [0]);
    stream.set_read_timeout(before).unwrap();
}
