//! Rules about nginx.

pub(crate) mod configured_limits;
pub(crate) mod connections;
pub(crate) mod upstream;

#[cfg(test)]
mod tests;
