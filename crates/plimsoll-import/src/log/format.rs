//! Log formats, and their detection.

mod cloudfront;
mod combined;
mod haproxy;
mod json;
mod moment;

pub(crate) use cloudfront::W3cFields;

use super::line::{LineError, LogEntry};

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFileFormat {
    /// nginx: `combined`, with or without further fields.
    Nginx,
    /// Apache: `common`, `combined`, `vhost_combined`.
    Apache,
    /// `HAProxy`: `option httplog`, with or without a syslog header.
    Haproxy,
    /// Amazon `CloudFront` and other W3C logs: fields named by `#Fields:`.
    Cloudfront,
    /// One JSON object a line.
    Json,
}

impl LogFileFormat {
    /// As `--format` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Apache => "apache",
            Self::Haproxy => "haproxy",
            Self::Cloudfront => "cloudfront",
            Self::Json => "json",
        }
    }

    /// The format of a line, if it is unambiguous.
    pub fn of(line: &str) -> Option<Self> {
        let text = line.trim_start();
        if text.starts_with('{') {
            return Some(Self::Json);
        }
        if text.starts_with("#Version") || text.starts_with("#Fields") {
            return Some(Self::Cloudfront);
        }
        if haproxy::read(line).is_ok() {
            return Some(Self::Haproxy);
        }
        // nginx and Apache use the same format; variants are parsed in both.
        combined::read(line).is_ok().then_some(Self::Nginx)
    }
}

/// Reads lines of one format.
#[derive(Debug)]
pub(crate) struct LineReader {
    pub(crate) format: LogFileFormat,
    fields: W3cFields,
}

impl LineReader {
    pub(crate) fn new(format: LogFileFormat) -> Self {
        Self {
            format,
            fields: W3cFields::default(),
        }
    }

    /// Parses a line; `None` for one without a request.
    pub(crate) fn read<'a>(&mut self, line: &'a str) -> Result<Option<LogEntry<'a>>, LineError> {
        match self.format {
            LogFileFormat::Nginx | LogFileFormat::Apache => combined::read(line).map(Some),
            LogFileFormat::Haproxy => haproxy::read(line).map(Some),
            LogFileFormat::Cloudfront => self.fields.read(line),
            LogFileFormat::Json => json::read(line).map(Some),
        }
    }
}

#[cfg(test)]
mod tests;
