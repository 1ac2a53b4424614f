//! Decides on transformations of a body in transit: compression, and capture of the learned fallback.

use plimsoll_wire::head::{Head, Header};

use super::response_body::CountedCoder;
use super::{Exchange, ExchangeEnd, Side};
use crate::fragments::Draft;
use crate::message::compress::{self, Coded, Coder};
use crate::respond::learned_fallback::{Candidate, Scope};

impl Exchange {
    /// Decides on compression of a response on a route that compresses.
    pub(super) fn coded(
        &self,
        head: &Head,
        headers: &[Header<'_>],
        side: &Side<'_>,
    ) -> (Coded, Option<Box<CountedCoder>>) {
        let route = self
            .settings
            .as_ref()
            .map(|settings| &settings.routes.get(self.facts.route).config);
        let Some(config) = route.and_then(|route| route.compress.as_ref()) else {
            return (Coded::Plain, None);
        };
        if self.draft(head, headers).is_some() {
            // An ESI page is compressed after assembly.
            return (Coded::Plain, None);
        }
        if head.status == 304 {
            return (Coded::Weakened, None);
        }
        if !compress::is_worth_it(head, headers, config) {
            return (Coded::Plain, None);
        }
        // HTTP/1.0 has no chunked coding, and the length is not known in advance.
        let Some(coding) = self.facts.coding.filter(|_| self.facts.is_1_1) else {
            return (Coded::Varies, None);
        };
        if self.facts.is_head {
            return (Coded::As(coding), None);
        }
        let event_loop = side.event_loop;
        let now = event_loop.clock.now();
        let len = match head.length {
            plimsoll_wire::head::BodyLength::Sized(len) => Some(len),
            _ => None,
        };
        let coder = event_loop
            .budget
            .allows(now, config.cpu_share)
            .then(|| Coder::new(coding, config.level, len).ok());
        let Some(Some(coder)) = coder else {
            event_loop.figures.compress_skipped.increment();
            return (Coded::Varies, None);
        };
        event_loop.figures.compressed.increment();
        let counted = CountedCoder::new(coder, &event_loop.budget);
        (Coded::As(coding), Some(Box::new(counted)))
    }

    /// How a response is read whose body may contain ESI tags.
    pub(super) fn draft(&self, head: &Head, headers: &[Header<'_>]) -> Option<Draft> {
        let settings = self.settings.as_ref()?;
        let route = settings.routes.get(self.facts.route);
        Draft::of(route.config.fragments.as_ref()?, head.status, headers)
    }

    /// Whether a response is marked as the fallback page, and may be captured.
    pub(super) fn candidate(
        &self,
        head: &Head,
        headers: &[Header<'_>],
        side: &Side<'_>,
    ) -> Option<Box<Candidate>> {
        let settings = self.settings.as_ref()?;
        let learned_fallbacks = settings
            .routes
            .get(self.facts.route)
            .shared
            .learned_fallbacks
            .as_ref()?;
        let name = learned_fallbacks.config.header.as_deref()?;
        if head.status != 200 || !self.facts.is_get {
            return None;
        }
        let value = |name: &str| {
            let mut lines = headers.iter();
            let line = lines.find(|header| header.name.eq_ignore_ascii_case(name))?;
            Some(line.value.trim_ascii())
        };
        let scope = Scope::parse(value(name)?)?;
        if !learned_fallbacks.wants(&scope, side.event_loop.clock.now()) {
            return None;
        }
        let media_type = value("content-type").unwrap_or(b"text/html; charset=utf-8");
        Some(Box::new(Candidate {
            scope,
            media_type: String::from_utf8_lossy(media_type).into_owned(),
            coding: value("content-encoding").unwrap_or_default().to_vec(),
            content: Vec::new(),
        }))
    }

    /// Takes a piece of a body that is transformed; returns how many bytes belonged to it.
    pub(super) fn take_apart(
        &mut self,
        bytes: &[u8],
        side: &Side<'_>,
    ) -> Result<usize, ExchangeEnd> {
        let len_max = self.fallback_len_max();
        let out = self.to_client.buffer();
        self.answer.body.transform(bytes, len_max, out, side)
    }

    fn fallback_len_max(&self) -> usize {
        let fallback = self.settings.as_ref().and_then(|settings| {
            let route = settings.routes.get(self.facts.route);
            route.config.learned_fallback.as_ref()
        });
        fallback.map_or(0, |fallback| {
            usize::try_from(fallback.len_max).unwrap_or(usize::MAX)
        })
    }

    /// Flushes the coder; whether there was any output.
    pub(super) fn flush_coder(&mut self, side: &Side<'_>) -> Result<bool, ExchangeEnd> {
        let out = self.to_client.buffer();
        self.answer.body.flush(out, side)
    }

    /// The body is complete: ends the coder, and stores a captured fallback.
    pub(super) fn end_coding(&mut self, side: &Side<'_>) -> Result<(), ExchangeEnd> {
        let candidate = self.answer.body.finish(self.to_client.buffer(), side)?;
        if let (Some(candidate), Some(settings)) = (candidate, &self.settings)
            && let Some(learned_fallbacks) = &settings
                .routes
                .get(self.facts.route)
                .shared
                .learned_fallbacks
            && learned_fallbacks.keep(*candidate, side.event_loop.clock.now())
        {
            side.event_loop.figures.fallbacks_learned.increment();
        }
        Ok(())
    }
}
