//! What the probe can do with a technology: scrape it, find it, read its time-outs, change its settings. Each folder of a
//! technology declares it, and one list gives it by kind.

use std::path::Path;

use plimsoll_model::component::{Component, ComponentKind};

use super::configuration::ComponentConfig;
use super::discovery::ExaminedProcess;
use super::timeouts::ServerTimeouts;
use super::tunables::TunableAccess;
use super::{
    ComponentMetadata, Scraper, apache, cadvisor, go, gunicorn, haproxy, jvm, log, memcached,
    mongo, mysql, nginx, node, node_exporter, otlp, pgbouncer, php_fpm, postgres, prometheus, puma,
    python, redis, statsd, uwsgi, varnish,
};
use crate::files::Files;

/// Makes the scraper of a component, from what is known of it, and from the user name of this process.
type NewScraper = fn(&Component, ComponentMetadata, &str) -> Box<dyn Scraper>;
/// Adds the components of a process of the technology to those that were found.
type Discover = fn(&mut ExaminedProcess<'_>);
/// Reads the time-outs of a server from the configuration that its process names by these words.
type ReadTimeouts = fn(&mut Files, u32, &[&str]) -> Vec<ServerTimeouts>;

/// Reads the settings of a program, and of each of its pools, from the configuration that its process names by these words.
type ReadSettings = fn(&mut Files, u32, &[&str]) -> Vec<ComponentConfig>;

/// What can be done with a technology.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Integration {
    scraper: NewScraper,
    discover: Option<Discover>,
    timeouts: Option<ReadTimeouts>,
    settings: Option<ReadSettings>,
    tunables: Option<TunableAccess>,
    socket_port: Option<fn(&Path) -> Option<u16>>,
}

impl Integration {
    /// A technology that is scraped.
    pub(super) const fn new(scraper: NewScraper) -> Self {
        Self {
            scraper,
            discover: None,
            timeouts: None,
            settings: None,
            tunables: None,
            socket_port: None,
        }
    }

    /// Its processes are examined.
    pub(super) const fn discovered(self, discover: Discover) -> Self {
        Self {
            discover: Some(discover),
            ..self
        }
    }

    /// Its configuration has time-outs.
    pub(super) const fn with_timeouts(self, timeouts: ReadTimeouts) -> Self {
        Self {
            timeouts: Some(timeouts),
            ..self
        }
    }

    /// Its configuration has settings that bind.
    pub(super) const fn with_settings(self, settings: ReadSettings) -> Self {
        Self {
            settings: Some(settings),
            ..self
        }
    }

    /// Its settings can be changed.
    pub(super) const fn tunable(self, access: TunableAccess) -> Self {
        Self {
            tunables: Some(access),
            ..self
        }
    }

    /// The name of its socket contains the port at which it listens as well.
    pub(super) const fn with_port_in_socket(self, port_of: fn(&Path) -> Option<u16>) -> Self {
        Self {
            socket_port: Some(port_of),
            ..self
        }
    }

    /// The scraper of a component.
    pub(super) fn scraper(
        &self,
        component: &Component,
        known: ComponentMetadata,
        own_name: &str,
    ) -> Box<dyn Scraper> {
        (self.scraper)(component, known, own_name)
    }

    /// Examines a process of this technology.
    pub(crate) fn discover(&self, process: &mut ExaminedProcess<'_>) {
        if let Some(discover) = self.discover {
            discover(process);
        }
    }

    /// How its time-outs are read.
    pub(crate) fn timeouts(&self) -> Option<ReadTimeouts> {
        self.timeouts
    }

    /// How its settings are read.
    pub(crate) fn settings(&self) -> Option<ReadSettings> {
        self.settings
    }

    /// How its settings are changed.
    pub(super) fn tunables(&self) -> Option<&TunableAccess> {
        self.tunables.as_ref()
    }

    /// The port in the name of its socket.
    pub(crate) fn port_of(&self, socket: &Path) -> Option<u16> {
        self.socket_port.and_then(|port_of| port_of(socket))
    }
}

/// What can be done with a kind of component.
pub(crate) const fn integration(kind: ComponentKind) -> &'static Integration {
    match kind {
        ComponentKind::Nginx => &nginx::INTEGRATION,
        ComponentKind::Haproxy => &haproxy::INTEGRATION,
        ComponentKind::Redis => &redis::INTEGRATION,
        ComponentKind::Memcached => &memcached::INTEGRATION,
        ComponentKind::Postgres => &postgres::INTEGRATION,
        ComponentKind::Mysql => &mysql::INTEGRATION,
        ComponentKind::PhpFpm => &php_fpm::INTEGRATION,
        ComponentKind::Puma => &puma::INTEGRATION,
        ComponentKind::Node => &node::INTEGRATION,
        ComponentKind::NginxLog => &log::OF_NGINX,
        ComponentKind::HaproxyLog => &log::OF_HAPROXY,
        ComponentKind::NginxAccessLog => &nginx::ACCESS_LOG,
        ComponentKind::PhpFpmSlowlog => &log::OF_PHP_FPM,
        ComponentKind::Apache => &apache::INTEGRATION,
        ComponentKind::Pgbouncer => &pgbouncer::INTEGRATION,
        ComponentKind::Gunicorn => &gunicorn::INTEGRATION,
        ComponentKind::Uwsgi => &uwsgi::INTEGRATION,
        ComponentKind::Jvm => &jvm::INTEGRATION,
        ComponentKind::Go => &go::INTEGRATION,
        ComponentKind::Varnish => &varnish::INTEGRATION,
        ComponentKind::Python => &python::INTEGRATION,
        ComponentKind::Mongo => &mongo::INTEGRATION,
        ComponentKind::Prometheus => &prometheus::INTEGRATION,
        ComponentKind::NodeExporter => &node_exporter::INTEGRATION,
        ComponentKind::Cadvisor => &cadvisor::INTEGRATION,
        ComponentKind::Otlp => &otlp::INTEGRATION,
        ComponentKind::Statsd => &statsd::INTEGRATION,
        ComponentKind::Telegraf => &node_exporter::TELEGRAF,
    }
}

#[cfg(test)]
mod tests;
