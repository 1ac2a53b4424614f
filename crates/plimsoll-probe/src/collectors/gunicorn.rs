//! gunicorn.

pub(crate) mod advise;
mod collect;
pub(crate) mod discover;
mod parse;

pub(crate) use collect::GunicornCollector;
