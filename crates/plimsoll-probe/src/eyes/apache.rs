//! Apache's HTTP server, by the page of `mod_status`.

use plimsoll_model::metric;

use super::Source;
use super::figures::{Figures, Setting};
use super::link::{Blind, Link, get_once, shortly};
use crate::parse::apache::status;

/// Where the page is when only its server is said.
const PATH: &str = "/server-status";

/// Apache's HTTP server.
#[derive(Debug)]
pub(crate) struct Apache {
    /// What its configuration says, where that was found.
    pub(crate) settings: Vec<Setting>,
}

impl Apache {
    fn tell_settings(&self, figures: &mut Figures<'_>) {
        for setting in &self.settings {
            figures.known(setting);
        }
    }
}

impl Source for Apache {
    fn ask(&mut self, link: &mut Link) -> Result<String, Blind> {
        let path = match link.place().path() {
            None | Some("" | "/") => PATH,
            Some(path) => path,
        };
        let path = if path.contains('?') {
            path.to_owned()
        } else {
            format!("{path}?auto")
        };
        // A connection that is kept would take a worker from others.
        get_once(link, &path)
    }

    fn tell(&mut self, text: &str, figures: &mut Figures<'_>) -> Result<(), Blind> {
        let status = status(text).ok_or_else(|| Blind::Strange(shortly(text)))?;
        figures.identity(status.get("RestartTime").copied().unwrap_or_default());
        let level = |name: &str| status.get(name)?.parse::<f64>().ok();
        // One of them was busy with this question.
        let busy = level("BusyWorkers").map(|busy| (busy - 1.0).max(0.0));
        figures.level(metric::APACHE_WORKERS, &[("state", "busy")], busy);
        figures.level(
            metric::APACHE_WORKERS,
            &[("state", "idle")],
            level("IdleWorkers"),
        );
        let requests = status
            .get("Total Accesses")
            .and_then(|total| total.parse().ok());
        figures.counter(metric::APACHE_REQUESTS, &[], requests, 1.0);
        figures.level(metric::APACHE_SILENT, &[], Some(0.0));
        self.tell_settings(figures);
        Ok(())
    }

    /// Its page is made by a worker like everything else: none is left to answer just when all are used.
    fn tell_silent(&mut self, figures: &mut Figures<'_>) {
        figures.level(metric::APACHE_SILENT, &[], Some(1.0));
        self.tell_settings(figures);
    }

    fn remedy(&self, blind: &Blind) -> String {
        match blind {
            Blind::Denied(_) => "let this machine in: `Require local` or `Require ip ADDRESS` in the `<Location>` of \
                `SetHandler server-status`, then `apachectl graceful`"
                .to_owned(),
            _ => "let it tell of itself: `a2enmod status && systemctl reload apache2`, and watch http://127.0.0.1/server-status"
                .to_owned(),
        }
    }
}
