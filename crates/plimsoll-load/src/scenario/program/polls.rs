//! Polls of a program: what is requested again and again, and how messages are found in the answers.

use plimsoll_model::journey::{Journey, PollStep};
use serde_json_path::JsonPath;

use super::{Builder, Op, Program, index};
use crate::clock::nanoseconds;
use crate::due::NEVER;
use crate::error::LoadError;
use crate::finder::Marks;
use crate::json::json_path;
use crate::scenario::text::CompiledText;

/// The shortest interval, ns: a long poll is due again at once.
const AT_ONCE_NS: u64 = 1;

/// How messages are found in the answers to a poll, and counted.
#[derive(Clone, Debug)]
pub(crate) struct CompiledPoll {
    /// The name of the channel; `None` for the path of the URL.
    pub(crate) channel: Option<CompiledText>,
    pub(crate) marks: Marks,
    /// The messages in an answer; `None` where it is one itself.
    pub(crate) messages: Option<JsonPath>,
}

impl Program {
    pub(crate) fn poll(&self, index: u32) -> &CompiledPoll {
        &self.polls[index as usize]
    }

    /// Whether any journey polls.
    pub(crate) fn has_polls(&self) -> bool {
        !self.polls.is_empty()
    }
}

impl Builder<'_> {
    pub(super) fn poll(
        &mut self,
        step: &PollStep,
        journey: &Journey,
        once: bool,
    ) -> Result<(), LoadError> {
        let request = self.request(&step.request, journey, once)?;
        let compiled = &mut self.program.requests[request as usize];
        compiled.wants_body = true;
        // The wait for a message is no time that the target needed.
        compiled.once |= step.interval.is_none();
        let messages = step.messages.as_deref().map(json_path).transpose();
        let poll = index(self.program.polls.len());
        self.program.polls.push(CompiledPoll {
            channel: step.channel.as_ref().map(CompiledText::new),
            marks: Marks::of(step.timestamp.as_deref(), step.sequence.as_deref())?,
            messages: messages.map_err(|found| LoadError::Plan {
                place: "the path of the messages in answers to polls",
                found,
                range: "a JSON path such as $.items[*]",
            })?,
        });
        let interval_ns = step
            .interval
            .map_or(AT_ONCE_NS, |interval| nanoseconds(interval).max(AT_ONCE_NS));
        let pace = index(self.program.paces);
        self.program.paces += 1;
        self.program.ops.push(Op::BeginPoll(poll));
        self.program.ops.push(Op::Every {
            pace,
            interval_ns,
            lasting_ns: step.lasting.map_or(NEVER, nanoseconds),
        });
        let round = self.here();
        let after = round + 3;
        self.program.ops.push(Op::Round {
            pace,
            interval_ns,
            after,
        });
        self.program.ops.push(Op::Request(request));
        self.program.ops.push(Op::Jump(round));
        self.program.ops.push(Op::EndPoll);
        Ok(())
    }
}
