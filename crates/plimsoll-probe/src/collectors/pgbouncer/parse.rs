//! Metrics of pgbouncer's console, and its configuration.

use std::collections::BTreeMap;

/// A row: values by the names of their columns.
pub(crate) type PgbouncerRow = BTreeMap<String, String>;

/// The tables of the console: each starts with a line with its name, then the names of its columns, then its rows,
/// with tabs between values and an empty line at the end.
pub(crate) fn tables(text: &str) -> BTreeMap<&str, Vec<PgbouncerRow>> {
    let mut tables = BTreeMap::new();
    for block in text.split("\n\n") {
        let mut lines = block.lines();
        let (Some(word), Some(names)) = (lines.next(), lines.next()) else {
            continue;
        };
        let names: Vec<&str> = names.split('\t').collect();
        let rows = lines.map(|line| {
            let values = line.split('\t').map(str::to_owned);
            names
                .iter()
                .map(|name| (*name).to_owned())
                .zip(values)
                .collect()
        });
        tables.insert(word, rows.collect());
    }
    tables
}

/// A value as a number.
pub(crate) fn number(row: &PgbouncerRow, name: &str) -> Option<u64> {
    row.get(name)?.parse().ok()
}

/// A database as clients name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PgbouncerDatabase {
    /// Its name; `*` stands for all others.
    pub(crate) name: String,
    /// The words of its connection string, by name.
    pub(crate) words: BTreeMap<String, String>,
    /// Its line.
    pub(crate) line: usize,
}

/// A configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PgbouncerConfig {
    /// Words of the section `[pgbouncer]`, with their lines.
    pub(crate) words: BTreeMap<String, (String, usize)>,
    /// The databases.
    pub(crate) databases: Vec<PgbouncerDatabase>,
}

impl PgbouncerConfig {
    /// Where the servers of a database listen: `host:port`, or a socket. Without a host it is the socket in pgbouncer's own
    /// folder of sockets.
    pub(crate) fn servers_of(&self, database: &PgbouncerDatabase) -> Vec<String> {
        let word = |name: &str| database.words.get(name).map(String::as_str);
        let port = word("port").unwrap_or(PORT);
        let folder = self.words.get("unix_socket_dir");
        let folder = folder.map_or(FOLDER, |(folder, _)| folder.as_str());
        let hosts = word("host").filter(|host| !host.is_empty());
        let hosts = hosts.unwrap_or(folder).split(',').map(str::trim);
        let servers = hosts.filter(|host| !host.is_empty()).map(|host| {
            if host.starts_with('/') {
                format!("{}/.s.PGSQL.{port}", host.trim_end_matches('/'))
            } else if host.contains(':') {
                format!("[{host}]:{port}")
            } else {
                format!("{host}:{port}")
            }
        });
        servers.collect()
    }

    /// The servers of all databases.
    pub(crate) fn servers(&self) -> Vec<String> {
        let databases = self.databases.iter();
        let mut servers: Vec<String> = databases.flat_map(|own| self.servers_of(own)).collect();
        servers.sort_unstable();
        servers.dedup();
        servers
    }
}

/// The port of PostgreSQL, and the folder of sockets, where the configuration has none.
const PORT: &str = "5432";
const FOLDER: &str = "/tmp";

/// Reads a configuration file.
pub(crate) fn configuration(text: &str) -> PgbouncerConfig {
    let mut read = PgbouncerConfig::default();
    let mut section = "";
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
            continue;
        }
        let Some((name, value)) = line
            .split_once('=')
            .filter(|_| !line.starts_with([';', '#']))
        else {
            continue;
        };
        let (name, value) = (name.trim().to_owned(), value.trim());
        if section == "pgbouncer" {
            read.words.insert(name, (value.to_owned(), index + 1));
        } else if section == "databases" {
            read.databases.push(PgbouncerDatabase {
                name: name.trim_matches('"').to_owned(),
                words: pairs(value),
                line: index + 1,
            });
        }
    }
    read
}

/// The words of a connection string: `host=/run port=5432`, with blanks around `=` and values in single quotes.
fn pairs(text: &str) -> BTreeMap<String, String> {
    let mut pairs = BTreeMap::new();
    let mut rest = text;
    while let Some((key, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let (value, next) = if let Some(quoted) = after.strip_prefix('\'') {
            until_quote(quoted)
        } else {
            let end = after.find(char::is_whitespace).unwrap_or(after.len());
            (after[..end].to_owned(), &after[end..])
        };
        pairs.insert(key.trim().to_owned(), value);
        rest = next;
    }
    pairs
}

/// A text up to its closing quote, of which two stand for one, and what follows.
fn until_quote(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\'') {
        value.push_str(before);
        let Some(more) = after.strip_prefix('\'') else {
            return (value, after);
        };
        value.push('\'');
        rest = more;
    }
    value.push_str(rest);
    (value, "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Of pgbouncer 1.18, shortened.
    const POOLS: &str = "pool\ndatabase\tuser\tcl_active\tcl_waiting\tsv_active\tsv_idle\tmaxwait\tmaxwait_us\n\
        shop\tapp\t2\t38\t2\t0\t1\t204000\n\nstats\ndatabase\ttotal_wait_time\nshop\t5\n\n";

    #[test]
    fn tables_are_read_by_the_names_of_their_columns() {
        let tables = tables(POOLS);
        let pool = &tables["pool"][0];
        assert_eq!(
            (pool["user"].as_str(), number(pool, "cl_waiting")),
            ("app", Some(38))
        );
        assert_eq!(number(pool, "none"), None);
        assert_eq!(tables["stats"].len(), 1);
    }

    #[test]
    fn a_configuration_is_read_with_its_lines() {
        let text = "[databases]\nshop = host=/run port=5432 pool_size=2\n; old = pool_size=3\n* = host=db\n\
            [pgbouncer]\nlisten_port = 6432\n#x=1\ndefault_pool_size=20\n";
        let read = configuration(text);
        let databases: Vec<_> = read
            .databases
            .iter()
            .map(|database| (database.name.as_str(), database.line))
            .collect();
        assert_eq!(databases, [("shop", 2), ("*", 4)]);
        assert_eq!(read.databases[0].words["pool_size"], "2");
        assert_eq!(read.words["default_pool_size"], ("20".to_owned(), 8));
        assert_eq!(read.words.len(), 2);
    }

    #[test]
    fn servers_are_addresses_or_sockets() {
        // As Debian's file has it, and as the manual describes the rest.
        let text = "[databases]\nlocal = dbname=shop\nfolder = host=/run/pg/ port=5433\nquoted = host = '/srv/it''s' \n\
            remote = host=10.0.0.7,10.0.0.8 port=5434 password='a=b c'\nsix = host=::1\n\
            [pgbouncer]\nunix_socket_dir = /var/run/postgresql\n";
        let read = configuration(text);
        let servers = |name: &str| {
            let mut databases = read.databases.iter();
            let own = databases.find(|database| database.name == name);
            read.servers_of(own.unwrap())
        };
        assert_eq!(servers("local"), ["/var/run/postgresql/.s.PGSQL.5432"]);
        assert_eq!(servers("folder"), ["/run/pg/.s.PGSQL.5433"]);
        assert_eq!(servers("quoted"), ["/srv/it's/.s.PGSQL.5432"]);
        assert_eq!(servers("remote"), ["10.0.0.7:5434", "10.0.0.8:5434"]);
        assert_eq!(servers("six"), ["[::1]:5432"]);
        assert_eq!(read.servers().len(), 6);
        let bare = configuration("[databases]\nshop =\n* =\n");
        assert_eq!(bare.servers(), ["/tmp/.s.PGSQL.5432"]);
        // Switched off.
        let off = configuration("[databases]\nshop = port=1\n[pgbouncer]\nunix_socket_dir =\n");
        assert_eq!(off.servers(), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "[a-z=\\[\\]'\t\n ;0-9]{0,200}") {
            let read = configuration(&text);
            let _ = (tables(&text), read.servers());
        }
    }
}
