//! Rules about nginx.

pub(crate) mod upstream;
