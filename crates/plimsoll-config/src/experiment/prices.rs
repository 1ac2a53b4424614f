//! Reads what the service costs in each cell.

use plimsoll_model::experiment::PerCell;
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
    let of_cell = |cell: usize| parts.price(|part: &PerCell<f64>| part.at(cell).copied());
    if is_constant(&parts) {
        return Some(PerCell::Every(of_cell(0)));
    }
    let cells = 0..scope.cells_len();
    Some(PerCell::Each(
        cells.map(|cell| Some(of_cell(cell))).collect(),
    ))
}

/// Whether all prices are the same in every cell.
fn is_constant(parts: &PriceParts<PerCell<f64>>) -> bool {
    [
        &parts.machine_hour,
        &parts.cpu_hour,
        &parts.gib_hour,
        &parts.gb_out,
        &parts.request,
    ]
    .into_iter()
    .flatten()
    .all(|part| matches!(part, PerCell::Every(_)))
}
