//! Rules about the CPUs of the target's machine.

pub(crate) mod busy;
pub(crate) mod clock;
pub(crate) mod kernel_time;
pub(crate) mod lock_contention;
pub(crate) mod quota;
pub(crate) mod steal;
pub(crate) mod thread;

#[cfg(test)]
mod tests;

pub(crate) fn percent(share: Option<f64>) -> f64 {
    share.unwrap_or(0.0) * 100.0
}
