//! PHP-FPM.

pub(crate) mod advise;
mod collect;
pub(crate) mod discover;
mod parse;
mod processes;
#[cfg(test)]
mod tests;

pub(crate) use collect::PhpFpmCollector;
pub(crate) use processes::PhpFpmProcessCollector;
