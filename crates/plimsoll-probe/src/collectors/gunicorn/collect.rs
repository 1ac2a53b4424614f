//! gunicorn, by its processes and by the connections to its listen address: it reports no metrics.

use plimsoll_model::component::ComponentAddress;
use plimsoll_model::metric;

use crate::collectors::link::{ComponentLink, ScrapeError};
use crate::collectors::listener::{Connections, ListenerProbe};
use crate::collectors::metrics::{FileSetting, MetricsRecorder, Sink};
use crate::collectors::{Collected, Scraper};
use crate::kernel_files;

/// gunicorn.
#[derive(Debug)]
pub(crate) struct GunicornCollector {
    listener: ListenerProbe,
    /// Its master process, whose children are the workers.
    pid: Option<u32>,
    /// Settings of its command line and its file.
    settings: Vec<FileSetting>,
}

impl GunicornCollector {
    pub(crate) fn new(
        place: ComponentAddress,
        pid: Option<u32>,
        settings: Vec<FileSetting>,
    ) -> Self {
        Self {
            listener: ListenerProbe::new(place),
            pid,
            settings,
        }
    }

    fn setting(&self, name: &str) -> Option<f64> {
        let setting = self.settings.iter().find(|setting| setting.name == name)?;
        Some(setting.value)
    }

    /// Its workers: the children of its master process, or the configured number.
    fn workers(&self) -> Option<f64> {
        let counted = self.pid.and_then(|pid| {
            let children = kernel_files::text(&format!("/proc/{pid}/task/{pid}/children")).ok()?;
            let count = children.split_whitespace().count();
            (count > 0).then_some(count as f64)
        });
        counted.or(self.setting("workers"))
    }

    fn record(
        &self,
        connections: Connections,
        workers: Option<f64>,
        metrics: &mut MetricsRecorder<'_>,
    ) {
        let waiting = f64::from(connections.waiting);
        metrics.level(metric::GUNICORN_WAITING, &[], Some(waiting));
        let taken = connections.taken.map(f64::from);
        metrics.level(metric::GUNICORN_TAKEN, &[], taken);
        let each = self.setting("threads").unwrap_or(1.0);
        metrics.level(
            metric::GUNICORN_PLACES,
            &[],
            workers.map(|workers| workers * each),
        );
        metrics.setting("workers", "", "", workers);
        for setting in self
            .settings
            .iter()
            .filter(|setting| setting.name != "workers")
        {
            metrics.known(std::slice::from_ref(setting));
        }
    }
}

impl Scraper for GunicornCollector {
    fn collect(&mut self, _link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let connections = self.listener.connections()?;
        let workers = self.workers();
        self.record(connections, workers, sink.answered());
        Ok(())
    }

    fn remedy(&self, _error: &ScrapeError) -> String {
        "name the address that gunicorn listens on, its option --bind: `watch: { gunicorn: 127.0.0.1:8000 }`; it \
         can be watched only on the machine where Plimsoll runs, and outside containers"
            .to_owned()
    }
}
