//! Rules about how a service fails as a whole.

pub(crate) mod content;
pub(crate) mod expensive_step;
pub(crate) mod overload;
pub(crate) mod payload;
pub(crate) mod periodic;

#[cfg(test)]
mod tests;
