//! Python programs.

mod collect;
mod parse;

pub(crate) use collect::PythonCollector;
