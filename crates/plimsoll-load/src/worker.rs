//! A worker process: it carries the share of a load that its task describes.

use std::io::{self, BufRead, Write};

use crate::clock;
use crate::running::{self, Stopper};
use crate::stop_signal::command;
use crate::worker_processes::{ABORT, STOP, Used, WorkerMessage, WorkerTask};

/// Where the highest resident memory of a process stands.
const STATUS: &str = "/proc/self/status";

/// Carries the share of a load that the first line of `orders` describes, and writes the results. Ends early when
/// `orders` ends, because the coordinating process has ended.
///
/// # Errors
/// When the first line is invalid, or the reader of the output is gone.
pub fn run_worker(
    mut orders: impl BufRead + Send + 'static,
    mut out: impl Write,
) -> io::Result<()> {
    let mut line = String::new();
    orders.read_line(&mut line)?;
    let task: WorkerTask = serde_json::from_str(&line)?;
    let (job, share) = task.into_job();
    let mut running = match running::begin(job, None, share) {
        Ok(running) => running,
        Err(error) => return write_message(&mut out, &WorkerMessage::Failed(error.to_string())),
    };
    let stopper = running.stopper();
    std::thread::Builder::new()
        .name("orders".to_owned())
        .spawn(move || heed(orders, &stopper))?;
    while let Some(window) = running.next_window() {
        write_message(&mut out, &WorkerMessage::Window(Box::new(window)))?;
    }
    let used = own_use();
    let plan_error = running.plan_error().map(ToOwned::to_owned);
    write_message(&mut out, &WorkerMessage::Ended { used, plan_error })
}

/// Resources that this process has used so far.
pub fn own_use() -> Used {
    Used {
        cpu_us: clock::process_cpu_us(),
        rss_bytes_max: rss_bytes_max().unwrap_or(0),
    }
}

fn write_message(out: &mut impl Write, message: &WorkerMessage) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// Follows the commands until their sender is gone.
fn heed(orders: impl BufRead, stopper: &Stopper) {
    for line in orders.lines().map_while(Result::ok) {
        if line == STOP {
            stopper.send_command(command::STOP);
        }
        if line == ABORT {
            break;
        }
    }
    stopper.send_command(command::ABORT);
}

fn rss_bytes_max() -> Option<u64> {
    let text = std::fs::read_to_string(STATUS).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
