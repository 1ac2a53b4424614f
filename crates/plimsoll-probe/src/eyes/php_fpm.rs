//! PHP-FPM, by its page of figures over FastCGI.

use plimsoll_model::metric;

use super::Source;
use super::figures::{Figures, Setting};
use super::link::{Blind, Link, shortly};
use crate::parse::php_fpm::{answer, request, status};

/// Where the page is when nothing else is said.
const PATH: &str = "/status";

/// PHP-FPM.
#[derive(Debug)]
pub(crate) struct PhpFpm {
    /// What its configuration says, where that was found.
    pub(crate) settings: Vec<Setting>,
}

impl Source for PhpFpm {
    fn ask(&mut self, link: &mut Link) -> Result<String, Blind> {
        // It closes each connection behind its answer.
        link.close();
        link.open()?;
        let path = link.place().path().unwrap_or(PATH).to_owned();
        link.send(&request(&path))?;
        let mut bytes = Vec::new();
        let said = loop {
            if let Some(said) = answer(&bytes) {
                break said;
            }
            if link.fill(&mut bytes)? == 0 {
                return Err(if bytes.is_empty() {
                    Blind::Closed
                } else {
                    Blind::Strange("no FastCGI".to_owned())
                });
            }
        };
        link.close();
        let (head, body) = said.split_once("\r\n\r\n").unwrap_or((said.as_str(), ""));
        if head.to_ascii_lowercase().contains("status: 4") {
            return Err(Blind::Denied(shortly(body)));
        }
        Ok(body.to_owned())
    }

    fn tell(&mut self, text: &str, figures: &mut Figures<'_>) -> Result<(), Blind> {
        let status = status(text).ok_or_else(|| Blind::Strange(shortly(text)))?;
        figures.identity(status.get("start time").copied().unwrap_or_default());
        let level = |name: &str| status.get(name)?.parse::<f64>().ok();
        let total = |name: &str| status.get(name)?.parse::<u64>().ok();
        for (state, field) in [
            ("active", "active processes"),
            ("idle", "idle processes"),
            ("all", "total processes"),
        ] {
            figures.level(metric::PHP_FPM_PROCESSES, &[("state", state)], level(field));
        }
        figures.level(metric::PHP_FPM_QUEUE, &[], level("listen queue"));
        for (name, field) in [
            (metric::PHP_FPM_REQUESTS, "accepted conn"),
            (metric::PHP_FPM_AT_LIMIT, "max children reached"),
            (metric::PHP_FPM_SLOW, "slow requests"),
        ] {
            figures.counter(name, &[], total(field), 1.0);
        }
        figures.level(metric::PHP_FPM_SILENT, &[], Some(0.0));
        self.tell_settings(figures);
        Ok(())
    }

    /// Where its page goes through the same processes as everything else, none is left to answer just when all are used.
    fn tell_silent(&mut self, figures: &mut Figures<'_>) {
        figures.level(metric::PHP_FPM_SILENT, &[], Some(1.0));
        self.tell_settings(figures);
    }

    fn remedy(&self, blind: &Blind) -> String {
        match blind {
            Blind::Denied(_) | Blind::Strange(_) => "add to its pool `pm.status_path = /status`, and `pm.status_listen = \
                127.0.0.1:9001` so that it answers when all processes are used; reload it, and watch it there"
                .to_owned(),
            _ => "run as a user who may open its socket (`listen.group`), or say where it listens, as `listen` in its pool \
                tells: `watch: { php-fpm: 'unix:/run/php/php-fpm.sock:/status' }`"
                .to_owned(),
        }
    }
}

impl PhpFpm {
    fn tell_settings(&self, figures: &mut Figures<'_>) {
        for setting in &self.settings {
            figures.known(setting);
        }
    }
}
