//! The SSH server of Debian, with keys of its own, and an `ssh` that knows it: hosts of any name are this machine.

use std::fs::{DirBuilder, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Program, folder, write};
use crate::port;

/// Where the package installs it: it runs itself again, and so wants its whole path.
const SERVER: &str = "/usr/sbin/sshd";
/// The folder without which the server does not start as root; the unit of the package makes it.
const SEPARATION: &str = "/run/sshd";

/// A server, and the folder of an `ssh` that leads to it.
#[derive(Debug)]
pub struct SshServer {
    /// The program.
    pub program: Program,
}

/// What a server allows.
#[derive(Clone, Copy, Debug)]
pub struct SshOptions {
    /// Whether it forwards ports of its machine.
    pub forwards: bool,
    /// Whether its machine has a folder for temporary files.
    pub has_room: bool,
}

impl Default for SshOptions {
    /// What a server allows as a rule.
    fn default() -> Self {
        Self {
            forwards: true,
            has_room: true,
        }
    }
}

impl SshServer {
    /// Starts it. It lets in the user of this process, by a key that the `ssh` in [`Self::search_path`] has.
    ///
    /// # Panics
    /// When it is not installed, or does not start.
    #[must_use]
    pub fn start(options: SshOptions) -> Self {
        let (folder, address) = (folder(), port::unused());
        let path = folder.path();
        for name in ["host_key", "user_key"] {
            make_key(&path.join(name));
        }
        std::fs::copy(path.join("user_key.pub"), path.join("authorized_keys"))
            .expect("there is room for a file");
        for name in ["there", "bin"] {
            make_folder(&path.join(name));
        }
        // Only root needs it, and only root can make it.
        let _ = std::fs::create_dir_all(SEPARATION);
        let shown = path.display();
        let temporary = if options.has_room { "there" } else { "missing" };
        let forwarding = if options.forwards { "yes" } else { "no" };
        let configuration = path.join("sshd_config");
        write(
            &configuration,
            &format!(
                "ListenAddress {address}\nHostKey {shown}/host_key\nPidFile none\n\
                 AuthorizedKeysFile {shown}/authorized_keys\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n\
                 PasswordAuthentication no\nKbdInteractiveAuthentication no\nMaxStartups 100\n\
                 AllowTcpForwarding {forwarding}\nSetEnv TMPDIR={shown}/{temporary}\n"
            ),
        );
        write_client(path, address);
        let configuration = configuration.display().to_string();
        let command = [SERVER, "-D", "-e", "-f", &configuration];
        Self {
            program: Program::start(folder, &command, "Server listening on"),
        }
    }

    /// What the variable PATH of a program has to be, so that its `ssh` is the one that knows this server.
    #[must_use]
    pub fn search_path(&self) -> String {
        format!(
            "{}:/usr/bin:/bin",
            self.program.path().join("bin").display()
        )
    }

    /// Its folder for temporary files.
    #[must_use]
    pub fn temporary(&self) -> PathBuf {
        self.program.path().join("there")
    }

    /// Processes of programs that were started from its folder for temporary files: their ids, and their arguments as the system
    /// lists them for everybody.
    ///
    /// # Panics
    /// When the system lists no processes.
    #[must_use]
    pub fn sent_processes(&self) -> Vec<(u32, Vec<String>)> {
        let beginning = self.temporary().display().to_string();
        let entries = std::fs::read_dir("/proc").expect("the system lists processes");
        let processes = entries.flatten().filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            // It may have ended meanwhile.
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            let words = line.split(|&byte| byte == 0);
            let words = words.map(|word| String::from_utf8_lossy(word).into_owned());
            let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
            words
                .first()?
                .starts_with(&beginning)
                .then_some((id, words))
        });
        processes.collect()
    }
}

/// An `ssh` for which every host is this server; `nowhere` is one on which nothing listens.
fn write_client(folder: &Path, server: SocketAddr) {
    let shown = folder.display();
    let host_key = std::fs::read_to_string(folder.join("host_key.pub")).expect("a key was made");
    write(&folder.join("known_hosts"), &format!("here {host_key}"));
    let closed = port::unused().port();
    write(
        &folder.join("ssh_config"),
        &format!(
            "Host nowhere\n  Port {closed}\n\
             Host *\n  HostName {ip}\n  HostKeyAlias here\n  Port {port}\n  IdentityFile {shown}/user_key\n  IdentitiesOnly yes\n\
             \x20 UserKnownHostsFile {shown}/known_hosts\n  GlobalKnownHostsFile none\n  StrictHostKeyChecking yes\n",
            ip = server.ip(),
            port = server.port()
        ),
    );
    let program = folder.join("bin/ssh");
    write(
        &program,
        &format!("#!/bin/sh\nexec /usr/bin/ssh -F {shown}/ssh_config \"$@\"\n"),
    );
    std::fs::set_permissions(&program, Permissions::from_mode(0o755))
        .expect("modes can be changed");
}

fn make_folder(path: &Path) {
    let made = DirBuilder::new().mode(0o700).create(path);
    made.expect("there is room for a folder");
}

fn make_key(path: &Path) {
    let output = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(path)
        .output()
        .expect("ssh-keygen is installed: apt-get install openssh-client");
    assert!(output.status.success(), "ssh-keygen: {output:?}");
}
