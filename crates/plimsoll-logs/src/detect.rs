//! Finds the format of a log from its first lines.

use crate::entry::LineError;
use crate::format::combined::{self, Combined};
use crate::format::json::keys::{Dialect, Scope};
use crate::format::json::scan::Scanner;
use crate::format::json::{Structured, object_of};
use crate::format::tail::Tail;
use crate::format::wrapper::{Unwrapper, Wrapper};
use crate::format::{Format, Layout};
use crate::moment::MomentReader;
use crate::reader::{self, EntryKey, LogReader};

/// Lines that are looked at.
pub const SAMPLE_LINES_MAX: usize = 200;

/// The most common format.
const COMMON: &str = "nginx";

/// A format, and what speaks for it.
#[derive(Clone, Debug)]
pub struct Detected {
    /// The format.
    pub format: Format,
    /// What was found in how many lines, for people.
    pub evidence: String,
    /// What the log has and the format does not explain; each with its remedy.
    pub warnings: Vec<String>,
}

/// Why no format was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetectError {
    /// No known format fits a line.
    #[error("no known format fits: {first}")]
    Unknown {
        /// The error of the first line in the nearest format.
        first: LineError,
        /// The name of that format.
        nearest: &'static str,
        /// Number of that line among the sample, from 1.
        line: usize,
    },
    /// Lines are no lines of a log in any format: encoded, packed or too long.
    #[error("line {line}: {first}")]
    Unusable {
        /// The error of the first such line.
        first: LineError,
        /// Its number, from 1.
        line: usize,
    },
    /// Several formats fit, and would give different requests.
    #[error(
        "{first} and {second} both fit {lines} of the first lines, and read them differently: choose with --format {first} or --format {second}"
    )]
    Ambiguous {
        /// One format.
        first: &'static str,
        /// Another.
        second: &'static str,
        /// Lines that each fits.
        lines: usize,
    },
    /// There is no line.
    #[error("the log is empty")]
    Empty,
}

/// A format with what it made of the sample.
struct Candidate {
    format: Format,
    entries: Vec<Option<EntryKey>>,
    read: usize,
}

/// Finds the format of the lines of a sample, and the wrapper around each. Of a format that was given by name, it finds the
/// variant.
///
/// # Errors
/// When no known format fits, or several fit that would give different requests.
pub fn detect(lines: &[&[u8]], wanted: Option<&Format>) -> Result<Detected, DetectError> {
    detect_wrapped(lines, wanted).map_err(|error| match error {
        DetectError::Empty | DetectError::Unknown { .. } => unusable(lines).unwrap_or(error),
        DetectError::Unusable { .. } | DetectError::Ambiguous { .. } => error,
    })
}

fn detect_wrapped(lines: &[&[u8]], wanted: Option<&Format>) -> Result<Detected, DetectError> {
    let sample: Vec<&[u8]> = lines
        .iter()
        .filter_map(|line| reader::content(line).ok().flatten())
        .take(SAMPLE_LINES_MAX)
        .collect();
    let plain = detect_plain(&sample, wanted);
    let Some(wrapper) = Wrapper::of(&sample) else {
        return plain.map(|found| found.detected);
    };
    let mut unwrapper = Unwrapper::new(Some(wrapper));
    let inner: Vec<Vec<u8>> = sample
        .iter()
        .filter_map(|line| unwrapper.line(line).map(<[u8]>::to_vec))
        .collect();
    let inner: Vec<&[u8]> = inner
        .iter()
        .filter_map(|line| reader::content(line).ok().flatten())
        .collect();
    match (plain, detect_plain(&inner, wanted)) {
        // What looks like a wrapper belongs to the format.
        (Ok(plain), Ok(inside)) if plain.read > inside.read => Ok(plain.detected),
        (Ok(plain), Err(_)) => Ok(plain.detected),
        (_, inside) => inside.map(|found| found.detected.wrapped_in(wrapper)),
    }
}

impl Detected {
    fn wrapped_in(self, wrapper: Wrapper) -> Self {
        Self {
            format: self.format.wrapped_in(wrapper),
            evidence: format!(
                "{}, each taken out of {}",
                self.evidence,
                wrapper.describe()
            ),
            warnings: self.warnings,
        }
    }
}

/// A format, and how many lines of the sample it reads.
struct PlainFormat {
    detected: Detected,
    read: usize,
}

/// Finds the format of lines without a wrapper.
fn detect_plain(sample: &[&[u8]], wanted: Option<&Format>) -> Result<PlainFormat, DetectError> {
    let found = |format: Format, read: usize| PlainFormat {
        detected: explained(format, sample, read),
        read,
    };
    if sample.is_empty() {
        return match wanted {
            Some(format) => Ok(found(format.clone(), 0)),
            None => Err(DetectError::Empty),
        };
    }
    if let Some(format) = wanted {
        let format = with_variant(format, sample);
        let read = Candidate::of(format.clone(), sample).read;
        return Ok(found(format, read));
    }
    let mut candidates: Vec<Candidate> = candidates(sample)
        .into_iter()
        .map(|format| Candidate::of(format, sample))
        .filter(|candidate| candidate.read > 0)
        .collect();
    // The order of candidates decides among those that read the same lines alike.
    candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.read));
    let mut candidates = candidates.into_iter();
    let Some(best) = candidates.next() else {
        return Err(unknown(sample));
    };
    let rival = candidates
        .take_while(|other| other.read == best.read)
        .find(|other| other.entries != best.entries);
    if let Some(rival) = rival {
        return Err(DetectError::Ambiguous {
            first: best.format.name(),
            second: rival.format.name(),
            lines: best.read,
        });
    }
    Ok(found(best.format, best.read))
}

impl Candidate {
    fn of(format: Format, sample: &[&[u8]]) -> Self {
        let mut reader = LogReader::new(format.clone());
        let entries: Vec<Option<EntryKey>> = sample
            .iter()
            .map(|line| {
                reader
                    .read(line)
                    .ok()
                    .flatten()
                    .as_ref()
                    .map(reader::owned_key)
            })
            .collect();
        let read = entries.iter().flatten().count();
        Self {
            format,
            entries,
            read,
        }
    }
}

/// What speaks against lines of any format: an encoding, or something around each line.
fn unusable(lines: &[&[u8]]) -> Option<DetectError> {
    let mut errors = lines.iter().enumerate();
    errors.find_map(|(at, line)| {
        Some(DetectError::Unusable {
            first: reader::content(line).err()?,
            line: at + 1,
        })
    })
}

/// The error of the format that the lines look like, else of the most common one, which people most likely mean.
fn unknown(sample: &[&[u8]]) -> DetectError {
    let nearest = match sample.first() {
        Some(line) if object_of(line).is_some() => "json",
        Some(line) if line.starts_with(b"#") => "w3c",
        Some(line) if memchr::memmem::find(line, b" haproxy[").is_some() => "haproxy",
        _ => COMMON,
    };
    let mut reader = LogReader::new(Format::named(nearest));
    let mut errors = sample.iter().enumerate();
    let first = errors.find_map(|(at, line)| Some((at + 1, reader.read(line).err()?)));
    let (line, first) = first.unwrap_or((1, LineError::Missing("a request")));
    DetectError::Unknown {
        first,
        nearest,
        line,
    }
}

/// Formats that may fit, the more special before the more general.
fn candidates(sample: &[&[u8]]) -> Vec<Format> {
    let mut formats = Vec::new();
    if sample.iter().any(|line| object_of(line).is_some()) {
        formats.push(json_format(sample));
    }
    let is_w3c = sample.iter().any(|line| line.starts_with(b"#"))
        || sample.iter().any(|line| line.contains(&b'\t'));
    if is_w3c {
        formats.push(w3c_format(sample));
    }
    formats.push(Format::named("haproxy"));
    formats.push(Format::named("alb"));
    formats.push(Format::named("envoy").without_json());
    formats.push(combined_format(sample));
    if sample
        .iter()
        .any(|line| line.contains(&b'=') && object_of(line).is_none())
    {
        formats.push(Format::named("logfmt"));
    }
    formats
}

/// The variant of a named format that these lines have.
fn with_variant(format: &Format, sample: &[&[u8]]) -> Format {
    match (&format.layout, format.name()) {
        (Layout::Combined(combined), "nginx" | "apache") => {
            let tail = tail_of(sample).unwrap_or_default();
            // Times of nginx behind the agent are none of Apache's.
            let is_of_nginx = matches!(tail, Tail::Nginx { times: 1.., .. } | Tail::Ingress);
            let tail = if combined.is_begin && is_of_nginx {
                Tail::Ignored
            } else {
                tail
            };
            let combined = Combined { tail, ..*combined };
            Format::new(format.name(), Layout::Combined(combined))
        }
        (Layout::W3c(columns), name) => {
            Format::new(name, Layout::W3c(columns.clone().with_unit_of(sample)))
        }
        _ => format.clone(),
    }
}

fn json_format(sample: &[&[u8]]) -> Format {
    let mut dialect = Dialect::Unknown;
    for line in sample.iter().filter_map(|line| object_of(line)) {
        let mut fields = Structured::new(Dialect::Unknown);
        let is_whole = Scanner::object(line, Scope::Root, &mut fields).is_ok();
        if is_whole && dialect == Dialect::Unknown {
            dialect = fields.found_dialect();
        }
    }
    let name = match dialect {
        Dialect::Unknown => "json",
        Dialect::Caddy => "caddy",
        Dialect::Envoy => "envoy",
        Dialect::GoogleLoadBalancer => "google-lb",
        Dialect::Traefik => "traefik",
        Dialect::Pino => "pino",
        Dialect::Plimsoll => "plimsoll",
    };
    Format::new(name, Layout::Json(dialect))
}

fn w3c_format(sample: &[&[u8]]) -> Format {
    let text: Vec<u8> =
        sample
            .iter()
            .filter(|line| line.starts_with(b"#"))
            .fold(Vec::new(), |mut all, line| {
                all.extend_from_slice(line);
                all
            });
    let has = |part: &[u8]| memchr::memmem::find(&text, part).is_some();
    let is_cloudfront = has(b"x-edge-") || text.is_empty();
    let is_iis = has(b"Microsoft") || has(b"sc-win32-status") || has(b"s-sitename");
    let format = Format::named(if is_cloudfront {
        "cloudfront"
    } else if is_iis {
        "iis"
    } else {
        "w3c"
    });
    with_variant(&format, sample)
}

fn combined_format(sample: &[&[u8]]) -> Format {
    let tail = tail_of(sample).unwrap_or_default();
    let (name, is_begin) = match tail {
        Tail::Ingress => ("ingress-nginx", false),
        Tail::Traefik => ("traefik", true),
        Tail::Plimsoll => ("plimsoll", true),
        _ => ("nginx", false),
    };
    Format::new(name, Layout::Combined(Combined { tail, is_begin }))
}

/// The form of the fields behind the agent, if it is known and that of all lines.
fn tail_of(sample: &[&[u8]]) -> Option<Tail> {
    let mut moments = MomentReader::default();
    let mut common: Option<Tail> = None;
    for line in sample {
        let Ok(split) = combined::split(&mut moments, line) else {
            continue;
        };
        // What a server refused has no fields of an upstream.
        let tail = if split.rest.is_empty() {
            Tail::Ignored
        } else {
            Tail::of(split.rest)?
        };
        common = Some(match common {
            None => tail,
            Some(before) if before == tail => tail,
            Some(before) => before.joined(tail)?,
        });
    }
    common
}

/// What speaks for a format, and what it leaves unexplained.
fn explained(format: Format, sample: &[&[u8]], read: usize) -> Detected {
    let mut warnings = Vec::new();
    let variant = match &format.layout {
        Layout::Combined(combined) | Layout::CombinedOrJson(combined, _) => {
            if combined.tail == Tail::Ignored && has_unknown_tail(sample) {
                warnings.push(
                    "the fields behind the agent are not known and were not used, so response times may be missing: give your log_format or LogFormat line with --format"
                        .to_owned(),
                );
            }
            if combined.tail == Tail::Ignored {
                "the combined or common format".to_owned()
            } else {
                format!("the combined format, {}", combined.tail.describe())
            }
        }
        Layout::Haproxy => "lines of option httplog".to_owned(),
        Layout::W3c(columns) => {
            let mut columns = columns.clone();
            for line in sample.iter().filter(|line| line.starts_with(b"#")) {
                let _ = columns.read(&mut MomentReader::default(), line);
            }
            columns.describe().to_owned()
        }
        Layout::Json(dialect) => {
            if *dialect == Dialect::Unknown && has_unknown_unit(sample) {
                warnings.push(
                    "nothing tells the unit of the duration in these lines, so response times are missing: --format caddy takes it for seconds, --format envoy for milliseconds"
                        .to_owned(),
                );
            }
            if has_whole_request_times(sample) {
                warnings.push(
                    "request_time has no decimals, which nginx always writes: it is taken for seconds; if it is in milliseconds, name it request_time_ms"
                        .to_owned(),
                );
            }
            "JSON objects with fields of known names".to_owned()
        }
        Layout::Logfmt => "pairs of known names and their values".to_owned(),
        Layout::Patterns(_, _) => "the fields of this format in their order".to_owned(),
    };
    let requests = sample.iter().filter(|line| !line.starts_with(b"#")).count();
    let evidence = format!("{variant}, in {read} of the first {requests} lines");
    Detected {
        format,
        evidence,
        warnings,
    }
}

fn has_unknown_tail(sample: &[&[u8]]) -> bool {
    let mut moments = MomentReader::default();
    sample
        .iter()
        .any(|line| combined::split(&mut moments, line).is_ok_and(|split| !split.rest.is_empty()))
}

/// Whether no `request_time` has a fraction.
fn has_whole_request_times(sample: &[&[u8]]) -> bool {
    const NAME: &[u8] = b"\"request_time\"";
    let mut times = sample.iter().filter_map(|line| {
        let behind = &line[memchr::memmem::find(line, NAME)? + NAME.len()..];
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.');
        let start = behind.iter().position(is_part)?;
        let value = behind[start..].split(|byte| !is_part(byte)).next()?;
        (start <= 4).then_some(value)
    });
    let Some(first) = times.next() else {
        return false;
    };
    !first.contains(&b'.') && times.all(|time| !time.contains(&b'.'))
}

fn has_unknown_unit(sample: &[&[u8]]) -> bool {
    sample.iter().any(|line| {
        let object = object_of(line).unwrap_or(line);
        let mut fields = Structured::new(Dialect::Unknown);
        Scanner::object(object, Scope::Root, &mut fields).is_ok() && fields.has_unknown_unit()
    })
}
