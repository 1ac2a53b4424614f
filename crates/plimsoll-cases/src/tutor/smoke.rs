//! Smoke test of the whole tutor: every component once, through HAProxy.

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::request::{HttpReply, exchange};
use serde_json::Value;

use super::stack::TutorStack;

const ANSWER: &str = include_str!("../../../../cases/tutor/answer.c");

const NAME: &str = "candidate0001";
const PASSWORD: &str = "traffic light";

/// Logs in rightly and wrongly, opens, saves, compiles, executes, evaluates; the first surprise is an error.
pub(super) fn check(stack: &TutorStack) -> Result<()> {
    let session = LoginSession::log_in(stack.proxy.port())?;
    let home = session.fetch("/home", None)?;
    let assignment = home
        .body
        .split_once("href=\"/editor/")
        .and_then(|(_, rest)| rest.split('"').next())
        .context("the home page links no assignment")?
        .to_owned();
    let code = [("assignment", assignment.as_str()), ("code", ANSWER)];
    let saved = session.json("/editor/save", &code)?;
    ensure!(saved["saved"].is_u64(), "nothing was saved: {saved}");
    let editor = session.fetch(&format!("/editor/{assignment}"), None)?;
    ensure!(
        editor.body.contains("A traffic light"),
        "the editor does not show what was saved"
    );
    let codebook = session.fetch("/codebook", None)?;
    ensure!(
        codebook
            .body
            .contains(&format!("<td>{}</td>", saved["saved"])),
        "the codebook does not list what was saved"
    );
    programs(&session, &assignment, &code)
}

fn programs(session: &LoginSession, assignment: &str, code: &[(&str, &str)]) -> Result<()> {
    let compiled = session.json("/compile", code)?;
    ensure!(compiled["good"] == true, "did not compile: {compiled}");
    let compilation = compiled["compilation"].to_string();
    let named = ("compilation", compilation.as_str());
    let ended = session.json("/execute", &[named, ("input", "0 1")])?;
    ensure!(ended["output"] == "red\ngreen\n", "ran wrongly: {ended}");
    let evaluated = session.json("/evaluate", &[named])?;
    ensure!(evaluated["passed"] == 3, "was judged wrongly: {evaluated}");

    let wrong = session.json(
        "/compile",
        &[("assignment", assignment), ("code", "int main(")],
    )?;
    ensure!(
        wrong["good"] == false
            && wrong["messages"]
                .as_str()
                .is_some_and(|text| text.contains("error")),
        "a wrong program was not refused: {wrong}"
    );
    let endless = "int main(void) { for (;;) ; }";
    let compiled = session.json("/compile", &[("assignment", assignment), ("code", endless)])?;
    let compilation = compiled["compilation"].to_string();
    let ended = session.json("/execute", &[("compilation", &compilation)])?;
    ensure!(ended["stopped"] == "time", "ran without an end: {ended}");
    Ok(())
}

/// Somebody with a session.
struct LoginSession {
    port: u16,
    cookie: String,
}

impl LoginSession {
    fn log_in(port: u16) -> Result<Self> {
        let login = |password| {
            let form = [("username", NAME), ("password", password)];
            exchange(port, "/login", "", Some(&form))
        };
        let refused = login("wrong")?;
        ensure!(
            refused.status == 302 && refused.header("location") == Some("/login"),
            "a wrong password was not sent back to /login: {refused:?}"
        );
        let nobody = exchange(port, "/execute", "", Some(&[("compilation", "1")]))?;
        ensure!(
            nobody.status == 403,
            "the engine serves requests without a session: {nobody:?}"
        );
        let welcome = login(PASSWORD)?;
        ensure!(
            welcome.status == 302 && welcome.header("location") == Some("/home"),
            "the login did not lead to /home: {welcome:?}"
        );
        let cookie = welcome
            .header("set-cookie")
            .and_then(|cookie| cookie.split(';').next())
            .context("the login set no cookie")?;
        Ok(Self {
            port,
            cookie: cookie.to_owned(),
        })
    }

    fn fetch(&self, path: &str, form: Option<&[(&str, &str)]>) -> Result<HttpReply> {
        let answer = exchange(self.port, path, &self.cookie, form)?;
        ensure!(answer.status == 200, "{path} answered {answer:?}");
        Ok(answer)
    }

    fn json(&self, path: &str, form: &[(&str, &str)]) -> Result<Value> {
        let answer = self.fetch(path, Some(form))?;
        serde_json::from_str(&answer.body)
            .with_context(|| format!("{path} answered no JSON: {}", answer.body))
    }
}
