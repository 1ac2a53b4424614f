//! Series of metrics pages with a known meaning: connection and thread pools, by the names of Micrometer,
//! `HikariCP`, Agroal, Go's `database/sql` collector, OpenTelemetry's conventions and .NET.

use plimsoll_model::metric::{
    DOTNET_QUEUE, DOTNET_THREADS, POOL_LIMIT, POOL_USED, POOL_WAITING, POOL_WAITS, TO_DATABASE,
    TO_HTTP,
};

/// What a series means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeriesMeaning<'a> {
    /// The metric that it is.
    pub(crate) metric: &'static str,
    /// What the pool connects to; empty where it is not a connection pool.
    pub(crate) to: &'static str,
    /// Name of the pool; empty where it is not a connection pool.
    pub(crate) pool: &'a str,
}

/// A family: its name, its meaning, what the pool connects to, the label with the pool's name, and a label that it
/// must have.
type Family = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Option<(&'static str, &'static str)>,
);

const USED: Option<(&str, &str)> = Some(("state", "used"));
const LEASED: Option<(&str, &str)> = Some(("state", "leased"));
const USED_NOW: Option<(&str, &str)> = Some(("db_client_connection_state", "used"));
const OTEL: &str = "db_client_connection_pool_name";

const FAMILIES: [Family; 31] = [
    // Micrometer, of HikariCP.
    (
        "hikaricp_connections_active",
        POOL_USED,
        TO_DATABASE,
        "pool",
        None,
    ),
    (
        "hikaricp_connections_max",
        POOL_LIMIT,
        TO_DATABASE,
        "pool",
        None,
    ),
    (
        "hikaricp_connections_pending",
        POOL_WAITING,
        TO_DATABASE,
        "pool",
        None,
    ),
    // HikariCP's own collector.
    (
        "hikaricp_active_connections",
        POOL_USED,
        TO_DATABASE,
        "pool",
        None,
    ),
    (
        "hikaricp_max_connections",
        POOL_LIMIT,
        TO_DATABASE,
        "pool",
        None,
    ),
    (
        "hikaricp_pending_threads",
        POOL_WAITING,
        TO_DATABASE,
        "pool",
        None,
    ),
    // Agroal, of Quarkus.
    (
        "agroal_active_count",
        POOL_USED,
        TO_DATABASE,
        "datasource",
        None,
    ),
    (
        "agroal_awaiting_count",
        POOL_WAITING,
        TO_DATABASE,
        "datasource",
        None,
    ),
    // Go, database/sql.
    (
        "go_sql_in_use_connections",
        POOL_USED,
        TO_DATABASE,
        "db_name",
        None,
    ),
    (
        "go_sql_max_open_connections",
        POOL_LIMIT,
        TO_DATABASE,
        "db_name",
        None,
    ),
    (
        "go_sql_wait_count_total",
        POOL_WAITS,
        TO_DATABASE,
        "db_name",
        None,
    ),
    // OpenTelemetry, and its conventions before they were settled.
    (
        "db_client_connection_count",
        POOL_USED,
        TO_DATABASE,
        OTEL,
        USED_NOW,
    ),
    (
        "db_client_connection_max",
        POOL_LIMIT,
        TO_DATABASE,
        OTEL,
        None,
    ),
    (
        "db_client_connection_pending_requests",
        POOL_WAITING,
        TO_DATABASE,
        OTEL,
        None,
    ),
    (
        "db_client_connections_usage",
        POOL_USED,
        TO_DATABASE,
        "pool_name",
        USED,
    ),
    (
        "db_client_connections_max",
        POOL_LIMIT,
        TO_DATABASE,
        "pool_name",
        None,
    ),
    (
        "db_client_connections_pending_requests",
        POOL_WAITING,
        TO_DATABASE,
        "pool_name",
        None,
    ),
    // Micrometer, of Apache's HTTP client and of Reactor Netty.
    (
        "httpcomponents_httpclient_pool_total_connections",
        POOL_USED,
        TO_HTTP,
        "httpclient",
        LEASED,
    ),
    (
        "httpcomponents_httpclient_pool_total_max",
        POOL_LIMIT,
        TO_HTTP,
        "httpclient",
        None,
    ),
    (
        "httpcomponents_httpclient_pool_total_pending",
        POOL_WAITING,
        TO_HTTP,
        "httpclient",
        None,
    ),
    (
        "reactor_netty_connection_provider_active_connections",
        POOL_USED,
        TO_HTTP,
        "name",
        None,
    ),
    (
        "reactor_netty_connection_provider_max_connections",
        POOL_LIMIT,
        TO_HTTP,
        "name",
        None,
    ),
    (
        "reactor_netty_connection_provider_pending_connections",
        POOL_WAITING,
        TO_HTTP,
        "name",
        None,
    ),
    // .NET 9, OpenTelemetry's instrumentation before it, event counters.
    (
        "dotnet_thread_pool_queue_length",
        DOTNET_QUEUE,
        "",
        "",
        None,
    ),
    (
        "dotnet_thread_pool_queue_length_total",
        DOTNET_QUEUE,
        "",
        "",
        None,
    ),
    (
        "dotnet_thread_pool_thread_count",
        DOTNET_THREADS,
        "",
        "",
        None,
    ),
    (
        "dotnet_thread_pool_thread_count_total",
        DOTNET_THREADS,
        "",
        "",
        None,
    ),
    (
        "process_runtime_dotnet_thread_pool_queue_length",
        DOTNET_QUEUE,
        "",
        "",
        None,
    ),
    (
        "process_runtime_dotnet_thread_pool_threads_count",
        DOTNET_THREADS,
        "",
        "",
        None,
    ),
    (
        "system_runtime_threadpool_queue_length",
        DOTNET_QUEUE,
        "",
        "",
        None,
    ),
    (
        "system_runtime_threadpool_thread_count",
        DOTNET_THREADS,
        "",
        "",
        None,
    ),
];

/// Whether series of this name may have a meaning.
pub(crate) fn is_known(name: &str) -> bool {
    FAMILIES.iter().any(|(known, ..)| *known == name)
}

/// Meaning of a series, by its name and labels.
pub(crate) fn meaning<'a>(name: &str, labels: &'a [(String, String)]) -> Option<SeriesMeaning<'a>> {
    let label = |name: &str| {
        let mut labels = labels.iter();
        labels
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    };
    let fits = |(known, _, _, _, with): &&Family| {
        *known == name && with.is_none_or(|(key, value)| label(key) == Some(value))
    };
    let (_, metric, to, pool, _) = FAMILIES.iter().find(fits)?;
    Some(SeriesMeaning {
        metric,
        to,
        pool: label(pool).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        owned.collect()
    }

    #[test]
    fn pools_by_the_names_that_libraries_give_them() {
        let own = labels(&[("application", "exam"), ("pool", "HikariPool-1")]);
        let right = SeriesMeaning {
            metric: POOL_WAITING,
            to: TO_DATABASE,
            pool: "HikariPool-1",
        };
        assert_eq!(meaning("hikaricp_connections_pending", &own), Some(right));
        assert_eq!(meaning("hikaricp_connections_idle", &own), None);
        let idle = labels(&[("pool_name", "shop"), ("state", "idle")]);
        assert_eq!(meaning("db_client_connections_usage", &idle), None);
        let used = labels(&[("pool_name", "shop"), ("state", "used")]);
        let mapped = meaning("db_client_connections_usage", &used).unwrap();
        assert_eq!((mapped.metric, mapped.pool), (POOL_USED, "shop"));
        let none = meaning("dotnet_thread_pool_queue_length", &[]).unwrap();
        assert_eq!((none.metric, none.to, none.pool), (DOTNET_QUEUE, "", ""));
        assert!(is_known("go_sql_wait_count_total") && !is_known("go_goroutines"));
    }
}
