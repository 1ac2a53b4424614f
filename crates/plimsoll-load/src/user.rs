//! The state of one simulated person: where in the program, what is held, which connections.

pub(crate) mod cache;
pub(crate) mod state;

pub(crate) use state::{OpenGroup, OriginTarget, ScriptSession, ScriptState, User, UserSocket};
