//! The access log: each loop buffers lines, one thread writes them.
//!
//! An event loop never waits for a disk. When the writer's queue is full, lines are dropped and counted.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use plimsoll_config::edge::LogFormat;
use plimsoll_net::loop_metrics::LoopMetrics;

/// Bytes of lines that a loop buffers before it hands them over.
const BATCH_LEN: usize = 32 * 1024;
/// Batches queued for the disk.
const BATCHES_MAX: usize = 256;

/// The lines of one loop.
#[derive(Debug, Default)]
pub struct LogLines {
    to: Option<SyncSender<LogWriterMessage>>,
    /// Format of an entry.
    pub format: LogFormat,
    batch: Vec<u8>,
    count: u64,
}

impl LogLines {
    /// Whether the log is enabled.
    #[inline]
    pub(crate) fn is_enabled(&self) -> bool {
        self.to.is_some()
    }

    /// Buffer for the next line; it ends with a line feed.
    pub(crate) fn next(&mut self) -> &mut Vec<u8> {
        self.count += 1;
        &mut self.batch
    }

    /// Hands the buffer over when it is large enough.
    #[inline]
    pub(crate) fn flush_if_full(&mut self, figures: &LoopMetrics) {
        if self.batch.len() >= BATCH_LEN {
            self.flush(figures);
        }
    }

    /// Hands the buffer over.
    pub fn flush(&mut self, figures: &LoopMetrics) {
        let Some(to) = &self.to else {
            return;
        };
        if self.batch.is_empty() {
            return;
        }
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH_LEN + 4096));
        if to.try_send(LogWriterMessage::Lines(batch)).is_err() {
            figures.log_lines_dropped.add(self.count);
        }
        self.count = 0;
    }
}

/// Message to the writer.
#[derive(Debug)]
enum LogWriterMessage {
    Lines(Vec<u8>),
    Reopen,
}

/// Requests that the file is reopened.
#[derive(Clone, Debug)]
pub struct Reopener(SyncSender<LogWriterMessage>);

impl Reopener {
    /// Requests it; lines handed over before still go to the old file.
    pub fn reopen(&self) {
        // When the writer's queue is full, the next signal requests it again.
        let _ = self.0.try_send(LogWriterMessage::Reopen);
    }
}

/// Writes the lines of all loops.
#[derive(Debug)]
pub struct LogWriter {
    from: Receiver<LogWriterMessage>,
    to: SyncSender<LogWriterMessage>,
    format: LogFormat,
}

impl LogWriter {
    /// A log that no loop writes to yet.
    pub fn new(format: LogFormat) -> Self {
        let (to, from) = sync_channel(BATCHES_MAX);
        Self { from, to, format }
    }

    /// The lines of one more loop.
    pub fn lines(&self) -> LogLines {
        LogLines {
            to: Some(self.to.clone()),
            format: self.format,
            batch: Vec::new(),
            count: 0,
        }
    }

    /// A handle that requests a reopen.
    pub fn reopener(&self) -> Reopener {
        Reopener(self.to.clone())
    }

    /// Writes until every loop has ended; `fails` receives the first write error after a success. `open` reopens the
    /// file after log rotation.
    pub fn run<W: Write>(
        self,
        mut out: W,
        open: impl Fn() -> std::io::Result<Option<W>>,
        mut fails: impl FnMut(&std::io::Error),
    ) {
        let Self { from, to, .. } = self;
        drop(to);
        let mut failing = false;
        for message in from {
            let batch = match message {
                LogWriterMessage::Lines(batch) => batch,
                LogWriterMessage::Reopen => {
                    match open() {
                        Ok(Some(new)) => out = new,
                        Ok(None) => {}
                        // Writing to the old file is better than losing lines.
                        Err(error) => fails(&error),
                    }
                    continue;
                }
            };
            let written = out.write_all(&batch).and_then(|()| out.flush());
            match written {
                Ok(()) => failing = false,
                Err(error) if !failing => {
                    failing = true;
                    fails(&error);
                }
                Err(_) => {}
            }
        }
    }
}
