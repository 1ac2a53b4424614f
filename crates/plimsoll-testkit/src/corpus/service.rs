//! Limits of a service as a whole: unequal replicas, lock contention, batch jobs, handshakes, CPUs of a database.

use super::databases::{before_mariadb, before_postgres, mariadb, postgres};
use super::{Planted, PlantedService, machine, overload};
use crate::program::databases::carry_out;
use crate::program::runtimes::{PhpFpm, Puma};
use crate::program::{Haproxy, Nginx, Redis};

pub(super) const PLANTED: &[Planted] = &[
    Planted {
        name: "HAProxy: one of three replicas has 2 threads",
        rules: &["H11"],
        start: replicas,
    },
    Planted {
        name: "HAProxy: a server that stops listening while it is busy",
        rules: &["H2"],
        start: refusing,
    },
    Planted {
        name: "HAProxy: a TLS handshake with RSA 4096 for each request",
        rules: &["C3", "H10", "N13"],
        start: handshakes,
    },
    Planted {
        name: "Node: a job every six seconds that holds the event loop",
        rules: &["S6"],
        start: job,
    },
    Planted {
        name: "Node: answers with all that was ever written",
        rules: &["S9"],
        start: growing,
    },
    Planted {
        name: "Python: one lock for all threads",
        rules: &["C5"],
        start: global_lock,
    },
    Planted {
        name: "Redis: maxclients 8, one connection for each request",
        rules: &["K4"],
        start: redis_clients,
    },
    Planted {
        name: "PostgreSQL: statements that compute",
        rules: &["P2", "C1"],
        start: postgres_computes,
    },
    Planted {
        name: "MariaDB: statements that compute",
        rules: &["Q2", "C1"],
        start: mariadb_computes,
    },
    Planted {
        name: "MariaDB: temporary tables on disk",
        rules: &["Q5"],
        start: mariadb_tables,
    },
    Planted {
        name: "healthy: HAProxy with TLS, two replicas",
        rules: &[],
        start: healthy,
    },
];

fn replicas() -> PlantedService {
    let pumas = [24, 24, 2].map(|threads| Puma::sleeping(threads, "0.1"));
    let servers: Vec<String> = pumas
        .iter()
        .zip(1..)
        .map(|(puma, number)| format!("  server s{number} {}", puma.address))
        .collect();
    let haproxy = Haproxy::start("", &servers.join("\n"));
    let watch = format!("haproxy: {}\n", haproxy.socket.display());
    let url = format!("http://{}/", haproxy.address);
    PlantedService::new(url, watch, ["9/s:4s", "100/s:8s"])
        .holding(pumas)
        .holding(haproxy)
}

fn refusing() -> PlantedService {
    overload::intermittent(0)
}

/// HAProxy on one thread with a certificate of this kind; the returned folder holds it and must be kept.
fn with_tls(key: &str, servers: &str) -> (Haproxy, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let [key_file, pem] = ["key", "pem"].map(|name| folder.path().join(name).display().to_string());
    let certificate = folder.path().join("certificate").display().to_string();
    carry_out(&[
        "openssl",
        "req",
        "-x509",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-newkey",
        key,
        "-keyout",
        &key_file,
        "-out",
        &certificate,
    ]);
    let pems = [&certificate, &key_file]
        .map(|path| std::fs::read_to_string(path).expect("openssl wrote it"));
    crate::program::write(std::path::Path::new(&pem), &pems.concat());
    (Haproxy::start_with_tls(&pem, servers), folder)
}

fn handshakes() -> PlantedService {
    let puma = Puma::sleeping(32, "0.001");
    let (haproxy, folder) = with_tls("rsa:4096", &format!("  server s1 {}", puma.address));
    let watch = format!("haproxy: {}\n", haproxy.socket.display());
    let url = format!("https://{}/", haproxy.address);
    let mut service = PlantedService::new(url, watch, ["10/s:4s", "1200/s:8s"])
        .holding(puma)
        .holding(haproxy)
        .holding(folder);
    service.more = ["--insecure", "--no-keepalive"].map(str::to_owned).to_vec();
    service
}

fn healthy() -> PlantedService {
    let pumas = [Puma::sleeping(16, "0.01"), Puma::sleeping(16, "0.01")];
    let servers = pumas.each_ref().map(|puma| puma.address);
    let servers = format!("  server s1 {}\n  server s2 {}", servers[0], servers[1]);
    let (haproxy, folder) = with_tls("rsa:2048", &servers);
    let watch = format!("haproxy: {}\n", haproxy.socket.display());
    let url = format!("https://{}/", haproxy.address);
    let mut service = PlantedService::new(url, watch, ["5/s:4s", "40/s:8s"])
        .holding(pumas)
        .holding(haproxy)
        .holding(folder);
    service.more = vec!["--insecure".to_owned()];
    service
}

/// Work of six seconds accumulates and is done at their end, 14 ms per request.
const JOB: &str = "let came = 0; setInterval(() => { const end = Date.now() + came * 14; came = 0; while (Date.now() < end); }, 6000);\n\
    require('http').createServer((q, a) => { came++; a.end('done'); })\n\
    .listen(+process.argv[2], process.argv[3], 511, () => console.log('ready'));";

fn job() -> PlantedService {
    machine::script("node", JOB, ["2/s:8s", "20/s:30s"])
}

/// Forty notes are written each second, of which each answer has all; it takes 0.2 ms for each of them.
const NOTES: &str = "const begin = Date.now(), note = 'a note of an hour ago '.repeat(5);\n\
    require('http').createServer((q, a) => { const notes = Math.floor((Date.now() - begin) / 25);\n\
    setTimeout(() => a.end(note.repeat(notes)), notes / 5); })\n\
    .listen(+process.argv[2], process.argv[3], 511, () => console.log('ready'));";

fn growing() -> PlantedService {
    machine::script("node", NOTES, ["20/s:40s", "22/s:44s"])
}

/// Each request works for 20 ms, and only one at a time.
fn global_lock() -> PlantedService {
    let begin = "import threading\nlock = threading.Lock()";
    let work = "with lock: time.sleep(0.02)";
    let loads = ["34/s:6s", "120/s:8s"];
    machine::script("python3", &machine::threads(begin, work), loads)
}

fn redis_clients() -> PlantedService {
    let redis = Redis::start("maxclients 8");
    let script = format!(
        "$s = @stream_socket_client('tcp://{}'); fwrite($s, \"PING\\r\\n\"); $a = fgets($s); if (strpos($a, 'PONG') === false) \
         {{ http_response_code(500); echo 'refused'; exit; }} usleep(100000); echo 'done';",
        redis.address
    );
    let fpm = PhpFpm::start(48, true, &script);
    let nginx = Nginx::start(1024, false, &fpm.location());
    let watch = format!("redis: {}\nphp-fpm: {}/status\n", redis.address, fpm.status);
    let url = format!("http://{}/", nginx.address);
    PlantedService::new(url, watch, ["5/s:4s", "150/s:8s"])
        .holding(redis)
        .holding(fpm)
        .holding(nginx)
}

fn postgres_computes() -> PlantedService {
    let statement = "SELECT sum(i * 7 % 13) FROM generate_series(1, 100000) i WHERE i <> RANDOM";
    let database = postgres("max_parallel_workers_per_gather = 0", "");
    before_postgres(database, statement, ["2/s:4s", "500/s:8s"])
}

fn mariadb_computes() -> PlantedService {
    let statement = "SELECT BENCHMARK(40000, MD5(RANDOM))";
    before_mariadb(mariadb("", ""), statement, ["2/s:4s", "500/s:8s"])
}

fn mariadb_tables() -> PlantedService {
    let fill = "CREATE TABLE notes (id int PRIMARY KEY, note varchar(400)); INSERT INTO notes SELECT seq, CONCAT(REPEAT('x', 300), seq) \
        FROM seq_1_to_4000";
    let lines = "tmp_table_size = 16384\nmax_heap_table_size = 16384";
    let statement = "SELECT count(*) FROM (SELECT note, count(*) FROM notes WHERE id <> RANDOM GROUP BY note ORDER BY NULL) AS each_note";
    before_mariadb(mariadb(lines, fill), statement, ["2/s:4s", "500/s:8s"])
}
