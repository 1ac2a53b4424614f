//! Limits of database writes.

use super::databases::{before_mariadb, before_postgres, mariadb, postgres};
use super::{Planted, PlantedService};

pub(super) const PLANTED: &[Planted] = &[
    Planted {
        name: "PostgreSQL: a hundred commits in each request",
        rules: &["P6"],
        start: commits,
    },
    Planted {
        name: "MariaDB: innodb_log_buffer_size 2 MB before large rows",
        rules: &["Q8"],
        start: log_buffer,
    },
    Planted {
        name: "MariaDB: changed pages fill a pool of 6 MB",
        rules: &["Q9", "Q7"],
        start: dirty_pages,
    },
];

fn commits() -> PlantedService {
    let database = postgres(
        "fsync = on",
        "CREATE TABLE visits (id bigserial PRIMARY KEY, note text); CREATE PROCEDURE note_visits() LANGUAGE plpgsql AS $$ BEGIN \
         FOR i IN 1..100 LOOP INSERT INTO visits (note) VALUES ('a visit'); COMMIT; END LOOP; END $$",
    );
    before_postgres(database, "CALL note_visits()", ["2/s:4s", "400/s:8s"])
}

const PAGES: &str = "CREATE TABLE pages (id int PRIMARY KEY, note varchar(400))";

fn log_buffer() -> PlantedService {
    let fill = "CREATE TABLE files (id int PRIMARY KEY, content longblob); INSERT INTO files SELECT seq, REPEAT('x', 400000) FROM seq_1_to_24";
    let database = mariadb("innodb_log_buffer_size = 2M", fill);
    let statement = "UPDATE files SET content = REPEAT(CHAR(65 + RANDOM % 26), 400000) WHERE id = 1 + RANDOM % 24";
    before_mariadb(database, statement, ["2/s:4s", "400/s:8s"])
}

fn dirty_pages() -> PlantedService {
    let fill =
        format!("{PAGES}; INSERT INTO pages SELECT seq, REPEAT('x', 400) FROM seq_1_to_100000");
    let database = mariadb("innodb_buffer_pool_size = 6M", &fill);
    let statement = "UPDATE pages SET note = REPEAT(CHAR(65 + RANDOM % 26), 400) WHERE id IN (RANDOM % 100000, RANDOM % 100000, \
        RANDOM % 100000, RANDOM % 100000, RANDOM % 100000, RANDOM % 100000)";
    before_mariadb(database, statement, ["5/s:4s", "1500/s:8s"])
}
