//! Bands of patience as shares and text.

use plimsoll_model::patience::PatienceCounts;

use crate::number::percent;
use crate::printable::printable;

/// Of each band its share of all requests, and that of it and those before; 0 without requests.
pub(crate) fn band_shares(counts: &PatienceCounts) -> Vec<(f64, f64)> {
    let total = counts.total().max(1) as f64;
    let mut within = 0;
    let shares = counts.bands.iter().map(|count| {
        within += count.requests;
        (count.requests as f64 / total, within as f64 / total)
    });
    shares.collect()
}

/// All in one line: `42 % instant, 50 % fluent, 8 % longer`.
pub(crate) fn patience_text(counts: &PatienceCounts) -> String {
    let total = counts.total().max(1) as f64;
    let bands = counts.bands.iter();
    let bands = bands.map(|count| (printable(&count.band.name), count.requests));
    let rest = [("longer", counts.longer), ("failed", counts.failed)];
    let rest = rest.map(|(name, requests)| (name.to_owned(), requests));
    let texts: Vec<String> = bands
        .chain(rest)
        .filter(|(_, requests)| *requests > 0)
        .map(|(name, requests)| format!("{} {name}", percent(requests as f64 / total)))
        .collect();
    texts.join(", ")
}
