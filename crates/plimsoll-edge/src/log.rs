//! The access log: lines are gathered by each loop and written by one thread.
//!
//! A loop never waits for a disk. When the writer is behind by its bound, lines are dropped and counted.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use plimsoll_config::edge::LogFormat;

use crate::loop_metrics::LoopMetrics;

/// Bytes of lines that a loop gathers before it hands them on.
const BATCH_LEN: usize = 32 * 1024;
/// Batches that may wait for the disk.
const BATCHES_MAX: usize = 256;

/// The lines of one loop.
#[derive(Debug, Default)]
pub(crate) struct LogLines {
    to: Option<SyncSender<LogWriterMessage>>,
    pub(crate) format: LogFormat,
    batch: Vec<u8>,
    count: u64,
}

impl LogLines {
    /// Whether lines are wanted at all.
    #[inline]
    pub(crate) fn is_enabled(&self) -> bool {
        self.to.is_some()
    }

    /// Where the next line is written to; it ends with a line feed.
    pub(crate) fn next(&mut self) -> &mut Vec<u8> {
        self.count += 1;
        &mut self.batch
    }

    /// Hands on when enough was gathered.
    #[inline]
    pub(crate) fn flush_if_full(&mut self, figures: &LoopMetrics) {
        if self.batch.len() >= BATCH_LEN {
            self.flush(figures);
        }
    }

    /// Hands on what was gathered.
    pub(crate) fn flush(&mut self, figures: &LoopMetrics) {
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

/// What the writer is given.
#[derive(Debug)]
enum LogWriterMessage {
    Lines(Vec<u8>),
    Reopen,
}

/// Asks for the file to be opened again.
#[derive(Clone, Debug)]
pub(crate) struct Reopener(SyncSender<LogWriterMessage>);

impl Reopener {
    /// Asks; what was handed on before still goes to the old file.
    pub(crate) fn reopen(&self) {
        // A writer that is behind by its bound is asked again by the next signal.
        let _ = self.0.try_send(LogWriterMessage::Reopen);
    }
}

/// Takes the lines of all loops to where they are kept.
#[derive(Debug)]
pub(crate) struct LogWriter {
    from: Receiver<LogWriterMessage>,
    to: SyncSender<LogWriterMessage>,
    format: LogFormat,
}

impl LogWriter {
    pub(crate) fn new(format: LogFormat) -> Self {
        let (to, from) = sync_channel(BATCHES_MAX);
        Self { from, to, format }
    }

    /// The lines of one more loop.
    pub(crate) fn lines(&self) -> LogLines {
        LogLines {
            to: Some(self.to.clone()),
            format: self.format,
            batch: Vec::new(),
            count: 0,
        }
    }

    /// Whoever may ask for the file to be opened again.
    pub(crate) fn reopener(&self) -> Reopener {
        Reopener(self.to.clone())
    }

    /// Writes until every loop has ended; `fails` is told of the first write that failed after a good one. `open`
    /// opens the file again, when somebody has moved it away.
    pub(crate) fn run<W: Write>(
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
                        // The old file is better than none.
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
