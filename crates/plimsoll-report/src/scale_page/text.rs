//! A replay on the terminal.

use std::fmt::Write as _;

use super::{DecisionObject, ScaleObject, ScalerObject};
use crate::number::{count, money, percent, seconds, short, whole};
use crate::printable::printable;
use crate::text::{Style, table};

/// Decisions that are shown: the first.
const DECISIONS_MAX: usize = 12;

/// The summary: the result, a table of all scalers, and the first decisions.
pub fn summary(object: &ScaleObject, colour: bool) -> String {
    let style = Style { colour };
    let mut text = format!("{}\n\n", style.paint("1", &printable(&sentence(object))));
    text.push_str(&table(&rows(object)));
    for scaler in &object.scalers {
        let name = printable(&scaler.name);
        let oscillation = printable(&scaler.oscillation);
        let _ = write!(text, "\n{name}: {}; {oscillation}", scaler.capacity);
    }
    text.push('\n');
    text.push_str(&decisions(object, style));
    text
}

/// The result in a sentence.
pub(super) fn sentence(object: &ScaleObject) -> String {
    let over = format!(
        "over {} of {}",
        seconds(object.duration_s.into()),
        object.trace
    );
    let Some(own) = object.scalers.first() else {
        return over;
    };
    let bad = own.bad_share.map_or_else(String::new, |share| {
        format!("{} of the answers are bad, ", percent(share))
    });
    let price = price_text(own, object).map_or_else(String::new, |price| format!(", {price}"));
    format!(
        "{}: {bad}{} replica-hours{price}, {over}.",
        object.policy,
        short(own.replica_hours)
    )
}

fn rows(object: &ScaleObject) -> Vec<Vec<String>> {
    let has_price = object.scalers.iter().any(|scaler| scaler.price.is_some());
    let mut rows = vec![header(has_price)];
    rows.extend(
        object
            .scalers
            .iter()
            .map(|scaler| cells(scaler, object, has_price)),
    );
    rows
}

/// Names of the columns.
pub(super) fn header(has_price: bool) -> Vec<String> {
    let mut names: Vec<String> = [
        "scaler",
        "bad answers",
        "replica-hours",
        "time to capacity",
        "too few (θ, τ)",
        "too many (θ, τ)",
        "unstable",
        "speedup",
        "changes",
    ]
    .map(str::to_owned)
    .to_vec();
    if has_price {
        names.push("price".to_owned());
    }
    names
}

/// The cells of a scaler, in the order of the columns.
pub(super) fn cells(scaler: &ScalerObject, object: &ScaleObject, has_price: bool) -> Vec<String> {
    let none = || "–".to_owned();
    let elasticity = &scaler.elasticity;
    let share = |value: f64| percent(value / 100.0);
    let bad = scaler
        .bad
        .zip(scaler.bad_share)
        .map(|(bad, share)| format!("{} ({})", count(whole(bad)), percent(share)));
    let mut cells = vec![
        printable(&scaler.name),
        bad.unwrap_or_else(none),
        short(scaler.replica_hours),
        scaler
            .time_to_capacity_s
            .map_or_else(none, |time| seconds(time.into())),
        format!("{}, {}", share(elasticity.theta_u), share(elasticity.tau_u)),
        format!("{}, {}", share(elasticity.theta_o), share(elasticity.tau_o)),
        share(elasticity.instability),
        scaler.elastic_speedup.map_or_else(none, short),
        count(scaler.changes.into()),
    ];
    if has_price {
        cells.push(price_text(scaler, object).unwrap_or_else(none));
    }
    cells
}

fn price_text(scaler: &ScalerObject, object: &ScaleObject) -> Option<String> {
    let currency = object.currency.as_deref()?;
    Some(format!("{} {}", money(scaler.price?), printable(currency)))
}

fn decisions(object: &ScaleObject, style: Style) -> String {
    if object.decisions.is_empty() {
        return "\nno decision changes anything\n".to_owned();
    }
    let mut text = format!("\n{}\n", style.paint("1", "Decisions"));
    for decision in object.decisions.iter().take(DECISIONS_MAX) {
        let _ = writeln!(text, "  {}", printable(&decision_text(decision)));
    }
    let more =
        object.decisions.len().saturating_sub(DECISIONS_MAX) as u64 + object.decisions_left_out;
    if more > 0 {
        let _ = writeln!(text, "  … {} more, in --json", count(more));
    }
    text
}

/// `2 min: 3 to 14, a jump … [offered (line)]`.
pub(super) fn decision_text(decision: &DecisionObject) -> String {
    let refused = decision
        .refused_by
        .as_ref()
        .map_or_else(String::new, |because| format!("; refused: {because}"));
    format!(
        "{}: {} to {}, {} [{}]{refused}",
        seconds(decision.at.into()),
        decision.now,
        decision.wanted,
        decision.reason,
        decision.signal
    )
}
