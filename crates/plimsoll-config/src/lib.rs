//! What people write: units, objectives, status sets, with spans and the nearest right word; no I/O.
