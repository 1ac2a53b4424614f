//! Run and findings to HTML, JSON, CSV, Parquet, `JUnit` and text.
//!
//! Everything here is a pure function of a [`plimsoll_model::run::Run`]: the same run gives the same report years
//! later. Nothing is read or written; bytes and text go back to the caller.

pub mod answer;
pub mod availability;
mod chart;
pub mod compare;
mod comparison;
pub mod cost;
pub mod csv;
pub mod cycle_record;
pub mod export_table;
pub mod history_page;
pub mod html;
pub mod json;
pub mod junit;
pub mod live_line;
pub mod log_page;
mod machines;
pub mod matrix;
pub mod number;
pub mod parquet;
pub mod pretty;
mod printable;
pub mod repeated;
pub mod report;
pub mod scale_page;
pub mod text;
pub mod tune;
mod workers;

pub use report::Report;
