//! Smoke test of the whole newspaper: its pages, and what the edge does below and beyond what it carries.

use std::time::Duration;

use anyhow::{Result, ensure};
use plimsoll_harness::request::exchange;
use plimsoll_harness::running::RunningServer;

use super::measure::NewspaperMeter;
use super::stack::{NewspaperSettings, NewspaperStack};
use crate::case::Case;

/// Elements of a page that the server renders.
const NODES: u16 = 362;
/// Loads that any machine carries, and that none does: requests a second.
const LITTLE: f64 = 10.0;
const MUCH: f64 = 1_500.0;
const TIME: Duration = Duration::from_secs(3);

pub(super) fn check(case: &Case) -> Result<()> {
    let settings = NewspaperSettings {
        core: None,
        workers: 1,
        nodes: NODES,
    };
    let stack = NewspaperStack::start(case, settings)?;
    let meter = NewspaperMeter {
        case,
        is_quick: true,
    };
    let edge = stack.edge()?;
    pages(&stack, &edge)?;
    let little = meter.shares(&edge, &stack, LITTLE, TIME)?;
    println!("{LITTLE} a second: {little:?}");
    ensure!(
        little.rendered > 0.99 && little.failed < 0.01,
        "the site did not render all pages of a light load: {little:?}"
    );
    let much = meter.shares(&edge, &stack, MUCH, TIME)?;
    println!("{MUCH} a second: {much:?}");
    ensure!(
        much.fallback > 0.2 && much.rendered > 0.0 && much.failed < 0.01,
        "the edge did not stand in for the site: {much:?}"
    );
    Ok(())
}

/// The same page alone and behind the edge, with as many elements as asked for; the articles beside it.
fn pages(stack: &NewspaperStack<'_>, edge: &RunningServer) -> Result<()> {
    let page = exchange(stack.site().port(), "/articles/7", "", None)?;
    ensure!(page.status == 200, "the page answered {page:?}");
    let elements = page.body.matches('<').count()
        - page.body.matches("</").count()
        - page.body.matches("<!").count();
    ensure!(
        elements == usize::from(NODES),
        "the page has {elements} elements instead of {NODES}"
    );
    let behind = exchange(edge.port(), "/articles/7", "", None)?;
    ensure!(
        behind.status == 200 && behind.body == page.body && behind.header("x-plimsoll").is_none(),
        "behind the edge the page answered {behind:?}"
    );
    let article = exchange(edge.port(), "/api/articles/7", "", None)?;
    let article: serde_json::Value = serde_json::from_str(&article.body)?;
    let title = article["title"].as_str().unwrap_or_default();
    ensure!(
        !title.is_empty() && page.body.contains(title),
        "the page does not show its article's title {title:?}"
    );
    let missing = exchange(edge.port(), "/articles/10000", "", None)?;
    ensure!(
        missing.status == 404,
        "a missing article answered {missing:?}"
    );
    Ok(())
}
