//! Starts a run or a search for a viewer, against targets that the command line named, one at a time.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use plimsoll_live::SiteResponse;
use plimsoll_model::lock::lock;
use serde::Deserialize;
use serde_json::{Value, json};

/// Lines of a command that are shown when it fails; of a long one the last.
const LINES_MAX: usize = 20;
/// Characters of a line.
const LINE_LEN_MAX: usize = 1_000;

/// The fields of the form.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    kind: Kind,
    url: String,
    rate: String,
    lasting: String,
    objective: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Run,
    Limit,
}

pub(super) struct Starter {
    out: PathBuf,
    allowed: Vec<String>,
    started: Mutex<Option<Started>>,
}

/// A command that was started here, and what it printed after the URL of its page.
struct Started {
    child: Child,
    /// Ends behind its last message.
    reader: JoinHandle<()>,
    messages: Arc<Mutex<VecDeque<String>>>,
}

impl Starter {
    pub(super) fn new(out: &Path, allowed: Vec<String>) -> Self {
        Self {
            out: out.to_owned(),
            allowed,
            started: Mutex::new(None),
        }
    }

    pub(super) fn allowed(&self) -> &[String] {
        &self.allowed
    }

    /// Starts what the form describes; the body of the response is the URL of its live page.
    pub(super) fn start(&self, body: &[u8]) -> SiteResponse {
        let order: Order = match serde_json::from_slice(body) {
            Ok(order) => order,
            Err(error) => {
                return SiteResponse::text(400, format!("The form is invalid: {error}.\n"));
            }
        };
        if !self.allowed.contains(&order.url) {
            let text = "Runs against this target are not allowed: start this page with --allow-run=TARGET.\n";
            return SiteResponse::text(403, text);
        }
        let mut started = lock(&self.started);
        if let Some(Started { child, .. }) = &mut *started
            && matches!(child.try_wait(), Ok(None))
        {
            return SiteResponse::text(
                409,
                "A run that was started here is going on; wait for its end, or stop it.\n",
            );
        }
        match self.spawn(&order) {
            Ok((begun, url)) => {
                *started = Some(begun);
                SiteResponse::text(200, url)
            }
            Err(text) => SiteResponse::text(422, text),
        }
    }

    /// What became of the command that was started last, for the page; null if there was none.
    pub(super) fn status(&self) -> Value {
        let mut started = lock(&self.started);
        let Some(Started {
            child,
            reader,
            messages,
        }) = &mut *started
        else {
            return Value::Null;
        };
        let ended = child.try_wait();
        json!({
            "is_running": matches!(ended, Ok(None)) || !reader.is_finished(),
            "exit": ended.ok().flatten().and_then(|status| status.code()),
            "messages": *lock(messages),
        })
    }

    /// The process and the URL of its page; why it did not start otherwise. No field becomes a flag of its own.
    fn spawn(&self, order: &Order) -> Result<(Started, String), String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command.arg(match order.kind {
            Kind::Run => "run",
            Kind::Limit => "limit",
        });
        if order.kind == Kind::Run {
            command.arg(format!("--rate={}", order.rate));
            command.arg(format!("--for={}", order.lasting));
        }
        if !order.objective.is_empty() {
            command.arg(format!("--objective={}", order.objective));
        }
        command.arg(format!("--out={}", self.out.display()));
        command.args(["--live", "--quiet", "--", order.url.as_str()]);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let Some(stderr) = child.stderr.take() else {
            return Err("the messages of the run cannot be read".to_owned());
        };
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let mut messages = Vec::new();
        for line in lines.by_ref().take(LINES_MAX) {
            if let Some(url) = line.strip_prefix("live page: ") {
                let url = url.to_owned();
                let messages = Arc::<Mutex<VecDeque<String>>>::default();
                let kept = Arc::clone(&messages);
                // Its other messages are read, or it would block on a full pipe.
                let reader = std::thread::Builder::new()
                    .name("run-messages".to_owned())
                    .spawn(move || lines.for_each(|line| keep(&kept, &line)))
                    .map_err(|error| error.to_string())?;
                let started = Started {
                    child,
                    reader,
                    messages,
                };
                return Ok((started, url));
            }
            messages.push(line);
        }
        let _ = child.kill();
        let _ = child.wait();
        Err(messages.join("\n"))
    }
}

fn keep(messages: &Mutex<VecDeque<String>>, line: &str) {
    let mut messages = lock(messages);
    if messages.len() >= LINES_MAX {
        messages.pop_front();
    }
    messages.push_back(line.chars().take(LINE_LEN_MAX).collect());
}
