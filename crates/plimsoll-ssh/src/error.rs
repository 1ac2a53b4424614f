//! Why this program does not run on another machine.

use std::io;

use crate::marker::RemoteFailure;

/// Why this program does not run on another machine. `ssh` has printed more, where it knows more.
#[derive(Debug, thiserror::Error)]
pub enum SshError {
    /// The file of this program cannot be read.
    #[error("cannot read this program to send it: {0}")]
    Program(io::Error),
    /// There is no `ssh` here.
    #[error("cannot start ssh: {0}; install the client of OpenSSH on this machine")]
    Start(io::Error),
    /// `ssh` has ended before the program ran.
    #[error(
        "ssh ended before the program ran there{status}; `ssh ssh://{destination} true` must succeed without a question"
    )]
    Ended {
        /// Where it should run.
        destination: String,
        /// ` (exit status: 255)`, or nothing.
        status: String,
    },
    /// Nothing has moved for too long.
    #[error(
        "nothing moved on the connection for {seconds} s; look at the network and the load of that machine"
    )]
    Silent {
        /// So long, s.
        seconds: u64,
    },
    /// The shell there has reported what failed.
    #[error(transparent)]
    Remote(#[from] RemoteFailure),
    /// The other side prints something else for too long.
    #[error(
        "the login there prints more than {0} bytes before a command runs; keep its start-up files silent without a terminal"
    )]
    Noise(u64),
    /// The server of SSH there forwards no port.
    #[error(
        "the SSH server there forwards no port to this machine; allow it (`AllowTcpForwarding remote` in its sshd_config), or name \
         an address of this machine that its hosts reach: --on-address HOST:PORT"
    )]
    Forward,
}
