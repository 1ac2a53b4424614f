//! The real binary against real servers: nginx from the system's packages, and origins with a known law.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod attacks;
mod bad_input;
mod bombs;
mod collectors;
mod collectors_databases;
mod collectors_logs;
mod collectors_runtimes;
mod collectors_traces;
mod confirm;
mod cookies;
mod disk;
mod edge;
mod edge_disk;
mod edge_memory;
mod edge_rate_alert;
mod edge_service;
mod found;
mod hostile;
mod http2;
mod hub;
mod hub_shared;
mod import;
mod import_curl;
mod import_har;
mod import_jmeter;
mod import_k6;
mod import_openapi;
mod import_postman;
mod import_scripts;
mod kill;
mod limit;
mod log;
mod mercure;
mod nginx;
mod plan;
mod process;
mod received;
mod record;
mod record_attacks;
mod run;
mod secrets;
mod support;
mod through;
mod websocket;
