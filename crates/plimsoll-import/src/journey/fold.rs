//! Groups requests into steps: redirects with their targets, pages with their resources.

use crate::heuristics;
use crate::recording::{RecordedExchange, ResourceKind};

/// Shortest pause that counts as a think time, milliseconds; shorter ones are the browser's.
const THINK_MIN_MS: f64 = 500.0;
/// How far after a redirect its follow-up request is searched.
const REDIRECT_WITHIN: usize = 40;

/// An action of a user or a script: one request, its redirects, and the page's resources.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Action {
    /// The first request.
    pub(super) first: usize,
    /// Requests that followed redirects, in order.
    pub(super) followed: Vec<usize>,
    /// Resources of the page.
    pub(super) resources: Vec<usize>,
    /// Whether it is a navigation.
    pub(super) is_document: bool,
    /// Pause before it, milliseconds.
    pub(super) think_ms: Option<f64>,
}

impl Action {
    /// The request with the final response.
    pub(super) fn last(&self) -> usize {
        self.followed.last().copied().unwrap_or(self.first)
    }
}

/// The actions of a journey, and whether the pauses between them are known.
pub(super) struct Folded {
    pub(super) actions: Vec<Action>,
    pub(super) has_timings: bool,
    /// Resources left out because they failed or belong to no page.
    pub(super) resources_left_out: usize,
}

pub(super) fn fold(exchanges: &[&RecordedExchange]) -> Folded {
    let mut taken = vec![false; exchanges.len()];
    let mut folded = Folded {
        actions: Vec::new(),
        has_timings: exchanges
            .iter()
            .all(|exchange| exchange.started_ms.is_some()),
        resources_left_out: 0,
    };
    for index in 0..exchanges.len() {
        if std::mem::replace(&mut taken[index], true) {
            continue;
        }
        let exchange = exchanges[index];
        if exchange.kind == ResourceKind::Resource && folded.take_resource(exchanges, index) {
            // The target of a resource's redirect belongs to that resource only.
            follow(exchanges, index, &mut taken);
            continue;
        }
        let followed = follow(exchanges, index, &mut taken);
        folded.actions.push(Action {
            first: index,
            followed,
            resources: Vec::new(),
            is_document: exchange.kind == ResourceKind::Document,
            think_ms: None,
        });
    }
    folded.split_pages_after_forms(exchanges);
    if folded.has_timings {
        folded.set_thinks(exchanges);
    }
    folded
}

/// Indexes of the requests that follow redirects of `index`.
fn follow(exchanges: &[&RecordedExchange], index: usize, taken: &mut [bool]) -> Vec<usize> {
    let mut followed: Vec<usize> = Vec::new();
    let mut at = index;
    while let Some(target) = exchanges[at].redirect() {
        let end = exchanges.len().min(at + 1 + REDIRECT_WITHIN);
        let keeps_method = matches!(exchanges[at].status, 307 | 308);
        let next = (at + 1..end).find(|&next| {
            let exchange = exchanges[next];
            let method_fits = if keeps_method {
                exchange.method == exchanges[at].method
            } else {
                exchange.method == "GET" || exchange.method == "HEAD"
            };
            !taken[next] && exchange.url == target && method_fits
        });
        let Some(next) = next else { break };
        taken[next] = true;
        followed.push(next);
        at = next;
    }
    followed
}

impl Folded {
    /// Assigns a resource to its page; false if there is none.
    fn take_resource(&mut self, exchanges: &[&RecordedExchange], index: usize) -> bool {
        let exchange = exchanges[index];
        let documents = || {
            self.actions
                .iter()
                .enumerate()
                .rev()
                .filter(|(_, action)| action.is_document)
        };
        let named = documents().find(|(_, action)| {
            exchange.page.is_some() && exchanges[action.last()].page == exchange.page
        });
        let Some((page, _)) = named.or_else(|| documents().next()) else {
            return false;
        };
        let is_known = |&other: &usize| exchanges[other].url == exchange.url;
        let is_good = (200..400).contains(&exchange.status) && exchange.method == "GET";
        if !is_good {
            self.resources_left_out += 1;
        } else if !self.actions[page].resources.iter().any(is_known) {
            self.actions[page].resources.push(index);
        }
        true
    }

    /// A form whose response is a page with resources becomes two steps: the form, and the page.
    fn split_pages_after_forms(&mut self, exchanges: &[&RecordedExchange]) {
        let mut actions = Vec::with_capacity(self.actions.len());
        for mut action in std::mem::take(&mut self.actions) {
            let first = exchanges[action.first];
            if action.resources.is_empty() || first.method == "GET" {
                actions.push(action);
                continue;
            }
            let steady = action
                .followed
                .first()
                .is_some_and(|&next| is_steady(exchanges[next]));
            if !steady {
                self.resources_left_out += action.resources.len();
                action.resources.clear();
                actions.push(action);
                continue;
            }
            let page = Action {
                first: action.followed[0],
                followed: action.followed.split_off(1),
                resources: std::mem::take(&mut action.resources),
                is_document: true,
                think_ms: None,
            };
            action.followed.clear();
            actions.push(action);
            actions.push(page);
        }
        self.actions = actions;
    }

    fn set_thinks(&mut self, exchanges: &[&RecordedExchange]) {
        let mut busy_until = f64::NEG_INFINITY;
        for at in 0..self.actions.len() {
            let action = &self.actions[at];
            let started = exchanges[action.first].started_ms.unwrap_or(0.0);
            let gap = started - busy_until;
            let members = action
                .followed
                .iter()
                .chain(&action.resources)
                .chain([&action.first]);
            // Resources that a page loads later, while the user reads, do not shorten the think time.
            let next = self
                .actions
                .get(at + 1)
                .and_then(|next| exchanges[next.first].started_ms);
            for &member in members {
                let exchange = exchanges[member];
                let is_before =
                    |next: f64| exchange.started_ms.is_some_and(|started| started < next);
                if next.is_none_or(is_before)
                    && let Some(ended) = exchange.ended_ms()
                {
                    busy_until = busy_until.max(ended);
                }
            }
            if gap.is_finite() && gap > THINK_MIN_MS {
                self.actions[at].think_ms = Some(gap);
            }
        }
    }
}

/// Whether a URL is the same each time.
pub(super) fn is_steady(exchange: &RecordedExchange) -> bool {
    let path = exchange
        .url
        .path()
        .split('/')
        .any(heuristics::is_id_segment);
    let query = exchange
        .url
        .query_pairs()
        .any(|(name, value)| heuristics::is_extraction_candidate(&name, &value));
    !path && !query
}
