//! Node.

mod collect;
pub(crate) mod discover;

pub use collect::MODULE;
pub(crate) use collect::NodeCollector;
