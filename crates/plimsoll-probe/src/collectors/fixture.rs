//! What the tests of collectors share: collectors that are waited for, and addresses of real programs.

use std::net::SocketAddr;
use std::time::Duration;

use plimsoll_model::component::{Component, ComponentAddress, ComponentKind, GaugeLimit, Login};
use plimsoll_model::metric::{self, series};
use plimsoll_model::reading::{Readings, label};

use super::{Collectors, ComponentMetadata, WatchedGauges};
use crate::files::Files;

/// Time-out for the other side on a loaded machine.
pub(super) const LONG: Duration = Duration::from_mins(1);
/// Samples within which a server must report what it does.
pub(super) const SCRAPES_MAX: u32 = 3000;

/// Collectors that wait for an expected value.
pub(super) struct CollectorFixture {
    pub(super) collectors: Collectors,
    pub(super) files: Files,
}

impl CollectorFixture {
    pub(super) fn over(components: Vec<Component>, patience: Duration) -> Self {
        let components = components
            .into_iter()
            .map(|component| (component, ComponentMetadata::default()));
        Self::knowing(components.collect(), patience)
    }

    /// The same with settings from their configuration.
    pub(super) fn knowing(
        components: Vec<(Component, ComponentMetadata)>,
        patience: Duration,
    ) -> Self {
        Self::comparing(components, Vec::new(), patience)
    }

    /// The same with limits of gauges of the application.
    pub(super) fn comparing(
        components: Vec<(Component, ComponentMetadata)>,
        limits: Vec<GaugeLimit>,
        patience: Duration,
    ) -> Self {
        let (mut files, gauges) = (Files::new("/".into()), WatchedGauges::new(limits));
        let mut collectors = Collectors::open_with(components, gauges, &mut files, patience);
        collectors.wait = LONG;
        Self { collectors, files }
    }

    /// One component, with a login unless the user is empty.
    pub(super) fn of(
        kind: ComponentKind,
        place: ComponentAddress,
        user: &str,
        password: &str,
    ) -> Self {
        let login = (!user.is_empty()).then(|| login(user, password));
        Self::over(vec![Component { kind, place, login }], LONG)
    }

    /// One second's readings.
    pub(super) fn scrape(&mut self) -> Readings {
        let mut readings = Readings::default();
        self.collectors.call();
        self.collectors.gather(&mut readings, &mut self.files);
        readings
    }

    /// Scrapes until the readings are so.
    #[track_caller]
    pub(super) fn scrape_until(&mut self, is_met: impl Fn(&Readings) -> bool) {
        let was_met = (0..SCRAPES_MAX).any(|_| is_met(&self.scrape()));
        assert!(was_met, "{}", self.notes());
    }

    pub(super) fn notes(&self) -> String {
        self.files.notes().join("\n")
    }
}

pub(super) fn login(user: &str, password: &str) -> Login {
    Login {
        user: user.to_owned(),
        password: password.to_owned(),
        database: String::new(),
    }
}

pub(super) fn tcp(address: SocketAddr) -> ComponentAddress {
    ComponentAddress::Tcp {
        host: address.ip().to_string(),
        port: address.port(),
    }
}

/// A series of a setting.
pub(super) fn setting(at: &str, name: &str, file: &str) -> String {
    let labels = [("at", at), ("setting", name), ("file", file)];
    series(metric::SETTING, &labels)
}

/// The value of the first series of a metric for a statement, and its labels, when there is one.
pub(super) fn wait_for_statement(
    watched: &mut CollectorFixture,
    work: impl Fn(),
    metric: &str,
    statement: &str,
) -> (String, f64) {
    for _ in 0..SCRAPES_MAX {
        let values = watched.scrape().values;
        let mut found = values.into_iter().filter(|(series, _)| {
            series.starts_with(metric)
                && label(series, "statement")
                    .is_some_and(|form| form.eq_ignore_ascii_case(statement))
        });
        if let Some(found) = found.next() {
            return found;
        }
        work();
    }
    panic!(
        "{metric} of `{statement}` was not recorded; {}",
        watched.notes()
    );
}
