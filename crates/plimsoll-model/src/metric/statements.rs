//! Statement statistics of databases. Each carries `at`, the address of the database, and `statement`, its form
//! without values.

/// Executions of the statement.
pub const STATEMENT_CALLS: &str = "plimsoll.statement.calls";
/// Time that this took.
pub const STATEMENT_TIME: &str = "plimsoll.statement.time";
/// Rows that it returned or changed.
pub const STATEMENT_ROWS: &str = "plimsoll.statement.rows";
/// Rows examined for it: MariaDB and MySQL.
pub const STATEMENT_EXAMINED: &str = "plimsoll.statement.rows_examined";
/// Executions without an index: MariaDB and MySQL.
pub const STATEMENT_SCANS: &str = "plimsoll.statement.without_index";
/// Rows that were sorted for it: MariaDB and MySQL.
pub const STATEMENT_SORTED: &str = "plimsoll.statement.rows_sorted";
/// Temporary tables on disk: MariaDB and MySQL.
pub const STATEMENT_ON_DISK: &str = "plimsoll.statement.temporary_tables_on_disk";
/// Blocks accessed for it: PostgreSQL.
pub const STATEMENT_BLOCKS: &str = "plimsoll.statement.blocks";
/// Bytes that its sorts and hashes wrote to temporary files: PostgreSQL.
pub const STATEMENT_SPILT: &str = "plimsoll.statement.temporary";
/// The cost that PostgreSQL's planner estimates, or the rows that MariaDB's does, by `plan`.
pub const STATEMENT_PLAN: &str = "plimsoll.statement.plan";
/// The cost that PostgreSQL's planner would estimate if an index were there, by `index`.
pub const STATEMENT_WITH_INDEX: &str = "plimsoll.statement.with_index";
