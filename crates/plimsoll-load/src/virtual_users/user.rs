//! The state of one virtual user: its program counter, its values, its connections.

pub(super) mod cache;
mod state;

pub(crate) use state::{OpenGroup, OriginTarget, ScriptState, User, UserSocket};
pub(super) use state::{PageLoad, ScriptSession};
