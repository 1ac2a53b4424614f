//! Where the commands of a page run: a folder and a network of its own, in which the reader's service listens.

use std::fs::{File, Permissions};
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_testkit::machine::namespace::Namespace;
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::given;
use super::page::{PageCommand, blocks};
use crate::support::Sandbox;

/// Set by `cargo xtask soak`: nothing is shortened.
const WHOLE: &str = "PLIMSOLL_DOCS_WHOLE";
/// Ports of the reader's services in all pages: the service, and another version of it.
const SERVICES: [u16; 2] = [3000, 3001];
/// Where the admin address of an edge listens.
const ADMIN: u16 = 9191;
/// Exit codes that answer a question: met, missed, undecided, and void on a machine with other work.
const ANSWERS: [i32; 4] = [0, 3, 4, 6];
/// The exit code of k6 where a threshold was crossed, as on a machine with other work.
const K6_CROSSED: i32 = 99;
/// The exit code of what was interrupted.
const INTERRUPTED: i32 = 130;
/// Between two looks at whether a server listens, and how many there are at most: a minute.
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
const LOOKS_MAX: usize = 3_000;

/// A command that runs until the end of its page; ends when dropped.
struct BackgroundProcess {
    child: Child,
    output: PathBuf,
}

impl BackgroundProcess {
    fn group(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn watch(&self) -> OwnedFd {
        pidfd_open(self.group(), PidfdFlags::empty()).unwrap()
    }

    /// Waits for a moment; whether it has ended.
    fn ends_within(&self, moment: Timespec) -> bool {
        let watch = self.watch();
        let mut ends = [PollFd::new(&watch, PollFlags::IN)];
        poll(&mut ends, Some(&moment)).unwrap() > 0
    }
}

impl Drop for BackgroundProcess {
    fn drop(&mut self) {
        // One that has ended already is not there.
        let _ = kill_process_group(self.group(), Signal::TERM);
        let patience = Timespec {
            tv_sec: 10,
            tv_nsec: 0,
        };
        if !self.ends_within(patience) {
            let _ = kill_process_group(self.group(), Signal::KILL);
        }
        let _ = self.child.wait();
        let _ = kill_process_group(self.group(), Signal::KILL);
    }
}

/// The surroundings of a page. Its fields are dropped in this order.
struct PageRoom {
    background: Vec<BackgroundProcess>,
    _services: Vec<KnownLaw>,
    _network: Namespace,
    place: Sandbox,
    is_whole: bool,
}

/// Runs the commands of a page, by its path below `docs`.
pub(super) fn run(page: &str) {
    let text = std::fs::read_to_string(super::docs().join(page)).unwrap();
    let place = Sandbox::new();
    // Ports below belong to the pages.
    let Some(network) = Namespace::enter(32_768, 60_999) else {
        return;
    };
    let mut room = PageRoom {
        background: Vec::new(),
        _services: SERVICES.into_iter().map(service).collect(),
        _network: network,
        place,
        is_whole: std::env::var_os(WHOLE).is_some(),
    };
    // Servers that begin as root serve as other users.
    std::fs::set_permissions(room.place.path(), Permissions::from_mode(0o755)).unwrap();
    room.write_programs();
    for block in blocks(&text) {
        if let Some(name) = block.file_name() {
            std::fs::write(room.place.path().join(name), block.text()).unwrap();
        }
        if block.reason.is_none() && block.has_commands() {
            for command in block.commands() {
                room.run(page, &command);
            }
        }
    }
}

/// The service that the reader has: four servers of 2 ms, which answer 200 to everything.
fn service(port: u16) -> KnownLaw {
    let plan = KnownLawPlan {
        servers: NonZeroU32::new(4).unwrap(),
        service: Service::Deterministic(Duration::from_millis(2)),
        ..KnownLawPlan::default()
    };
    KnownLaw::start_at(plan, address(port)).unwrap()
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

impl PageRoom {
    /// Programs that `cargo xtask test` installs elsewhere than in the system's folders.
    fn write_programs(&self) {
        let folder = self.place.path().join("bin");
        std::fs::create_dir(&folder).unwrap();
        given::write_files(self.place.path());
        let jmeter = tools().join("jmeter/bin/ApacheJMeter.jar");
        let script = format!(
            "#!/bin/sh\nexec java -XX:TieredStopAtLevel=1 -Djava.awt.headless=true -Djava.util.prefs.userRoot=. -jar {} -Jjmeterengine.nongui.port=0 \"$@\"\n",
            jmeter.display()
        );
        given::write_program(&folder.join("jmeter"), &script);
        let locust = tools().join("locust/bin/locust");
        std::os::unix::fs::symlink(locust, folder.join("locust")).unwrap();
    }

    fn run(&mut self, page: &str, command: &PageCommand) {
        let name = format!("docs/{page}:{}: `{}`", command.line, command.text);
        given::write(self.place.path(), &command.text, |arguments| {
            let output = self.place.run(arguments);
            assert!(ANSWERS.contains(&output.code), "{arguments:?}: {output:?}");
        });
        self.wait_for_servers(&name, &command.text);
        if command.is_background() {
            self.start(&command.text);
        } else if is_search(&command.text) && !command.fails && !self.is_whole {
            self.begin(&name, &command.text);
        } else {
            self.run_to_the_end(&name, command);
        }
    }

    /// A command line in bash, as the leader of a process group.
    fn command(&self, text: &str) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_plimsoll")).parent().unwrap();
        let path = format!(
            "{}:{}:{}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            self.place.path().join("bin").display(),
            program.display(),
            tools().display(),
        );
        let mut command = Command::new("bash");
        command
            .args(["--noprofile", "--norc", "-c", text])
            .current_dir(self.place.path())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.place.path())
            .env("XDG_STATE_HOME", self.place.path().join("state"))
            .env("LANG", "C.UTF-8")
            .env("NO_COLOR", "1")
            .env("K6_NO_USAGE_REPORT", "true")
            .stdin(Stdio::null())
            .process_group(0);
        command
    }

    fn start(&mut self, text: &str) {
        let text = text.trim_end().trim_end_matches('&');
        let count = self.background.len();
        let output = self.place.path().join(format!("background-{count}.txt"));
        let file = File::create(&output).unwrap();
        let child = self
            .command(text)
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        self.background.push(BackgroundProcess { child, output });
    }

    /// Waits until each port of this machine that the command names is listened to, where a server was started before.
    fn wait_for_servers(&self, name: &str, text: &str) {
        let Some(server) = self.background.last() else {
            return;
        };
        for port in ports(text) {
            let mut looks = 0;
            while TcpStream::connect(address(port)).is_err() {
                looks += 1;
                let has_ended = server.ends_within(PAUSE);
                let output = || std::fs::read_to_string(&server.output).unwrap();
                assert!(
                    !has_ended,
                    "{name}: the server before it ended: {}",
                    output()
                );
                assert!(looks < LOOKS_MAX, "{name}: port {port}: {}", output());
            }
        }
    }

    fn run_to_the_end(&self, name: &str, command: &PageCommand) {
        let text = if self.is_whole {
            command.text.clone()
        } else {
            shortened(&command.text)
        };
        let output = self.command(&text).output().unwrap();
        let code = output.status.code().unwrap_or(-1);
        let is_ours = text.starts_with("plimsoll ");
        let is_good = match (command.fails, is_ours) {
            (true, _) => code == 2,
            (false, true) => ANSWERS.contains(&code),
            (false, false) => code == 0 || text.starts_with("k6 run ") && code == K6_CROSSED,
        };
        let shown = String::from_utf8_lossy(&output.stderr);
        assert!(
            is_good && !shown.contains("panicked"),
            "{name}: exit code {code}\n{shown}\n{}",
            String::from_utf8_lossy(&output.stdout)
        );
    }

    /// Begins a search and interrupts it after its first trial.
    fn begin(&self, name: &str, text: &str) {
        let mut child = self
            .command(text)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut shown = String::new();
        while !shown.lines().next_back().is_some_and(is_trial) {
            if lines.read_line(&mut shown).unwrap() == 0 {
                break;
            }
        }
        // One that has ended already is not there.
        let _ = kill_process_group(Pid::from_child(&child), Signal::INT);
        lines.read_to_string(&mut shown).unwrap();
        let code = child.wait().unwrap().code().unwrap_or(-1);
        let is_good = code == INTERRUPTED || ANSWERS.contains(&code);
        assert!(
            is_good && !shown.contains("panicked"),
            "{name}: exit code {code}\n{shown}"
        );
    }
}

fn tools() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("tools")
}

/// Whether a command takes minutes, and prints its trials.
fn is_search(text: &str) -> bool {
    text.starts_with("plimsoll limit ")
        || text.starts_with("plimsoll compare ") && text.contains("-url ")
}

/// Whether a line of progress is a trial that has ended.
fn is_trial(line: &str) -> bool {
    ["self_test ", "gate ", "single ", "block "]
        .iter()
        .any(|kind| line.starts_with(kind))
}

/// The ports of this machine that a command names; an order to a running edge goes to its admin address.
fn ports(text: &str) -> Vec<u16> {
    let mut ports: Vec<u16> = text
        .split("127.0.0.1:")
        .skip(1)
        .filter_map(|rest| {
            let digits = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            rest[..digits].parse().ok()
        })
        .collect();
    if ["reload", "cache", "why", "purge"]
        .iter()
        .any(|order| text.starts_with(&format!("plimsoll edge {order}")))
    {
        ports.push(ADMIN);
    }
    if text.trim_end().ends_with('&') {
        // Where it will listen itself.
        ports.clear();
    }
    ports
}

/// A fixed load or a watch of a second, whatever the page says.
fn shortened(text: &str) -> String {
    if !["plimsoll run ", "plimsoll watch "]
        .iter()
        .any(|start| text.starts_with(start))
    {
        return text.to_owned();
    }
    let mut short = text.to_owned();
    for flag in ["--for ", "--hold "] {
        let Some(start) = short.find(flag).map(|start| start + flag.len()) else {
            continue;
        };
        let length = short[start..]
            .find([' ', '\n'])
            .unwrap_or(short.len() - start);
        short.replace_range(start..start + length, "1s");
    }
    short
}

#[test]
fn loads_are_shortened_and_ports_are_found() {
    assert_eq!(
        shortened("plimsoll run x --for 24h --rate 5/s"),
        "plimsoll run x --for 1s --rate 5/s"
    );
    assert_eq!(
        shortened("plimsoll run x --hold 30s"),
        "plimsoll run x --hold 1s"
    );
    let sentence = "plimsoll limit x --for '3,000 users'";
    assert_eq!(shortened(sentence), sentence);
    assert_eq!(
        ports("curl http://127.0.0.1:8080/ http://127.0.0.1:3000"),
        [8080, 3000]
    );
    assert_eq!(ports("plimsoll edge reload"), [ADMIN]);
    assert_eq!(ports("serve 127.0.0.1:8080 &"), [0_u16; 0]);
}
