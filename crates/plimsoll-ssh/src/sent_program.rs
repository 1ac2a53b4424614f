//! `ssh` with this program at its other end.

use std::io::{self, Read as _};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_model::ssh::SshDestination;

use crate::error::SshError;
use crate::lines::{PrintedLines, SshReport};
use crate::marker::{self, MarkerOutcome, NOISE_MAX};
use crate::script;
use crate::this_program::ThisProgram;

/// How long nothing may move: a login, or a piece of the program on a slow line.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// How long `ssh` may take to exit when its connection has ended.
const EXIT_MAX: Duration = Duration::from_secs(2);
/// Reads of what the program prints, before the caller has its turn.
const READS: u32 = 64;

/// What is to run, and where.
pub struct SshRequest<'a> {
    /// The other machine.
    pub destination: &'a SshDestination,
    /// Arguments of this program there: plain words.
    pub arguments: &'a [&'a str],
    /// This address here is to be reached by a port of the loopback address there.
    pub forward: Option<SocketAddr>,
    /// Takes what is printed there, and by `ssh`, for people.
    pub report: SshReport,
    /// Takes how many bytes of the program were sent, and how many it has.
    pub progress: &'a dyn Fn(u64, u64),
    /// Takes what ends the connection from another thread, as soon as there is one.
    pub opened: &'a dyn Fn(SshCloser),
}

/// Ends a connection from another thread: reads and writes of this side end at once.
#[derive(Debug)]
pub struct SshCloser(UnixStream);

impl SshCloser {
    /// Ends it. It may have ended already.
    pub fn close(&self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// This program on another machine. When this is dropped, `ssh` is ended; the other side notices the end of its input, ends
/// as well, and is removed.
#[derive(Debug)]
pub struct SentProgram {
    socket: UnixStream,
    port: Option<u16>,
    lines: PrintedLines,
    ssh: RunningSsh,
}

/// A process that ends with its owner.
#[derive(Debug)]
struct RunningSsh(Child);

impl Drop for RunningSsh {
    fn drop(&mut self) {
        // It has ended already, as often.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl SentProgram {
    /// Sends this program there and starts it: from then on the connection is its standard input and output.
    ///
    /// # Errors
    /// When `ssh` does not log in, the program does not arrive or run there, a port is not forwarded, or nothing moves for half
    /// a minute.
    pub fn start(program: &ThisProgram, request: &SshRequest<'_>) -> Result<Self, SshError> {
        let mut command = ssh(request.destination, request.forward);
        command.arg(script::command(program, request.arguments));
        let (socket, ssh, lines) = connected(command, request).map_err(|error| match error {
            ConnectError::Io(error) => SshError::Start(error),
            ConnectError::Ssh(error) => error,
        })?;
        let mut sent = Self {
            socket,
            port: None,
            lines,
            ssh,
        };
        (request.opened)(SshCloser(sent.socket.try_clone().map_err(SshError::Start)?));
        sent.send(program, request.progress)?;
        sent.wait_for_start(request.destination)?;
        if request.forward.is_some() {
            sent.port = Some(sent.lines.port(SILENCE_MAX)?);
        }
        Ok(sent)
    }

    /// This end of the connection, whose reads and writes wait for half a minute until another time-out is set.
    pub fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// The port of the loopback address there that leads to the address which was to be forwarded.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Waits until the connection ends, at most for a time; what the program prints meanwhile is dropped. False when it goes
    /// on.
    pub fn has_ended(&self, within: Duration) -> bool {
        let mut buffer = [0; 4096];
        if self.socket.set_read_timeout(Some(within)).is_err() {
            return true;
        }
        for _ in 0..READS {
            match (&self.socket).read(&mut buffer) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return !is_timeout(&error),
            }
        }
        false
    }

    /// ` (exit status: 255)` of an `ssh` whose connection has ended: that of the program there, or of `ssh`. Nothing where it
    /// does not exit within some seconds.
    pub fn status(&mut self) -> String {
        if !self.lines.ends(EXIT_MAX) {
            return String::new();
        }
        // All it had open is closed.
        let status = self.ssh.0.wait();
        status.map_or_else(|_| String::new(), |status| format!(" ({status})"))
    }

    fn send(&self, program: &ThisProgram, progress: &dyn Fn(u64, u64)) -> Result<(), SshError> {
        match program.send(&self.socket, progress) {
            Ok(()) => Ok(()),
            // The shell there takes no more, and prints why; or `ssh` has ended, which is noticed there.
            Err(error) if is_closed(&error) => Ok(()),
            Err(error) if is_timeout(&error) => Err(silent()),
            Err(error) => Err(SshError::Program(error)),
        }
    }

    /// Waits for the line of the shell there.
    fn wait_for_start(&mut self, destination: &SshDestination) -> Result<(), SshError> {
        match marker::read(&mut &self.socket) {
            Ok(MarkerOutcome::Started) => Ok(()),
            Ok(MarkerOutcome::Failed(failure)) => Err(failure.into()),
            Ok(MarkerOutcome::Noise) => Err(SshError::Noise(NOISE_MAX)),
            Err(error) if is_timeout(&error) => Err(silent()),
            Ok(MarkerOutcome::Ended) | Err(_) => Err(SshError::Ended {
                destination: destination.to_string(),
                status: self.status(),
            }),
        }
    }
}

enum ConnectError {
    Io(io::Error),
    Ssh(SshError),
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Starts `ssh`, whose standard input and output are one end of a pair of sockets.
fn connected(
    mut command: Command,
    request: &SshRequest<'_>,
) -> Result<(UnixStream, RunningSsh, PrintedLines), ConnectError> {
    let (socket, theirs) = UnixStream::pair()?;
    socket.set_read_timeout(Some(SILENCE_MAX))?;
    socket.set_write_timeout(Some(SILENCE_MAX))?;
    let input = OwnedFd::from(theirs.try_clone()?);
    command
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(OwnedFd::from(theirs)))
        .stderr(Stdio::piped())
        .process_group(0);
    let mut ssh = RunningSsh(command.spawn()?);
    // The command holds the other end of the pair: while it lives, the end of `ssh` would not be noticed.
    drop(command);
    let printed = ssh.0.stderr.take();
    let printed = printed.ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
    let report = SshReport::clone(&request.report);
    let lines = PrintedLines::follow(printed, report, request.forward);
    let lines = lines.map_err(ConnectError::Ssh)?;
    Ok((socket, ssh, lines))
}

/// `ssh` that asks nobody anything, and ends when the other side is gone.
fn ssh(destination: &SshDestination, forward: Option<SocketAddr>) -> Command {
    let mut command = Command::new("ssh");
    command.args(["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]);
    command.args(["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"]);
    // A connection of its own: one that is shared would outlive this program, and what it forwards as well.
    command.args(["-o", "ControlMaster=no", "-o", "ControlPath=none"]);
    // The user's configuration may have what stops this program's own command and port, or lends keys and a display to a host
    // that needs neither.
    command.args(["-o", "RemoteCommand=none", "-o", "ClearAllForwardings=no"]);
    command.args(["-o", "ExitOnForwardFailure=no"]);
    command.args(["-o", "ForwardAgent=no", "-o", "ForwardX11=no"]);
    if let Some(address) = forward {
        // Which port the other side has chosen is printed at this level.
        command.args(["-o", "LogLevel=INFO", "-R"]);
        command.arg(format!("127.0.0.1:0:{address}"));
    }
    if let Some(port) = destination.port() {
        command.arg("-p").arg(port.to_string());
    }
    if let Some(user) = destination.user() {
        command.arg("-l").arg(user);
    }
    command.arg("--").arg(destination.host());
    command
}

fn silent() -> SshError {
    SshError::Silent {
        seconds: SILENCE_MAX.as_secs(),
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(text: &str, forward: Option<SocketAddr>) -> Vec<String> {
        let command = ssh(&text.parse().unwrap(), forward);
        let words = command.get_args();
        words
            .map(|word| word.to_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn hosts_are_arguments() {
        let words = arguments("me@db1:2222", None);
        assert_eq!(
            words[words.len() - 6..],
            ["-p", "2222", "-l", "me", "--", "db1"]
        );
        assert!(!words.contains(&"-R".to_owned()), "{words:?}");
    }

    #[test]
    fn a_port_is_forwarded_from_the_loopback_address_there_alone() {
        let words = arguments("db1", Some(([127, 0, 0, 1], 7400).into()));
        let at = words.iter().position(|word| word == "-R").unwrap();
        assert_eq!(words[at + 1], "127.0.0.1:0:127.0.0.1:7400");
        assert_eq!(words[words.len() - 2..], ["--", "db1"]);
    }
}
