//! Processes with forged names, and commands with a deadline.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_testkit::port;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{CommandOutput, Sandbox, interrupt};

/// Deadline of commands that once never ended: many times the usual duration.
const DEADLINE: Duration = Duration::from_mins(1);

/// Sets name, root, user and listener from the environment, and waits. It prints each connection, and
/// it connects itself to the ports that it reads;
/// `DRIP` responds with an endless page head, a byte at a time; `DETACHED` is reparented to init.
const PROCESS: &str = r"
import os, select, socket, struct, sys, threading
if 'DETACHED' in os.environ and os.fork(): os._exit(0)
say = lambda text: os.write(1, (text + '\n').encode())
LAST = b'whoever came before this one has been told of'
listener = None
if 'UNIX' in os.environ:
    listener = socket.socket(socket.AF_UNIX); listener.bind(os.environ['UNIX']); listener.listen(8)
    os.chmod(os.environ['UNIX'], 0o777)
if 'TCP' in os.environ:
    listener = socket.create_server(('127.0.0.1', int(os.environ['TCP'])))
with open('/proc/self/comm', 'w') as comm: comm.write(os.environ['NAME'])
if 'ROOT' in os.environ: os.chroot(os.environ['ROOT']); os.chdir('/')
if 'USER_ID' in os.environ: os.setgid(int(os.environ['USER_ID'])); os.setuid(int(os.environ['USER_ID']))
def serve():
    while True:
        one, _ = listener.accept()
        if os.environ.get('DRIP'):
            try:
                one.send(b'HTTP/1.0 200 OK\r\nX: ')
                while not select.select([], [], [one], 0.05)[0]: one.send(b'a')
            except OSError: pass
        else:
            user = 0
            if 'UNIX' in os.environ:
                credentials = one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
                user = struct.unpack('3i', credentials)[1]
            one.settimeout(60)
            text = one.recv(100)
            if text == LAST: return
            say('asked by %d: %d bytes' % (user, len(text)))
serving = None
if listener and os.environ.get('ACCEPTS'):
    serving = threading.Thread(target=serve, daemon=True); serving.start()
say('there')
held = []
for port in sys.stdin: held.append(socket.create_connection(('127.0.0.1', int(port))))
if serving and not os.environ.get('DRIP'):
    last = socket.socket(listener.family); last.connect(listener.getsockname()); last.send(LAST)
    serving.join()
";

/// A process with a forged name.
pub(super) struct Hostile {
    pub(super) child: Child,
    output: BufReader<ChildStdout>,
}

impl Hostile {
    pub(super) fn start(
        place: &Sandbox,
        name: &str,
        words: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        std::fs::write(place.path().join("process.py"), PROCESS).unwrap();
        let mut child = Command::new("python3")
            .arg("process.py")
            .args(words)
            .current_dir(place.path())
            .env("NAME", name)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "there\n", "{name} {words:?} did not start");
        Self { child, output }
    }

    pub(super) fn nginx(place: &Sandbox, configuration: &Path) -> Self {
        let words = ["-c", configuration.to_str().unwrap()];
        Self::start(place, "nginx", &words, &[])
    }

    /// Stops it; returns its output.
    pub(super) fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let mut received = String::new();
        self.output.read_to_string(&mut received).unwrap();
        received
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs to the end, within the deadline.
#[track_caller]
pub(super) fn ends(place: &Sandbox, words: &[&str]) -> CommandOutput {
    ended(place.start(words), &format!("{words:?}"))
}

#[track_caller]
pub(super) fn ended(child: Child, what: &str) -> CommandOutput {
    let pid = Pid::from_child(&child);
    let (sender, end) = sync_channel(1);
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let Ok(output) = end.recv_timeout(DEADLINE) else {
        let _ = kill_process(pid, Signal::KILL);
        panic!("{what} did not end within {DEADLINE:?}");
    };
    let result = CommandOutput::from(output.unwrap());
    assert!(!result.stderr.contains("panicked"), "{what}: {result:?}");
    result
}

/// A run that watches what it finds, interrupted once it has said all of this: with what was measured until then.
#[track_caller]
pub(super) fn interrupted_after(place: &Sandbox, url: &str, texts: &[&str]) -> CommandOutput {
    let words = [
        "run", url, "--rate", "20/s", "--for", "10m", "--watch", "auto", "--json",
    ];
    interrupted(place, &words, texts)
}

/// Readings of this, for as long as it takes to say all of that.
#[track_caller]
pub(super) fn watched_until(place: &Sandbox, watched: &str, texts: &[&str]) {
    interrupted(place, &["watch", "--for", "10m", "--watch", watched], texts);
}

#[track_caller]
fn interrupted(place: &Sandbox, words: &[&str], texts: &[&str]) -> CommandOutput {
    let mut run = place.start(words);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    let mut missing = texts.to_vec();
    while !missing.is_empty() {
        let line = lines
            .next()
            .unwrap_or_else(|| panic!("{missing:?} are not said"));
        let line = line.unwrap();
        missing.retain(|text| !line.contains(text));
    }
    let rest = std::thread::spawn(move || lines.for_each(drop));
    interrupt(&run);
    let output = ended(run, words[0]);
    rest.join().unwrap();
    assert_eq!(output.code, 130, "{output:?}");
    output
}

#[track_caller]
pub(super) fn assert_stderr_contains(output: &CommandOutput, text: &str) {
    assert!(
        output.stderr.contains(text),
        "`{text}` is not in {output:?}"
    );
}

pub(super) fn write(place: &Sandbox, name: &str, text: &str) -> PathBuf {
    let path = place.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

pub(super) fn fifo(place: &Sandbox) -> PathBuf {
    let path = place.path().join("fifo");
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    path
}

/// A free port, and the address of a page there in a configuration of nginx.
pub(super) fn page() -> (String, String) {
    let port = port::unused().port().to_string();
    let text = format!(
        "http {{ server {{ listen 127.0.0.1:{port}; location = /s {{ stub_status; }} }} }}\n"
    );
    (port, text)
}

/// HAProxy's statistics socket that takes connections and never answers.
pub(super) fn silent(place: &Sandbox) -> Hostile {
    let socket = place.path().join("silent.sock");
    let text = format!("global\n  stats socket {}\n", socket.display());
    let file = write(place, "silent.cfg", &text);
    let variables = [("UNIX", socket.to_str().unwrap())];
    Hostile::start(
        place,
        "haproxy",
        &["-f", file.to_str().unwrap()],
        &variables,
    )
}

/// A status page of nginx that comes a byte at a time.
pub(super) fn drips(place: &Sandbox) -> Hostile {
    let (port, text) = page();
    let file = write(place, "drips.conf", &text);
    let variables = [("TCP", port.as_str()), ("DRIP", "1"), ("ACCEPTS", "1")];
    Hostile::start(place, "nginx", &["-c", file.to_str().unwrap()], &variables)
}

/// The turn of a test whose processes would be discovered by the other tests here.
pub(super) fn apart() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder that others may look into, for processes of other users and with roots of their own: only root can start them.
pub(super) fn of_other_users() -> Option<(MutexGuard<'static, ()>, Sandbox)> {
    use std::os::unix::fs::PermissionsExt as _;
    if !rustix::process::geteuid().is_root() {
        plimsoll_testkit::not_tried::not_tried("only root can start processes of other users");
        return None;
    }
    let apart = apart();
    let place = Sandbox::new();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.path(), mode).unwrap();
    Some((apart, place))
}
