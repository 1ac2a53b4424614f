//! The nouns of Plimsoll and their pure arithmetic.
//!
//! Data flows one way through them: [`plan::Plan`] → [`schedule::Schedule`] yields [`schedule::Arrival`] →
//! [`window::Window`] and [`reading::Readings`] → [`event::Event`] → [`run::Run`] → finding and verdict.
//!
//! This crate does no I/O, reads no clock and has no randomness except from a given seed. It never averages a
//! percentile: histograms are merged by adding counts.

pub mod agent;
pub mod bodies;
pub mod broadcast;
pub mod browser;
pub mod byte_order_mark;
pub mod component;
pub mod cycle;
pub mod distribution;
pub mod event;
pub mod experiment;
pub mod finding;
pub mod hexadecimal;
pub mod histogram;
pub mod history;
pub mod journey;
pub mod labels;
pub mod load_hosts;
pub mod load_line;
pub mod lock;
pub mod machine;
pub mod metric;
pub mod objective;
pub mod outcome;
pub mod patience;
pub mod plan;
pub mod price;
pub mod reading;
pub mod redact;
pub mod region_loops;
pub mod run;
pub mod schedule;
pub mod seed;
pub mod ssh;
pub mod status;
pub mod target;
pub mod trial;
pub mod url_rows;
pub mod verdict;
pub mod websocket;
pub mod window;
pub mod worker;
