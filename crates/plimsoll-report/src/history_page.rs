//! What `plimsoll history` prints: one object as JSON, on the terminal, as Markdown, `JUnit` and as a page.

mod junit;
mod markdown;
mod object;
mod page;
mod phrases;
mod series;
mod text;

pub use junit::render as junit;
pub(crate) use markdown::escaped;
pub use markdown::render as markdown;
pub use object::*;
pub use page::render;
pub(crate) use phrases::{day, metric_label, metric_order, quantity};
pub use text::summary;
