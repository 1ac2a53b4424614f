//! What `ssh` prints on its standard error: lines for people, and which port of the other machine leads here.

use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::process::ChildStderr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::error::SshError;

/// Takes a line that `ssh`, or the program there, prints for people.
pub type SshReport = Arc<dyn Fn(&str) + Send + Sync>;

/// Bytes of a line at most; the rest of it is another line.
const LINE_MAX: u64 = 500;
/// Lines of one connection that are reported at most.
const LINES_MAX: u32 = 200;

/// How OpenSSH begins the line about a port that it was free to choose.
const ALLOCATED: &str = "Allocated port ";
/// How the line ends where the other side refuses to choose one. Ports with a number are of the user's own configuration.
const REFUSED: &str = "remote port forwarding failed for listen port 0";

/// Facts about a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum SshNews {
    /// This port of the other machine leads here.
    Port(u16),
    NoForwarding,
}

/// The reader of the lines, on a thread of its own.
#[derive(Debug)]
pub(crate) struct PrintedLines {
    news: Receiver<SshNews>,
}

impl PrintedLines {
    /// Reads until the stream ends. `forward` is the address here to which a port there is to lead.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(crate) fn follow(
        stream: ChildStderr,
        report: SshReport,
        forward: Option<SocketAddr>,
    ) -> Result<Self, SshError> {
        // As `ssh` prints it, also an IPv6 address.
        let leads_to = forward.map(|address| format!(" to {}:{}", address.ip(), address.port()));
        // A connection has one fact, which the reader does not wait to hand over.
        let (sender, news) = sync_channel(1);
        thread::Builder::new()
            .name("ssh".to_owned())
            .spawn(move || read(stream, leads_to.as_deref(), &sender, &*report))
            .map_err(SshError::Start)?;
        Ok(Self { news })
    }

    /// The port of the other machine that leads here.
    ///
    /// # Errors
    /// When the other side forwards none, or nothing is known within a time.
    pub(crate) fn port(&self, within: Duration) -> Result<u16, SshError> {
        match self.news.recv_timeout(within) {
            Ok(SshNews::Port(port)) => Ok(port),
            Ok(SshNews::NoForwarding) | Err(RecvTimeoutError::Disconnected) => {
                Err(SshError::Forward)
            }
            Err(RecvTimeoutError::Timeout) => Err(SshError::Silent {
                seconds: within.as_secs(),
            }),
        }
    }

    /// Whether the stream ends, and with it `ssh`, within a time.
    pub(crate) fn ends(&self, within: Duration) -> bool {
        loop {
            match self.news.recv_timeout(within) {
                // The reader sends one fact, which may not have been taken.
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
            }
        }
    }
}

fn read(
    stream: impl Read,
    leads_to: Option<&str>,
    news: &SyncSender<SshNews>,
    report: &dyn Fn(&str),
) {
    let mut stream = BufReader::new(stream);
    // The first fact counts: the other side may print what it wants, and as often.
    let mut awaited = leads_to;
    let mut reported = 0;
    let mut line = Vec::new();
    // Read on beyond the last line that is reported: a full pipe would stop the other side.
    while let Ok(1..) = stream.by_ref().take(LINE_MAX).read_until(b'\n', &mut line) {
        let text = String::from_utf8_lossy(&line);
        if let Some(fact) = awaited.and_then(|address| news_of(&text, address)) {
            awaited = None;
            let _ = news.try_send(fact);
        }
        let text: String = text.trim().chars().filter(|c| !c.is_control()).collect();
        if !text.is_empty() && !text.starts_with(ALLOCATED) && reported < LINES_MAX {
            report(&text);
            reported += 1;
        }
        line.clear();
    }
}

/// What a line says of the port that leads to an address; the user's configuration of `ssh` may have others.
fn news_of(line: &str, leads_to: &str) -> Option<SshNews> {
    if line.trim().ends_with(REFUSED) {
        return Some(SshNews::NoForwarding);
    }
    let line = line.trim().strip_suffix(leads_to)?;
    let digits = line.strip_prefix(ALLOCATED)?.split(' ').next()?;
    let port = digits.parse().ok().filter(|&port| port != 0)?;
    Some(SshNews::Port(port))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const HERE: &str = " to 127.0.0.1:7400";

    fn lines_of(text: &str) -> (Vec<String>, Receiver<SshNews>) {
        let (sender, news) = sync_channel(1);
        let lines = Mutex::new(Vec::new());
        read(text.as_bytes(), Some(HERE), &sender, &|line| {
            lines.lock().unwrap().push(line.to_owned());
        });
        (lines.into_inner().unwrap(), news)
    }

    #[test]
    fn a_port_is_a_fact_and_the_rest_is_for_people() {
        let text = [
            "Warning: Permanently added 'load1'.\r\n",
            "Allocated port 9 for remote forward to 127.0.0.1:80\r\n",
            "Allocated port 40123 for remote forward to 127.0.0.1:7400\r\n",
            "\u{1b}[1mbye\n",
        ]
        .concat();
        let (lines, news) = lines_of(&text);
        assert_eq!(lines, ["Warning: Permanently added 'load1'.", "[1mbye"]);
        assert_eq!(news.try_recv(), Ok(SshNews::Port(40_123)));
    }

    #[test]
    fn a_server_that_forwards_nothing_is_a_fact() {
        let text = "Warning: remote port forwarding failed for listen port 0\r\n";
        let (lines, news) = lines_of(text);
        assert_eq!(
            (lines.len(), news.try_recv()),
            (1, Ok(SshNews::NoForwarding))
        );
        // A port of the user's own configuration.
        let other = "Warning: remote port forwarding failed for listen port 9000";
        assert_eq!(news_of(other, HERE), None);
        for line in [
            "Allocated port 0 for",
            "Allocated port x",
            "allocated port 5 for",
        ] {
            let line = format!("{line}{HERE}");
            assert_eq!(news_of(&line, HERE), None, "{line}");
        }
    }

    #[test]
    fn endless_lines_are_bounded() {
        let (lines, _) = lines_of(&"x".repeat(1000));
        assert_eq!(lines.len(), 2);
        let (lines, _) = lines_of(&"x\n".repeat(1000));
        assert_eq!(lines.len(), LINES_MAX as usize);
    }
}
