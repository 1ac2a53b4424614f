//! Bars: shares of a whole, and values side by side.

use maud::{Markup, html};

use super::percent_of;

/// A whole divided into shares; each part has a class and a name.
pub(crate) fn stacked(shares: &[(&'static str, &str, u64)]) -> Markup {
    let total: u64 = shares.iter().map(|share| share.2).sum();
    let mut start = 0.0;
    html! {
        svg.bar width="100%" height="16" aria-hidden="true" {
            @for (class, name, count) in shares {
                @let share = *count as f64 / total.max(1) as f64;
                @let from = start;
                @let () = start += share;
                @if *count > 0 {
                    rect class=(class) x=(percent_of(from)) width=(percent_of(share)) height="16" {
                        title { (name) ": " (crate::number::percent(share)) }
                    }
                }
            }
        }
    }
}

/// A value as a share of the longest bar, with the bound that it crossed.
pub(crate) fn value(class: &'static str, share: f64, bound: Option<f64>) -> Markup {
    html! {
        svg.bar width="100%" height="12" aria-hidden="true" {
            rect class=(class) width=(percent_of(share.clamp(0.0, 1.0))) height="12" {}
            @if let Some(bound) = bound {
                @let at = percent_of(bound.clamp(0.0, 1.0));
                line.bound x1=(at) x2=(at) y1="0" y2="12" {}
            }
        }
    }
}
