//! Where requests spend their time, in the terminal, at most 100 columns.

use plimsoll_analysis::traces::{self, ComponentUse, RouteUse};

use super::layout::Style;
use super::steps::cut;
use crate::number::{percent, short};
use crate::printable::printable;
use crate::report::Report;

/// Most routes, and rows of each; more are in the report.
const ROUTES_MAX: usize = 3;
const COMPONENTS_MAX: usize = 6;
/// Columns of a component's name.
const NAME: usize = 52;
/// Share of a route's time below which a component is only in the report.
const SHARE_MIN: f64 = 0.005;

/// The table; empty without spans.
pub(super) fn table(report: &Report<'_>, style: Style) -> Vec<String> {
    let routes = traces::of(report.run);
    let mut lines = Vec::new();
    for route in routes.iter().take(ROUTES_MAX) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(of_route(route, style));
    }
    lines
}

fn of_route(route: &RouteUse, style: Style) -> Vec<String> {
    let mut title = format!(
        "{}: {} ms each, {} of the traced time",
        printable(&route_name(route)),
        short(route.each_ms),
        percent(route.share)
    );
    if let Some(queries) = queries(route) {
        title.push_str("; ");
        title.push_str(&queries);
    }
    let heading = format!(
        "  {:<NAME$}{:>9}{:>9}{:>10}{:>9}",
        "", "share", "calls", "ms each", "failed"
    );
    let mut lines = vec![title, style.paint("2", &heading)];
    let components = route
        .components
        .iter()
        .filter(|component| component.share >= SHARE_MIN);
    lines.extend(components.take(COMPONENTS_MAX).map(row));
    if let Some(most) = route.repeated.first() {
        let text = format!(
            "  repeated: {} times {}",
            short(most.calls),
            printable(&most.statement)
        );
        lines.push(cut(&text, 100));
    }
    lines
}

/// A route with its service, if named.
pub(crate) fn route_name(route: &RouteUse) -> String {
    if route.service.is_empty() {
        route.route.clone()
    } else {
        format!("{} of {}", route.route, route.service)
    }
}

/// Number of statements per request, and of distinct ones; `None` without any.
pub(crate) fn queries(route: &RouteUse) -> Option<String> {
    (route.queries > 0.0).then(|| {
        format!(
            "{} statements in each request, of {} forms",
            short(route.queries),
            short(route.query_forms)
        )
    })
}

fn row(component: &ComponentUse) -> String {
    format!(
        "  {:<NAME$}{:>9}{:>9}{:>10}{:>9}",
        cut(&printable(component.name()), NAME),
        percent(component.share),
        short(component.calls),
        short(component.each_ms),
        percent(component.failed)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_fits_the_screen() {
        let component_use = |component: &str, share: f64| ComponentUse {
            kind: "database".to_owned(),
            component: component.to_owned(),
            share,
            calls: 12.0,
            each_ms: 5.25,
            failed: 0.0,
            too_many: 0.0,
            unavailable: 0.0,
        };
        let route = RouteUse {
            at: "a:1".to_owned(),
            service: "shop".to_owned(),
            route: "GET /orders/:id".to_owned(),
            requests: 100.0,
            share: 0.5,
            each_ms: 104.0,
            failed: 0.0,
            queries: 12.0,
            query_forms: 3.0,
            held_ms: 0.0,
            held_remote_ms: 0.0,
            components: vec![
                component_use(&"p".repeat(90), 0.62),
                component_use("", 0.38),
                component_use("x", 0.001),
            ],
            repeated: vec![traces::RepeatedUse {
                statement: "SELECT ".repeat(30),
                calls: 10.0,
            }],
        };
        let lines = of_route(&route, Style { colour: false });
        let title = "GET /orders/:id of shop: 104 ms each, 50 % of the traced time; 12 statements in each request, of 3 forms";
        assert_eq!(lines[0], title);
        assert_eq!(lines.len(), 5, "{lines:#?}");
        assert!(lines[3].starts_with("  the service itself "), "{lines:#?}");
        assert!(
            lines[1..].iter().all(|line| line.chars().count() <= 100),
            "{lines:#?}"
        );
    }
}
