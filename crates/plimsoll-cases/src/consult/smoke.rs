//! Smoke test of the whole platform: what visitors and members get, alone and behind each edge.

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::request::{HttpReply, exchange};

use super::measure::ConsultMeter;
use super::stack::{ConsultSetup, ConsultStack};

pub(super) fn check(
    stack: &ConsultStack<'_>,
    ways: impl Iterator<Item = ConsultSetup>,
    meter: &ConsultMeter<'_>,
) -> Result<()> {
    people(stack.application().port())?;
    for way in ways.filter(|way| *way != ConsultSetup::Alone) {
        let edge = stack.edge(way)?;
        people(edge.port()).with_context(|| way.title())?;
        check_cached(edge.port(), way).with_context(|| way.title())?;
        let shares = meter.shares(&edge.url(), 5)?;
        println!("five users, {}: {shares:?}", way.title());
        ensure!(
            shares.answered > 0.95,
            "five users behind the {} got {shares:?}",
            way.title()
        );
    }
    Ok(())
}

/// An anonymous user and two members get their own box on the same page, and a vote counts once.
fn people(port: u16) -> Result<()> {
    let page = fetch(port, "/ideas/5", "")?;
    ensure!(
        page.body.contains("Log in") && page.body.contains("<h2>Latest</h2><ol>"),
        "a visitor got {page:?}"
    );
    for name in ["member-007", "member-008"] {
        let cookie = log_in(port, name)?;
        for path in ["/", "/projects/3", "/ideas/5"] {
            let page = fetch(port, path, &cookie)?;
            ensure!(
                page.body.contains(&format!("Good day, {name}:")) && !page.body.contains("<esi:"),
                "{name} got {page:?}"
            );
        }
        for _ in 0..2 {
            let voted = exchange(port, "/ideas/5/votes", &cookie, Some(&[("vote", "1")]))?;
            ensure!(voted.status == 303, "the vote of {name} answered {voted:?}");
        }
    }
    let stranger = exchange(port, "/ideas/5/votes", "", Some(&[("vote", "1")]))?;
    ensure!(stranger.status == 403, "a visitor voted: {stranger:?}");
    let page = fetch(port, "/", "")?;
    ensure!(page.body.contains("Log in"), "a visitor got {page:?}");
    Ok(())
}

/// The second anonymous user gets a cached page; the second member too, with fragments.
fn check_cached(port: u16, way: ConsultSetup) -> Result<()> {
    let verdict = |path: &str, cookie: &str| -> Result<String> {
        fetch(port, path, cookie)?;
        let again = fetch(port, path, cookie)?;
        let verdict = again.header("cache-status");
        Ok(verdict
            .context("the edge tells no Cache-Status")?
            .to_owned())
    };
    let anonymous = verdict("/projects/4", "")?;
    ensure!(
        anonymous.contains("hit"),
        "a visitor's page was not kept: {anonymous}"
    );
    let member = verdict("/projects/5", &log_in(port, "member-009")?)?;
    ensure!(
        member.contains("hit") == (way == ConsultSetup::Fragments),
        "unexpected Cache-Status of a member's page: {member}"
    );
    Ok(())
}

fn fetch(port: u16, path: &str, cookie: &str) -> Result<HttpReply> {
    let answer = exchange(port, path, cookie, None)?;
    ensure!(answer.status == 200, "{path} answered {answer:?}");
    Ok(answer)
}

/// The cookie of a member.
fn log_in(port: u16, name: &str) -> Result<String> {
    let login = |password| {
        exchange(
            port,
            "/login",
            "",
            Some(&[("name", name), ("password", password)]),
        )
    };
    let refused = login("wrong")?;
    ensure!(
        refused.header("set-cookie").is_none(),
        "a wrong password was taken: {refused:?}"
    );
    let welcome = login("town hall")?;
    let cookie = welcome
        .header("set-cookie")
        .and_then(|cookie| cookie.split(';').next());
    Ok(cookie.context("the login set no cookie")?.to_owned())
}
