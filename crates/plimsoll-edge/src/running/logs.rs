//! The access log: opened before anything runs, written by a thread of its own.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use plimsoll_config::edge::AccessLog;
use plimsoll_net::notice::NoticeSink;
use plimsoll_proxy::telemetry::log::LogWriter;

use super::{EdgeError, spawn};

pub(super) type Out = Box<dyn Write + Send>;

pub(super) fn open_log(log: &AccessLog) -> Result<(LogWriter, Out), EdgeError> {
    let out: Out = match &log.path {
        None => Box::new(io::stdout()),
        Some(path) => {
            let file = open_for_lines(path).map_err(|source| EdgeError::AccessLog {
                path: path.clone(),
                source,
            })?;
            Box::new(file)
        }
    };
    Ok((LogWriter::new(log.format), out))
}

/// Mode of a new log file: writable by its owner, readable by its group (`adm` on many systems).
const MODE: u32 = 0o640;

/// Opens or reopens a log. An existing file keeps its mode.
fn open_for_lines(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(MODE)
        .open(path)
}

pub(super) fn write_log(
    writer: LogWriter,
    out: Out,
    log: Option<AccessLog>,
    report: &NoticeSink,
) -> Result<JoinHandle<()>, EdgeError> {
    let report = Arc::clone(report);
    let on_error =
        move |error: &io::Error| report(&format!("cannot write the access log: {error}"));
    let path = log.and_then(|log| log.path);
    let open = move || -> io::Result<Option<Out>> {
        let file = path.as_deref().map(open_for_lines).transpose()?;
        Ok(file.map(|file| Box::new(file) as Out))
    };
    spawn("edge-log".to_owned(), move || {
        writer.run(out, open, on_error);
    })
}
