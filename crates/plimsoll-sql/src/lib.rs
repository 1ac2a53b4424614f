//! SQL statements as text, without their values.
//!
//! Pure: no I/O, and any text is accepted. Collectors ask while a database can still be asked, findings when the run is
//! over; both advise the same index.

pub mod clauses;
pub mod index;
pub mod summary_table;
mod token;
