//! Annotations of Grafana: begin, trials, notes and end of a run.

use std::sync::Arc;

use serde_json::json;

use super::Target;
use crate::http::Receiver;
use crate::record::{Moment, MomentKind, Record, RunLabels, moments};
use crate::send_error::SendError;

/// Grafana.
pub(super) struct Annotations {
    receiver: Receiver,
    run: RunLabels,
    /// Begin of the run, ms since 1970.
    start_ms: Option<u64>,
    /// What the current batch has posted already, should it be repeated.
    posted: usize,
}

impl Annotations {
    pub(super) fn new(receiver: Receiver, run: RunLabels) -> Self {
        Self {
            receiver,
            run,
            start_ms: None,
            posted: 0,
        }
    }

    fn post(&self, moment: &Moment) -> Result<(), SendError> {
        let from = match moment.kind {
            // The end is an annotation over the whole run.
            MomentKind::End => self.start_ms.unwrap_or(moment.from_ms),
            _ => moment.from_ms,
        };
        let body = json!({
            "time": from,
            "timeEnd": moment.to_ms,
            "tags": ["plimsoll", moment.kind.name(), format!("run:{}", self.run.run)],
            "text": moment.text,
        });
        let headers = [("Content-Type", "application/json")];
        let answer = self.receiver.post(&headers, body.to_string().as_bytes())?;
        answer.accepted()
    }
}

impl Target for Annotations {
    fn send(&mut self, records: &[Arc<Record>]) -> Result<(), SendError> {
        for moment in moments(records).skip(self.posted) {
            if moment.kind == MomentKind::Start {
                self.start_ms = Some(moment.from_ms);
            }
            match self.post(moment) {
                Ok(()) => self.posted += 1,
                Err(error) if error.may_repeat => return Err(error),
                Err(error) => {
                    self.posted = 0;
                    return Err(error);
                }
            }
        }
        self.posted = 0;
        Ok(())
    }
}
