//! Scrapes the page of cAdvisor.

use plimsoll_model::component::ComponentAddress;

use super::record::ContainerPages;
use crate::clock;
use crate::collectors::link::{ComponentLink, ScrapeError, get_once};
use crate::collectors::metrics::Sink;
use crate::collectors::{Collected, Scraper};

/// Default path of the page.
const PATH: &str = "/metrics";
/// Seconds between readings of a container above which a note reports them.
const INTERVAL_MAX_S: f64 = 1.5;

/// The containers of a machine.
#[derive(Debug, Default)]
pub(crate) struct CadvisorCollector {
    /// Its name.
    machine: String,
    pages: ContainerPages,
}

impl CadvisorCollector {
    pub(crate) fn new(place: &ComponentAddress) -> Self {
        let machine = match place {
            ComponentAddress::Machine { name, .. } => name.clone(),
            _ => String::new(),
        };
        Self {
            machine,
            ..Self::default()
        }
    }
}

impl Scraper for CadvisorCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let path = link.place().path().unwrap_or(PATH).to_owned();
        let text = get_once(link, &path)?;
        let metrics = sink.answered();
        let page = self.pages.read(&text, clock::now_ns())?;
        if let Some(after_s) = page.after_s.filter(|&after_s| after_s > INTERVAL_MAX_S) {
            let text = format!(
                "cAdvisor reads a container of {} every {after_s:.0} s: the seconds between have no readings of it, and those that \
                 have are means since the one before; `--housekeeping_interval=1s --allow_dynamic_housekeeping=false` reads each \
                 second",
                self.machine
            );
            metrics.note("interval", &text);
        }
        metrics.of_machine(&self.machine, page.readings);
        Ok(())
    }

    fn remedy(&self, error: &ScrapeError) -> String {
        match error {
            ScrapeError::Denied(_) => "allow access from this machine without a login: Plimsoll sends no credentials; that of a \
                kubelet is reached by `kubectl proxy`"
                .to_owned(),
            _ => "name the URL of its page, such as `watch: { cadvisor: http://node1:8080/metrics }`; https:// is not supported yet"
                .to_owned(),
        }
    }
}
