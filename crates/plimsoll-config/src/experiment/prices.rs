//! Reads what the service costs in each cell.

use std::collections::BTreeSet;

use plimsoll_model::experiment::{Cell, PerCell};
use plimsoll_model::price::Price;

use super::scope::ExperimentScope;
use crate::document::DocumentNode;
use crate::price::{AMOUNT_VALID, PriceParts, amount, parts};

/// Reads `price:`. A price whose axis is not varied in a cell costs nothing there.
pub(super) fn price(
    scope: &ExperimentScope<'_, '_>,
    node: &DocumentNode,
) -> Option<PerCell<Price>> {
    let parts = parts(scope.reader, node, |node| {
        scope.each(node, AMOUNT_VALID, amount)
    })?;
    let in_cell = |cell: &Cell| parts.price(|part: &PerCell<f64>| part.at(cell).copied());
    let axes = axes(&parts);
    if axes.is_empty() {
        return Some(PerCell::Every(in_cell(&Cell::default())));
    }
    let cells = scope.combinations(node, &axes)?.into_iter();
    let prices: Vec<(Cell, Price)> = cells
        .map(|cell| {
            let price = in_cell(&cell);
            (cell, price)
        })
        .collect();
    Some(PerCell::by_axes(axes.into_iter().collect(), prices))
}

/// The axes by whose levels a price differs.
fn axes(parts: &PriceParts<PerCell<f64>>) -> BTreeSet<usize> {
    [
        &parts.machine_hour,
        &parts.cpu_hour,
        &parts.gib_hour,
        &parts.gb_out,
        &parts.request,
    ]
    .into_iter()
    .flatten()
    .flat_map(PerCell::axes)
    .copied()
    .collect()
}
