//! Exports to real receivers, and to those that refuse, are slow or do not exist.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod files;
mod influx;
mod obstacles;
mod otlp;
mod prometheus;
mod receiver;
mod run;
mod statsd;
