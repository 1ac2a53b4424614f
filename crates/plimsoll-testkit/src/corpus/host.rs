//! Machine limits around a service: its cgroup, memory, swap, disks, file systems, networks.
//! All require root.

use super::databases::{before_postgres, postgres};
use super::machine::{script, threads};
use super::{Planted, PlantedService};
use crate::machine::cgroup::{BlockDevice, Cgroup};
use crate::machine::mounted::Mounted;
use crate::machine::namespace::Namespace;
use crate::machine::swap::Swap;
use crate::program::runtimes::Script;
use crate::program::{Nginx, Redis, Webdis};

pub(super) const PLANTED: &[Planted] = &[
    Planted {
        name: "Python in a cgroup: a fifth of a CPU",
        rules: &["C2"],
        start: quota,
    },
    Planted {
        name: "Python in a cgroup: 48 MiB, of which each request keeps one",
        rules: &["M2"],
        start: killed,
    },
    Planted {
        name: "Python in a cgroup: 24 processes and threads",
        rules: &["F2"],
        start: few_threads,
    },
    Planted {
        name: "Python: 160 MiB of memory in 48 MiB, the rest in swap",
        rules: &["M3", "M1"],
        start: swapped,
    },
    Planted {
        name: "Python: pages of a file of 256 MiB in 48 MiB of memory",
        rules: &["M1", "D1"],
        start: thrash,
    },
    Planted {
        name: "Python: each request flushes 64 KiB to a disk of 1 MB/s",
        rules: &["D1"],
        start: slow_disk,
    },
    Planted {
        name: "Python: a file system of 1 MiB",
        rules: &["D4"],
        start: full_disk,
    },
    Planted {
        name: "PostgreSQL: commits on a disk of 200 kB/s",
        rules: &["P6"],
        start: slow_commits,
    },
    Planted {
        name: "Redis: each write flushed to a disk of 50 kB/s",
        rules: &["D1", "K5"],
        start: slow_log,
    },
    Planted {
        name: "nginx: 200 local ports towards a slow application",
        rules: &["N12"],
        start: few_ports,
    },
    Planted {
        name: "a firewall that lets 20 new connections a second in",
        rules: &["N5"],
        start: firewall,
    },
    Planted {
        name: "a network of 20 Mbit/s",
        rules: &["N9"],
        start: bandwidth,
    },
];

const ROOT: &str = "limits of a machine are set by root";

/// A script in a cgroup. Memory that it allocated before it was moved there is not counted.
fn inside(cgroup: Option<Cgroup>, text: &str, loads: [&'static str; 2]) -> PlantedService {
    let cgroup = cgroup.expect(ROOT);
    let script = Script::start("python3", text);
    cgroup.take(script.program.pid());
    let watch = format!("pid: {}\n", script.program.pid());
    PlantedService::new(format!("http://{}/", script.address), watch, loads)
        .holding(script)
        .holding(cgroup)
}

fn quota() -> PlantedService {
    let work = "sum(i * i for i in range(100000))";
    inside(
        Cgroup::fifth_of_a_cpu(),
        &threads("", work),
        ["4/s:4s", "60/s:8s"],
    )
}

/// A killed child is restarted, and ends with its parent; the first starts with the first request, so that all are in
/// the cgroup.
const REPLACED: &str = "import ctypes, os, select\nkept = []\nclass Replaced(http.server.ThreadingHTTPServer):\n    def serve_forever(self):\n        \
    select.select([self.socket], [], [])\n        while os.fork(): os.wait()\n        ctypes.CDLL(None).prctl(1, 9); super().serve_forever()\nhttp.server.ThreadingHTTPServer = Replaced";

fn killed() -> PlantedService {
    let work = "kept.append(b'x' * (1 << 20)); time.sleep(0.1)";
    let loads = ["2/s:4s", "60/s:8s"];
    inside(Cgroup::small_memory(), &threads(REPLACED, work), loads)
}

fn few_threads() -> PlantedService {
    let text = threads("", "time.sleep(0.3)");
    inside(Cgroup::few_threads(), &text, ["10/s:4s", "200/s:8s"])
}

fn swapped() -> PlantedService {
    let begin = "import functools, random\n@functools.cache\ndef room(): return bytearray(b'x') * (160 << 20)";
    let work = "\n        for _ in range(150): room()[random.randrange(160 << 20)] ^= 1";
    let swap = Swap::of(512).expect(ROOT);
    let loads = ["2/s:6s", "300/s:8s"];
    inside(
        Cgroup::small_memory_and_swap(),
        &threads(begin, work),
        loads,
    )
    .holding(swap)
}

fn thrash() -> PlantedService {
    let begin = "import mmap, os, random, tempfile\nfile = tempfile.TemporaryFile()\n\
        for _ in range(256): file.write(os.urandom(1 << 20))\nfile.flush(); os.fsync(file.fileno())\n\
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)\n\
        room = mmap.mmap(file.fileno(), 1 << 28, access=mmap.ACCESS_READ); room.madvise(mmap.MADV_RANDOM)";
    let work = "sum(room[random.randrange(1 << 28)] for _ in range(100))";
    let loads = ["1/s:4s", "400/s:8s"];
    inside(Cgroup::small_memory(), &threads(begin, work), loads)
}

/// A cgroup with a limit on bytes written per second to the disk of temporary files.
fn slow_writes(bytes_per_second: u64) -> Option<Cgroup> {
    let disk = BlockDevice::of(&std::env::temp_dir());
    Cgroup::slow_writes(
        disk.expect("temporary files lie on a disk"),
        bytes_per_second,
    )
}

fn slow_disk() -> PlantedService {
    let begin = "import os";
    let work = "file = open('part', 'wb'); file.write(b'x' * 65536); file.flush(); os.fsync(file.fileno()); file.close()";
    inside(
        slow_writes(1_000_000),
        &threads(begin, work),
        ["2/s:4s", "60/s:10s"],
    )
}

fn full_disk() -> PlantedService {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let mounted = Mounted::small(folder.path()).expect(ROOT);
    let begin = format!(
        "visits = open('{}/visits', 'ab', 0)",
        folder.path().display()
    );
    let work = "assert visits.write(b'x' * 4096) == 4096";
    script("python3", &threads(&begin, work), ["10/s:4s", "200/s:8s"])
        .holding(mounted)
        .holding(folder)
}

fn slow_commits() -> PlantedService {
    let cgroup = slow_writes(200_000).expect(ROOT);
    let database = postgres(
        "fsync = on",
        "CREATE TABLE visits (id bigserial PRIMARY KEY, note text)",
    );
    cgroup.take(database.program.pid());
    let statement = "INSERT INTO visits (note) VALUES ('a visit')";
    before_postgres(database, statement, ["2/s:4s", "300/s:8s"]).holding(cgroup)
}

fn slow_log() -> PlantedService {
    let cgroup = slow_writes(50_000).expect(ROOT);
    let redis = Redis::start("appendonly yes\nappendfsync always");
    cgroup.take(redis.program.pid());
    let webdis = Webdis::start(redis.address);
    let watch = format!("redis: {}\n", redis.address);
    let url = format!("http://{}/SET/page/{}", webdis.address, "v".repeat(2000));
    PlantedService::new(url, watch, ["2/s:4s", "300/s:8s"])
        .holding(webdis)
        .holding(redis)
        .holding(cgroup)
}

/// Responds after this many ms.
fn late(milliseconds: u32, answer: &str) -> String {
    format!(
        "require('http').createServer((q, a) => setTimeout(() => a.end({answer}), {milliseconds}))\n\
         .listen(+process.argv[2], process.argv[3], 511, () => console.log('ready'));"
    )
}

fn few_ports() -> PlantedService {
    let network = Namespace::enter(40_000, 40_199).expect(ROOT);
    let script = Script::start("node", &late(400, "'done'"));
    let location = format!("location / {{ proxy_pass http://{}; }}", script.address);
    let nginx = Nginx::start(4096, true, &location);
    let watch = format!("nginx: {}\n", nginx.page());
    let url = format!("http://{}/", nginx.address);
    PlantedService::new(url, watch, ["10/s:4s", "700/s:8s"])
        .holding(nginx)
        .holding(script)
        .holding(network)
}

/// A script in its own network namespace, which is made for the script's port.
fn behind(
    text: &str,
    loads: [&'static str; 2],
    bounded: impl FnOnce(Namespace, u16) -> Option<Namespace>,
) -> PlantedService {
    let network = Namespace::enter(32_768, 60_999).expect(ROOT);
    let script = Script::start("node", text);
    let network = bounded(network, script.address.port()).expect(ROOT);
    let watch = format!("pid: {}\n", script.program.pid());
    PlantedService::new(format!("http://{}/", script.address), watch, loads)
        .holding(script)
        .holding(network)
}

fn firewall() -> PlantedService {
    let mut service = behind(
        &late(10, "'done'"),
        ["5/s:4s", "100/s:8s"],
        |network, port| {
            network.with_filter(&format!(
            "tcp dport {port} tcp flags & (syn | ack) == syn limit rate over 20/second burst 5 packets drop"
        ))
        },
    );
    service.more = vec!["--no-keepalive".to_owned()];
    service
}

fn bandwidth() -> PlantedService {
    let text = late(0, "'x'.repeat(50000)");
    behind(&text, ["5/s:4s", "100/s:16s"], |network, _| {
        network.with_slow_loopback(20_000)
    })
}
