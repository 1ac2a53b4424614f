//! The clients, and how each is configured to open WebSockets and hold them until it is stopped.

use std::path::Path;

use anyhow::{Context as _, Result};
use plimsoll_harness::port::free_ports;

use super::install::Installed;

/// How long each would stay; it is ended before.
const STAY_S: u32 = 600;
/// Messages a second on a WebSocket that every client keeps up with.
pub(super) const COMMON: u32 = 5;
/// As many as fill half of a core of ours: with fewer, what is measured is mostly waking up for each.
pub(super) const MANY: u32 = 25;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WebSocketClient {
    Plimsoll,
    K6,
    Artillery,
    Tsung,
}

/// Tasks of the clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// To open ten thousand at once, and to keep them.
    Open,
    /// To receive what a server sends to all, so many times a second.
    Receive(u32),
    /// To send so many messages a second on each, which are answered.
    Answer(u32),
}

impl Work {
    pub(super) fn title(self) -> String {
        let (what, each) = match self {
            Self::Open => return "Handshakes and memory".to_owned(),
            Self::Receive(each) => ("Messages received", each),
            Self::Answer(each) => ("Messages sent and answered", each),
        };
        format!("{what}, {},000 a second", each * self.connections() / 1_000)
    }

    /// Who does it: what is more than the others keep up with only ours.
    pub(super) fn clients(self) -> &'static [WebSocketClient] {
        match self {
            Self::Receive(MANY) | Self::Answer(MANY) => &[WebSocketClient::Plimsoll],
            _ => &WebSocketClient::ALL,
        }
    }

    /// Between two messages that a client sends on a WebSocket, ms; 0 where it sends none.
    fn every_ms(self) -> u32 {
        match self {
            Self::Answer(each) => 1_000 / each,
            Self::Open | Self::Receive(_) => 0,
        }
    }

    pub(super) fn connections(self) -> u32 {
        match self {
            Self::Open => 10_000,
            Self::Receive(_) | Self::Answer(_) => 1_000,
        }
    }

    /// Handshakes a second that are asked for.
    pub(super) fn rate(self) -> u32 {
        match self {
            Self::Open => 10_000,
            Self::Receive(_) | Self::Answer(_) => 500,
        }
    }

    /// Messages that the server sends to all each second.
    pub(super) fn broadcasts_per_second(self) -> u32 {
        match self {
            Self::Receive(each) => each,
            Self::Open | Self::Answer(_) => 0,
        }
    }
}

/// A program with its arguments and environment.
pub(super) struct ClientInvocation {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(&'static str, String)>,
}

impl WebSocketClient {
    pub(super) const ALL: [Self; 4] = [Self::Plimsoll, Self::K6, Self::Artillery, Self::Tsung];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plimsoll => "plimsoll",
            Self::K6 => "k6",
            Self::Artillery => "Artillery",
            Self::Tsung => "Tsung",
        }
    }

    /// Its command line for this work with a number of WebSockets to the server at the port; its files go into the folder.
    pub(super) fn invocation(
        self,
        installed: &Installed,
        work: Work,
        connections: u32,
        port: u16,
        folder: &Path,
    ) -> Result<ClientInvocation> {
        match self {
            Self::Plimsoll => Ok(plimsoll(installed, work, connections, port)),
            Self::K6 => k6(installed, work, connections, port),
            Self::Artillery => artillery(installed, work, connections, port, folder),
            Self::Tsung => tsung(installed, work, connections, port, folder),
        }
    }
}

fn plimsoll(installed: &Installed, work: Work, connections: u32, port: u16) -> ClientInvocation {
    let marks = match work {
        Work::Open => String::new(),
        Work::Receive(_) => "--broadcast-stamp $.t --broadcast-seq $.n".to_owned(),
        Work::Answer(_) => format!("--send hello --every {}ms", work.every_ms()),
    };
    let line = format!(
        "run ws://127.0.0.1:{port}/live --ws --connections {connections} --connect-rate {}/s --hold {STAY_S}s {marks} \
         --cores 1 --json",
        work.rate()
    );
    ClientInvocation {
        program: installed.plimsoll.display().to_string(),
        arguments: line.split_whitespace().map(ToOwned::to_owned).collect(),
        environment: Vec::new(),
    }
}

fn k6(installed: &Installed, work: Work, connections: u32, port: u16) -> Result<ClientInvocation> {
    let program = installed.k6.as_ref().context("k6 is not installed")?;
    let line = format!(
        "run --quiet --no-usage-report --address= -e TARGET=ws://127.0.0.1:{port}/live -e CONNECTIONS={connections} -e \
         EVERY_MS={} {}",
        work.every_ms(),
        installed.scripts.join("k6.js").display()
    );
    Ok(ClientInvocation {
        program: program.display().to_string(),
        arguments: line.split_whitespace().map(ToOwned::to_owned).collect(),
        environment: Vec::new(),
    })
}

fn artillery(
    installed: &Installed,
    work: Work,
    connections: u32,
    port: u16,
    folder: &Path,
) -> Result<ClientInvocation> {
    let program = installed
        .artillery
        .as_ref()
        .context("Artillery is not installed")?;
    // Without something to capture it does not await an answer.
    let flow = match work {
        Work::Answer(_) => format!(
            "      - loop:\n          - send:\n              payload: hello\n              capture:\n                \
             regexp: 'hello'\n                as: answer\n          - think: {}\n        count: {}",
            f64::from(work.every_ms()) / 1e3,
            STAY_S * 1_000 / work.every_ms()
        ),
        Work::Open | Work::Receive(_) => format!("      - think: {STAY_S}"),
    };
    let text = filled(
        installed,
        "artillery.yaml",
        &[
            ("TARGET", format!("ws://127.0.0.1:{port}/live")),
            ("DURATION", (connections / work.rate()).max(1).to_string()),
            ("CONNECTIONS", connections.to_string()),
            ("FLOW", flow),
        ],
    )?;
    let file = folder.join("artillery.yaml");
    std::fs::write(&file, text)?;
    Ok(ClientInvocation {
        program: program.display().to_string(),
        arguments: ["run", "--quiet", &file.display().to_string()]
            .map(ToOwned::to_owned)
            .into(),
        environment: vec![
            ("ARTILLERY_DISABLE_TELEMETRY", "true".to_owned()),
            // One worker for the one core that it has.
            ("WORKERS", "1".to_owned()),
        ],
    })
}

fn tsung(
    installed: &Installed,
    work: Work,
    connections: u32,
    port: u16,
    folder: &Path,
) -> Result<ClientInvocation> {
    let flow = match work {
        Work::Answer(_) => format!(
            "      <for from=\"1\" to=\"{}\" var=\"time\">\n        <request><websocket type=\"message\">hello\
             </websocket></request>\n        <thinktime value=\"{}\"/>\n      </for>",
            STAY_S * 1_000 / work.every_ms(),
            f64::from(work.every_ms()) / 1e3
        ),
        Work::Open | Work::Receive(_) => format!("      <thinktime value=\"{STAY_S}\"/>"),
    };
    let text = filled(
        installed,
        "tsung.xml",
        &[
            ("PORT", port.to_string()),
            ("DURATION", STAY_S.to_string()),
            ("CONNECTIONS", connections.to_string()),
            ("RATE", work.rate().to_string()),
            ("FLOW", flow),
        ],
    )?;
    let file = folder.join("tsung.xml");
    std::fs::write(&file, text)?;
    // Erlang would leave its name server behind as a daemon; ours ends with the group of processes.
    let script = "epmd & exec tsung \"$@\"";
    let line = format!(
        "-f {} -l {} -I 127.0.0.1 start",
        file.display(),
        folder.join("log").display()
    );
    let mut arguments = vec!["-c".to_owned(), script.to_owned(), "tsung".to_owned()];
    arguments.extend(line.split(' ').map(ToOwned::to_owned));
    Ok(ClientInvocation {
        program: "sh".to_owned(),
        arguments,
        environment: vec![
            ("HOME", folder.display().to_string()),
            ("ERL_EPMD_PORT", free_ports(1)?[0].to_string()),
        ],
    })
}

/// One of the benchmark's files with its words in capitals filled in.
fn filled(installed: &Installed, name: &str, words: &[(&str, String)]) -> Result<String> {
    let path = installed.scripts.join(name);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(words
        .iter()
        .fold(text, |text, (word, value)| text.replace(word, value)))
}
