//! A receiver of StatsD: the meters that an application sends anyway become readings once a second.

use plimsoll_model::component::ComponentAddress;

use super::receiver::StatsdReceiver;
use crate::collectors::link::{ComponentLink, ScrapeError};
use crate::collectors::metrics::Sink;
use crate::collectors::receiving::{Receiving, SILENT_MAX};
use crate::collectors::{Collected, Scraper};

/// The receiver.
#[derive(Debug)]
pub(crate) struct StatsdCollector(Receiving<StatsdReceiver>);

impl StatsdCollector {
    pub(crate) fn new(place: ComponentAddress) -> Self {
        Self(Receiving::at(place, StatsdReceiver::open))
    }
}

impl Scraper for StatsdCollector {
    fn collect(&mut self, _link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let (receiver, seconds) = self.0.sample()?;
        let metrics = sink.answered();
        let has_received = receiver.record(seconds, metrics);
        if self.0.is_silent(has_received) {
            let text = format!(
                "no meters arrived at {place} in {SILENT_MAX} s; give the service's StatsD client this address, over UDP \
                 (gunicorn: --statsd-host {place}; clients of Datadog: DD_DOGSTATSD_URL=udp://{place})",
                place = self.0.place()
            );
            metrics.note("silent", &text);
        }
        Ok(())
    }

    fn remedy(&self, _error: &ScrapeError) -> String {
        "name an address of this machine and a port that no other StatsD server has, such as `watch: { statsd: \
         127.0.0.1:8125 }`"
            .to_owned()
    }
}
