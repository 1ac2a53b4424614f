//! Gathers spans until the request to which they belong is whole.
//!
//! A service exports its spans when they end: the calls of a request arrive before its own span, which arrives
//! last. The work of another service for it is that service's own request. So a request is complete shortly after
//! its own span has arrived, and clocks of several machines are never compared.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::clocks::Clocks;
use super::meaning::{self, SpanRole};
use super::parse::OtlpSpan;
use super::request::{self, PendingSpan};
use super::totals::TraceTotals;

/// How long after its own span a request waits for its other spans: SDKs send several messages concurrently.
const HOLD_NS: u64 = 1_000_000_000;
/// After this time spans without a request are dropped.
const AGE_MAX_NS: u64 = 15_000_000_000;
/// Spans that wait at most; spans beyond them are dropped.
const PENDING_MAX: usize = 100_000;
/// Spans of a trace that wait, and requests among them.
const OF_TRACE_MAX: usize = 5_000;
const ENTRIES_MAX: usize = 64;
/// Names of components and routes, and forms of statements, that are distinguished at most.
const NAMES_MAX: usize = 4_096;

/// Interned texts.
#[derive(Debug, Default)]
struct InternedNames(HashSet<Arc<str>>);

impl InternedNames {
    fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return Arc::clone(known);
        }
        if self.0.len() >= NAMES_MAX {
            return Arc::from("others");
        }
        let own: Arc<str> = Arc::from(name);
        self.0.insert(Arc::clone(&own));
        own
    }
}

/// Spans of a trace that wait.
#[derive(Debug, Default)]
struct PendingTrace {
    pieces: Vec<PendingSpan>,
    entries: usize,
    came_ns: u64,
}

/// A request whose own span has arrived.
#[derive(Clone, Copy, Debug)]
struct DueRequest {
    came_ns: u64,
    trace: u128,
    entry: u64,
}

/// Outcomes of spans since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fate {
    /// Received.
    pub(super) came: u64,
    /// Dropped for lack of space.
    pub(super) left_out: u64,
    /// Their request never arrived.
    pub(super) without_request: u64,
}

/// Spans that wait, and the totals of complete requests.
#[derive(Debug, Default)]
pub(super) struct Gather {
    traces: HashMap<u128, PendingTrace>,
    pending: usize,
    due: VecDeque<DueRequest>,
    names: InternedNames,
    pub(super) totals: TraceTotals,
    pub(super) clocks: Clocks,
    fate: Fate,
}

impl Gather {
    /// Stores spans that arrived at a time, ns of the monotonic clock; returns how many were dropped.
    pub(super) fn add(&mut self, spans: &[OtlpSpan], now_ns: u64) -> u64 {
        let before = self.fate.left_out;
        for span in spans {
            self.fate.came += 1;
            if self.pending >= PENDING_MAX {
                self.fate.left_out += 1;
                continue;
            }
            let trace = self.traces.entry(span.trace).or_default();
            let meaning = meaning::of(span);
            let is_entry = meaning.role == SpanRole::Entry;
            if trace.pieces.len() >= OF_TRACE_MAX || is_entry && trace.entries >= ENTRIES_MAX {
                self.fate.left_out += 1;
                continue;
            }
            trace.came_ns = now_ns;
            trace.entries += usize::from(is_entry);
            trace.pieces.push(PendingSpan {
                id: span.id,
                parent: span.parent,
                start_ns: span.start_ns,
                end_ns: span.end_ns,
                role: meaning.role,
                name: self.names.get(&meaning.name),
                service: self.names.get(&span.service),
                statement: meaning.statement.map(|text| self.names.get(&text)),
                frame: meaning.frame,
                is_failed: meaning.is_failed,
                refusal: meaning.refusal,
            });
            self.pending += 1;
            if is_entry {
                self.due.push_back(DueRequest {
                    came_ns: now_ns,
                    trace: span.trace,
                    entry: span.id,
                });
            }
        }
        self.fate.left_out - before
    }

    /// Adds up the requests that are complete at a time, and drops spans too old to belong to one.
    pub(super) fn fold(&mut self, now_ns: u64) {
        while let Some(due) = self.due.front().copied() {
            if now_ns.saturating_sub(due.came_ns) < HOLD_NS {
                break;
            }
            self.due.pop_front();
            self.fold_request(due);
        }
        let (mut gone, mut pending) = (0, 0);
        self.traces.retain(|_, trace| {
            let is_young = now_ns.saturating_sub(trace.came_ns) < AGE_MAX_NS;
            if is_young {
                pending += trace.pieces.len();
            } else {
                gone += trace.pieces.len();
            }
            is_young && !trace.pieces.is_empty()
        });
        self.pending = pending;
        self.fate.without_request += gone as u64;
    }

    fn fold_request(&mut self, due: DueRequest) {
        let Some(trace) = self.traces.get_mut(&due.trace) else {
            return;
        };
        let is_entry = |piece: &PendingSpan| piece.role == SpanRole::Entry && piece.id == due.entry;
        let Some(entry) = trace.pieces.iter().position(is_entry) else {
            return;
        };
        let members = request::members(&trace.pieces, entry);
        let done = request::done(&trace.pieces, &members);
        let own = &trace.pieces[entry];
        self.totals
            .add(&own.service, &own.name, own.is_failed, &done);
        let taken: HashSet<u64> = members
            .iter()
            .map(|&(index, _)| trace.pieces[index].id)
            .collect();
        // Duplicates are removed with it.
        trace.pieces.retain(|piece| !taken.contains(&piece.id));
        trace.entries = trace.entries.saturating_sub(1);
    }

    /// Outcomes of spans since the last call.
    pub(super) fn fate(&mut self) -> Fate {
        std::mem::take(&mut self.fate)
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::SpanKind;
    use super::*;

    fn span(trace: u128, id: u64, parent: u64, kind: SpanKind) -> OtlpSpan {
        OtlpSpan {
            service: Arc::from("shop"),
            trace,
            id,
            parent,
            kind,
            name: "x".to_owned(),
            start_ns: 10,
            end_ns: 20,
            is_error: false,
            attributes: Vec::new(),
        }
    }

    #[test]
    fn a_request_is_told_when_it_is_whole() {
        let mut gather = Gather::default();
        // Of two services; the inner one's request has arrived, the outer one's has not.
        let inner = [
            span(1, 3, 2, SpanKind::Server),
            span(1, 4, 3, SpanKind::Internal),
            span(1, 2, 1, SpanKind::Client),
        ];
        assert_eq!(gather.add(&inner, 0), 0);
        gather.fold(HOLD_NS - 1);
        assert_eq!(gather.pending, 3);
        gather.fold(HOLD_NS);
        assert_eq!((gather.pending, gather.fate().came), (1, 3));
        gather.add(&[span(1, 1, 0, SpanKind::Server)], 2 * HOLD_NS);
        gather.fold(3 * HOLD_NS);
        assert_eq!((gather.pending, gather.traces.len()), (0, 0));
        assert_eq!(gather.fate().without_request, 0);
        // Spans that arrived too late, and spans without a request.
        gather.add(&[span(1, 9, 1, SpanKind::Internal)], 3 * HOLD_NS);
        gather.fold(3 * HOLD_NS + AGE_MAX_NS);
        assert_eq!((gather.pending, gather.fate().without_request), (0, 1));
    }

    #[test]
    fn there_is_an_end_to_what_waits() {
        let mut gather = Gather::default();
        let spans = vec![span(1, 2, 1, SpanKind::Internal); OF_TRACE_MAX + 7];
        assert_eq!(gather.add(&spans, 0), 7);
        for trace in 2..40 {
            let spans = vec![span(trace, 2, 1, SpanKind::Internal); OF_TRACE_MAX];
            gather.add(&spans, 0);
        }
        assert_eq!(gather.pending, PENDING_MAX);
        let entries = vec![span(99, 2, 1, SpanKind::Server); ENTRIES_MAX + 1];
        gather.fold(AGE_MAX_NS);
        assert_eq!(gather.add(&entries, AGE_MAX_NS), 1);
    }
}
