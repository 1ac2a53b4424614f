//! Encoding of a stored response's metadata.

use super::{ByteCursor, Damage, put_bytes};
use crate::freshness::{FreshnessLifetime, LifetimeSource};
use crate::moment::Moment;
use crate::response::Stored;
use crate::storing::Terms;

/// Lifetime sources by number.
const SOURCES: [LifetimeSource; 7] = [
    LifetimeSource::SharedMaxAge,
    LifetimeSource::MaxAge,
    LifetimeSource::Expires,
    LifetimeSource::Heuristic,
    LifetimeSource::Minimum,
    LifetimeSource::ByStatus,
    LifetimeSource::Nothing,
];

/// A stored response without its body, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct CopyRef<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Its tags, hashed.
    pub tags: &'a [u64],
    /// Routes that it belongs to.
    pub space: u64,
    /// Fields of its `Vary`.
    pub names: &'a str,
    /// Request values of these fields.
    pub values: &'a [u8],
    /// Its head and its terms.
    pub stored: &'a Stored,
}

/// A stored response without its body.
#[derive(Clone, Debug)]
pub struct Copy {
    /// Its key.
    pub key: Box<[u8]>,
    /// Its tags, hashed.
    pub tags: Box<[u64]>,
    /// Routes that it belongs to.
    pub space: u64,
    /// Fields of its `Vary`.
    pub names: Box<str>,
    /// Request values of these fields.
    pub values: Box<[u8]>,
    /// Its head and its terms.
    pub stored: Stored,
}

impl CopyRef<'_> {
    /// Encodes it.
    pub fn write(&self) -> Vec<u8> {
        let head = self.stored.head();
        let len = self.key.len() + self.names.len() + self.values.len() + head.len();
        let mut out = Vec::with_capacity(len + size_of_val(self.tags) + 128);
        out.extend_from_slice(&self.space.to_le_bytes());
        put_terms(&mut out, self.stored.terms());
        put_bytes(&mut out, self.key);
        put_bytes(&mut out, self.names.as_bytes());
        put_bytes(&mut out, self.values);
        put_bytes(&mut out, head);
        for tag in self.tags {
            out.extend_from_slice(&tag.to_le_bytes());
        }
        out
    }
}

impl Copy {
    /// Parses it; bytes behind the head are tags.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Damage> {
        let mut fields = ByteCursor(bytes);
        let space = fields.u64()?;
        let terms = terms(&mut fields)?;
        let key = fields.bytes()?;
        let names = std::str::from_utf8(fields.bytes()?).map_err(|_| Damage::Nonsense)?;
        let values = fields.bytes()?;
        let stored = Stored::from_head(fields.bytes()?.into(), terms).ok_or(Damage::Nonsense)?;
        let tags = fields.0.chunks_exact(8);
        if !tags.remainder().is_empty() {
            return Err(Damage::Nonsense);
        }
        let tags = tags.filter_map(|tag| tag.try_into().ok());
        Ok(Self {
            key: key.into(),
            tags: tags.map(u64::from_le_bytes).collect(),
            space,
            names: names.into(),
            values: values.into(),
            stored,
        })
    }

    /// The same, borrowed.
    pub fn borrowed(&self) -> CopyRef<'_> {
        CopyRef {
            key: &self.key,
            tags: &self.tags,
            space: self.space,
            names: &self.names,
            values: &self.values,
            stored: &self.stored,
        }
    }
}

fn put_terms(out: &mut Vec<u8>, terms: &Terms) {
    for lifetime in [terms.explicit, terms.plain] {
        let source = SOURCES
            .iter()
            .position(|candidate| *candidate == lifetime.source);
        let source = source.and_then(|place| u8::try_from(place).ok());
        out.push(source.unwrap_or(u8::MAX));
        out.extend_from_slice(&lifetime.seconds.to_le_bytes());
    }
    for moment in [terms.received_at, terms.fresh_until, terms.plain_until] {
        out.extend_from_slice(&moment.ms().to_le_bytes());
    }
    for seconds in [
        terms.age,
        terms.stale_while_revalidate,
        terms.stale_if_error,
    ] {
        out.extend_from_slice(&seconds.to_le_bytes());
    }
    let flags = [terms.no_cache, terms.must_revalidate, terms.for_authorized];
    out.extend(flags.map(u8::from));
}

fn terms(fields: &mut ByteCursor<'_>) -> Result<Terms, Damage> {
    let [explicit, plain] = [lifetime(fields)?, lifetime(fields)?];
    let moments = [fields.u64()?, fields.u64()?, fields.u64()?].map(Moment::from_ms);
    let [age, stale_while_revalidate, stale_if_error] =
        [fields.u32()?, fields.u32()?, fields.u32()?];
    let [no_cache, must_revalidate, for_authorized] = [flag(fields)?, flag(fields)?, flag(fields)?];
    let [received_at, fresh_until, plain_until] = moments;
    Ok(Terms {
        explicit,
        plain,
        age,
        received_at,
        fresh_until,
        plain_until,
        stale_while_revalidate,
        stale_if_error,
        no_cache,
        must_revalidate,
        for_authorized,
    })
}

fn lifetime(fields: &mut ByteCursor<'_>) -> Result<FreshnessLifetime, Damage> {
    let source = SOURCES.get(usize::from(fields.u8()?));
    let source = *source.ok_or(Damage::Nonsense)?;
    let seconds = fields.u32()?;
    Ok(FreshnessLifetime { seconds, source })
}

fn flag(fields: &mut ByteCursor<'_>) -> Result<bool, Damage> {
    match fields.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Damage::Nonsense),
    }
}
