//! One request: how its time was spent. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::meaning::{CallRefusal, SpanRole, TransactionBoundary};

/// Maximum depth of a span; deeper ones are attached at that depth.
const DEPTH_MAX: u32 = 64;

/// A span, as it waits for its request.
#[derive(Clone, Debug)]
pub(super) struct PendingSpan {
    pub(super) id: u64,
    pub(super) parent: u64,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) role: SpanRole,
    /// Route of an entry; else the component.
    pub(super) name: Arc<str>,
    pub(super) service: Arc<str>,
    pub(super) statement: Option<Arc<str>>,
    pub(super) frame: Option<TransactionBoundary>,
    pub(super) is_failed: bool,
    pub(super) refusal: Option<CallRefusal>,
}

/// Time and calls spent on a component.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spent {
    pub(super) calls: u64,
    /// Time in which nothing below it ran, of all calls together.
    pub(super) own_ns: u64,
    /// The same, where each moment is divided among all that ran in it: over a request these add up to its time.
    pub(super) shared_ns: f64,
    pub(super) failed: u64,
    pub(super) too_many: u64,
    pub(super) unavailable: u64,
}

impl Spent {
    pub(super) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.own_ns += other.own_ns;
        self.shared_ns += other.shared_ns;
        self.failed += other.failed;
        self.too_many += other.too_many;
        self.unavailable += other.unavailable;
    }
}

/// The work of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Done {
    pub(super) time_ns: u64,
    pub(super) components: BTreeMap<(SpanRole, Arc<str>), Spent>,
    /// Statements by form, without those that begin or end a transaction.
    pub(super) statements: BTreeMap<Arc<str>, u64>,
    /// Time that transactions were open.
    pub(super) held_ns: u64,
    /// Of this, time in which another service was waited for.
    pub(super) held_remote_ns: u64,
}

/// A span in the tree below its entry, which is the first.
#[derive(Clone, Copy, Debug)]
struct SpanNode<'a> {
    piece: &'a PendingSpan,
    parent: usize,
    depth: u32,
}

/// The spans of the request whose entry is at `entry`, by their index in `pieces`: the entry first, each after its
/// parent. The work of another entry is another request.
pub(super) fn members(pieces: &[PendingSpan], entry: usize) -> Vec<(usize, usize)> {
    let mut below = BTreeMap::<u64, Vec<usize>>::new();
    let mut ids = BTreeSet::new();
    for (index, piece) in pieces.iter().enumerate() {
        // A duplicate was retransmitted.
        if index != entry && piece.role != SpanRole::Entry && ids.insert(piece.id) {
            below.entry(piece.parent).or_default().push(index);
        }
    }
    let mut members = vec![(entry, 0)];
    let mut at = 0;
    while let Some(&(index, _)) = members.get(at) {
        // Removed, so that no span occurs twice, whatever the parent links.
        for child in below.remove(&pieces[index].id).unwrap_or_default() {
            members.push((child, at));
        }
        at += 1;
    }
    members
}

/// The work of a request, from its spans as [`members`] returns them.
pub(super) fn done(pieces: &[PendingSpan], members: &[(usize, usize)]) -> Done {
    let mut nodes: Vec<SpanNode<'_>> = Vec::with_capacity(members.len());
    for &(index, parent) in members {
        let above = nodes.get(parent);
        let depth = above.map_or(0, |above| above.depth + 1);
        let parent = if depth > DEPTH_MAX {
            above.map_or(0, |above| above.parent)
        } else {
            parent
        };
        nodes.push(SpanNode {
            piece: &pieces[index],
            parent,
            depth: depth.min(DEPTH_MAX),
        });
    }
    let Some(entry) = nodes.first().map(|node| node.piece) else {
        return Done::default();
    };
    let mut done = Done {
        time_ns: entry.end_ns.saturating_sub(entry.start_ns),
        ..Done::default()
    };
    for (index, (node, (own_ns, shared_ns))) in nodes.iter().zip(times(&nodes)).enumerate() {
        let piece = node.piece;
        // One library may report a call inside the call of another library.
        let above = nodes[node.parent].piece;
        let is_again = index > 0
            && piece.role != SpanRole::Step
            && above.role == piece.role
            && above.name == piece.name;
        let is_once = u64::from(!is_again);
        let spent = Spent {
            calls: is_once,
            own_ns,
            shared_ns,
            failed: is_once * u64::from(piece.is_failed),
            too_many: is_once * u64::from(piece.refusal == Some(CallRefusal::TooMany)),
            unavailable: is_once * u64::from(piece.refusal == Some(CallRefusal::Unavailable)),
        };
        let name = if piece.role == SpanRole::Entry {
            Arc::from("")
        } else {
            Arc::clone(&piece.name)
        };
        done.components
            .entry((piece.role, name))
            .or_default()
            .add(&spent);
        if let (Some(statement), None, false) = (&piece.statement, piece.frame, is_again) {
            *done.statements.entry(Arc::clone(statement)).or_default() += 1;
        }
    }
    (done.held_ns, done.held_remote_ns) = held(&nodes);
    done
}

/// Spans that run at a moment without a running child.
#[derive(Debug)]
struct Sweep {
    now_ns: u64,
    /// Time that each span has been credited with so far.
    share_ns: f64,
    busy: u32,
    running: Vec<bool>,
    below: Vec<u32>,
    since: Vec<(u64, f64)>,
    spent: Vec<(u64, f64)>,
}

impl Sweep {
    fn to(&mut self, at_ns: u64) {
        if self.busy > 0 {
            self.share_ns += (at_ns - self.now_ns) as f64 / f64::from(self.busy);
        }
        self.now_ns = at_ns;
    }

    fn begin(&mut self, index: usize) {
        self.busy += 1;
        self.since[index] = (self.now_ns, self.share_ns);
    }

    fn end(&mut self, index: usize) {
        self.busy -= 1;
        let (since_ns, share_ns) = self.since[index];
        self.spent[index].0 += self.now_ns - since_ns;
        self.spent[index].1 += self.share_ns - share_ns;
    }
}

/// Of each span: time in which nothing below it ran, and its share of that, ns. Only the entry's time counts.
fn times(nodes: &[SpanNode<'_>]) -> Vec<(u64, f64)> {
    let (begin, end) = (nodes[0].piece.start_ns, nodes[0].piece.end_ns);
    let mut moments = Vec::with_capacity(2 * nodes.len());
    for (index, node) in nodes.iter().enumerate() {
        let from = node.piece.start_ns.clamp(begin, end);
        let to = node.piece.end_ns.clamp(begin, end);
        if from < to {
            // At the same moment, ends come first.
            moments.extend([(from, true, index), (to, false, index)]);
        }
    }
    moments.sort_unstable();
    let count = nodes.len();
    let mut sweep = Sweep {
        now_ns: begin,
        share_ns: 0.0,
        busy: 0,
        running: vec![false; count],
        below: vec![0; count],
        since: vec![(0, 0.0); count],
        spent: vec![(0, 0.0); count],
    };
    for (at_ns, begins, index) in moments {
        sweep.to(at_ns);
        let mut above = index;
        if begins {
            while above != 0 {
                above = nodes[above].parent;
                sweep.below[above] += 1;
                if sweep.below[above] == 1 && sweep.running[above] {
                    sweep.end(above);
                }
            }
            sweep.running[index] = true;
            if sweep.below[index] == 0 {
                sweep.begin(index);
            }
        } else {
            if sweep.below[index] == 0 {
                sweep.end(index);
            }
            sweep.running[index] = false;
            while above != 0 {
                above = nodes[above].parent;
                sweep.below[above] -= 1;
                if sweep.below[above] == 0 && sweep.running[above] {
                    sweep.begin(above);
                }
            }
        }
    }
    sweep.spent
}

/// Time that transactions were open, and of this the time in which another service was waited for, ns.
fn held(nodes: &[SpanNode<'_>]) -> (u64, u64) {
    let mut frames: Vec<&PendingSpan> = nodes
        .iter()
        .map(|node| node.piece)
        .filter(|piece| piece.frame.is_some())
        .collect();
    frames.sort_by_key(|piece| piece.start_ns);
    let mut remote: Vec<&PendingSpan> = nodes
        .iter()
        .map(|node| node.piece)
        .filter(|piece| piece.role.is_remote())
        .collect();
    remote.sort_by_key(|piece| piece.start_ns);
    let (mut held_ns, mut remote_ns) = (0, 0);
    let mut open = BTreeMap::<&str, u64>::new();
    for frame in frames {
        if frame.frame == Some(TransactionBoundary::Begin) {
            open.insert(&frame.name, frame.start_ns);
            continue;
        }
        let Some(begin) = open.remove(&*frame.name) else {
            continue;
        };
        held_ns += frame.end_ns.saturating_sub(begin);
        let mut until = begin;
        for piece in &remote {
            let from = piece.start_ns.max(until);
            let to = piece.end_ns.min(frame.end_ns);
            remote_ns += to.saturating_sub(from);
            until = until.max(to);
        }
    }
    (held_ns, remote_ns)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// id, parent, from, to, role, name.
    type SpanRow = (u64, u64, u64, u64, SpanRole, &'static str);

    fn piece((id, parent, start_ns, end_ns, role, name): SpanRow) -> PendingSpan {
        let is_statement = role == SpanRole::Database;
        PendingSpan {
            id,
            parent,
            start_ns,
            end_ns: end_ns.max(start_ns),
            role,
            name: Arc::from(if is_statement { "db" } else { name }),
            service: Arc::from("shop"),
            statement: is_statement.then(|| Arc::from(name)),
            frame: match name {
                "BEGIN" => Some(TransactionBoundary::Begin),
                "COMMIT" => Some(TransactionBoundary::End),
                _ => None,
            },
            is_failed: false,
            refusal: None,
        }
    }

    fn done_from_rows(rows: &[SpanRow]) -> Done {
        let pieces: Vec<PendingSpan> = rows.iter().copied().map(piece).collect();
        done(&pieces, &members(&pieces, 0))
    }

    #[track_caller]
    fn check(done: &Done, role: SpanRole, name: &str, calls: u64, own_ns: u64, shared_ns: f64) {
        let component: (SpanRole, Arc<str>) = (role, Arc::from(name));
        let spent = done.components[&component];
        assert_eq!((spent.calls, spent.own_ns), (calls, own_ns), "{name}");
        assert!(
            (spent.shared_ns - shared_ns).abs() < 1e-6,
            "{name} {spent:?}"
        );
    }

    #[test]
    fn time_goes_to_what_is_deepest_and_is_divided_among_what_runs_at_once() {
        use SpanRole::{Database, Entry, Http, Step};

        let done = done_from_rows(&[
            (1, 0, 100, 200, Entry, "GET /"),
            (2, 1, 110, 190, Step, "handler"),
            (3, 2, 120, 140, Database, "SELECT a"),
            // Concurrently: two calls, the second of which continues alone, and longer than the request.
            (4, 2, 150, 170, Http, "a:1"),
            (5, 2, 160, 999, Http, "b:1"),
            // Of another service.
            (6, 4, 151, 169, Entry, "GET /a"),
            (7, 6, 152, 168, Database, "SELECT b"),
            // A duplicate.
            (3, 2, 120, 140, Database, "SELECT a"),
        ]);
        assert_eq!(done.time_ns, 100);
        check(&done, Entry, "", 1, 10, 10.0);
        check(&done, Step, "handler", 1, 20, 20.0);
        check(&done, Database, "db", 1, 20, 20.0);
        check(&done, Http, "a:1", 1, 20, 15.0);
        check(&done, Http, "b:1", 1, 40, 35.0);
        assert_eq!(done.statements.len(), 1);
    }

    #[test]
    fn repeated_statements_and_calls_told_twice() {
        use SpanRole::{Database, Entry};

        let done = done_from_rows(&[
            (1, 0, 0, 100, Entry, "GET /"),
            (2, 1, 10, 20, Database, "SELECT a"),
            (3, 1, 20, 30, Database, "SELECT b"),
            (4, 1, 30, 40, Database, "SELECT b"),
            // The driver below the library that uses it.
            (5, 4, 31, 39, Database, "SELECT b"),
        ]);
        check(&done, Database, "db", 3, 30, 30.0);
        let counts: Vec<u64> = done.statements.values().copied().collect();
        assert_eq!(counts, [1, 2]);
    }

    #[test]
    fn a_transaction_that_waits_for_another_service() {
        use SpanRole::{Database, Entry, Http};

        let done = done_from_rows(&[
            (1, 0, 0, 100, Entry, "GET /"),
            (2, 1, 10, 12, Database, "BEGIN"),
            (3, 1, 20, 60, Http, "a:1"),
            (4, 1, 50, 70, Http, "b:1"),
            (5, 1, 80, 90, Database, "COMMIT"),
        ]);
        assert_eq!((done.held_ns, done.held_remote_ns), (80, 50));
        assert!(done.statements.is_empty());
    }

    proptest! {
        #[test]
        fn shares_add_up_to_the_requests_time(
            rows in proptest::collection::vec((0_u64..40, 0_u64..40, 0_u64..200, 0_u64..200), 0..40)
        ) {
            let mut all = vec![(1, 0, 20, 120, SpanRole::Entry, "GET /")];
            all.extend(rows.iter().map(|&(id, parent, from, to)| (id, parent, from, to, SpanRole::Step, "x")));
            let done = done_from_rows(&all);
            let sum: f64 = done.components.values().map(|spent| spent.shared_ns).sum();
            prop_assert!((sum - 100.0).abs() < 1e-6, "{}", sum);
        }

        #[test]
        fn a_deep_request_is_told(depth in 1_u64..300) {
            let mut all = vec![(1, 0, 0, 1000, SpanRole::Entry, "GET /")];
            all.extend((1..depth).map(|id| (id + 1, id, id, 1000 - id, SpanRole::Step, "x")));
            let done = done_from_rows(&all);
            let sum: f64 = done.components.values().map(|spent| spent.shared_ns).sum();
            prop_assert!((sum - 1000.0).abs() < 1e-6, "{}", sum);
        }
    }
}
