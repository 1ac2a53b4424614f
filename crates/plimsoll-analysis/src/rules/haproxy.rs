//! Rules about HAProxy and the servers behind it.

pub(crate) mod balance;
pub(crate) mod failures;
pub(crate) mod sessions;
pub(crate) mod threads;

#[cfg(test)]
mod tests;

use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::component::place;

/// HAProxy's names of a proxy as a whole.
pub(crate) const FRONTEND: &str = "FRONTEND";
pub(crate) const BACKEND: &str = "BACKEND";

/// A proxy of HAProxy, or one of its servers.
pub(crate) fn of(metric: &str, label_set: &str, server: &str) -> String {
    let proxy = label(label_set, "proxy").unwrap_or("?");
    let labels = [
        ("at", place(label_set)),
        ("proxy", proxy),
        ("server", server),
    ];
    metric::series(metric, &labels)
}
