//! Tables that hold what a statement computes: kept fresh by triggers, or refreshed as a whole.

use crate::clauses::{ColumnValue, ResultColumn, Select, bare};

/// Columns that may identify a row of a summary table.
const KEYS_MAX: usize = 4;
/// Longest name of a table that is made here.
const NAME_LEN_MAX: usize = 48;

/// Which database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL.
    Postgres,
    /// MariaDB and MySQL.
    Mariadb,
}

/// A table that holds what a statement computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryTable {
    /// Its name.
    pub name: String,
    /// Columns that identify a row of it; empty where it has one row.
    pub keys: Vec<String>,
    /// The statements that create it, and what keeps it fresh.
    pub create: String,
    /// The statement that reads it in place of the one that computes.
    pub read: String,
}

/// A column of a summary table.
struct SummaryColumn {
    /// Its name.
    name: String,
    /// The expression that fills it at first.
    initial: String,
    /// The column of the table whose sum it is; `None` for the number of rows.
    of: Option<String>,
}

/// The summary table that triggers keep fresh: counts and sums of one table, by columns that are grouped by or compared
/// for equality. `None` for any other statement: a minimum or an average cannot be kept without reading rows again.
pub fn by_triggers(select: &Select, dialect: Dialect) -> Option<SummaryTable> {
    let [table] = select.tables.as_slice() else {
        return None;
    };
    if select.is_distinct || select.locks || !select.is_by_value {
        return None;
    }
    let keys = keys(select)?;
    let columns = summary_columns(select, &keys)?;
    let name = name_of(table, &keys);
    let read = read(select, &name, &keys)?;
    let create = match dialect {
        Dialect::Postgres => postgres(table, &name, &keys, &columns),
        Dialect::Mariadb => mariadb(table, &name, &keys, &columns),
    };
    Some(SummaryTable {
        name,
        keys,
        create,
        read,
    })
}

/// The table that is computed as a whole from time to time: a materialised view of PostgreSQL, a table with an event of
/// MariaDB. `None` where the statement holds values, so that one result does not serve all.
pub fn refreshed(select: &Select, dialect: Dialect, every_s: u32) -> Option<SummaryTable> {
    if select.has_values() || select.locks || !select.is_aggregate() {
        return None;
    }
    let table = select.tables.first()?;
    let order = positions(select)?;
    let name = format!("{}_computed", cut(table));
    let keys: Option<Vec<String>> = select.groups.iter().map(plain).collect();
    let is_shown = |key: &String| {
        let shown = |column: &ResultColumn| plain(column).as_ref() == Some(key);
        select.columns.iter().any(shown)
    };
    let keys = keys.unwrap_or_default();
    let has_key = !keys.is_empty() && keys.iter().all(is_shown);
    let whole = &select.whole;
    let create = match dialect {
        Dialect::Postgres if has_key => format!(
            "CREATE MATERIALIZED VIEW {name} AS {whole};\nCREATE UNIQUE INDEX ON {name} ({});\n\
             REFRESH MATERIALIZED VIEW CONCURRENTLY {name}; -- every {every_s} s",
            keys.join(", ")
        ),
        Dialect::Postgres => format!(
            "CREATE MATERIALIZED VIEW {name} AS {whole};\nREFRESH MATERIALIZED VIEW {name}; -- every {every_s} s"
        ),
        Dialect::Mariadb => format!(
            "CREATE TABLE {name} AS {whole};\nDELIMITER //\nCREATE EVENT refresh_{} ON SCHEDULE EVERY {every_s} SECOND DO \
             BEGIN START TRANSACTION; DELETE FROM {name}; INSERT INTO {name} {whole}; COMMIT; END //\nDELIMITER ;\n\
             SET GLOBAL event_scheduler = ON;",
            bare(&name)
        ),
    };
    Some(SummaryTable {
        read: format!("SELECT * FROM {name}{order} {}", select.limit)
            .trim_end()
            .to_owned(),
        name,
        keys,
        create,
    })
}

/// The order by the places of the columns; `None` where it is ordered by what is not shown.
fn positions(select: &Select) -> Option<String> {
    let mut terms = Vec::new();
    for (term, direction) in &select.order {
        let is_it = |column: &ResultColumn| {
            column.text == term.text || column.name.as_ref() == Some(&term.text)
        };
        let place = select.columns.iter().position(is_it)? + 1;
        terms.push(format!("{place}{direction}"));
    }
    Some(if terms.is_empty() {
        String::new()
    } else {
        format!(" ORDER BY {}", terms.join(", "))
    })
}

fn plain(column: &ResultColumn) -> Option<String> {
    match &column.value {
        ColumnValue::Plain(name) => Some(name.clone()),
        _ => None,
    }
}

/// Columns that are compared or grouped by.
fn keys(select: &Select) -> Option<Vec<String>> {
    let mut keys = select.equal.clone();
    for group in &select.groups {
        let name = plain(group)?;
        if !keys.contains(&name) {
            keys.push(name);
        }
    }
    (keys.len() <= KEYS_MAX).then_some(keys)
}

/// The number of rows, which every summary has, and the sums; `None` where a column is neither these nor a key, or where
/// nothing is computed.
fn summary_columns(select: &Select, keys: &[String]) -> Option<Vec<SummaryColumn>> {
    let mut columns = vec![SummaryColumn {
        name: "n".to_owned(),
        initial: "count(*) AS n".to_owned(),
        of: None,
    }];
    let mut computes = false;
    for column in &select.columns {
        match &column.value {
            ColumnValue::Plain(name) if keys.contains(name) => {}
            ColumnValue::Count => computes = true,
            ColumnValue::Sum(of) => {
                computes = true;
                let name = format!("sum_{of}");
                if columns.iter().all(|known| known.name != name) {
                    columns.push(SummaryColumn {
                        initial: format!("coalesce(sum({of}), 0) AS {name}"),
                        name,
                        of: Some(of.clone()),
                    });
                }
            }
            _ => return None,
        }
    }
    let is_apart = columns.iter().all(|column| !keys.contains(&column.name));
    (computes && is_apart).then_some(columns)
}

/// The column of the summary that holds this.
fn summary_name(column: &ResultColumn) -> Option<String> {
    match &column.value {
        ColumnValue::Plain(name) => Some(name.clone()),
        ColumnValue::Count => Some("n".to_owned()),
        ColumnValue::Sum(of) => Some(format!("sum_{of}")),
        ColumnValue::Given | ColumnValue::Other => None,
    }
}

/// The statement that reads the summary.
fn read(select: &Select, name: &str, keys: &[String]) -> Option<String> {
    let is_single = select.groups.is_empty() && !select.equal.is_empty();
    let mut columns = Vec::new();
    for column in &select.columns {
        let name = summary_name(column)?;
        if is_single && keys.contains(&name) {
            return None;
        }
        columns.push(if is_single {
            // Without such rows the result is one row of zeros.
            format!("coalesce(max({name}), 0)")
        } else {
            name
        });
    }
    let mut conditions: Vec<String> = select
        .equal
        .iter()
        .map(|column| format!("{column} = ?"))
        .collect();
    if !select.groups.is_empty() {
        conditions.push("n > 0".to_owned());
    }
    let mut order = Vec::new();
    for (term, direction) in &select.order {
        let named = select.columns.iter().find(|column| {
            let is_it = |name: &String| plain(term).as_ref() == Some(name);
            column.name.as_ref().is_some_and(is_it)
        });
        let column = named.unwrap_or(term);
        let is_known = plain(column).is_none_or(|name| keys.contains(&name));
        let by = summary_name(column).filter(|_| is_known)?;
        order.push(format!("{by}{direction}"));
    }
    let mut text = format!("SELECT {} FROM {name}", columns.join(", "));
    for (word, list, between) in [
        (" WHERE ", &conditions, " AND "),
        (" ORDER BY ", &order, ", "),
    ] {
        if !list.is_empty() {
            text.push_str(word);
            text.push_str(&list.join(between));
        }
    }
    if !select.limit.is_empty() {
        text.push(' ');
        text.push_str(&select.limit);
    }
    Some(text)
}

/// A name, cut so that more can stand behind it.
fn cut(table: &str) -> String {
    table.chars().take(NAME_LEN_MAX).collect()
}

fn name_of(table: &str, keys: &[String]) -> String {
    let name = format!("{table}_by_{}", keys.join("_"));
    if keys.is_empty() || name.len() > NAME_LEN_MAX {
        format!("{}_summary", cut(table))
    } else {
        name
    }
}

/// The statement that fills it at first.
fn initial(table: &str, keys: &[String], columns: &[SummaryColumn]) -> String {
    let all: Vec<&str> = keys
        .iter()
        .map(String::as_str)
        .chain(columns.iter().map(|column| column.initial.as_str()))
        .collect();
    let groups = if keys.is_empty() {
        String::new()
    } else {
        format!(" GROUP BY {}", keys.join(", "))
    };
    format!("SELECT {} FROM {table}{groups}", all.join(", "))
}

/// The names of all its columns.
fn names(keys: &[String], columns: &[SummaryColumn]) -> String {
    let columns = columns.iter().map(|column| column.name.as_str());
    let all: Vec<&str> = keys.iter().map(String::as_str).chain(columns).collect();
    all.join(", ")
}

/// What a row of the table adds: the row is `NEW` or `OLD`.
fn row(row: &str, sign: &str, keys: &[String], columns: &[SummaryColumn]) -> String {
    let keys = keys.iter().map(|key| format!("{row}.{key}"));
    let columns = columns.iter().map(|column| match &column.of {
        Some(of) => format!("{sign}coalesce({row}.{of}, 0)"),
        None => format!("{sign}1"),
    });
    let all: Vec<String> = keys.chain(columns).collect();
    all.join(", ")
}

/// `n = n - 1, …`: the same as an assignment.
fn assignments(row: &str, sign: &str, columns: &[SummaryColumn]) -> String {
    let all = columns.iter().map(|column| {
        let name = &column.name;
        match &column.of {
            Some(of) => format!("{name} = {name} {sign} coalesce({row}.{of}, 0)"),
            None => format!("{name} = {name} {sign} 1"),
        }
    });
    all.collect::<Vec<_>>().join(", ")
}

fn postgres(table: &str, name: &str, keys: &[String], columns: &[SummaryColumn]) -> String {
    let where_key = |row: &str| {
        let all: Vec<String> = keys
            .iter()
            .map(|key| format!("{key} = {row}.{key}"))
            .collect();
        if all.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", all.join(" AND "))
        }
    };
    let added = columns.iter().map(|column| {
        let of = &column.name;
        format!("{of} = kept.{of} + EXCLUDED.{of}")
    });
    let insert = if keys.is_empty() {
        format!("UPDATE {name} SET {}", assignments("NEW", "+", columns))
    } else {
        format!(
            "INSERT INTO {name} AS kept ({}) VALUES ({}) ON CONFLICT ({}) DO UPDATE SET {}",
            names(keys, columns),
            row("NEW", "", keys, columns),
            keys.join(", "),
            added.collect::<Vec<_>>().join(", ")
        )
    };
    let delete = format!(
        "UPDATE {name} SET {}{}",
        assignments("OLD", "-", columns),
        where_key("OLD")
    );
    let watched: Vec<&str> = keys
        .iter()
        .map(String::as_str)
        .chain(columns.iter().filter_map(|column| column.of.as_deref()))
        .collect();
    let update = if watched.is_empty() {
        String::new()
    } else {
        format!(" OR UPDATE OF {}", watched.join(", "))
    };
    let index = if keys.is_empty() {
        String::new()
    } else {
        format!("CREATE UNIQUE INDEX ON {name} ({});\n", keys.join(", "))
    };
    let trigger = format!("keep_{}", bare(name));
    format!(
        "BEGIN;\nLOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE;\nCREATE TABLE {name} AS {};\n{index}\
         CREATE FUNCTION {trigger}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN\n\
         IF TG_OP <> 'INSERT' THEN {delete}; END IF;\nIF TG_OP <> 'DELETE' THEN {insert}; END IF;\nRETURN NULL; END $$;\n\
         CREATE TRIGGER {trigger} AFTER INSERT OR DELETE{update} ON {table} FOR EACH ROW EXECUTE FUNCTION {trigger}();\n\
         COMMIT;",
        initial(table, keys, columns)
    )
}

fn mariadb(table: &str, name: &str, keys: &[String], columns: &[SummaryColumn]) -> String {
    let added = columns.iter().map(|column| {
        let of = &column.name;
        format!("{of} = {of} + VALUES({of})")
    });
    let added = added.collect::<Vec<_>>().join(", ");
    let change = |rows: &[String]| {
        format!(
            "INSERT INTO {name} ({}) VALUES {} ON DUPLICATE KEY UPDATE {added}",
            names(keys, columns),
            rows.join(", ")
        )
    };
    let [new, old] =
        [("NEW", ""), ("OLD", "-")].map(|(of, sign)| format!("({})", row(of, sign, keys, columns)));
    let (inserted, deleted, updated) = if keys.is_empty() {
        let [more, less] = [("NEW", "+"), ("OLD", "-")]
            .map(|(of, sign)| format!("UPDATE {name} SET {}", assignments(of, sign, columns)));
        let sums: Vec<String> = columns
            .iter()
            .filter_map(|column| {
                let (name, of) = (&column.name, column.of.as_ref()?);
                Some(format!(
                    "{name} = {name} - coalesce(OLD.{of}, 0) + coalesce(NEW.{of}, 0)"
                ))
            })
            .collect();
        let both = (!sums.is_empty()).then(|| format!("UPDATE {name} SET {}", sums.join(", ")));
        (more, less, both)
    } else {
        (
            change(std::slice::from_ref(&new)),
            change(std::slice::from_ref(&old)),
            Some(change(&[old, new])),
        )
    };
    let key = if keys.is_empty() {
        String::new()
    } else {
        format!(" (PRIMARY KEY ({}))", keys.join(", "))
    };
    let mut statements = vec![format!(
        "CREATE TABLE {name}{key} AS {};",
        initial(table, keys, columns)
    )];
    let changes = [
        ("INSERT", "insert", Some(inserted)),
        ("DELETE", "delete", Some(deleted)),
        ("UPDATE", "update", updated),
    ];
    statements.extend(changes.into_iter().filter_map(|(when, word, statement)| {
        let statement = statement?;
        Some(format!(
            "CREATE TRIGGER {name}_{word} AFTER {when} ON {table} FOR EACH ROW {statement};"
        ))
    }));
    statements.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(statement: &str, dialect: Dialect) -> Option<SummaryTable> {
        by_triggers(&Select::of(statement)?, dialect)
    }

    #[test]
    fn counts_by_group_are_kept_by_triggers() {
        let statement = "SELECT topic, count(*) AS articles, sum(a.size) FROM articles a WHERE site = ? GROUP BY topic \
            ORDER BY articles DESC LIMIT ?";
        let table = kept(statement, Dialect::Postgres).unwrap();
        assert_eq!(table.name, "articles_by_site_topic");
        assert_eq!(
            table.read,
            "SELECT topic, n, sum_size FROM articles_by_site_topic WHERE site = ? AND n > 0 ORDER BY n DESC LIMIT ?"
        );
        for part in [
            "CREATE TABLE articles_by_site_topic AS SELECT site, topic, count(*) AS n, coalesce(sum(size), 0) AS sum_size \
             FROM articles GROUP BY site, topic;",
            "CREATE UNIQUE INDEX ON articles_by_site_topic (site, topic);",
            "UPDATE articles_by_site_topic SET n = n - 1, sum_size = sum_size - coalesce(OLD.size, 0) WHERE site = OLD.site \
             AND topic = OLD.topic;",
            "VALUES (NEW.site, NEW.topic, 1, coalesce(NEW.size, 0)) ON CONFLICT (site, topic) DO UPDATE SET n = kept.n + \
             EXCLUDED.n,",
            "AFTER INSERT OR DELETE OR UPDATE OF site, topic, size ON articles",
        ] {
            assert!(
                table.create.contains(part),
                "{part} is not in {}",
                table.create
            );
        }
        let table = kept(statement, Dialect::Mariadb).unwrap();
        for part in [
            "CREATE TABLE articles_by_site_topic (PRIMARY KEY (site, topic)) AS SELECT",
            "VALUES (OLD.site, OLD.topic, -1, -coalesce(OLD.size, 0)), (NEW.site, NEW.topic, 1, coalesce(NEW.size, 0)) ON \
             DUPLICATE KEY UPDATE n = n + VALUES(n), sum_size = sum_size + VALUES(sum_size);",
        ] {
            assert!(
                table.create.contains(part),
                "{part} is not in {}",
                table.create
            );
        }
    }

    #[test]
    fn one_count_is_a_row_of_its_own() {
        let table = kept("SELECT count(*) FROM shop.orders", Dialect::Postgres).unwrap();
        assert_eq!(table.read, "SELECT n FROM shop.orders_summary");
        assert!(
            table
                .create
                .contains("THEN UPDATE shop.orders_summary SET n = n + 1; END IF")
        );
        assert!(
            table.create.contains(
                "CREATE TRIGGER keep_orders_summary AFTER INSERT OR DELETE ON shop.orders "
            )
        );
        let table = kept(
            "SELECT COUNT (*) FROM orders WHERE customer = ?",
            Dialect::Mariadb,
        )
        .unwrap();
        assert_eq!(
            table.read,
            "SELECT coalesce(max(n), 0) FROM orders_by_customer WHERE customer = ?"
        );
        let table = kept("SELECT SUM(size) FROM files", Dialect::Mariadb).unwrap();
        assert!(table.create.contains(
            "AFTER UPDATE ON files FOR EACH ROW UPDATE files_summary SET sum_size = sum_size - coalesce(OLD.size, 0) + \
             coalesce(NEW.size, 0);"
        ));
    }

    #[test]
    fn what_triggers_cannot_keep() {
        for statement in [
            "SELECT topic, max(placed) FROM articles GROUP BY topic",
            "SELECT topic, avg(size) FROM articles GROUP BY topic",
            "SELECT count(*) FROM articles WHERE placed > ?",
            "SELECT count(*) FROM articles a JOIN users u ON u.id = a.author",
            "SELECT lower(topic), count(*) FROM articles GROUP BY lower(topic)",
            "SELECT topic, count(*) FROM articles GROUP BY topic ORDER BY max(placed)",
            "SELECT topic, count(*) FROM articles GROUP BY topic HAVING count(*) > ?",
            "SELECT topic FROM articles WHERE id = ?",
            "SELECT n, count(*) FROM articles GROUP BY n",
        ] {
            assert_eq!(kept(statement, Dialect::Postgres), None, "{statement}");
        }
    }

    #[test]
    fn results_that_are_the_same_for_all_are_refreshed() {
        let refresh =
            |statement: &str, dialect| refreshed(&Select::of(statement).unwrap(), dialect, 10);
        let joined = "SELECT u.name, avg(o.total) FROM orders o JOIN users u ON u.id = o.owner GROUP BY u.name ORDER BY u.name \
            LIMIT ?";
        let table = refresh(joined, Dialect::Postgres).unwrap();
        assert_eq!(
            table.read,
            "SELECT * FROM orders_computed ORDER BY 1 LIMIT ?"
        );
        for part in [
            "CREATE MATERIALIZED VIEW orders_computed AS SELECT u.name, avg(o.total) FROM orders",
            "GROUP BY u.name ORDER BY u.name;",
            "CREATE UNIQUE INDEX ON orders_computed (name);",
            "REFRESH MATERIALIZED VIEW CONCURRENTLY orders_computed;",
        ] {
            assert!(
                table.create.contains(part),
                "{part} is not in {}",
                table.create
            );
        }
        let table = refresh(joined, Dialect::Mariadb).unwrap();
        assert!(
            table.create.contains(
                "CREATE EVENT refresh_orders_computed ON SCHEDULE EVERY 10 SECOND DO BEGIN"
            )
        );
        // Of one customer each time, and the first of many that would all have to be kept.
        assert_eq!(
            refresh(
                "SELECT avg(n) FROM orders WHERE owner = ?",
                Dialect::Postgres
            ),
            None
        );
        assert_eq!(
            refresh(
                "SELECT n FROM orders ORDER BY lower(n) LIMIT ?",
                Dialect::Postgres
            ),
            None
        );
    }
}
