//! Tracing: W3C trace context of a request, and spans of sampled ones. Pure.

pub mod otlp;

use std::time::SystemTime;

use plimsoll_config::edge::{Parents, Traces};
use plimsoll_net::clock::Nanoseconds;
use plimsoll_net::loop_metrics::LoopMetrics;
use plimsoll_wire::head::Header;

use tokio::sync::mpsc;

/// Spans that a loop buffers before it hands them over.
const BATCH_LEN: usize = 64;
/// Longest text of a request in a span, bytes.
const TEXT_LEN_MAX: usize = 1024;

/// Parent of a span, and the sampling decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// Id of the trace.
    pub trace: u128,
    /// 0: the root of its trace.
    pub parent: u64,
    /// Whether spans are exported.
    pub sampled: bool,
}

impl Context {
    /// Parses a client's `traceparent`; `None` when there is no valid one.
    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(value.trim_ascii()).ok()?;
        let mut fields = text.split('-');
        let version = fields
            .next()
            .filter(|field| is_hex(field, 2) && *field != "ff")?;
        let trace = fields.next().filter(|field| is_hex(field, 32))?;
        let parent = fields.next().filter(|field| is_hex(field, 16))?;
        let flags = fields.next().filter(|field| is_hex(field, 2))?;
        // Later versions may append fields; this version must not.
        if version == "00" && fields.next().is_some() {
            return None;
        }
        let context = Self {
            trace: u128::from_str_radix(trace, 16).ok()?,
            parent: u64::from_str_radix(parent, 16).ok()?,
            sampled: u8::from_str_radix(flags, 16).ok()? & 1 == 1,
        };
        (context.trace != 0 && context.parent != 0).then_some(context)
    }
}

fn is_hex(text: &str, len: usize) -> bool {
    text.len() == len
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Trace state of a request: context for the server, and data for the edge's own spans.
#[derive(Debug)]
pub(crate) struct RequestTrace {
    pub(crate) context: Context,
    /// The request at the edge.
    pub(crate) span: u64,
    /// The exchange with a server, which is the parent of that server's span.
    pub(crate) exchange: u64,
    /// Whether the client's own context continues.
    pub(crate) goes_on: bool,
    /// Request data recorded when it is sampled.
    pub(crate) request: Option<Box<SpanRequest>>,
}

/// Request attributes of a span.
#[derive(Clone, Debug, Default)]
pub struct SpanRequest {
    pub(crate) method: String,
    /// Value of `Host`.
    pub host: String,
    /// Path and query.
    pub target: String,
    pub(crate) agent: String,
    pub(crate) client: String,
    /// Whether the client used TLS.
    pub secure: bool,
    pub(crate) is_h2: bool,
    pub(crate) is_1_1: bool,
    /// The route's path, as it matches.
    pub(crate) route: String,
}

impl RequestTrace {
    /// Decides by the client's context or by chance. `random` returns an unpredictable number at every call.
    pub(crate) fn begin(
        headers: &[Header<'_>],
        traces: &Traces,
        trusted: bool,
        mut random: impl FnMut() -> u64,
    ) -> Self {
        let follows = match traces.parents {
            Parents::All => true,
            Parents::Trusted => trusted,
            Parents::None => false,
        };
        let mut lines = headers
            .iter()
            .filter(|header| follows && header.name.eq_ignore_ascii_case("traceparent"));
        // A duplicate header is ignored.
        let parent = match (lines.next(), lines.next()) {
            (Some(line), None) => Context::parse(line.value),
            _ => None,
        };
        let context = parent.unwrap_or_else(|| Context {
            trace: (u128::from(random()) << 64) | u128::from(random().max(1)),
            parent: 0,
            sampled: unit(random()) < traces.share,
        });
        Self {
            context,
            span: random().max(1),
            exchange: random().max(1),
            goes_on: parent.is_some(),
            request: None,
        }
    }

    /// The `traceparent` sent to the server.
    pub(crate) fn header(&self) -> String {
        format!(
            "00-{:032x}-{:016x}-{:02x}",
            self.context.trace,
            self.exchange,
            u8::from(self.context.sampled)
        )
    }
}

/// Truncates a text.
pub fn cut(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(TEXT_LEN_MAX)]).into_owned()
}

fn unit(random: u64) -> f64 {
    (random >> 11) as f64 / (1_u64 << 53) as f64
}

/// A sampled request that ended.
#[derive(Clone, Debug)]
pub struct RequestSpan {
    /// Trace, parent and state that came with the request.
    pub context: Context,
    /// Its own span id.
    pub id: u64,
    /// The span id of its exchange with a server.
    pub exchange: u64,
    /// What was requested.
    pub request: Box<SpanRequest>,
    /// Status of the response.
    pub status: u16,
    /// Why no server answered.
    pub reason: Option<&'static str>,
    /// The server used last.
    pub server: Option<String>,
    /// When it ended.
    pub wall: SystemTime,
    /// When the head of the request was complete.
    pub began: Nanoseconds,
    /// When a server was picked, 0 when none was.
    pub admitted: Nanoseconds,
    /// When the first byte of the response arrived; 0 for never.
    pub first_byte: Nanoseconds,
    /// When the last byte of the response was sent.
    pub ended: Nanoseconds,
}

/// The spans of one loop, handed over in batches. A loop never waits for the collector.
#[derive(Debug, Default)]
pub struct Spans {
    to: Option<mpsc::Sender<Vec<RequestSpan>>>,
    batch: Vec<RequestSpan>,
}

impl Spans {
    /// No spans; full batches go to `to`.
    pub fn new(to: mpsc::Sender<Vec<RequestSpan>>) -> Self {
        Self {
            to: Some(to),
            batch: Vec::new(),
        }
    }

    /// Adds a span; a full batch is sent.
    pub fn push(&mut self, span: RequestSpan, figures: &LoopMetrics) {
        self.batch.push(span);
        if self.batch.len() >= BATCH_LEN {
            self.flush(figures);
        }
    }

    /// Hands the buffered spans over.
    pub fn flush(&mut self, figures: &LoopMetrics) {
        if self.batch.is_empty() {
            return;
        }
        let batch = std::mem::take(&mut self.batch);
        let count = batch.len() as u64;
        let is_taken = self
            .to
            .as_ref()
            .is_some_and(|to| to.try_send(batch).is_ok());
        if !is_taken {
            figures.spans_dropped.add(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_config::edge::Endpoint;

    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_context_is_what_the_standard_says() {
        let context = Context::parse(PARENT.as_bytes()).unwrap();
        assert_eq!(context.trace, 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
        assert_eq!(
            (context.parent, context.sampled),
            (0xb7ad_6b71_6920_3331, true)
        );
        let later = PARENT.replacen("00", "cc", 1) + "-what-the-future-holds";
        assert_eq!(Context::parse(later.as_bytes()), Some(context));
        let unsampled = PARENT.replace("-01", "-00");
        assert!(!Context::parse(unsampled.as_bytes()).unwrap().sampled);
        for wrong in [
            String::new(),
            PARENT.to_uppercase(),
            PARENT.replacen("00", "ff", 1),
            format!("{PARENT}-x"),
            PARENT.replace("b7ad6b7169203331", "0000000000000000"),
            PARENT.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            PARENT.replace("-01", "-1"),
            PARENT.replace("-01", ""),
            PARENT.replace('7', "g"),
        ] {
            assert_eq!(Context::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn a_parents_decision_is_followed_and_chance_decides_otherwise() {
        let traces = |share, parents| Traces {
            to: Endpoint {
                secure: false,
                host: "localhost".to_owned(),
                port: 4318,
                target: "/v1/traces".to_owned(),
                headers: Vec::new(),
            },
            share,
            parents,
            service: "x".to_owned(),
        };
        let mut number = 0_u64;
        let mut random = || {
            number += 1;
            crate::hash::mix(number)
        };
        let line = [Header {
            name: "Traceparent",
            value: PARENT.as_bytes(),
        }];
        let trace = RequestTrace::begin(&line, &traces(0.0, Parents::All), false, &mut random);
        assert!(trace.context.sampled && trace.goes_on && trace.span != trace.exchange);
        let header = trace.header();
        assert!(header.starts_with("00-0af7651916cd43dd8448eb211c80319c-"));
        assert!(header.ends_with("-01") && !header.contains("b7ad6b7169203331"));
        let trace = RequestTrace::begin(&line, &traces(0.0, Parents::Trusted), false, &mut random);
        assert!(!trace.context.sampled && !trace.goes_on && trace.context.parent == 0);
        let trace = RequestTrace::begin(&line, &traces(0.0, Parents::Trusted), true, &mut random);
        assert!(trace.goes_on);
        let trace = RequestTrace::begin(&line, &traces(0.0, Parents::None), true, &mut random);
        assert!(!trace.goes_on);
        let twice = [line[0], line[0]];
        let trace = RequestTrace::begin(&twice, &traces(1.0, Parents::All), false, &mut random);
        assert!(trace.context.sampled && !trace.goes_on);
        let sampled = (0..10_000).filter(|_| {
            let trace = RequestTrace::begin(&[], &traces(0.1, Parents::All), false, &mut random);
            trace.context.sampled
        });
        let sampled = sampled.count();
        assert!((850..1150).contains(&sampled), "{sampled}");
    }
}
