//! Turns actions into steps: URL, headers and body with placeholders where values come from responses, variables of
//! the environment, or the clock.

mod body;
mod headers;
mod value;

use url::Url;

use super::finder::{PlannedCapture, ValueFinder};
use super::fold::{self, Action, Folded};
use super::secrets::Secrets;
use super::sift::Sifted;
use crate::DataFile;
use crate::heuristics;
use crate::recording::{RecordedExchange, RecordingLoss};
use crate::yaml::{YamlEntry, YamlNode};

pub(super) use value::PlanValue;

/// The steps and their data.
pub(super) struct Drafted {
    /// One per action.
    pub(super) steps: Vec<StepDraft>,
    /// Captures of each action's response.
    pub(super) captures: Vec<Vec<PlannedCapture>>,
    /// Variables of the environment that the plan needs.
    pub(super) variables: Vec<String>,
    /// Whether the recording began with cookies of earlier visits.
    pub(super) began_with_cookies: bool,
    /// Files that the steps name.
    pub(super) files: Vec<DataFile>,
    /// What the steps lack.
    pub(super) losses: Vec<RecordingLoss>,
}

/// One step.
#[derive(Default)]
pub(super) struct StepDraft {
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<YamlEntry>,
    pub(super) expect: Vec<YamlEntry>,
    pub(super) resources: Vec<String>,
    /// Notes for the author, one sentence each.
    pub(super) notes: Vec<String>,
    /// Sends a password.
    pub(super) logs_in: bool,
    /// Ends the session.
    pub(super) logs_out: bool,
}

/// The location of a field of a form.
const FORM_FIELD: &str = "form field";

/// The location of a value in a request.
#[derive(Clone, Copy)]
pub(super) struct ValueLocation<'a> {
    /// Kind of location, for comments.
    pub(super) what: &'static str,
    pub(super) name: &'a str,
}

/// State while requests are processed in order.
struct Drafter<'a> {
    finder: ValueFinder<'a>,
    secrets: Secrets,
    target: &'a Url,
    /// Number of the current action.
    at: usize,
    /// When the current request began.
    started_ms: Option<f64>,
    /// Where the current request stands in the recording.
    place: (usize, usize),
    /// Path of the current request.
    path: String,
    step: StepDraft,
    /// Files of bodies; `None` where the plan has no folder.
    files: Option<Vec<DataFile>>,
    losses: Vec<RecordingLoss>,
}

pub(super) fn draft(sifted: &Sifted<'_>, folded: &Folded, has_folder: bool) -> Drafted {
    let exchanges = &sifted.exchanges;
    let mut drafter = Drafter {
        finder: ValueFinder::new(exchanges, &folded.actions),
        secrets: Secrets::default(),
        target: &sifted.target,
        at: 0,
        started_ms: None,
        place: (0, 0),
        path: String::new(),
        step: StepDraft::default(),
        files: has_folder.then(Vec::new),
        losses: Vec::new(),
    };
    let mut steps = Vec::with_capacity(folded.actions.len());
    for (at, action) in folded.actions.iter().enumerate() {
        drafter.at = at;
        drafter.draft(exchanges, action);
        steps.push(std::mem::take(&mut drafter.step));
    }
    Drafted {
        steps,
        variables: drafter.secrets.variables().map(str::to_owned).collect(),
        captures: drafter.finder.into_captures(),
        files: drafter.files.unwrap_or_default(),
        losses: drafter.losses,
        began_with_cookies: exchanges
            .first()
            .is_some_and(|first| first.header("cookie").is_some_and(|held| !held.is_empty())),
    }
}

impl Drafter<'_> {
    fn draft(&mut self, exchanges: &[&RecordedExchange], action: &Action) {
        let exchange = exchanges[action.first];
        self.started_ms = exchange.started_ms;
        self.place = exchange.place;
        self.path = heuristics::path_without_secrets(exchange.url.path()).into_owned();
        self.step.method = exchange.method.to_ascii_lowercase();
        // Passwords are processed first, so that a secret is recognised elsewhere in the request.
        self.body(exchange);
        let has_login = !exchange.url.username().is_empty() || exchange.url.password().is_some();
        if has_login && exchange.header("authorization").is_none() {
            self.lose(
                "the URL has a login, which is not stored in the plan: add a header authorization"
                    .to_owned(),
            );
        }
        self.step.url = self.url(&exchange.url);
        self.headers(exchange);
        self.step.expect = expectations(exchange, self.target);
        let path = exchange.url.path().to_ascii_lowercase();
        self.step.logs_out = [
            "logout", "log-out", "log_out", "signout", "sign_out", "sign-out", "logoff",
        ]
        .iter()
        .any(|word| {
            path.contains(word)
                || exchange
                    .url
                    .query()
                    .is_some_and(|query| query.contains(word))
        });
        self.step.resources = action
            .resources
            .iter()
            .map(|&index| self.plain_url(&exchanges[index].url))
            .collect();
    }

    /// Path and query, or the whole URL for another origin; placeholders included.
    fn url(&mut self, url: &Url) -> String {
        let mut text = self.origin(url);
        let mut before = "path";
        for (index, segment) in heuristics::path_without_secrets(url.path())
            .split('/')
            .enumerate()
        {
            if index > 0 {
                text.push('/');
            }
            text.push_str(&self.segment(segment, before));
            if !segment.is_empty() {
                before = segment;
            }
        }
        let Some(query) = url.query() else {
            return text;
        };
        text.push('?');
        for chunk in query.split_inclusive(['&', ';']) {
            let pair = chunk.trim_end_matches(['&', ';']);
            text.push_str(&self.pair("query parameter", pair));
            text.push_str(&chunk[pair.len()..]);
        }
        text
    }

    /// A path segment; an extension such as `.json` stays.
    fn segment(&mut self, segment: &str, before: &str) -> String {
        let (stem, ending) = match segment.rsplit_once('.') {
            Some((stem, ending)) if ending.len() <= 5 && !stem.is_empty() => {
                (stem, &segment[stem.len()..])
            }
            _ => (segment, ""),
        };
        let decoded = value::percent_decoded(stem);
        if !heuristics::is_id_segment(&decoded) {
            return heuristics::literal(segment);
        }
        let name = format!("{}_id", before.trim_end_matches('s'));
        let site = ValueLocation {
            what: "path after",
            name: &name,
        };
        let found = self.value(site, &decoded);
        format!(
            "{}{}",
            found.in_url(stem, &decoded),
            heuristics::literal(ending)
        )
    }

    /// A name with its value, as URLs and forms have them.
    fn pair(&mut self, what: &'static str, pair: &str) -> String {
        let (name, raw) = match pair.split_once('=') {
            Some((name, raw)) => (Some(name), raw),
            None => (None, pair),
        };
        let decoded = value::form_decoded(raw);
        let label = name.map_or_else(|| "query".to_owned(), value::form_decoded);
        let site = ValueLocation { what, name: &label };
        let found = if self.is_clock(&decoded) {
            PlanValue::Expression("now_ms()".to_owned())
        } else {
            self.value(site, &decoded)
        };
        let text = match &found {
            // What the environment holds may need it, whatever was recorded.
            PlanValue::Expression(expression) if what == FORM_FIELD => {
                format!("{{{{ urlencode({expression}) }}}}")
            }
            found => found.in_url(raw, &decoded),
        };
        match name {
            Some(name) => format!("{}={text}", heuristics::literal(name)),
            None => text,
        }
    }

    /// Whether a value is the request's time in milliseconds: a cache buster.
    fn is_clock(&self, value: &str) -> bool {
        const DAY_MS: f64 = 86_400_000.0;
        let number = || value.parse::<f64>().ok();
        value.len() == 13
            && value.bytes().all(|b| b.is_ascii_digit())
            && self
                .started_ms
                .zip(number())
                .is_some_and(|(started, value)| (started - value).abs() < DAY_MS)
    }

    /// A URL without placeholders.
    fn plain_url(&self, url: &Url) -> String {
        let mut text = self.origin(url);
        text.push_str(&heuristics::literal(url.path()));
        if let Some(query) = url.query() {
            text.push('?');
            text.push_str(&heuristics::literal(query));
        }
        text
    }

    fn origin(&self, url: &Url) -> String {
        if url.origin() == self.target.origin() {
            String::new()
        } else {
            url.origin().ascii_serialization()
        }
    }
}

/// The expectation for a response that is not simply good.
fn expectations(exchange: &RecordedExchange, target: &Url) -> Vec<YamlEntry> {
    // The virtual user starts without a browser's cache: it gets the whole response.
    if matches!(exchange.status, 200 | 206 | 304) {
        return Vec::new();
    }
    let mut found = vec![YamlEntry::new("status", YamlNode::plain(exchange.status))];
    if let Some(to) = exchange.redirect()
        && to.origin() == target.origin()
    {
        let steady = RecordedExchange {
            url: to.clone(),
            ..exchange.clone()
        };
        if fold::is_steady(&steady) {
            let query = to
                .query()
                .map(|query| format!("?{query}"))
                .unwrap_or_default();
            found.push(YamlEntry::new(
                "location",
                YamlNode::text(heuristics::literal(&format!("{}{query}", to.path()))),
            ));
        }
    }
    found
}
