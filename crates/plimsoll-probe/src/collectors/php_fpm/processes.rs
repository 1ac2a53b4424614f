//! A pool of PHP-FPM without a status page, by its processes and the connections to its listen address.

use plimsoll_model::component::ComponentAddress;
use plimsoll_model::metric;

use crate::collectors::link::{ComponentLink, ScrapeError};
use crate::collectors::listener::ListenerProbe;
use crate::collectors::metrics::{FileSetting, Sink};
use crate::collectors::{Collected, Scraper};
use crate::kernel_files;
use crate::parse::syscall::{Wait, place, syscall};

/// A pool.
#[derive(Debug)]
pub(crate) struct PhpFpmProcessCollector {
    /// Prefix of the titles of its processes.
    name: String,
    /// The master process of PHP-FPM, whose children are those of all pools.
    pid: u32,
    listener: ListenerProbe,
    /// Settings of its configuration.
    settings: Vec<FileSetting>,
}

impl PhpFpmProcessCollector {
    pub(crate) fn new(
        name: String,
        pid: u32,
        place: ComponentAddress,
        settings: Vec<FileSetting>,
    ) -> Self {
        Self {
            name,
            pid,
            listener: ListenerProbe::new(place),
            settings,
        }
    }

    /// Processes that wait for a connection, and all.
    fn count(&self) -> Result<(u32, u32), ScrapeError> {
        let pid = self.pid;
        let children = kernel_files::text(&format!("/proc/{pid}/task/{pid}/children"))?;
        let (mut idle, mut all) = (0, 0);
        for child in children.split_whitespace() {
            let title = kernel_files::text(&format!("/proc/{child}/cmdline"));
            // A process that has ended meanwhile has no title.
            let title = title.unwrap_or_default();
            let pool = title.trim_end_matches('\0').strip_prefix("php-fpm: pool ");
            if pool.map(str::trim_end) == Some(&self.name) {
                all += 1;
                idle += u32::from(waits_for_a_connection(child)?);
            }
        }
        Ok((idle, all))
    }
}

fn waits_for_a_connection(pid: &str) -> Result<bool, ScrapeError> {
    let wait = match kernel_files::text(&format!("/proc/{pid}/syscall")) {
        Ok(text) => Some(syscall(&text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        // Without access to the system call, the kernel function that it waits in may be readable.
        Err(_) => place(&kernel_files::text(&format!("/proc/{pid}/wchan"))?),
    };
    Ok(wait == Some(Wait::Accept))
}

impl Scraper for PhpFpmProcessCollector {
    fn collect(&mut self, _link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let waiting = self.listener.connections()?.waiting;
        let (idle, all) = self.count()?;
        let metrics = sink.answered();
        for (state, count) in [("active", all - idle), ("idle", idle), ("all", all)] {
            let labels = [("state", state)];
            metrics.level(metric::PHP_FPM_PROCESSES, &labels, Some(f64::from(count)));
        }
        metrics.level(metric::PHP_FPM_QUEUE, &[], Some(f64::from(waiting)));
        metrics.level(metric::PHP_FPM_SILENT, &[], Some(0.0));
        metrics.known(&self.settings);
        Ok(())
    }

    fn remedy(&self, _error: &ScrapeError) -> String {
        "run as root, so that its processes can be read; or add to its pool `pm.status_path = /status` and \
         `pm.status_listen = 127.0.0.1:9001`, and reload it"
            .to_owned()
    }
}
