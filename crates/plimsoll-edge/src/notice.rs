//! How whoever started the edge learns of what happens while it runs.

use std::sync::Arc;

/// Is given a line for the user: a server goes or comes back, a file cannot be read, a name has moved.
pub(crate) type NoticeSink = Arc<dyn Fn(&str) + Send + Sync>;
