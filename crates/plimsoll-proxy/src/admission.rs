//! The second phase: the route of a request, and whether it may go on.

pub mod ip_filter;
pub mod rate_limit;
pub mod route;
pub mod waiting;
