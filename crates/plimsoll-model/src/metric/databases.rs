//! Metrics of scraped databases. Each carries `at`, the address of the database. Labels hold statements without
//! their values.

/// Bytes of the data that a database holds, indexes included: of PostgreSQL's databases that may be entered, or of `InnoDB`'s files.
pub const DATABASE_SIZE: &str = "plimsoll.database.size";
/// Sessions that clients of a database began.
pub const DATABASE_SESSIONS_BEGUN: &str = "plimsoll.database.sessions_begun";
/// Time to open a session, log-in included: the shortest of the collector's own, s.
pub const DATABASE_SESSION_START: &str = "plimsoll.database.session_start";
/// Sessions of PostgreSQL's clients by `state` (active, idle, idle in transaction; all, including the collector's
/// own).
pub const POSTGRES_SESSIONS: &str = "plimsoll.postgresql.sessions";
/// Whether PostgreSQL rejected the collector because all sessions were in use: 1 or 0.
pub const POSTGRES_REFUSED: &str = "plimsoll.postgresql.refused";
/// Active sessions by what they wait for: `wait` (none, lock, lwlock, io, client) or a single `event`.
pub const POSTGRES_ACTIVE: &str = "plimsoll.postgresql.active";
/// Active sessions by `statement`.
pub const POSTGRES_RUNNING: &str = "plimsoll.postgresql.running";
/// Sessions that wait for a lock, by `statement`.
pub const POSTGRES_WAITING: &str = "plimsoll.postgresql.waiting";
/// Sessions blocked by others, by the `state` and `statement` of the blocking session.
pub const POSTGRES_BLOCKING: &str = "plimsoll.postgresql.blocking";
/// How long the oldest idle transaction has been idle.
pub const POSTGRES_IDLE_IN_TRANSACTION: &str = "plimsoll.postgresql.idle_in_transaction";
/// Locks that are waited for.
pub const POSTGRES_LOCKS_WAITED: &str = "plimsoll.postgresql.locks_waited";
/// Blocks that PostgreSQL read from files.
pub const POSTGRES_BLOCKS_READ: &str = "plimsoll.postgresql.blocks_read";
/// Blocks that PostgreSQL found in its buffers.
pub const POSTGRES_BLOCKS_HIT: &str = "plimsoll.postgresql.blocks_hit";
/// Times that a `table` was read from its first row to its last.
pub const POSTGRES_SCANS: &str = "plimsoll.postgresql.scans";
/// Rows read by these, by `table`.
pub const POSTGRES_ROWS_SCANNED: &str = "plimsoll.postgresql.rows_scanned";
/// Bytes that sorts and hashes wrote to temporary files.
pub const POSTGRES_TEMPORARY: &str = "plimsoll.postgresql.temporary";
/// Bytes of the write-ahead log.
pub const POSTGRES_WAL: &str = "plimsoll.postgresql.wal";
/// Times that the buffers of the write-ahead log were full.
pub const POSTGRES_WAL_FULL: &str = "plimsoll.postgresql.wal_buffers_full";
/// Checkpoints that were due.
pub const POSTGRES_CHECKPOINTS_TIMED: &str = "plimsoll.postgresql.checkpoints_timed";
/// Checkpoints before they were due: so much was written.
pub const POSTGRES_CHECKPOINTS_REQUESTED: &str = "plimsoll.postgresql.checkpoints_requested";
/// Deadlocks that PostgreSQL broke.
pub const POSTGRES_DEADLOCKS: &str = "postgresql.deadlocks";
/// Transactions committed.
pub const POSTGRES_COMMITS: &str = "postgresql.commits";
/// Transactions rolled back.
pub const POSTGRES_ROLLBACKS: &str = "postgresql.rollbacks";

/// Sessions of MariaDB or MySQL.
pub const MYSQL_SESSIONS: &str = "plimsoll.mysql.sessions";
/// Of these, sessions that execute a statement, including the collector's own.
pub const MYSQL_SESSIONS_RUNNING: &str = "plimsoll.mysql.sessions_running";
/// Whether the collector was rejected because all sessions were in use: 1 or 0.
pub const MYSQL_COLLECTOR_REFUSED: &str = "plimsoll.mysql.eye_refused";
/// Connections refused because as many sessions were there as there may be.
pub const MYSQL_REFUSED: &str = "plimsoll.mysql.connections_refused";
/// Statements executed.
pub const MYSQL_STATEMENTS: &str = "plimsoll.mysql.statements";
/// Sessions by the `statement` that they execute.
pub const MYSQL_RUNNING: &str = "plimsoll.mysql.running";
/// Sessions that wait for row locks, by the `statement` of the blocking session.
pub const MYSQL_BLOCKING: &str = "plimsoll.mysql.blocking";
/// Temporary tables created.
pub const MYSQL_TEMPORARY_TABLES: &str = "plimsoll.mysql.temporary_tables";
/// Of these, on disk.
pub const MYSQL_TEMPORARY_ON_DISK: &str = "plimsoll.mysql.temporary_tables_on_disk";
/// Sorts that were put together from pieces because the buffer was too small.
pub const MYSQL_SORT_PASSES: &str = "plimsoll.mysql.sort_merge_passes";
/// Statements that read a table from its first row to its last.
pub const MYSQL_SCANS: &str = "plimsoll.mysql.scans";
/// Rows read in sequence, mostly by table scans.
pub const MYSQL_ROWS_SCANNED: &str = "plimsoll.mysql.rows_scanned";
/// Sessions that wait for a row.
pub const MYSQL_ROW_LOCKS_WAITED: &str = "plimsoll.mysql.row_locks_waited";
/// Time that sessions waited for rows.
pub const MYSQL_ROW_LOCK_TIME: &str = "plimsoll.mysql.row_lock.time";
/// Times that a session waited for a row.
pub const MYSQL_ROW_LOCK_WAITS: &str = "plimsoll.mysql.row_lock.waits";
/// Pages read from files because they were not in the buffer pool.
pub const MYSQL_POOL_READS: &str = "plimsoll.mysql.buffer_pool.reads";
/// Pages requested from the buffer pool.
pub const MYSQL_POOL_REQUESTS: &str = "plimsoll.mysql.buffer_pool.requests";
/// Times that a session waited for a free page of the buffer pool.
pub const MYSQL_POOL_WAITS: &str = "plimsoll.mysql.buffer_pool.waits";
/// Times that a session waited because the buffer of the redo log was full.
pub const MYSQL_LOG_WAITS: &str = "plimsoll.mysql.log.waits";
/// Deadlocks that were broken.
pub const MYSQL_DEADLOCKS: &str = "plimsoll.mysql.deadlocks";

/// Free tickets of MongoDB's storage engine, by `kind` (read, write).
pub const MONGO_TICKETS: &str = "plimsoll.mongodb.tickets_free";
/// Operations that wait for a lock or a ticket.
pub const MONGO_QUEUE: &str = "plimsoll.mongodb.queue";
/// Clients of MongoDB with an operation that runs or waits.
pub const MONGO_ACTIVE: &str = "plimsoll.mongodb.active";
/// Connections to MongoDB.
pub const MONGO_CONNECTIONS: &str = "plimsoll.mongodb.connections";
/// Operations that MongoDB executed, by `kind`.
pub const MONGO_OPERATIONS: &str = "plimsoll.mongodb.operations";
/// Pages that MongoDB read from files because they were not in its cache.
pub const MONGO_PAGES_READ: &str = "plimsoll.mongodb.pages_read";
