//! Errors that end the program: message, causes, remedy, exit code.

use std::fmt;

use plimsoll_agent::AgentError;
use plimsoll_lab::error::LabError;
use plimsoll_lab::run_log::RunLogError;
use plimsoll_model::redact;

use crate::exit::Exit;

/// An error that ends the program.
#[derive(Debug)]
pub(crate) struct CliError {
    exit: Exit,
    /// Lines before the message, one for each problem of a file.
    details: Vec<String>,
    message: String,
    remedy: Option<String>,
}

impl CliError {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            details: Vec::new(),
            message: message.into(),
            remedy: None,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Adds the problems that the message sums up.
    pub(crate) fn details(mut self, details: Vec<String>) -> Self {
        self.details = details;
        self
    }

    /// Adds the remedy.
    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

/// Messages quote arguments, URLs and errors of drivers; their secrets are redacted here, where all messages pass.
impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.details {
            writeln!(f, "{}", cut(&redact::text(line)))?;
        }
        write!(f, "error: {}", redact::text(&self.message))?;
        match &self.remedy {
            Some(remedy) => write!(f, "\n  help: {}", redact::text(remedy)),
            None => Ok(()),
        }
    }
}

/// Longest problem that is shown, characters: a quoted value may be as long as its file.
const SHOWN_MAX: usize = 2_000;

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The causes of an error in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

impl From<RunLogError> for CliError {
    fn from(error: RunLogError) -> Self {
        Self::usage(chain(&error))
    }
}

impl From<LabError> for CliError {
    fn from(error: LabError) -> Self {
        match error {
            LabError::RunLog(error) => error.into(),
            LabError::Load(error) => Self::usage(chain(&error)),
            LabError::Browser(error) => Self::usage(chain(&error)).remedy(
                "start it by hand to see more: `PROGRAM --headless --dump-dom about:blank`; in a container that gives no \
                 rights for the browser's sandbox, run as root or allow user namespaces",
            ),
            LabError::Agent(error) => Self::usage(chain(&error)).remedy(remedy_of_agent(&error)),
            LabError::SameMachine { .. } => Self::usage(chain(&error)).remedy(
                "leave the exporter out, of one machine: its agent shows more; of two, give one another name: `plimsoll \
                 agent --name NAME`, or `name:` beside the exporter's `at:`",
            ),
            LabError::Workers(error) => error.into(),
            LabError::Thread(_) => Self::new(Exit::Internal, chain(&error)),
        }
    }
}

fn remedy_of_agent(error: &AgentError) -> &'static str {
    match error {
        AgentError::Unreachable { .. } => {
            "start it there with `plimsoll agent`, and let its port through the firewall; or use --agent ssh://USER@HOST"
        }
        AgentError::NoToken(_) | AgentError::Token { .. } | AgentError::Channel { .. } => {
            "run `plimsoll agent --invite` there, and hand the line it prints over with --agent-token-file FILE or the \
             variable PLIMSOLL_AGENT_TOKEN"
        }
        AgentError::Version { .. } => "use the same version of plimsoll on both machines",
        AgentError::Refused { .. } => "look at what the agent prints there",
        AgentError::SameName { .. } => "name one of them: `plimsoll agent --name NAME`",
        AgentError::TooMany { .. } => "leave some out",
        AgentError::Ssh { .. } => {
            "`ssh HOST true` must succeed without a question, and the machine must have the same kind of processor"
        }
        AgentError::Peer(_) => "invite anew on the machine of the agent",
        AgentError::Thread(_) => "raise the limit on processes (ulimit -u)",
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self::new(Exit::Internal, chain(&error))
    }
}
