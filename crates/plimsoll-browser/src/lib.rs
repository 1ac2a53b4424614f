//! Real browsers beside a load: users in Chromium, who visit pages and measure what people wait for.
//!
//! [`Browsers::start`] starts one Chromium with its own profile, behind a process that ends it when Plimsoll is gone
//! ([`guard`]), and commands it over a pair of pipes by the DevTools protocol: no port is opened. Each user is a thread that
//! visits a page with a fresh profile, waits until the page is ready, reports a
//! [`PageVisit`](plimsoll_model::browser::PageVisit), thinks, and visits the next. Nothing of this touches the event loops
//! of the load.

mod browsers;
mod clock;
mod cpu;
pub mod elements;
pub mod guard;
mod process;
mod program;
mod protocol;
mod spec;
mod users;
mod visit;

pub use browsers::{BrowserError, Browsers};
pub use cpu::cpu_s;
pub use program::{NAMES, find};
pub use spec::{BrowserSpec, VisitSink};
