//! The last phase: responses of the edge itself.

pub mod learned_fallback;
pub mod synthetic_response;
