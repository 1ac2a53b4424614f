//! The path of a request whose fallback depends on it.

use super::super::DownstreamConnection;

impl DownstreamConnection {
    /// Keeps the path of a target.
    pub(in crate::connection) fn keep_path(&mut self, target: &str) {
        let path = target.split('?').next().unwrap_or_default();
        path.clone_into(&mut self.context_mut().path);
    }

    /// The path, empty if no fallback depends on it.
    pub(in crate::connection) fn path(&self) -> &str {
        self.context.as_ref().map_or("", |context| &context.path)
    }
}
