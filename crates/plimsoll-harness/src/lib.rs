//! What benchmarks, case studies, long checks and CI share: processes and their cost, servers, ports, packages, the
//! machine, the workspace, alternating rounds, and report pages with the data files that define them.
//!
//! It runs other programs and reads their output; it contains no product logic. Its functions fail with [`anyhow::Error`]:
//! the callers are programs that print the error and end.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its users are tasks, which talk to the person who started them"
)]

pub mod arguments;
pub mod child;
pub mod clock;
pub mod data;
pub mod definition;
pub mod exit;
pub mod expression;
pub mod go;
pub mod machine;
pub mod node;
pub mod not_tried;
pub mod origin;
pub mod packages;
pub mod page;
pub mod port;
pub mod process;
pub mod programs;
pub mod python;
pub mod release;
pub mod request;
pub mod run_report;
pub mod running;
pub mod sample;
pub mod server;
pub mod spread;
pub mod step;
pub mod template;
pub mod test_output;
pub mod test_programs;
pub mod workspace;
