//! What `plimsoll log` prints: one object as JSON, on the terminal and as a page.

mod object;
mod page;
mod sections;
mod text;
mod traffic;

pub use object::{CpuMinute, CpuSeries, LogObject, schema};
pub use page::render;
pub use text::summary;
