//! What is full, or waits, in front of a component that is at its limit: the groups that limits explain away.

use crate::diagnosis::rule_id::RuleId::{
    self, A0, H1, H4, H7, H9, N1, N5, P11, R1, R2, R3, X1, X2, X3, X4,
};

/// Accept queues, and proxies whose connections are used up, whose servers are slow, or whose clients give up.
pub(crate) const BEFORE_SERVERS: &[RuleId] = &[N1, X1, X2, H1, H4, H7, H9, X3, X4];
/// The same, and web servers, in front of a program.
pub(crate) const BEFORE_PROGRAMS: &[RuleId] = &[N1, X1, X2, H1, H4, H7, H9, X3, X4, A0];
/// The same, and workers of runtimes, in front of what a program waits for.
pub(crate) const BEFORE_STORES: &[RuleId] = &[N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0];
/// Connection limits, web servers and workers of runtimes that fill up when a resource of the machine is used up.
pub(crate) const ON_THE_MACHINE: &[RuleId] = &[N1, X1, X2, H1, H7, R1, R2, R3, A0];
/// The same with slow servers, clients that give up, and poolers: when the machine as a whole is slow.
pub(crate) const ON_A_SLOW_MACHINE: &[RuleId] = &[N1, X1, X2, H1, H4, H7, H9, R1, R2, R3, A0, P11];
/// What may wait for a limit on another machine, if that stands behind it: all of these, and connections that are lost on
/// the way there. Everything else is explained by its own machine alone.
pub(crate) const ACROSS_MACHINES: &[RuleId] =
    &[N1, N5, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, P11];
