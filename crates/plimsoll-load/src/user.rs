//! The state of one virtual user: its program counter, its values, its connections.

pub(crate) mod cache;
pub(crate) mod state;

pub(crate) use state::{OpenGroup, OriginTarget, ScriptSession, ScriptState, User, UserSocket};
