//! Limits of what stores write.

use super::databases::{before_mariadb, before_postgres, mariadb, postgres};
use super::{Planted, Scene};

pub(super) const PLANTED: &[Planted] = &[
    Planted {
        name: "PostgreSQL: twenty commits in each request",
        rules: &["P6"],
        start: commits,
    },
    Planted {
        name: "PostgreSQL: max_wal_size 32 MB",
        rules: &["P10"],
        start: checkpoints,
    },
    Planted {
        name: "MariaDB: innodb_log_buffer_size 2 MB before large rows",
        rules: &["Q8"],
        start: log_buffer,
    },
    Planted {
        name: "MariaDB: fsync for each commit",
        rules: &["Q8", "D3"],
        start: log_flushes,
    },
    Planted {
        name: "MariaDB: changed pages fill a pool of 5 MB",
        rules: &["Q9", "Q7"],
        start: dirty_pages,
    },
];

fn commits() -> Scene {
    let database = postgres(
        "fsync = on",
        "CREATE TABLE visits (id bigserial PRIMARY KEY, note text); CREATE PROCEDURE note_visits() LANGUAGE plpgsql AS $$ BEGIN \
         FOR i IN 1..20 LOOP INSERT INTO visits (note) VALUES ('a visit'); COMMIT; END LOOP; END $$",
    );
    before_postgres(database, "CALL note_visits()", ["2/s:4s", "300/s:8s"])
}

const PAGES: &str = "CREATE TABLE pages (id int PRIMARY KEY, note varchar(400))";

fn checkpoints() -> Scene {
    let fill = format!(
        "{PAGES}; INSERT INTO pages SELECT i, repeat('x', 400) FROM generate_series(1, 100000) i; ANALYZE pages; CHECKPOINT"
    );
    let database = postgres("max_wal_size = 32MB\nmin_wal_size = 32MB", &fill);
    let statement = "WITH first AS (SELECT RANDOM % 99000 AS id) UPDATE pages SET note = repeat('y', 400) FROM first \
        WHERE pages.id BETWEEN first.id AND first.id + 200";
    before_postgres(database, statement, ["2/s:4s", "300/s:8s"])
}

fn log_buffer() -> Scene {
    let fill = "CREATE TABLE files (id int PRIMARY KEY, content longblob); INSERT INTO files SELECT seq, REPEAT('x', 400000) FROM seq_1_to_24";
    let database = mariadb("innodb_log_buffer_size = 2M", fill);
    let statement = "UPDATE files SET content = REPEAT(CHAR(65 + RANDOM % 26), 400000) WHERE id = 1 + RANDOM % 24";
    before_mariadb(database, statement, ["2/s:4s", "400/s:8s"])
}

fn log_flushes() -> Scene {
    let database = mariadb(
        "innodb_flush_log_at_trx_commit = 1",
        "CREATE TABLE visits (id bigint AUTO_INCREMENT PRIMARY KEY, note varchar(40))",
    );
    let one = "INSERT INTO visits (note) VALUES ('a visit')";
    let statement = vec![one; 20].join("; ");
    before_mariadb(database, &statement, ["2/s:4s", "300/s:8s"])
}

fn dirty_pages() -> Scene {
    let fill =
        format!("{PAGES}; INSERT INTO pages SELECT seq, REPEAT('x', 400) FROM seq_1_to_100000");
    let database = mariadb("innodb_buffer_pool_size = 5M", &fill);
    let statement = "UPDATE pages SET note = REPEAT(CHAR(65 + RANDOM % 26), 400) WHERE id IN (RANDOM % 100000, RANDOM % 100000, \
        RANDOM % 100000, RANDOM % 100000, RANDOM % 100000, RANDOM % 100000)";
    before_mariadb(database, statement, ["5/s:4s", "1500/s:8s"])
}
