//! Scrapes the page of a machine.

use std::net::IpAddr;

use plimsoll_model::component::{ComponentAddress, instance_query};

use super::machine::MachinePages;
use super::server::{address_of, page_of};
use super::telegraf::TelegrafPages;
use crate::clock;
use crate::collectors::link::{ComponentLink, ScrapeError, get_once};
use crate::collectors::metrics::Sink;
use crate::collectors::{Collected, Scraper};

/// Default path of the page.
const PATH: &str = "/metrics";
/// Note for pages that do not change.
const COPY: &str = "the page of a node_exporter is a copy that does not change in every second: seconds without a new page \
    have no readings; name the exporter itself, not a cache in front of it";

/// Seconds between the pages of a server, or of Telegraf, above which a note reports them.
const INTERVAL_MAX_S: f64 = 1.5;

/// A machine.
#[derive(Debug, Default)]
pub(crate) struct NodeExporterCollector {
    /// Its name.
    machine: String,
    /// Where the target listens, if that is known.
    target: Option<IpAddr>,
    pages: MachinePages,
    /// Its page is one of Telegraf.
    telegraf: Option<TelegrafPages>,
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

    /// The same by Telegraf's page.
    pub(crate) fn of_telegraf(place: &ComponentAddress, target: Option<IpAddr>) -> Self {
        Self {
            telegraf: Some(TelegrafPages::default()),
            ..Self::new(place, target)
        }
    }

    fn note_missing(&mut self, missing: &str, sink: &mut Sink<'_>) {
        if !self.was_read && !missing.is_empty() {
            let machine = &self.machine;
            let text = if self.telegraf.is_some() {
                format!(
                    "Telegraf of {machine} shows nothing of what node_exporter calls {missing}: rules that need it find nothing on \
                     that machine; its inputs for them are cpu, system, mem, net, nstat and processes"
                )
            } else {
                format!(
                    "the node_exporter of {machine} shows nothing of its collectors {missing}: rules that need them find nothing on \
                     that machine; start it with them (`--collector.NAME`)"
                )
            };
            sink.answered().note("missing", &text);
        }
        self.was_read = true;
    }

    /// A server, or Telegraf, has a new page every so many seconds: the others have no readings.
    fn note_interval(&self, after_s: Option<f64>, sink: &mut Sink<'_>) {
        if let Some(after_s) = after_s.filter(|&after_s| after_s > INTERVAL_MAX_S) {
            let (who, remedy) = if self.telegraf.is_some() {
                ("Telegraf", "set `interval` and `flush_interval` to 1s")
            } else {
                (
                    "the Prometheus server",
                    "name the exporter itself, or set `scrape_interval: 1s`",
                )
            };
            let text = format!(
                "{who} has a page of {} every {after_s:.0} s: the seconds between have no readings, and those of a page are means \
                 since the one before it; for every second, {remedy}",
                self.machine
            );
            sink.answered().note("interval", &text);
        }
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
        let instance = instance_query::instance_of(&path);
        // Their pages are made at a pace of their own.
        let is_slow = instance.is_some() || self.telegraf.is_some();
        let (mut text, machine) = match &instance {
            Some(instance) => (page_of(&text)?, address_of(instance)),
            None => (text, link.peer()),
        };
        if let Some(telegraf) = &mut self.telegraf {
            text = telegraf.translate(&text, clock::now_ns())?;
        }
        let is_local = runs_target(self.target, machine);
        sink.answered();
        let Some(page) = self.pages.read(&text, clock::now_ns(), is_local)? else {
            if !is_slow {
                sink.answered().note("copy", COPY);
            }
            return Ok(());
        };
        if is_slow {
            self.note_interval(page.after_s, sink);
        }
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
            _ if self.telegraf.is_some() => "name the URL of its page, such as `watch: { telegraf: http://db1:9273/metrics }`; \
                https:// is not supported yet"
                .to_owned(),
            _ => "name the URL of its page, such as `watch: { node-exporter: http://db1:9100/metrics }`, or that of a Prometheus \
                server with the label of its series, `{ at: 'http://prometheus:9090', instance: 'db1:9100' }`; https:// is \
                not supported yet"
                .to_owned(),
        }
    }
}
