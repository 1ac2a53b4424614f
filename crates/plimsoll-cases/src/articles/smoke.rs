//! Smoke test of the whole magazine: its pages, the cache's word, and a rate far beyond what the database carries.

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::request::exchange;

use super::measure::ArticlesMeter;
use super::stack::ArticlesStack;
use super::study::{ArticleBody, ArticlesSetup};

/// A rate that no database carries and every cache does.
const MUCH: u32 = 400;

pub(super) fn check(stack: &mut ArticlesStack<'_>, meter: &ArticlesMeter<'_>) -> Result<()> {
    stack.renew()?;
    pages(stack)?;
    let edge = stack.edge(ArticlesSetup::Cached)?;
    let path = "/articles/17";
    let first = exchange(edge.port(), path, "", None)?;
    let second = exchange(edge.port(), path, "", None)?;
    let verdict = second
        .header("cache-status")
        .context("the edge tells no Cache-Status")?;
    ensure!(
        first.body == second.body && verdict.contains("hit"),
        "the edge did not keep the page: {verdict}"
    );
    meter.warm(&edge.url(), &stack.feed(ArticleBody::Page))?;
    let cached = meter.sample(
        &edge.url(),
        &stack.feed(ArticleBody::Page),
        MUCH,
        ArticlesSetup::Cached,
    )?;
    println!("{MUCH} a second, cached: {cached:?}");
    ensure!(
        cached.failed < 0.01,
        "the cache did not answer {MUCH} pages a second: {cached:?}"
    );
    drop(edge);
    let edge = stack.edge(ArticlesSetup::Edge)?;
    let uncached = exchange(edge.port(), path, "", None)?;
    ensure!(
        uncached.status == 200 && uncached.body == first.body,
        "the edge without a cache answered {uncached:?}"
    );
    let uncached = meter.sample(
        &edge.url(),
        &stack.feed(ArticleBody::Page),
        MUCH,
        ArticlesSetup::Edge,
    )?;
    println!("{MUCH} a second, without a cache: {uncached:?}");
    ensure!(
        uncached.answered > 0.0 && uncached.failed > 0.0,
        "the edge without a cache passed on all or nothing: {uncached:?}"
    );
    Ok(())
}

/// Both bodies, as long as they are to be, and no article that does not exist.
fn pages(stack: &ArticlesStack<'_>) -> Result<()> {
    let port = stack.application()?.port();
    for body in ArticleBody::ALL {
        for article in [0, 17, 3_999] {
            let path = format!("{}{article}", body.prefix());
            let page = exchange(port, &path, "", None)?;
            ensure!(
                page.status == 200 && page.body.len() == body.bytes(),
                "{path} answered {} with {} bytes instead of {}",
                page.status,
                page.body.len(),
                body.bytes()
            );
        }
    }
    for path in ["/articles/4000", "/articles/x"] {
        let missing = exchange(port, path, "", None)?;
        ensure!(missing.status == 404, "{path} answered {missing:?}");
    }
    let page = exchange(port, "/articles/17", "", None)?;
    ensure!(
        [
            "<h2>Most read</h2>",
            "<h2>Related</h2>",
            "<h2>Comments</h2>"
        ]
        .iter()
        .all(|marker| page.body.contains(marker)),
        "the page lacks a part: {}",
        page.body
    );
    Ok(())
}
