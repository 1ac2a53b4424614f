//! What is known of a technology before one is scraped: its words in a plan, the forms of its address, its processes, its
//! texts. Plan, schema, reference, discovery and tests take it from the rows of one table.

mod table;

pub use table::ComponentKind;
use table::TECHNOLOGIES;

/// A form in which a plan may write the address of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressForm {
    /// The path of a file that it writes.
    File,
    /// A Unix socket: `unix:PATH`, or its path.
    Socket,
    /// A page over HTTP: `http://host:port/path`.
    Page,
    /// `host:port`.
    Host {
        /// Port, where none is written.
        port: Option<u16>,
        /// Beginnings of URLs that stand for it, with a login.
        schemes: &'static [&'static str],
    },
    /// A listener that speaks FastCGI, with the path of its status page or without: `unix:PATH:/page`,
    /// `host:port/page`.
    FastCgi {
        /// Port, where none is written.
        port: u16,
    },
    /// An address at which messages of the component are received: `host:port`, or that as a URL.
    Listener {
        /// Port, where none is written.
        port: u16,
        /// Beginning of the URL, such as `http://`.
        scheme: &'static str,
    },
    /// A command that prints its metrics.
    Command {
        /// The command for which a process id stands; the id is its last argument.
        of_pid: Option<&'static str>,
    },
    /// A map: the URL of a metrics page, and the series to scrape.
    MetricsPage,
    /// The URL of a metrics page that shows another machine, or a map of it and the machine's name.
    MachinePage,
}

/// The login that a plan may give for a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// None.
    None,
    /// A password, and a user with it where there are several.
    Password,
    /// A user, with or without a password.
    User,
    /// The same, and a database.
    UserAndDatabase,
}

/// The name of a process, as the kernel has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProcessName {
    /// It is this name.
    Is(&'static str),
    /// It begins so.
    Begins(&'static str),
    /// It contains this.
    Contains(&'static str),
}

impl ProcessName {
    fn fits(self, name: &str) -> bool {
        match self {
            Self::Is(whole) => name == whole,
            Self::Begins(begin) => name.starts_with(begin),
            Self::Contains(part) => name.contains(part),
        }
    }
}

/// What the collector of a technology is tried on. A test of the probe fails where it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriedOn {
    /// A real program.
    Program,
    /// Responses that were recorded or made up, for this reason.
    Recordings(&'static str),
}

/// The names that spans have for a store (`db.system.name`, before `db.system`) whose own rules say more than the time of
/// calls to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpanNames {
    /// It is no store, or has no such rules.
    None,
    /// Of a database.
    Database(&'static [&'static str]),
    /// Of a cache.
    Cache(&'static [&'static str]),
}

impl SpanNames {
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::None => &[],
            Self::Database(names) | Self::Cache(names) => names,
        }
    }
}

/// A row of the table.
#[derive(Debug)]
struct Technology {
    /// Its name in messages.
    name: &'static str,
    /// Its keys in `watch:` of a plan.
    words: &'static [&'static str],
    /// The forms of its address.
    addresses: &'static [AddressForm],
    /// The login that it takes.
    credentials: Credentials,
    /// What a message calls valid as its address.
    valid: &'static str,
    /// Its part of the description of `watch:`, with the punctuation that follows.
    reference: &'static str,
    /// The processes by which it is discovered.
    processes: &'static [ProcessName],
    /// What the names of its metrics begin with; none where they are of several technologies, as those of logs are.
    series: &'static [&'static str],
    /// Its names in spans.
    spans: SpanNames,
    /// Settings that can be changed while it runs.
    tunables: &'static [&'static str],
    /// What its collector is tried on.
    tried_on: TriedOn,
}

impl ComponentKind {
    const fn technology(self) -> &'static Technology {
        &TECHNOLOGIES[self as usize]
    }

    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        self.technology().name
    }

    /// Its keys in `watch:` of a plan; the first is the usual one.
    pub const fn words(self) -> &'static [&'static str] {
        self.technology().words
    }

    /// The forms in which a plan may write its address.
    pub const fn address_forms(self) -> &'static [AddressForm] {
        self.technology().addresses
    }

    /// The login that a plan may give for it.
    pub const fn credentials(self) -> Credentials {
        self.technology().credentials
    }

    /// Valid addresses, as an error message describes them.
    pub const fn valid_addresses(self) -> &'static str {
        self.technology().valid
    }

    /// Its part of the description of `watch:` in the reference, with the punctuation that follows.
    pub const fn reference(self) -> &'static str {
        self.technology().reference
    }

    /// Settings of it that can be changed while it runs.
    pub const fn tunables(self) -> &'static [&'static str] {
        self.technology().tunables
    }

    /// What its collector is tried on.
    pub const fn tried_on(self) -> TriedOn {
        self.technology().tried_on
    }

    /// The technology that a process of this name may be.
    pub fn of_process(name: &str) -> Option<Self> {
        let mut kinds = Self::ALL.iter().copied();
        kinds.find(|kind| {
            let mut names = kind.technology().processes.iter();
            names.any(|known| known.fits(name))
        })
    }

    /// Whether it is discovered by names of processes.
    pub const fn has_process_names(self) -> bool {
        !self.technology().processes.is_empty()
    }

    /// The technology that a key of `watch:` means.
    pub fn of_word(word: &str) -> Option<Self> {
        let mut kinds = Self::ALL.iter().copied();
        kinds.find(|kind| kind.words().contains(&word))
    }

    /// The technology whose metric this is; `None` for metrics of the machine, and for those that several share.
    pub fn of_metric(metric: &str) -> Option<Self> {
        let begin_len = |kind: &Self| {
            let begins = kind.technology().series.iter();
            let own = begins.filter(|begin| metric.starts_with(**begin));
            own.map(|begin| begin.len()).max()
        };
        let kinds = Self::ALL.iter().copied();
        let own = kinds.filter_map(|kind| Some((begin_len(&kind)?, kind)));
        own.max().map(|(_, kind)| kind)
    }

    /// The store that spans call so, if its own rules say more than the time of calls to it.
    pub fn of_span_system(system: &str) -> Option<Self> {
        let mut kinds = Self::ALL.iter().copied();
        kinds.find(|kind| kind.technology().spans.names().contains(&system))
    }

    /// Whether spans of it are of a cache.
    pub const fn is_cache(self) -> bool {
        matches!(self.technology().spans, SpanNames::Cache(_))
    }

    /// Whether it is a log: it reports nothing but the lines written to it.
    pub const fn is_log(self) -> bool {
        matches!(self.address_forms(), [AddressForm::File])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_complete() {
        for kind in ComponentKind::ALL.iter().copied() {
            let word = kind.words().first().unwrap();
            assert!(!kind.name().is_empty(), "{word}");
            assert!(!kind.address_forms().is_empty(), "{word}");
            let valid = kind.valid_addresses();
            assert!(
                valid.contains("such as") || valid.contains("as `"),
                "{word}"
            );
            assert!(kind.reference().contains(&format!("`{word}: ")), "{word}");
            for word in kind.words() {
                assert_eq!(ComponentKind::of_word(word), Some(kind), "{word}");
                assert!(kind.reference().contains(word) || *word == "postgresql");
            }
            assert!(kind.tried_on() != TriedOn::Recordings(""), "{word}");
        }
        assert_eq!(ComponentKind::ALL.len(), TECHNOLOGIES.len());
    }

    #[test]
    fn names_of_processes() {
        use ComponentKind::{Mysql, Nginx, PhpFpm, Prometheus, Redis, Uwsgi};
        for (name, kind) in [
            ("nginx", Some(Nginx)),
            ("valkey-server", Some(Redis)),
            ("mysqld", Some(Mysql)),
            ("mysqld_exporter", Some(Prometheus)),
            ("prometheus-node", Some(Prometheus)),
            ("php-fpm8.2", Some(PhpFpm)),
            // A program's own name comes before the names of exporters.
            ("uwsgi_exporter", Some(Uwsgi)),
            ("nginx-proxy", None),
            ("", None),
        ] {
            assert_eq!(ComponentKind::of_process(name), kind, "{name}");
        }
    }

    #[test]
    fn metrics_belong_to_the_technology_with_the_longest_beginning() {
        use ComponentKind::{Apache, Nginx, NginxAccessLog, Prometheus};
        for (metric, kind) in [
            ("nginx.requests", Some(Nginx)),
            ("plimsoll.nginx.connections_dropped", Some(Nginx)),
            ("plimsoll.nginx.time", Some(NginxAccessLog)),
            ("plimsoll.apache.silent", Some(Apache)),
            ("dotnet.thread_pool.thread.count", Some(Prometheus)),
            ("plimsoll.log.failures", None),
            ("plimsoll.part.setting", None),
            ("system.cpu.utilization", None),
            ("", None),
        ] {
            assert_eq!(ComponentKind::of_metric(metric), kind, "{metric}");
        }
    }

    #[test]
    fn stores_are_known_by_their_names_in_spans() {
        use ComponentKind::{Memcached, Mysql, Postgres, Redis};
        for (system, kind, is_cache) in [
            ("postgresql", Postgres, false),
            ("mysql", Mysql, false),
            ("mariadb", Mysql, false),
            ("redis", Redis, true),
            ("valkey", Redis, true),
            ("memcache", Memcached, true),
        ] {
            assert_eq!(
                ComponentKind::of_span_system(system),
                Some(kind),
                "{system}"
            );
            assert_eq!(kind.is_cache(), is_cache, "{system}");
        }
        assert_eq!(ComponentKind::of_span_system("mongodb"), None);
    }

    #[test]
    fn logs_are_files_alone() {
        let logs = ComponentKind::ALL.iter().filter(|kind| kind.is_log());
        let words: Vec<_> = logs.map(|kind| kind.words()[0]).collect();
        let right = [
            "nginx-log",
            "haproxy-log",
            "nginx-access-log",
            "php-fpm-slowlog",
        ];
        assert_eq!(words, right);
    }
}
