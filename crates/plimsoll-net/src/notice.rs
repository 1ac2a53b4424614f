//! Notices about events while the edge runs.

use std::sync::Arc;

/// Receives a line for the operator: a server fails or recovers, a file cannot be read, a name has new addresses.
pub type NoticeSink = Arc<dyn Fn(&str) + Send + Sync>;
