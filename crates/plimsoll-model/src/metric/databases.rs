//! Metrics of databases that tell of themselves. Each carries `at`, where the database was asked. Statements stand in
//! labels without their values.

/// Bytes of the data that a database holds, indexes included: of PostgreSQL's databases that may be entered, or of `InnoDB`'s files.
pub const DATABASE_SIZE: &str = "plimsoll.database.size";
/// Sessions that clients of a database began.
pub const DATABASE_SESSIONS_BEGUN: &str = "plimsoll.database.sessions_begun";
/// How long a session takes to begin, the log-in included: the shortest that the eye has seen of its own, s.
pub const DATABASE_SESSION_START: &str = "plimsoll.database.session_start";
/// Sessions of PostgreSQL's clients by `state` (active, idle, idle in transaction; all, with the eye's own).
pub const POSTGRES_SESSIONS: &str = "plimsoll.postgresql.sessions";
/// Whether PostgreSQL turned the eye away because as many sessions were there as there may be: 1 or 0.
pub const POSTGRES_REFUSED: &str = "plimsoll.postgresql.refused";
/// Active sessions by what they wait for: `wait` (none, lock, lwlock, io, client) or a single `event`.
pub const POSTGRES_ACTIVE: &str = "plimsoll.postgresql.active";
/// Active sessions by `statement`.
pub const POSTGRES_RUNNING: &str = "plimsoll.postgresql.running";
/// Sessions that wait for a lock, by `statement`.
pub const POSTGRES_WAITING: &str = "plimsoll.postgresql.waiting";
/// Sessions that wait for others, by the `state` and `statement` of who holds what they wait for.
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
/// Of these, sessions that carry out a statement, the eye's own included.
pub const MYSQL_SESSIONS_RUNNING: &str = "plimsoll.mysql.sessions_running";
/// Whether the eye was turned away because as many sessions were there as there may be: 1 or 0.
pub const MYSQL_COLLECTOR_REFUSED: &str = "plimsoll.mysql.eye_refused";
/// Connections refused because as many sessions were there as there may be.
pub const MYSQL_REFUSED: &str = "plimsoll.mysql.connections_refused";
/// Statements carried out.
pub const MYSQL_STATEMENTS: &str = "plimsoll.mysql.statements";
/// Sessions by the `statement` that they carry out.
pub const MYSQL_RUNNING: &str = "plimsoll.mysql.running";
/// Sessions that wait for rows, by the `statement` of who holds them.
pub const MYSQL_BLOCKING: &str = "plimsoll.mysql.blocking";
/// Temporary tables made.
pub const MYSQL_TEMPORARY_TABLES: &str = "plimsoll.mysql.temporary_tables";
/// Of these, on disk.
pub const MYSQL_TEMPORARY_ON_DISK: &str = "plimsoll.mysql.temporary_tables_on_disk";
/// Sorts that were put together from pieces because the buffer was too small.
pub const MYSQL_SORT_PASSES: &str = "plimsoll.mysql.sort_merge_passes";
/// Statements that read a table from its first row to its last.
pub const MYSQL_SCANS: &str = "plimsoll.mysql.scans";
/// Rows read one behind the other.
pub const MYSQL_ROWS_SCANNED: &str = "plimsoll.mysql.rows_scanned";
/// Sessions that wait for a row.
pub const MYSQL_ROW_LOCKS_WAITED: &str = "plimsoll.mysql.row_locks_waited";
/// Time that sessions waited for rows.
pub const MYSQL_ROW_LOCK_TIME: &str = "plimsoll.mysql.row_lock.time";
/// Times that a session waited for a row.
pub const MYSQL_ROW_LOCK_WAITS: &str = "plimsoll.mysql.row_lock.waits";
/// Pages read from files because the buffer pool did not hold them.
pub const MYSQL_POOL_READS: &str = "plimsoll.mysql.buffer_pool.reads";
/// Pages asked of the buffer pool.
pub const MYSQL_POOL_REQUESTS: &str = "plimsoll.mysql.buffer_pool.requests";
/// Times that a session waited for a free page of the buffer pool.
pub const MYSQL_POOL_WAITS: &str = "plimsoll.mysql.buffer_pool.waits";
/// Times that a session waited because the buffer of the redo log was full.
pub const MYSQL_LOG_WAITS: &str = "plimsoll.mysql.log.waits";
/// Deadlocks that were broken.
pub const MYSQL_DEADLOCKS: &str = "plimsoll.mysql.deadlocks";

/// Operations that MongoDB's storage could take at once, by `kind` (read, write).
pub const MONGO_TICKETS: &str = "plimsoll.mongodb.tickets_free";
/// Operations that wait for a lock or a ticket.
pub const MONGO_QUEUE: &str = "plimsoll.mongodb.queue";
/// Clients whose operations MongoDB carries out, or that wait.
pub const MONGO_ACTIVE: &str = "plimsoll.mongodb.active";
/// Connections to MongoDB.
pub const MONGO_CONNECTIONS: &str = "plimsoll.mongodb.connections";
/// Operations that MongoDB carried out, by `kind`.
pub const MONGO_OPERATIONS: &str = "plimsoll.mongodb.operations";
/// Pages that MongoDB read from files because its cache did not hold them.
pub const MONGO_PAGES_READ: &str = "plimsoll.mongodb.pages_read";
