//! A JVM, uWSGI, Varnish and a program in Go, from the system's packages.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::databases::carry_out;
use super::{Program, folder, write};
use crate::port;

/// A server in Java with a pool of threads: the JDK's own, with `sleep MS`, `collect KIB` or `keep KIB` for each request.
const JAVA: &str = "
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.*;
import java.util.concurrent.Executors;

public class Main {
    static final List<Object> KEPT = Collections.synchronizedList(new ArrayList<>());

    static Object chain(int kib) {
        Object last = null;
        for (int i = 0; i < kib * 32; i++) last = new Object[] { last, null };
        return last;
    }

    public static void main(String[] words) throws Exception {
        int threads = Integer.parseInt(words[1]), much = Integer.parseInt(words[3]);
        String work = words[2];
        if (work.equals(\"collect\")) KEPT.add(chain(20 * 1024));
        HttpServer server = HttpServer.create(new InetSocketAddress(words[4], Integer.parseInt(words[0])), 511);
        server.setExecutor(Executors.newFixedThreadPool(threads));
        server.createContext(\"/\", exchange -> {
            Object held = null;
            if (work.equals(\"collect\")) held = chain(much);
            if (work.equals(\"keep\")) KEPT.add(new byte[much * 1024]);
            try {
                Thread.sleep(work.equals(\"sleep\") ? much : 10);
            } catch (InterruptedException ended) {
                return;
            }
            byte[] done = (held == null ? \"done\" : \"held\").getBytes();
            exchange.sendResponseHeaders(200, done.length);
            exchange.getResponseBody().write(done);
            exchange.close();
        });
        server.start();
        System.out.println(\"ready\");
    }
}
";

/// A server in Java.
#[derive(Debug)]
pub struct Jvm {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
}

impl Jvm {
    /// Compiles and starts it with JVM options, a number of threads, and its work per request: `sleep MS`,
    /// `collect KIB` (allocates and releases objects) or `keep KIB` (retains them).
    #[must_use]
    pub fn start(options: &[&str], threads: u32, work: &str) -> Self {
        let (folder, address) = (folder(), port::unused());
        let source = folder.path().join("Main.java");
        write(&source, JAVA);
        let path = folder.path().display().to_string();
        carry_out(&["javac", "-d", &path, &source.display().to_string()]);
        let (port, threads) = (address.port().to_string(), threads.to_string());
        let (what, much) = work.split_once(' ').expect("a work has a measure");
        let host = address.ip().to_string();
        let command = [
            &["java", "-Dsun.net.httpserver.nodelay=true"],
            options,
            &["-cp", &path, "Main", &port, &threads, what, much, &host],
        ];
        Self {
            program: Program::start(folder, &command.concat(), "ready"),
            address,
        }
    }

    /// The file of its performance counters.
    #[must_use]
    pub fn counters(&self) -> PathBuf {
        let pid = self.program.pid().to_string();
        let users = std::fs::read_dir("/tmp").expect("there is a folder for what is temporary");
        let users = users.filter_map(|entry| Some(entry.ok()?.path()));
        let mut files = users.map(|user| user.join(&pid));
        let file =
            files.find(|path| path.to_string_lossy().contains("/hsperfdata_") && path.is_file());
        file.expect("a JVM shows its counters")
    }

    /// The URL for requests.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

/// uWSGI with an application in Python that sleeps for each request.
#[derive(Debug)]
pub struct Uwsgi {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
    /// The address of its stats server.
    pub stats: SocketAddr,
    /// Its configuration file.
    pub configuration: PathBuf,
}

impl Uwsgi {
    /// Starts it with a number of processes.
    #[must_use]
    pub fn start(processes: u32, seconds: &str) -> Self {
        let (folder, address, stats) = (folder(), port::unused(), port::unused());
        let text = format!(
            "import time\ndef application(environ, start):\n    time.sleep({seconds})\n\
             \x20   start('200 OK', [('Content-Type', 'text/plain'), ('Content-Length', '4')])\n    return [b'done']\n"
        );
        write(&folder.path().join("app.py"), &text);
        let text = format!(
            "[uwsgi]\nplugins = python3\nmaster = true\nprocesses = {processes}\nhttp-socket = {address}\nstats = {stats}\n\
             chdir = {}\nmodule = app\nneed-app = true\ndie-on-term = true\n",
            folder.path().display()
        );
        let configuration = folder.path().join("uwsgi.ini");
        write(&configuration, &text);
        let path = configuration.display().to_string();
        Self {
            program: Program::start(folder, &["uwsgi", "--ini", &path], "Stats server enabled"),
            address,
            stats,
            configuration,
        }
    }
}

/// Varnish without caching, in front of another server, with one thread pool.
#[derive(Debug)]
pub struct Varnish {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
}

impl Varnish {
    /// Starts it with a number of threads, without caching.
    #[must_use]
    pub fn start(threads: u32, upstream: SocketAddr) -> Self {
        Self::start_with(threads, "16m", upstream, "return (pass);")
    }

    /// Starts it with a cache size, such as `2m`.
    #[must_use]
    pub fn caching(memory: &str, upstream: SocketAddr) -> Self {
        Self::start_with(1000, memory, upstream, "return (hash);")
    }

    fn start_with(threads: u32, memory: &str, upstream: SocketAddr, receive: &str) -> Self {
        let (folder, address) = (folder(), port::unused());
        let text = format!(
            "vcl 4.1;\nbackend default {{ .host = \"{}\"; .port = \"{}\"; }}\nsub vcl_recv {{ {receive} }}\n",
            upstream.ip(),
            upstream.port()
        );
        let vcl = folder.path().join("default.vcl");
        write(&vcl, &text);
        // Its folder is read by its child, which runs as an unprivileged user.
        let own = folder.path().join("varnish").display().to_string();
        let (listen, vcl) = (address.to_string(), vcl.display().to_string());
        let most = format!("thread_pool_max={threads}");
        let memory = format!("malloc,{memory}");
        let command = [
            "varnishd",
            "-F",
            "-j",
            "none",
            "-n",
            &own,
            "-a",
            &listen,
            "-f",
            &vcl,
            "-T",
            "none",
            "-s",
            &memory,
            "-p",
            "thread_pools=1",
            "-p",
            "thread_pool_min=5",
            "-p",
            &most,
        ];
        Self {
            program: Program::start(folder, &command, "Child starts"),
            address,
        }
    }

    /// The command that prints its counters.
    #[must_use]
    pub fn command(&self) -> String {
        let own = self.program.path().join("varnish");
        format!("varnishstat -j -t 0 -n {}", own.display())
    }
}

/// A server in Go: with `collect KIB` or `compute MS` for each request, `expvar`, and a page with `runtime/metrics`
/// under the names of the Go client of Prometheus.
const GO: &str = r#"
package main

import (
	_ "expvar"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

type node struct {
	next *node
	more [2]int
}

func chain(kib int) (last *node) {
	for i := 0; i < kib*32; i++ {
		last = &node{next: last}
	}
	return last
}

var kept *node

// Concurrency that leaves CPU for the scraper.
var gate = make(chan bool, 8)

func main() {
	much, _ := strconv.Atoi(os.Args[3])
	work := os.Args[2]
	if work == "collect" {
		kept = chain(32 * 1024)
	}
	http.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) {
		gate <- true
		defer func() { <-gate }()
		if work == "collect" {
			chain(much)
		}
		for end := time.Now().Add(time.Duration(much) * time.Millisecond); work == "compute" && time.Now().Before(end); {
		}
		fmt.Fprint(answer, "done")
	})
	http.HandleFunc("/metrics", page)
	listener, err := net.Listen("tcp", os.Args[4]+":"+os.Args[1])
	fmt.Println("ready", err)
	fmt.Println(http.Serve(listener, nil))
}

func page(answer http.ResponseWriter, _ *http.Request) {
	var samples []metrics.Sample
	for _, one := range metrics.All() {
		samples = append(samples, metrics.Sample{Name: one.Name})
	}
	metrics.Read(samples)
	for _, one := range samples {
		name := "go" + strings.NewReplacer("/", "_", ":", "_", "-", "_").Replace(one.Name)
		if strings.HasPrefix(one.Name, "/cpu/classes/") || strings.HasPrefix(one.Name, "/gc/cycles/") {
			name += "_total"
		}
		switch one.Value.Kind() {
		case metrics.KindUint64:
			fmt.Fprintf(answer, "%s %d\n", name, one.Value.Uint64())
		case metrics.KindFloat64:
			fmt.Fprintf(answer, "%s %g\n", name, one.Value.Float64())
		case metrics.KindFloat64Histogram:
			own := one.Value.Float64Histogram()
			all := uint64(0)
			for i, count := range own.Counts {
				all += count
				bound := "+Inf"
				if !math.IsInf(own.Buckets[i+1], 1) {
					bound = fmt.Sprint(own.Buckets[i+1])
				}
				fmt.Fprintf(answer, "%s_bucket{le=%q} %d\n", name, bound, all)
			}
		}
	}
}
"#;

/// A server in Go.
#[derive(Debug)]
pub struct Go {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
}

impl Go {
    /// Compiles and starts it with settings for its runtime (`GOGC=2`) and its work per request: `collect KIB` or
    /// `compute MS`.
    #[must_use]
    pub fn start(setting: &str, work: &str) -> Self {
        let (folder, address) = (folder(), port::unused());
        let source = folder.path().join("main.go");
        write(&source, GO);
        let binary = folder.path().join("shop").display().to_string();
        let source = source.display().to_string();
        let build = [
            "env",
            "CGO_ENABLED=0",
            "GOTOOLCHAIN=local",
            "GOFLAGS=",
            "go",
            "build",
            "-o",
            &binary,
            &source,
        ];
        carry_out(&build);
        let (port, host) = (address.port().to_string(), address.ip().to_string());
        let (what, much) = work.split_once(' ').expect("a work has a measure");
        let command = ["env", setting, &binary, &port, what, much, &host];
        Self {
            program: Program::start(folder, &command, "ready"),
            address,
        }
    }

    /// The URL of one of its pages.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}
