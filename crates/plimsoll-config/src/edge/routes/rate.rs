//! Rate limits per client.

use crate::document::{
    DocumentNode, DocumentReader, SettingsMap as _, count, rate_above_zero, settings,
};
use crate::edge::file::required;

settings! {
    /// Rate limit per client.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Rate, RATE "rate" {
        /// Requests per client: `10/s`.
        per_second: f64 = 0.0, "limit": rate_above_zero("a rate such as 10/s"), unsaid;
        /// Burst: requests allowed at once. Default: those of one second.
        burst: u32 = 1, "burst": count(1..=1_000_000);
    }
}

/// Reads a rate limit.
pub(in crate::edge) fn rate(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Rate> {
    let fields = reader.fields(node, &RATE)?;
    required(reader, &fields, "limit")?;
    let mut rate = Rate::read(reader, &fields);
    if fields.get("burst").is_none() {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 1 and the largest rate, ten million"
        )]
        let seconds_worth = rate.per_second.ceil().max(1.0) as u32;
        rate.burst = seconds_worth;
    }
    Some(rate)
}
