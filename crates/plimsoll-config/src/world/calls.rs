//! What a request of a tier calls.

use crate::document::Shape::{Either, Of, OneOrMore, Text};
use crate::document::{
    DocumentNode, DocumentReader, NodeKind, SettingsMap as _, Shape, count, settings, share, switch,
};

/// Most entries of `calls` of a tier.
pub const CALLS_MAX: usize = 100;
/// Most repetitions of a call in a request.
pub const REPEATS_MAX: u32 = 10_000;

/// How calls are written.
pub(super) const CALLS: Shape = OneOrMore(&Either(&[Text, Of(&CALL)]));

const VALID: &str = "the name of a tier, or a map such as { to: db, times: 14 }";

settings! {
    /// A call of a request, or several that belong together.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Call, CALL "call" {
        /// Tiers that are called, one or a list. Required.
        to: Vec<usize> = Vec::new(), "to": OneOrMore(&Text) => later;
        /// How often each request calls them: queries of a page.
        times: u32 = 1, "times": count(1..=REPEATS_MAX);
        /// Share of requests that make a call, drawn for each of its repetitions.
        share: f64 = 1.0, "share": share("a share such as 30%");
        /// Whether all repetitions to all tiers are sent at once; otherwise each waits for the answer before it.
        parallel: bool = false, "parallel": switch();
        /// Whether the request keeps its server (with `threads`, its thread) until the answer. Without, it lets go of both, as
        /// asynchronous code does.
        blocking: bool = true, "blocking": switch();
    }
}

impl Call {
    /// Calls of a request, if all are made.
    pub fn count(&self) -> u64 {
        u64::from(self.times) * self.to.len() as u64
    }
}

/// Reads `calls:`; an invalid entry is left out.
pub(super) fn calls(reader: &DocumentReader<'_>, node: &DocumentNode, names: &[&str]) -> Vec<Call> {
    let items = reader.one_or_more(node);
    if items.len() > CALLS_MAX {
        let message = format!("there are {} calls", items.len());
        let valid = format!("at most {CALLS_MAX}; `times` repeats a call");
        reader.report(node, message, valid);
    }
    let items = items.iter().take(CALLS_MAX);
    items.filter_map(|item| call(reader, item, names)).collect()
}

fn call(reader: &DocumentReader<'_>, node: &DocumentNode, names: &[&str]) -> Option<Call> {
    if let NodeKind::Scalar { .. } = node.kind {
        let to = callee(reader, node, names)?;
        return Some(Call {
            to: vec![to],
            ..Call::defaults()
        });
    }
    let fields = reader.fields(node, &CALL)?;
    let mut call = Call::read(reader, &fields);
    let Some(to) = fields.get("to") else {
        if !fields.misspells(&["to"]) {
            reader.report(node, "`to` is missing", VALID);
        }
        return None;
    };
    let items = reader.one_or_more(to).iter();
    call.to = items
        .filter_map(|item| callee(reader, item, names))
        .collect();
    if call.count() > u64::from(REPEATS_MAX) {
        let message = format!("a request makes {} calls", call.count());
        reader.report(node, message, format!("at most {REPEATS_MAX}"));
        return None;
    }
    (!call.to.is_empty()).then_some(call)
}

/// The index of the tier that a node names.
pub(super) fn callee(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    names: &[&str],
) -> Option<usize> {
    let name = reader.word(node, VALID)?;
    let index = names.iter().position(|known| *known == name);
    if index.is_none() {
        reader.unknown(&node.span, "tier", &name, names);
    }
    index
}
