//! The sample site of the demo: a small server-rendered news site over SQLite.
