//! Limits of the application itself and of the machine below it.

use super::{Planted, PlantedService};
use crate::program::runtimes::Script;

pub(super) const PLANTED: &[Planted] = &[
    Planted {
        name: "Node: each request computes on the event loop",
        rules: &["C3", "J1"],
        start: node_loop,
    },
    Planted {
        name: "Node: passwords hashed on the event loop (pbkdf2Sync)",
        rules: &["C3", "J1"],
        start: node_hash,
    },
    Planted {
        name: "Python: one thread computes",
        rules: &["C3"],
        start: python_thread,
    },
    Planted {
        name: "Python: threads that compute take turns (GIL)",
        rules: &["C3"],
        start: python_threads,
    },
    Planted {
        name: "Python: three processes that copy 64 MiB out of the kernel for each request",
        rules: &["C6", "C1"],
        start: copies,
    },
    Planted {
        name: "Python: 40 file descriptors",
        rules: &["F1"],
        start: descriptors,
    },
    Planted {
        name: "a backlog of 8 before an application that sleeps",
        rules: &["N1"],
        start: backlog,
    },
];

pub(super) const NODE_LOOP: &str = "require('http').createServer((q, a) => { const end = Date.now() + 20; while (Date.now() < end); \
    a.end('done'); }).listen(+process.argv[2], process.argv[3], 511, () => console.log('ready'));";
const NODE_HASH: &str = "const c = require('crypto'); require('http').createServer((q, a) => { c.pbkdf2Sync('secret', 'salt', \
    30000, 32, 'sha256'); a.end('done'); }).listen(+process.argv[2], process.argv[3], 511, () => console.log('ready'));";
const PYTHON_THREAD: &str = "
import sys, http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.0'
    def do_GET(self):
        sum(i * i for i in range(150000))
        self.send_response(200); self.send_header('content-length', '4'); self.end_headers(); self.wfile.write(b'done')
    def log_message(self, *a): pass
class Server(http.server.HTTPServer):
    request_queue_size = 511
server = Server((sys.argv[2], int(sys.argv[1])), Handler)
print('ready', flush=True)
server.serve_forever()
";
/// The work of a request, in a threaded server.
pub(super) fn threads(begin: &str, work: &str) -> String {
    format!(
        "
import resource, sys, time, http.server
{begin}
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.0'
    def do_GET(self):
        {work}
        self.send_response(200); self.send_header('content-length', '4'); self.end_headers(); self.wfile.write(b'done')
    def log_message(self, *a): pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 511
    daemon_threads = True
    def handle_error(self, *a): pass
server = Server((sys.argv[2], int(sys.argv[1])), Handler)
print('ready', flush=True)
server.serve_forever()
"
    )
}

const BACKLOG: &str = "
import sys, time, http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.0'
    def do_GET(self):
        time.sleep(0.05)
        self.send_response(200); self.send_header('content-length', '4'); self.end_headers(); self.wfile.write(b'done')
    def log_message(self, *a): pass
class Server(http.server.HTTPServer):
    request_queue_size = 8
server = Server((sys.argv[2], int(sys.argv[1])), Handler)
print('ready', flush=True)
server.serve_forever()
";

pub(super) fn script(interpreter: &str, text: &str, loads: [&'static str; 2]) -> PlantedService {
    let script = Script::start(interpreter, text);
    let watch = format!("pid: {}\n", script.program.pid());
    PlantedService::new(format!("http://{}/", script.address), watch, loads).holding(script)
}

fn node_loop() -> PlantedService {
    script("node", NODE_LOOP, ["5/s:4s", "120/s:8s"])
}

fn node_hash() -> PlantedService {
    script("node", NODE_HASH, ["5/s:4s", "400/s:8s"])
}

fn python_thread() -> PlantedService {
    script("python3", PYTHON_THREAD, ["5/s:4s", "400/s:8s"])
}

fn python_threads() -> PlantedService {
    let work = "sum(i * i for i in range(150000))";
    script("python3", &threads("", work), ["5/s:4s", "220/s:8s"])
}

fn copies() -> PlantedService {
    let begin = "import ctypes, os\nroom = bytearray(1 << 26)\nclass Copies(http.server.ThreadingHTTPServer):\n    def serve_forever(self):\n        \
        first = os.getpid(); os.fork() and os.fork(); os.getpid() == first or ctypes.CDLL(None).prctl(1, 9); super().serve_forever()\nhttp.server.ThreadingHTTPServer = Copies";
    let work = "zero = open('/dev/zero', 'rb', 0); zero.readinto(room); zero.close()";
    script("python3", &threads(begin, work), ["5/s:4s", "400/s:8s"])
}

fn descriptors() -> PlantedService {
    let begin = "resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))";
    script(
        "python3",
        &threads(begin, "time.sleep(0.3)"),
        ["5/s:4s", "300/s:8s"],
    )
}

fn backlog() -> PlantedService {
    script("python3", BACKLOG, ["3/s:4s", "100/s:8s"])
}
