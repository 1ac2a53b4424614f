//! PHP-FPM.

pub(crate) mod advise;
mod collect;
pub(crate) mod discover;
mod parse;
mod processes;

pub(crate) use collect::PhpFpmCollector;
pub(crate) use processes::PhpFpmProcessCollector;
