//! Smoke test of the whole newspaper: its pages, and what the edge does below and beyond what it carries.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::measure::NewspaperMeter;
use super::stack::{NewspaperEdge, NewspaperSettings, NewspaperStack};
use crate::exchange::exchange;
use crate::ground::CaseContext;

/// Elements of a page that the server renders.
const NODES: u16 = 362;
/// Loads that any machine carries, and that none does: requests a second.
const LITTLE: f64 = 10.0;
const MUCH: f64 = 1_500.0;
const TIME: Duration = Duration::from_secs(3);

pub(super) fn check(ground: &CaseContext, is_stopped: &AtomicBool) -> Result<()> {
    let settings = NewspaperSettings {
        workers: 1,
        nodes: NODES,
    };
    let stack = NewspaperStack::start(settings, &ground.case)?;
    let meter = NewspaperMeter {
        plimsoll: ground.plimsoll(),
        out: ground.store.join("runs"),
        is_quick: true,
        is_stopped,
    };
    let edge = stack.edge(&meter.plimsoll, &ground.case)?;
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
fn pages(stack: &NewspaperStack, edge: &NewspaperEdge) -> Result<()> {
    let page = exchange(stack.port(), "/articles/7", "", None)?;
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
