//! Routes of a service, from spans.

use crate::diagnosis::stretch::View;
use crate::traces::{self, RouteUse};

/// Routes of a stretch.
pub(crate) fn routes(view: &View<'_>) -> Vec<RouteUse> {
    let sum = |series: &str| -> f64 { view.rows().filter_map(|row| row.get(series)).sum() };
    traces::collect_routes(|metric| view.series_of(metric).collect(), sum)
}

/// The route whose requests repeat a statement most, where spans are known.
pub(crate) fn repeating_route(view: &View<'_>, statement: &str) -> Option<String> {
    let routes = routes(view).into_iter();
    let repeated = routes.flat_map(|route| {
        let own = route.repeated.clone().into_iter();
        let own = own.filter(|repeat| repeat.statement == statement);
        own.map(move |repeat| (repeat.calls, route.route.clone()))
    });
    let most = repeated.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(most.1)
}
