//! Rules about packets and connections in the kernel, on the target's machine and on the path to it.

/// What is kept over a restart.
macro_rules! sysctl {
    ($text:literal) => {
        concat!(
            $text,
            "; at once with `sysctl -w`, for good in /etc/sysctl.d/90-service.conf"
        )
    };
}

pub(crate) mod accept_queue;
pub(crate) mod bandwidth;
pub(crate) mod conntrack;
pub(crate) mod packets;
pub(crate) mod path;
pub(crate) mod ports;
pub(crate) mod tcp;
pub(crate) mod tls;

#[cfg(test)]
mod tests;

use crate::diagnosis::stretch::View;

/// What happens less than once a second is no limit.
pub(crate) const OFTEN: f64 = 1.0;

pub(crate) fn per_second(view: &View<'_>, metric: &str) -> f64 {
    view.mean(metric).unwrap_or(0.0)
}
