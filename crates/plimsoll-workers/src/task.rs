//! What a worker needs to carry its part: the plan and the content of every file that it names, as text in pieces.
//!
//! Nothing of it is read from disk by a worker, and nothing is written there. The text holds what the plan's owner keeps
//! secret: headers with logins, bodies, rows of data. It is sent to workers that hold the token, over TLS, and nowhere else.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_model::journey::{Inputs, Scenario};
use plimsoll_model::plan::Plan;
use serde::{Deserialize, Serialize};

use crate::error::WorkersError;

/// Longest text of a task, bytes.
pub(crate) const TASK_LEN_MAX: usize = 64 << 20;
/// Longest piece of it, bytes: one is a sign of life, also over a slow line.
const PIECE_LEN_MAX: usize = 64 << 10;
/// Most pieces of a task: twice as many as full ones are, which may be some bytes shorter, to end at a whole character.
pub(crate) const PIECES_MAX: u32 = 2048;

/// The plan and its files.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    plan: Plan,
    /// The body of a plain request, base64: in the plan it is text, which would not keep other bytes.
    body: String,
    rows: Vec<Vec<Vec<String>>>,
    /// Contents of the scenario's files, base64.
    files: Vec<String>,
    /// Content of the plan's file with certificate authorities, base64.
    ca: Option<String>,
}

/// The parts of a task that was received.
#[derive(Debug)]
pub(crate) struct ReceivedTask {
    /// Its `ca_file` is of the coordinator's machine; the content is in `ca`.
    pub(crate) plan: Plan,
    pub(crate) inputs: Inputs,
    pub(crate) ca: Option<Vec<u8>>,
}

/// Whether several hosts can carry a plan.
///
/// # Errors
/// When something of it exists on the coordinator's machine only, or is not measured truly over several.
pub(crate) fn check(plan: &Plan) -> Result<(), WorkersError> {
    let refused = |reason: &str| Err(WorkersError::Plan(reason.to_owned()));
    let scenario = plan.scenario.as_ref();
    let mut targets = scenario
        .iter()
        .flat_map(|scenario| &scenario.targets)
        .chain([&plan.target]);
    if targets.any(|target| target.unix_socket.is_some()) {
        return refused(
            "a unix socket is on one machine; give the target an address that all of them reach",
        );
    }
    if !plan.transport.sources.is_empty() {
        return refused(
            "source addresses (`--source`, `sources:`) belong to one machine; leave them out, since each worker has ports of \
             its own",
        );
    }
    if scenario.is_some_and(Scenario::has_process) {
        return refused(
            "its journeys are driven by programs of this machine; write their steps in the plan",
        );
    }
    if plan.receives_broadcasts() {
        return refused(
            "it opens WebSockets or streams or polls for messages, whose broadcasts would be timed by clocks that differ; run it on one machine",
        );
    }
    Ok(())
}

impl Task {
    /// # Errors
    /// When the file with certificate authorities cannot be read.
    pub(crate) fn new(plan: &Plan, inputs: &Inputs) -> Result<Self, WorkersError> {
        let ca = plan.transport.ca_file.as_deref().map(read_ca).transpose()?;
        let mut plan = plan.clone();
        // Browsers are started by the coordinator.
        plan.browser = None;
        let body = std::mem::take(&mut plan.request.body);
        Ok(Self {
            body: STANDARD.encode(body),
            plan,
            rows: inputs.rows.clone(),
            files: inputs
                .files
                .iter()
                .map(|file| STANDARD.encode(file))
                .collect(),
            ca: ca.map(|ca| STANDARD.encode(ca)),
        })
    }

    /// Its text in pieces.
    ///
    /// # Errors
    /// When it is too long.
    pub(crate) fn pieces(&self) -> Result<Arc<[String]>, WorkersError> {
        let text = serde_json::to_string(self).map_err(|error| {
            WorkersError::Plan(format!("it cannot be written as text: {error}"))
        })?;
        if text.len() > TASK_LEN_MAX {
            return Err(WorkersError::TaskLength {
                len: text.len(),
                max: TASK_LEN_MAX,
            });
        }
        Ok(cut(&text).map(str::to_owned).collect())
    }

    /// Reads the text of all pieces.
    ///
    /// # Errors
    /// When it is not a task.
    pub(crate) fn parse(text: &str) -> Result<ReceivedTask, WorkersError> {
        let part = |error: String| WorkersError::Part(format!("the task is damaged: {error}"));
        let task: Self = serde_json::from_str(text).map_err(|error| part(error.to_string()))?;
        let decode = |text: &String| {
            STANDARD
                .decode(text)
                .map_err(|error| part(error.to_string()))
        };
        let mut plan = task.plan;
        plan.request.body = decode(&task.body)?;
        let files = task.files.iter().map(decode);
        Ok(ReceivedTask {
            plan,
            inputs: Inputs {
                rows: task.rows,
                files: files.collect::<Result<_, _>>()?,
                ..Inputs::default()
            },
            ca: task.ca.as_ref().map(decode).transpose()?,
        })
    }
}

fn read_ca(path: &Path) -> Result<Vec<u8>, WorkersError> {
    std::fs::read(path).map_err(|source| WorkersError::CaFile {
        path: path.to_owned(),
        source,
    })
}

/// A text in pieces that are not too long.
fn cut(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, later) = rest.split_at(rest.floor_char_boundary(PIECE_LEN_MAX));
        rest = later;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use plimsoll_testkit::plan::get_root;

    use super::*;

    fn plan() -> Plan {
        get_root(SocketAddr::from(([127, 0, 0, 1], 80)))
    }

    #[test]
    fn plan_and_files_arrive_as_they_were() {
        let mut plan = plan();
        // No text has these bytes.
        plan.request.body = vec![0, 159, 146, 150, 255];
        plan.request.paths = (0..30_000).map(|n| format!("/ä/{n}")).collect();
        let inputs = Inputs {
            rows: vec![vec![vec!["ä".to_owned(), "\"b\"\n".to_owned()]; 100]],
            files: vec![vec![1, 0, 255], Vec::new()],
            ..Inputs::default()
        };
        let pieces = Task::new(&plan, &inputs).unwrap().pieces().unwrap();
        assert!(pieces.len() > 1 && pieces.len() <= PIECES_MAX as usize);
        assert!(pieces.iter().all(|piece| piece.len() <= PIECE_LEN_MAX));
        let received = Task::parse(&pieces.concat()).unwrap();
        assert_eq!(received.plan, plan);
        assert_eq!(received.inputs, inputs);
        assert_eq!(received.ca, None);
        assert!(Task::parse("{}").is_err());
    }

    #[test]
    fn what_is_on_one_machine_is_refused_with_the_remedy() {
        let refuse = |change: &dyn Fn(&mut Plan), expected: &str| {
            let mut plan = plan();
            change(&mut plan);
            let error = check(&plan).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        refuse(
            &|plan| plan.target.unix_socket = Some("/run/a".into()),
            "unix socket",
        );
        refuse(
            &|plan| plan.transport.sources.push([10, 0, 0, 1].into()),
            "--source",
        );
        refuse(
            &|plan| {
                let mut other = plan.target.clone();
                other.unix_socket = Some("/run/a".into());
                plan.scenario = Some(Scenario {
                    targets: vec![other],
                    ..Scenario::default()
                });
            },
            "unix socket",
        );
        check(&plan()).unwrap();
    }
}
