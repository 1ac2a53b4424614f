//! Scrapes the page of a machine.

use std::net::IpAddr;

use plimsoll_model::component::ComponentAddress;

use super::machine::MachinePages;
use crate::clock;
use crate::collectors::link::{ComponentLink, ScrapeError, get_once};
use crate::collectors::metrics::Sink;
use crate::collectors::{Collected, Scraper};

/// Default path of the page.
const PATH: &str = "/metrics";
/// Note for pages that do not change.
const COPY: &str = "the page of a node_exporter is a copy that does not change in every second: seconds without a new page \
    have no readings; name the exporter itself, not a cache in front of it";

/// A machine.
#[derive(Debug, Default)]
pub(crate) struct NodeExporterCollector {
    /// Its name.
    machine: String,
    /// Where the target listens, if that is known.
    target: Option<IpAddr>,
    pages: MachinePages,
    was_read: bool,
}

impl NodeExporterCollector {
    pub(crate) fn new(place: &ComponentAddress, target: Option<IpAddr>) -> Self {
        let machine = match place {
            ComponentAddress::Machine { name, .. } => name.clone(),
            _ => String::new(),
        };
        Self {
            machine,
            target,
            ..Self::default()
        }
    }

    fn note_missing(&mut self, missing: &str, sink: &mut Sink<'_>) {
        if !self.was_read && !missing.is_empty() {
            let text = format!(
                "the node_exporter of {} shows nothing of its collectors {missing}: rules that need them find nothing on that \
                 machine; start it with them (`--collector.NAME`)",
                self.machine
            );
            sink.answered().note("missing", &text);
        }
        self.was_read = true;
    }
}

/// Whether the target runs on the machine that responds from `peer`; `None` where the address does not show it, as at
/// the end of a tunnel.
pub(super) fn runs_target(target: Option<IpAddr>, peer: Option<IpAddr>) -> Option<bool> {
    let (target, peer) = (target?.to_canonical(), peer?.to_canonical());
    (!peer.is_loopback()).then_some(peer == target)
}

impl Scraper for NodeExporterCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let path = link.place().path().unwrap_or(PATH).to_owned();
        let text = get_once(link, &path)?;
        let is_local = runs_target(self.target, link.peer());
        sink.answered();
        let Some(page) = self.pages.read(&text, clock::now_ns(), is_local)? else {
            sink.answered().note("copy", COPY);
            return Ok(());
        };
        self.note_missing(&page.missing, sink);
        let metrics = sink.answered();
        if let Some(started) = &page.started {
            metrics.identity(started);
        }
        metrics.of_machine(&self.machine, page.readings);
        Ok(())
    }

    fn remedy(&self, error: &ScrapeError) -> String {
        match error {
            ScrapeError::Denied(_) => {
                "allow access from this machine without a login: Plimsoll sends no credentials"
                    .to_owned()
            }
            _ => "name the URL of its page, such as `watch: { node-exporter: http://db1:9100/metrics }`; https:// is not \
                supported yet"
                .to_owned(),
        }
    }
}
