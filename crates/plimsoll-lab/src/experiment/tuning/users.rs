//! Notices that others use the service while settings are tried: its access log has requests that the trials did not send,
//! or connections from other machines send something to its port.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plimsoll_model::trial::{Trial, TrialSpec};
use plimsoll_probe::clients::{self, PortClients};
use plimsoll_probe::rest;

use crate::progress::{Progress, StopFlag, Watcher};

/// Requests of others that stop a search: one may be a scanner.
const REQUESTS_MIN: u64 = 3;
/// Times that connections of others are found to have sent something until a search stops.
const SENDS_MIN: u64 = 3;
/// Checks between two looks for the program that listens, where none is found: all processes are read for it.
const LOOK_EVERY: u32 = 15;
/// Most that is read of a log at once, bytes; of more, the end.
const READ_MAX: u64 = 4 << 20;
/// Part of the name of an access log.
const ACCESS: &str = "access";
/// Every browser says this of itself; no health check does.
const BROWSER: &str = "Mozilla/";

/// Watches access logs and connections for requests of others.
#[derive(Debug)]
pub struct UserGuard {
    logs: Vec<FollowedLog>,
    /// `None` where the target is not on this machine, or the kernel lists no sockets.
    clients: Option<PortClients>,
    /// A client with the address of the target is this machine.
    target: SocketAddr,
    /// The program whose logs are read, and its start.
    listener: Option<(u32, u64)>,
    /// Checks until a program is looked for again, where there is none.
    checks_left: u32,
    user_agent: String,
    requests: u64,
    sends: u64,
}

impl UserGuard {
    /// Watches the port of `target` on this machine, and the access logs that the program has open which listens there,
    /// from now on. Requests with this `User-Agent` are ours.
    pub fn of(target: SocketAddr, user_agent: &str) -> Self {
        let mut guard = Self::reading(Vec::new(), target, user_agent);
        if clients::is_own(target.ip()) {
            guard.clients = PortClients::open(target.port()).ok();
            guard.find_logs();
        }
        guard
    }

    /// Reads these logs alone, from now on.
    pub fn reading(logs: Vec<PathBuf>, target: SocketAddr, user_agent: &str) -> Self {
        Self {
            logs: logs.into_iter().map(FollowedLog::from_end).collect(),
            clients: None,
            target,
            listener: None,
            checks_left: 1,
            user_agent: user_agent.to_owned(),
            requests: 0,
            sends: 0,
        }
    }

    /// Reads the logs of the program that listens now: a service that is started for a trial is another one each time.
    fn find_logs(&mut self) {
        let Some(process) = rest::listener_of(self.target.port()) else {
            return;
        };
        self.listener = Some((process.pid, process.started));
        let mut logs = rest::open_files(process.pid);
        logs.retain(|path| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().to_lowercase().contains(ACCESS)
        });
        logs.sort();
        logs.dedup();
        self.logs = logs.into_iter().map(FollowedLog::from_end).collect();
    }

    /// The logs that are read.
    pub fn logs(&self) -> impl Iterator<Item = &Path> {
        self.logs.iter().map(|log| log.path.as_path())
    }

    /// Looks at what has come since the last call. Returns why the search has to stop, when others use the service.
    pub fn check(&mut self) -> Option<String> {
        if self.is_of_another_program() {
            self.find_logs();
        }
        self.check_logs().or_else(|| self.check_clients())
    }

    /// Whether the program whose logs are read has ended, or there was none and it is time to look again.
    fn is_of_another_program(&mut self) -> bool {
        if self.clients.is_none() {
            return false;
        }
        if let Some((pid, started)) = self.listener {
            return rest::process(pid).is_none_or(|it| it.started != started);
        }
        self.checks_left = self.checks_left.checked_sub(1).unwrap_or(LOOK_EVERY);
        self.checks_left == 0
    }

    fn check_clients(&mut self) -> Option<String> {
        let active = self.clients.as_mut()?.active().unwrap_or_default();
        self.sends += active.len() as u64;
        let client = active.first().filter(|_| self.sends >= SENDS_MIN)?;
        Some(format!(
            "others use the service: connections from {} and perhaps more send requests to port {}; tune another instance of it, or allow it with --beside-users",
            client.ip(),
            self.target.port()
        ))
    }

    fn check_logs(&mut self) -> Option<String> {
        let mut found = None;
        for log in &mut self.logs {
            // A log that cannot be read shows nothing.
            let text = log.appended().unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let of_others = text
                .lines()
                .filter(|line| is_of_others(line, self.target.ip(), &self.user_agent));
            let count = of_others.count() as u64;
            if count > 0 {
                self.requests += count;
                found = Some(log.path.clone());
            }
        }
        let log = found.filter(|_| self.requests >= REQUESTS_MIN)?;
        Some(format!(
            "others use the service: {} has {} requests that the trials did not send; tune another instance of it, or allow it with --beside-users",
            log.display(),
            self.requests
        ))
    }
}

/// Whether a line of an access log is of a request that neither the trials nor a check of this machine sent.
fn is_of_others(line: &str, target: IpAddr, user_agent: &str) -> bool {
    if line.contains(user_agent) {
        return false;
    }
    let is_of_address = |c: char| c.is_ascii_hexdigit() || matches!(c, '.' | ':');
    let client = line
        .split(|c| !is_of_address(c))
        .find_map(|word| word.parse::<IpAddr>().ok());
    match client.map(|client| client.to_canonical()) {
        None => false,
        Some(client) if client.is_loopback() || client == target => line.contains(BROWSER),
        Some(_) => true,
    }
}

/// A log that is read from its end on.
#[derive(Debug)]
struct FollowedLog {
    path: PathBuf,
    inode: u64,
    offset: u64,
}

impl FollowedLog {
    fn from_end(path: PathBuf) -> Self {
        let about = fs::metadata(&path).ok();
        Self {
            inode: about.as_ref().map_or(0, MetadataExt::ino),
            offset: about.map_or(0, |about| about.len()),
            path,
        }
    }

    /// The whole lines since the last call.
    fn appended(&mut self) -> io::Result<Vec<u8>> {
        let mut file = File::open(&self.path)?;
        let about = file.metadata()?;
        if about.ino() != self.inode || about.len() < self.offset {
            // Rotated, or emptied.
            (self.inode, self.offset) = (about.ino(), 0);
        }
        let skipped = about.len().saturating_sub(READ_MAX) > self.offset;
        self.offset = self.offset.max(about.len().saturating_sub(READ_MAX));
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        file.take(READ_MAX).read_to_end(&mut bytes)?;
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(end.map_or(0, |end| end + 1));
        self.offset += bytes.len() as u64;
        if skipped && let Some(begin) = bytes.iter().position(|byte| *byte == b'\n') {
            bytes.drain(..=begin);
        }
        Ok(bytes)
    }
}

/// Stops a search when others use the service; passes everything on.
pub struct GuardedWatcher<'w> {
    watcher: &'w mut dyn Watcher,
    guard: Option<UserGuard>,
    /// Stop of the search.
    stop: StopFlag,
    found: Option<String>,
}

impl<'w> GuardedWatcher<'w> {
    /// Raises `stop` when `guard` finds others; never without a guard.
    pub fn new(watcher: &'w mut dyn Watcher, guard: Option<UserGuard>, stop: StopFlag) -> Self {
        Self {
            watcher,
            guard,
            stop,
            found: None,
        }
    }

    /// Why the search was stopped.
    pub fn found(&self) -> Option<&str> {
        self.found.as_deref()
    }
}

impl Watcher for GuardedWatcher<'_> {
    fn window_closed(&mut self, progress: &Progress<'_>) {
        self.watcher.window_closed(progress);
        if self.found.is_none()
            && let Some(reason) = self.guard.as_mut().and_then(UserGuard::check)
        {
            self.stop.raise();
            self.watcher.noted(&reason);
            self.found = Some(reason);
        }
    }

    fn trial_started(&mut self, spec: &TrialSpec) {
        self.watcher.trial_started(spec);
    }

    fn trial_ended(&mut self, trial: &Trial) {
        self.watcher.trial_ended(trial);
    }

    fn noted(&mut self, text: &str) {
        self.watcher.noted(text);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const OURS: &str = "plimsoll/0.1.0";

    #[test]
    fn requests_of_others_are_told_from_ours() {
        let target: IpAddr = "192.0.2.7".parse().unwrap();
        let combined = |client: &str, agent: &str| {
            format!(
                "{client} - - [27/Nov/2026:08:00:01 +0000] \"GET /1.2.3.4 HTTP/1.1\" 200 5 \"-\" \"{agent}\""
            )
        };
        for (line, expected) in [
            (combined("127.0.0.1", OURS), false),
            (combined("203.0.113.9", OURS), false),
            (combined("203.0.113.9", "Mozilla/5.0"), true),
            (combined("203.0.113.9", "curl/8"), true),
            // Health checks, and users through a proxy of this machine.
            (combined("127.0.0.1", "curl/8"), false),
            (combined("::1", "-"), false),
            (combined("192.0.2.7", "check"), false),
            (combined("::ffff:127.0.0.1", "-"), false),
            (combined("127.0.0.1", "Mozilla/5.0"), true),
            (
                "127.0.0.1 - - [t] \"GET / HTTP/1.1\" 200 5".to_owned(),
                false,
            ),
            (
                "shop.example:80 203.0.113.9 - - [t] \"GET /\"".to_owned(),
                true,
            ),
            (
                "{\"time\":\"08:00:01\",\"client\":\"2001:db8::9\"}".to_owned(),
                true,
            ),
            ("log rotated at 08:00:01".to_owned(), false),
        ] {
            assert_eq!(is_of_others(&line, target, OURS), expected, "{line}");
        }
    }

    #[test]
    fn a_log_is_read_from_now_on_and_through_its_rotation() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let user = "203.0.113.9 \"GET / HTTP/1.1\" \"Mozilla/5.0\"\n";
        let append = |text: &str| {
            let mut open = fs::OpenOptions::new();
            let mut file = open.append(true).create(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        append(&user.repeat(9));
        let target = SocketAddr::from(([127, 0, 0, 1], 80));
        let mut guard = UserGuard::reading(vec![path.clone()], target, OURS);
        assert_eq!(guard.check(), None, "these were before");
        append(&format!("127.0.0.1 {OURS}\n").repeat(100));
        append(user);
        append(&user[..9]);
        assert_eq!(guard.check(), None, "one may be a scanner");
        append(&user[9..]);
        assert_eq!(guard.check(), None);
        fs::rename(&path, folder.path().join("access.log.1")).unwrap();
        assert_eq!(guard.check(), None);
        append(user);
        let reason = guard.check().unwrap();
        assert!(reason.contains("access.log has 3 requests"), "{reason}");
        assert!(reason.contains("--beside-users"), "{reason}");
    }
}
