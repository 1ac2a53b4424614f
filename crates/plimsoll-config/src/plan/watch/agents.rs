//! Reads the agents that watch other machines.

use std::fmt;

use plimsoll_model::agent::AgentAddress;

use crate::document::Shape::Text;
use crate::document::{DocumentNode, DocumentReader, KeywordTable, NodeKind, word};

/// Longest file with tokens, bytes: far more than 64 tokens take.
const TOKENS_MAX: u64 = 1 << 20;

const FILE_VALID: &str = "a file with the line that `plimsoll agent --invite` printed";

/// Keys of an agent.
pub(crate) static AGENT: KeywordTable = KeywordTable {
    name: "agent",
    meaning: "An agent that watches another machine (`plimsoll agent`).",
    words: &[
        word!(
            "at",
            Text,
            "Where it listens, `db1.internal:9192`; or `ssh://USER@HOST`, to send it there over `ssh` and take it away at the \
             end."
        ),
        word!(
            "token_file",
            Text,
            "File with its token, the line that `plimsoll agent --invite` printed there; several lines are tried in turn. \
             Default: the tokens of `--agent-token-file` and of the variable `PLIMSOLL_AGENT_TOKEN`."
        ),
    ],
};

/// An agent that a plan names.
#[derive(Clone, PartialEq, Eq)]
pub struct WatchedAgent {
    /// Where it is.
    pub at: AgentAddress,
    /// The text of its token file, a secret; `None` where the plan names none.
    pub tokens: Option<String>,
}

/// Without the tokens.
impl fmt::Debug for WatchedAgent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WatchedAgent")
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// Reads an agent: its address, or a map with its token file.
pub(super) fn agent(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<WatchedAgent> {
    if !matches!(node.kind, NodeKind::Map(_)) {
        return Some(WatchedAgent {
            at: address(reader, node)?,
            tokens: None,
        });
    }
    let fields = reader.fields(node, &AGENT)?;
    let Some(at) = fields.get("at") else {
        // The missing key may be the misspelled one.
        if !fields.misspells(&["at"]) {
            let valid = format!("at: {}", AgentAddress::VALID);
            reader.report(node, "`at` is missing", valid);
        }
        return None;
    };
    let tokens = match fields.get("token_file") {
        Some(file) => Some(tokens(reader, file)?),
        None => None,
    };
    Some(WatchedAgent {
        at: address(reader, at)?,
        tokens,
    })
}

fn address(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<AgentAddress> {
    let text = reader.word(node, AgentAddress::VALID)?;
    let parsed = text.parse().ok();
    if parsed.is_none() {
        // The text may contain a password.
        let shown = text.rsplit('@').next().unwrap_or_default();
        let message = format!("`{shown}` is not the address of an agent");
        reader.report(node, message, AgentAddress::VALID);
    }
    parsed
}

fn tokens(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    let path = reader.word(node, FILE_VALID)?;
    let bytes = reader.file(node, &path, TOKENS_MAX)?;
    let text = String::from_utf8(bytes).ok();
    if text.is_none() {
        reader.report(node, format!("`{path}` is not a text"), FILE_VALID);
    }
    text
}
