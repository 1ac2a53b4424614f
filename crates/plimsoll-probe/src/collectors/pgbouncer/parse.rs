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

/// A setting of a file, with its line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PgbouncerConfig {
    /// Words of the section `[pgbouncer]`.
    pub(crate) words: BTreeMap<String, (String, usize)>,
    /// Sizes of pools that databases have of their own.
    pub(crate) pool_sizes: BTreeMap<String, (u64, usize)>,
}

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
            let size = value
                .split_whitespace()
                .find_map(|pair| pair.strip_prefix("pool_size="));
            if let Some(size) = size.and_then(|size| size.parse().ok()) {
                read.pool_sizes.insert(name, (size, index + 1));
            }
        }
    }
    read
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
        assert_eq!(
            read.pool_sizes,
            BTreeMap::from([("shop".to_owned(), (2, 2))])
        );
        assert_eq!(read.words["default_pool_size"], ("20".to_owned(), 8));
        assert_eq!(read.words.len(), 2);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "[a-z=\\[\\]\t\n ;0-9]{0,200}") {
            let _ = (tables(&text), configuration(&text));
        }
    }
}
