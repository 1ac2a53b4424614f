//! An agent that is sent to another machine over the user's own `ssh`, and gone when the connection ends.
//!
//! This side starts `ssh` with arguments, without a shell. What `ssh` hands to the other machine is a command for a shell
//! there; both commands are constants, but for the name of a file that the other machine has made and that is checked.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::connection::SILENCE_MAX;

/// This program, as the kernel has it: its file may have been replaced since.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Writes standard input to a new file that only its owner may run, and prints its name.
const RECEIVE: &str = "sh -c 'umask 077; f=$(mktemp \"${TMPDIR:-/tmp}/plimsoll-agent.XXXXXXXX\") && cat > \"$f\" && \
                       chmod 700 \"$f\" && echo \"$f\"'";

/// How long a login may take, and the start of the program behind it.
const LOGIN_MAX: Duration = Duration::from_secs(30);

/// Bytes of what is printed at most, with the greetings of a login.
const PRINTED_MAX: u64 = 64 << 10;

/// `ssh` with an agent at its other end.
#[derive(Debug)]
pub(super) struct SshStream {
    socket: UnixStream,
    _ssh: RunningSsh,
}

/// A process that ends with its owner. The other side notices the end of its input, and ends as well.
#[derive(Debug)]
struct RunningSsh(Child);

impl Drop for RunningSsh {
    fn drop(&mut self) {
        // It has ended already, as often.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl SshStream {
    /// Sends this program there and starts it.
    pub(super) fn start(user: Option<&str>, host: &str, port: Option<u16>) -> Result<Self, String> {
        let file = send_program(ssh(user, host, port))?;
        let mut run = ssh(user, host, port);
        // The program removes its own file as soon as it runs.
        run.arg(format!("{file} agent --stdio || rm -f {file}"));
        Self::connected(run).map_err(|error| format!("cannot start ssh: {error}"))
    }

    fn connected(mut command: Command) -> std::io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_read_timeout(Some(LOGIN_MAX))?;
        socket.set_write_timeout(Some(SILENCE_MAX))?;
        let input = OwnedFd::from(theirs.try_clone()?);
        command
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(OwnedFd::from(theirs)));
        let ssh = RunningSsh(command.spawn()?);
        // The command holds the other end of the pair: while it lives, the end of `ssh` would not be noticed.
        drop(command);
        Ok(Self { socket, _ssh: ssh })
    }

    /// This end of the connection.
    pub(super) fn socket(&self) -> &UnixStream {
        &self.socket
    }
}

/// `ssh` that asks nobody anything, and ends when the other side is gone. What it prints is for the user.
fn ssh(user: Option<&str>, host: &str, port: Option<u16>) -> Command {
    let mut command = Command::new("ssh");
    command.args(["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]);
    command.args(["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"]);
    if let Some(port) = port {
        command.arg("-p").arg(port.to_string());
    }
    if let Some(user) = user {
        command.arg("-l").arg(user);
    }
    command.arg("--").arg(host);
    command
}

/// Sends this program; returns the name of its file there.
fn send_program(mut ssh: Command) -> Result<String, String> {
    let program =
        File::open(THIS_PROGRAM).map_err(|error| format!("cannot read this program: {error}"))?;
    let mut child = ssh
        .arg(RECEIVE)
        .stdin(Stdio::from(program))
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start ssh: {error}"))?;
    let printed = child.stdout.take();
    let mut ssh = RunningSsh(child);
    let mut text = String::new();
    if let Some(printed) = printed {
        printed
            .take(PRINTED_MAX)
            .read_to_string(&mut text)
            .map_err(|error| format!("cannot read what ssh prints: {error}"))?;
    }
    let status = ssh.0.wait().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!(
            "ssh could not send the program ({status}); try `ssh HOST true` by hand: it must ask for nothing"
        ));
    }
    file_in(&text).ok_or_else(|| "the other machine names no file for the program".to_owned())
}

/// The file that the other machine has made: it becomes a part of a command there.
fn file_in(printed: &str) -> Option<String> {
    let line = printed.lines().next_back()?.trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let is_right = line.starts_with('/')
        && line.len() <= 200
        && line.contains("/plimsoll-agent.")
        && line.chars().all(is_plain);
    is_right.then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_other_machine_is_plain() {
        let printed = "Welcome to db1!\n/tmp/plimsoll-agent.a1B2c3D4\n";
        let file = file_in(printed);
        assert_eq!(file.as_deref(), Some("/tmp/plimsoll-agent.a1B2c3D4"));
        for printed in [
            "",
            "plimsoll-agent.x",
            "/tmp/other",
            "/tmp/plimsoll-agent.x; reboot",
            "/tmp/plimsoll-agent.x y",
            "/tmp/plimsoll-agent.$(id)",
        ] {
            assert_eq!(file_in(printed), None, "{printed}");
        }
    }

    #[test]
    fn hosts_are_arguments() {
        let command = ssh(Some("me"), "db1", Some(2222));
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!(
            arguments[arguments.len() - 6..],
            ["-p", "2222", "-l", "me", "--", "db1"]
        );
    }
}
