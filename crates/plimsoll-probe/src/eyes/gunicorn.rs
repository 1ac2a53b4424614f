//! gunicorn, by its processes and by the connections to where it listens: it tells nothing of itself.

use plimsoll_model::metric;
use plimsoll_model::part::PartPlace;

use super::Source;
use super::figures::{Figures, Setting};
use super::link::{Blind, Link, shortly};
use super::listener::Listener;
use crate::kernel_files;

/// gunicorn.
#[derive(Debug)]
pub(crate) struct Gunicorn {
    listener: Listener,
    /// Its first process, whose children are the workers.
    pid: Option<u32>,
    /// What its command line and its file say.
    settings: Vec<Setting>,
}

impl Gunicorn {
    pub(crate) fn new(place: PartPlace, pid: Option<u32>, settings: Vec<Setting>) -> Self {
        Self {
            listener: Listener::new(place),
            pid,
            settings,
        }
    }

    fn setting(&self, name: &str) -> Option<f64> {
        let setting = self.settings.iter().find(|setting| setting.name == name)?;
        Some(setting.value)
    }

    /// Its workers: the children of its first process, or as many as it was told to have.
    fn workers(&self) -> Option<f64> {
        let counted = self.pid.and_then(|pid| {
            let children = kernel_files::text(&format!("/proc/{pid}/task/{pid}/children")).ok()?;
            let count = children.split_whitespace().count();
            (count > 0).then_some(count as f64)
        });
        counted.or(self.setting("workers"))
    }
}

impl Source for Gunicorn {
    fn ask(&mut self, _link: &mut Link) -> Result<String, Blind> {
        let seen = self.listener.connections()?;
        let taken = seen.taken.map_or(String::new(), |taken| taken.to_string());
        let workers = self
            .workers()
            .map_or(String::new(), |workers| workers.to_string());
        Ok(format!("{} {workers};{taken}", seen.waiting))
    }

    fn tell(&mut self, text: &str, figures: &mut Figures<'_>) -> Result<(), Blind> {
        let parts = text
            .split_once(' ')
            .and_then(|(waiting, rest)| Some((waiting, rest.split_once(';')?)));
        let Some((waiting, (workers, taken))) = parts else {
            return Err(Blind::Strange(shortly(text)));
        };
        figures.level(metric::GUNICORN_WAITING, &[], waiting.parse().ok());
        figures.level(metric::GUNICORN_TAKEN, &[], taken.parse().ok());
        let each = self.setting("threads").unwrap_or(1.0);
        let workers: Option<f64> = workers.parse().ok();
        figures.level(
            metric::GUNICORN_PLACES,
            &[],
            workers.map(|workers| workers * each),
        );
        figures.setting("workers", "", "", workers);
        for setting in self
            .settings
            .iter()
            .filter(|setting| setting.name != "workers")
        {
            figures.known(setting);
        }
        Ok(())
    }

    fn remedy(&self, _blind: &Blind) -> String {
        "say where gunicorn listens, as its option --bind tells: `watch: { gunicorn: 127.0.0.1:8000 }`; it is seen only where \
         Plimsoll runs on the same machine, and outside containers"
            .to_owned()
    }
}
