//! Compression of responses: negotiation with the client, the choice of responses, and the coders.
//!
//! The decisions are pure. The work of a coder is bounded by the pieces it is fed; the share of an event loop's time
//! that all of them may take is bounded by [`CompressionBudget`], and their number by [`CODERS_MAX`].

use std::cell::Cell;
use std::io::{self, Read as _};

use plimsoll_config::edge::{Compress, CompressCoding};
use plimsoll_net::clock::Nanoseconds;
use plimsoll_wire::head::{BodyLength, Head, Header};

/// Most coders of one event loop; each holds a megabyte or two.
const CODERS_MAX: u32 = 128;
/// Window over which the time of coders is measured.
const BUDGET_NS: Nanoseconds = 1_000_000_000;
/// Base-2 logarithm of the coders' window, which a client must buffer.
const WINDOW_LOG: u32 = 18;
/// Base-2 logarithm of the largest window that HTTP permits (RFC 9659): without it, a frame of a few bytes could force
/// an allocation of 128 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// Compression level for content that is compressed once and sent often.
const LEVEL_MAX: u32 = 9;

/// The name of a coding in headers.
pub(crate) fn name(coding: CompressCoding) -> &'static str {
    match coding {
        CompressCoding::Zstd => "zstd",
        CompressCoding::Brotli => "br",
        CompressCoding::Gzip => "gzip",
    }
}

/// The coding among `ours` that the client prefers; `None` when it accepts none, or prefers the identity coding.
pub(crate) fn accepted(headers: &[Header<'_>], ours: &[CompressCoding]) -> Option<CompressCoding> {
    let mut likes = [None; 3];
    let (mut identity, mut star) = (None, None);
    let accept_headers = headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("accept-encoding"));
    for item in accept_headers.flat_map(|line| line.value.split(|&byte| byte == b',')) {
        let (coding, q) = weighed(item)?;
        match coding.to_ascii_lowercase().as_slice() {
            b"zstd" => likes[CompressCoding::Zstd as usize] = Some(q),
            b"br" => likes[CompressCoding::Brotli as usize] = Some(q),
            b"gzip" | b"x-gzip" => likes[CompressCoding::Gzip as usize] = Some(q),
            b"identity" => identity = Some(q),
            b"*" => star = Some(q),
            _ => {}
        }
    }
    let mut best: Option<(CompressCoding, u16)> = None;
    for &coding in ours {
        let q = likes[coding as usize].or(star).unwrap_or(0);
        if q > best.map_or(0, |(_, best)| best) {
            best = Some((coding, q));
        }
    }
    best.filter(|(_, q)| identity.is_none_or(|identity| identity <= *q))
        .map(|(coding, _)| coding)
}

/// A list item with its weight in thousandths; `None` when the weight is invalid.
pub(crate) fn weighed(item: &[u8]) -> Option<(&[u8], u16)> {
    let mut params = item.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
    let name = params.next().unwrap_or_default();
    for param in params {
        if let Some(weight) = param
            .strip_prefix(b"q=")
            .or_else(|| param.strip_prefix(b"Q="))
        {
            return Some((name, thousandths(weight)?));
        }
    }
    Some((name, 1000))
}

/// A weight such as `0.25`, with at most three decimals (RFC 9110, 12.4.2).
fn thousandths(weight: &[u8]) -> Option<u16> {
    let (whole, rest) = weight.split_first()?;
    let digits = match rest {
        [] => &[][..],
        [b'.', digits @ ..] if digits.len() <= 3 => digits,
        _ => return None,
    };
    let mut sum = u16::from(whole.checked_sub(b'0').filter(|digit| *digit <= 1)?) * 1000;
    for (digit, place) in digits.iter().zip([100, 10, 1]) {
        sum += u16::from(digit.checked_sub(b'0').filter(|digit| *digit <= 9)?) * place;
    }
    (sum <= 1000).then_some(sum)
}

/// How a route with compression treats a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Coded {
    /// Not affected.
    #[default]
    Plain,
    /// Sent uncompressed to this client, but compressed to others.
    Varies,
    /// A 304 that may refer to a response that was compressed: its `ETag` is weak.
    Weakened,
    As(CompressCoding),
}

/// Whether a response is compressed for clients that accept it.
pub(crate) fn is_worth_it(head: &Head, headers: &[Header<'_>], compress: &Compress) -> bool {
    let has_body = !matches!(head.status, 0..200 | 204..=206 | 304);
    let is_short = matches!(head.length, BodyLength::Sized(len) if len < compress.len_min);
    if !has_body || is_short {
        return false;
    }
    let mut is_of_type = false;
    for header in headers {
        let value = header.value;
        match header.name.len() {
            12 if header.name.eq_ignore_ascii_case("content-type") => {
                is_of_type = matches_media_type(value, &compress.types);
            }
            13 if header.name.eq_ignore_ascii_case("cache-control")
                && holds_token(value, b"no-transform") =>
            {
                return false;
            }
            13 if header.name.eq_ignore_ascii_case("content-range") => return false,
            16 if header.name.eq_ignore_ascii_case("content-encoding")
                && !value.trim_ascii().eq_ignore_ascii_case(b"identity") =>
            {
                return false;
            }
            _ => {}
        }
    }
    is_of_type
}

/// Whether a list contains a token, ignoring case.
pub(crate) fn holds_token(value: &[u8], token: &[u8]) -> bool {
    let mut tokens = value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    tokens.any(|item| item.eq_ignore_ascii_case(token))
}

/// Whether a media type matches the list.
pub(crate) fn matches_media_type(value: &[u8], types: &[String]) -> bool {
    let essence = value.split(|&byte| byte == b';').next().unwrap_or_default();
    let essence = essence.trim_ascii();
    types.iter().any(|pattern| match pattern.strip_suffix('*') {
        // An event stream must be named explicitly: buffering in a coder delays it.
        Some(kind) => {
            essence.len() > kind.len()
                && essence[..kind.len()].eq_ignore_ascii_case(kind.as_bytes())
                && !essence.eq_ignore_ascii_case(b"text/event-stream")
        }
        None => essence.eq_ignore_ascii_case(pattern.as_bytes()),
    })
}

/// Recent time of coders in one event loop, and their number.
#[derive(Debug, Default)]
pub(crate) struct CompressionBudget {
    since: Cell<Nanoseconds>,
    spent: Cell<Nanoseconds>,
    coders: Cell<u32>,
}

impl CompressionBudget {
    /// Whether the budget allows one more coder.
    pub(crate) fn allows(&self, now: Nanoseconds, share: f64) -> bool {
        if now.saturating_sub(self.since.get()) >= BUDGET_NS {
            self.since.set(now);
            self.spent.set(0);
        }
        self.coders.get() < CODERS_MAX && (self.spent.get() as f64) < BUDGET_NS as f64 * share
    }

    pub(crate) fn spend(&self, time: Nanoseconds) {
        self.spent.set(self.spent.get().saturating_add(time));
    }

    pub(crate) fn enter(&self) {
        self.coders.set(self.coders.get() + 1);
    }

    pub(crate) fn leave(&self) {
        self.coders.set(self.coders.get().saturating_sub(1));
    }
}

/// Compresses one body.
pub(crate) struct Coder {
    kind: CoderKind,
    /// Input may still be buffered in the coder.
    is_behind: bool,
}

enum CoderKind {
    Gzip(Box<flate2::write::GzEncoder<Vec<u8>>>),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstd(Box<zstd::stream::write::Encoder<'static, Vec<u8>>>),
}

impl std::fmt::Debug for Coder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Coder").finish_non_exhaustive()
    }
}

impl Coder {
    /// `len` is the length of the body, if known.
    ///
    /// # Errors
    /// When memory cannot be allocated.
    pub(crate) fn new(coding: CompressCoding, level: u32, len: Option<u64>) -> io::Result<Self> {
        let kind = match coding {
            CompressCoding::Gzip => {
                let level = flate2::Compression::new(level);
                CoderKind::Gzip(Box::new(flate2::write::GzEncoder::new(Vec::new(), level)))
            }
            CompressCoding::Brotli => {
                let writer = brotli::CompressorWriter::new(Vec::new(), 4096, level, WINDOW_LOG);
                CoderKind::Brotli(Box::new(writer))
            }
            CompressCoding::Zstd => {
                let level = i32::try_from(level).unwrap_or(3);
                let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), level)?;
                encoder.window_log(WINDOW_LOG)?;
                encoder.set_pledged_src_size(len)?;
                CoderKind::Zstd(Box::new(encoder))
            }
        };
        Ok(Self {
            kind,
            is_behind: false,
        })
    }

    fn writer(&mut self) -> &mut dyn io::Write {
        match &mut self.kind {
            CoderKind::Gzip(writer) => &mut **writer,
            CoderKind::Brotli(writer) => &mut **writer,
            CoderKind::Zstd(writer) => &mut **writer,
        }
    }

    /// Feeds a piece of the body.
    pub(crate) fn feed(&mut self, piece: &[u8]) -> io::Result<()> {
        self.is_behind = true;
        self.writer().write_all(piece)
    }

    /// Whether the client would wait for bytes still buffered in the coder.
    pub(crate) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Flushes all buffered input.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.is_behind = false;
        self.writer().flush()
    }

    /// The output so far; the caller drains it.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        match &mut self.kind {
            CoderKind::Gzip(writer) => writer.get_mut(),
            CoderKind::Brotli(writer) => writer.get_mut(),
            CoderKind::Zstd(writer) => writer.get_mut(),
        }
    }

    /// Ends the stream and returns the remaining output.
    pub(crate) fn finish(self) -> io::Result<Vec<u8>> {
        match self.kind {
            CoderKind::Gzip(writer) => writer.finish(),
            CoderKind::Brotli(writer) => Ok(writer.into_inner()),
            CoderKind::Zstd(writer) => writer.finish(),
        }
    }
}

/// Compresses content that will be sent often, at the highest level.
///
/// # Errors
/// When memory cannot be allocated.
pub(crate) fn pack(coding: CompressCoding, content: &[u8]) -> io::Result<Vec<u8>> {
    let mut coder = Coder::new(coding, LEVEL_MAX, Some(content.len() as u64))?;
    coder.feed(content)?;
    coder.finish()
}

/// Decompresses content of at most `len_max` bytes; `None` when it is longer, or not valid in this coding.
pub(crate) fn decompress(coding: &[u8], bytes: &[u8], len_max: u64) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let bound = len_max + 1;
    match coding.to_ascii_lowercase().as_slice() {
        b"" | b"identity" => bytes.take(bound).read_to_end(&mut plain),
        b"gzip" | b"x-gzip" => flate2::read::MultiGzDecoder::new(bytes)
            .take(bound)
            .read_to_end(&mut plain),
        b"br" => brotli::Decompressor::new(bytes, 4096)
            .take(bound)
            .read_to_end(&mut plain),
        b"zstd" => {
            let mut decoder = zstd::stream::read::Decoder::new(bytes).ok()?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).ok()?;
            decoder.take(bound).read_to_end(&mut plain)
        }
        _ => return None,
    }
    .ok()?;
    (plain.len() as u64 <= len_max).then_some(plain)
}

#[cfg(test)]
mod tests;
