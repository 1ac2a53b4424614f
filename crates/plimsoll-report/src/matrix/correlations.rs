//! The map of correlations between settings and results.

use maud::{Markup, html};

use super::MatrixReport;
use crate::history_page::{metric_label, metric_order};
use crate::printable::printable;

/// The map; nothing when nothing was measured.
pub(super) fn correlations(report: &MatrixReport<'_>) -> Markup {
    let map = &report.result.correlations;
    let mut metrics: Vec<&str> = map.all.iter().map(|found| found.metric.as_str()).collect();
    metrics.sort_by_key(|name| metric_order(name));
    metrics.dedup();
    let rho = |factor: usize, metric: &str| {
        let found = map
            .all
            .iter()
            .find(|found| found.factor == factor && found.metric == metric);
        found.map(|found| found.spearman.rho)
    };
    html! {
        @if !map.all.is_empty() {
            p.lead {
                "Spearman's correlation of each setting, its levels in their order, with each result over all trials: +1 when the \
                 result always grows with the setting, −1 when it always falls. By noise alone the largest would reach "
                (format!("{:.2}", map.noise)) "; only what is beyond that is coloured."
            }
            div.scroll tabindex="0" role="group" aria-label="Correlations" {
                table.correlations {
                    thead { tr {
                        th scope="col" { "result" }
                        @for factor in &report.input.factors { th scope="col" { (printable(&factor.name)) } }
                    } }
                    tbody { @for metric in metrics { tr {
                        th scope="row" { (printable(&metric_label(metric))) }
                        @for factor in 0..report.input.factors.len() { (cell(rho(factor, metric), map.noise)) }
                    } } }
                }
            }
        }
    }
}

fn cell(rho: Option<f64>, noise: f64) -> Markup {
    let class = match rho {
        Some(rho) if rho.abs() > noise && rho > 0.0 => "more",
        Some(rho) if rho.abs() > noise => "less",
        _ => "muted",
    };
    html! { td class=(class) { (rho.map_or_else(|| "–".to_owned(), text)) } }
}

/// `+0.94`, `−0.13`, `0`.
fn text(rho: f64) -> String {
    let sign = match rho {
        rho if rho.abs() < 0.005 => return "0".to_owned(),
        rho if rho < 0.0 => "−",
        _ => "+",
    };
    format!("{sign}{:.2}", rho.abs())
}
