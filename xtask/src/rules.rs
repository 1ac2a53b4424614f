//! The page of rules: the rules of the method that are implemented, and the tests of each. Generated from the code and its
//! tests, so that it stays true.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// Path of the page, below the folder of reference pages.
pub(crate) const PAGE: &str = "rules.md";
/// Folder of the rules' table and their tests over synthetic or recorded series.
const RULES: &str = "crates/plimsoll-analysis/src/findings";
/// Tests on real programs: files, or folders with all their files.
const REAL: [&str; 4] = [
    "crates/plimsoll-testkit/src/corpus",
    "crates/plimsoll/tests/e2e",
    "crates/plimsoll/tests/collectors",
    "crates/plimsoll-lab/tests/limits",
];
/// Before this line of a file there are no tests.
const TESTS: &str = "#[cfg(test)]";

/// The method's rules: id and limit; `V1`, `J11` and the last are ours.
const METHOD: [(&str, &str); 109] = [
    ("G1", "load generator CPU"),
    ("G2", "generator ephemeral ports"),
    ("G3", "generator fd limit"),
    ("N1", "accept backlog of listener"),
    ("N2", "SYN drop, not accept queue (memory, filters)"),
    ("N3", "SYN queue"),
    ("N4", "packet loss or congested path"),
    ("N5", "SYN lost on path (firewall, conntrack, LB)"),
    ("N6", "conntrack table"),
    ("N7", "NIC ring or softirq backlog"),
    ("N8", "interrupt imbalance"),
    ("N9", "bandwidth or packet-rate cap"),
    ("N10", "TCP memory"),
    ("N11", "TIME_WAIT table"),
    ("N12", "ephemeral ports to one upstream"),
    ("N13", "TLS handshakes"),
    ("C1", "CPU"),
    ("C2", "cgroup CPU quota"),
    ("C3", "one thread (event loop, GIL, single worker)"),
    ("C4", "stolen CPU / exhausted burst credits"),
    ("C5", "lock contention"),
    ("C6", "kernel time (syscalls, copies, small I/O)"),
    ("C7", "thermal or power cap"),
    ("M1", "memory pressure, thrash"),
    ("M2", "memory limit"),
    ("M3", "swapping"),
    ("M4", "memory/fd/thread leak"),
    ("M5", "cgroup memory.high reclaim throttling"),
    ("D1", "disk"),
    ("D2", "volume cap/credits"),
    ("D3", "synchronous log writes"),
    ("D4", "full disk"),
    ("F1", "file descriptors"),
    ("F2", "pids/threads limit"),
    ("X1", "nginx `worker_connections`"),
    ("X2", "nginx `worker_connections`, nearly used up"),
    ("X3", "upstream accept backlog or down"),
    ("X4", "upstream socket backlog (often PHP-FPM)"),
    ("X5", "all peers ejected by `max_fails`"),
    ("X6", "limiter that nginx is told to keep"),
    ("X7", "upstream slow"),
    ("X8", "proxy buffer spill to disk"),
    ("H1", "HAProxy server `maxconn` / `timeout queue`"),
    ("H2", "HAProxy: a server refuses connections"),
    ("H3", "HAProxy: connections to a server time out"),
    ("H4", "HAProxy: a server is slow to answer"),
    ("H5", "HAProxy: a server closes before it has answered"),
    ("H6", "HAProxy: answers stop on their way"),
    (
        "H7",
        "HAProxy frontend/global `maxconn` (clients wait in kernel)",
    ),
    ("H8", "HAProxy: its own sockets, ports or memory"),
    ("H9", "clients gave up: a consequence"),
    ("H10", "HAProxy CPU"),
    ("H11", "HAProxy: imbalance or a slow replica"),
    ("A0", "Apache workers"),
    ("V1", "Varnish threads"),
    ("J1", "Node event loop"),
    ("J2", "libuv pool"),
    ("J3", "JVM garbage collection"),
    ("J4", "JVM heap too small or leak"),
    ("J5", "servlet threads"),
    ("J6", "DB connection pool"),
    (
        "J7",
        "connection held during remote call or idle in transaction",
    ),
    ("J8", "client pool per host"),
    ("J9", "named dependency"),
    ("J10", "dependency's rate limit"),
    ("J11", "no pool: a session of the database for each request"),
    ("R1", "Puma threads and workers"),
    ("R2", "Python workers"),
    ("R3", "`pm.max_children`"),
    ("R4", "slow script, cause below"),
    ("R5", "Go scheduler/GC"),
    ("R6", ".NET thread-pool starvation"),
    ("P1", "PostgreSQL `max_connections`"),
    ("P2", "PostgreSQL CPU"),
    ("P3", "row/table/advisory lock"),
    ("P4", "internal lock of PostgreSQL"),
    ("P5", "working set > buffers"),
    ("P6", "commit fsync"),
    ("P7", "sequential scan: missing index"),
    ("P8", "idle transactions"),
    ("P9", "sort/hash spill (`work_mem`)"),
    ("P10", "checkpoint/WAL settings"),
    ("P11", "pgbouncer pool size"),
    ("P12", "deadlocks"),
    ("Q1", "MySQL `max_connections`"),
    ("Q2", "MySQL CPU/concurrency"),
    ("Q3", "full table scan"),
    ("Q4", "filesort"),
    ("Q5", "on-disk temp tables"),
    ("Q6", "InnoDB row locks"),
    ("Q7", "buffer pool too small"),
    ("Q8", "InnoDB redo log"),
    ("Q9", "InnoDB flushing of dirty pages"),
    ("K1", "Redis single thread"),
    ("K2", "Redis maxmemory"),
    ("K3", "slow command (KEYS, big ranges, Lua)"),
    ("K4", "Redis maxclients"),
    ("K5", "fork/AOF stall"),
    ("K6", "memcached connections / memory"),
    ("K7", "MongoDB storage concurrency"),
    ("S1", "coherency/thrash/retry amplification"),
    ("S2", "retry storm"),
    ("S3", "work done for expired requests"),
    ("S4", "cache stampede"),
    ("S5", "cache too small / polluted / fragmented key"),
    (
        "S6",
        "something with a period: cron, collection, checkpoint",
    ),
    ("S7", "slow start"),
    ("S8", "expensive route"),
    ("N+1", "one statement again and again in each request"),
];

/// What is known of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Trial {
    Real,
    Series,
    None,
}

/// Writes the page into a folder.
///
/// # Errors
/// When a source cannot be read, or a rule is built that the method does not name.
pub(crate) fn write(root: &Path, folder: &Path) -> Result<()> {
    let mut sources = Vec::new();
    read_below(&root.join(RULES), &mut sources)?;
    let mut real = Vec::new();
    for path in REAL {
        read_below(&root.join(path), &mut real)?;
    }
    let path = folder.join(PAGE);
    let page = page(&sources, &real)?;
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))
}

/// Name and text of every source below a folder.
fn read_below(path: &Path, sources: &mut Vec<(String, String)>) -> Result<()> {
    let entries = std::fs::read_dir(path);
    for entry in entries.with_context(|| format!("cannot read {}", path.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            read_below(&path, sources)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path)?;
            sources.push((path.display().to_string(), text));
        }
    }
    Ok(())
}

fn page(sources: &[(String, String)], real: &[(String, String)]) -> Result<String> {
    let is_test = |name: &str| name.ends_with("tests.rs");
    let built = sources.iter().filter(|(name, _)| !is_test(name));
    let built: BTreeSet<&str> = built.flat_map(|(_, text)| ids_of_rows(text)).collect();
    let unknown = |id: &&&str| !METHOD.iter().any(|(known, _)| known == *id);
    if let Some(id) = built.iter().find(unknown) {
        bail!("rule {id} is built and not named in xtask/src/rules.rs");
    }
    let series = sources.iter().map(|(name, text)| {
        let begin = if is_test(name) {
            Some(0)
        } else {
            text.find(TESTS)
        };
        begin.map_or("", |begin| &text[begin..])
    });
    let series: BTreeSet<&str> = series.flat_map(ids_tried).collect();
    let real: BTreeSet<&str> = real.iter().flat_map(|(_, text)| ids_tried(text)).collect();
    let tried = |id: &str| {
        if real.contains(id) {
            Trial::Real
        } else if series.contains(id) {
            Trial::Series
        } else {
            Trial::None
        }
    };
    let count = |wanted: Trial| built.iter().filter(|id| tried(id) == wanted).count();
    let mut text = format!(
        "# Rules\n\nEvery rule by which `plimsoll` names a limit, and what it is tried on. Made from the code and its tests by \
         `cargo xtask reference`; do not edit.\n\n{} of {} rules are built: {} are tried on a real program that is brought to \
         that limit, {} on series that were made up or recorded, {} on neither by name.\n\n\
         | Rule | Limit | Built | Tried on |\n|---|---|---|---|\n",
        built.len(),
        METHOD.len(),
        count(Trial::Real),
        count(Trial::Series),
        count(Trial::None)
    );
    for (id, limit) in METHOD {
        let is_built = built.contains(id);
        let on = match tried(id) {
            _ if !is_built => "–",
            Trial::Real => "real program",
            Trial::Series => "made-up or recorded series",
            Trial::None => "nothing by name",
        };
        let is_built = if is_built { "yes" } else { "not built" };
        let limit = limit.replace('|', "\\|");
        writeln!(text, "| {id} | {limit} | {is_built} | {on} |")?;
    }
    Ok(text)
}

/// Ids of the rows of a table of rules.
fn ids_of_rows(text: &str) -> Vec<&str> {
    let rows = text.split("\n        id: \"").skip(1);
    rows.filter_map(|row| row.split('"').next()).collect()
}

/// Ids that a test asks for: not those it leaves out (`!= "G1"`), nor what it would take as well (`["P9", "P2"]`).
fn ids_tried(text: &str) -> Vec<&str> {
    let mut ids = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find('"').map(|open| at + open) {
        let Some(len) = text[open + 1..].find('"') else {
            break;
        };
        let id = &text[open + 1..open + 1 + len];
        let before = text[..open].trim_end();
        let earlier = before.strip_suffix(',').map_or("", str::trim_end);
        let earlier = earlier
            .strip_suffix('"')
            .map_or("", |earlier| earlier.rsplit('"').next().unwrap_or_default());
        let is_second = is_id(earlier);
        if is_id(id) && !before.ends_with("!=") && !is_second {
            ids.push(id);
            at = open + len + 2;
        } else if is_id(id) {
            at = open + len + 2;
        } else {
            // It may have been the end of another text.
            at = open + 1;
        }
    }
    ids
}

/// One or two letters and a number, or our own.
fn is_id(text: &str) -> bool {
    if text == "N+1" {
        return true;
    }
    let digits = text.trim_start_matches(|c: char| c.is_ascii_uppercase());
    (1..=2).contains(&(text.len() - digits.len()))
        && (1..=2).contains(&digits.len())
        && digits.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    #[test]
    fn the_page_says_what_is_so() {
        let row = |id: &str| format!("    Rule {{\n        id: \"{id}\",\n    }},\n");
        let table = [row("H1"), row("P9"), row("P2"), row("N2")].concat();
        let sources = [
            source("table.rs", &table),
            source("tests.rs", "assert_eq!(best.rule, \"N2\");"),
        ];
        let real = [source(
            "e2e.rs",
            "best(&found, \"H1\"); rules: &[\"P9\", \"P2\"], finding[\"rule\"] != \"G1\"",
        )];
        let page = page(&sources, &real).unwrap();
        for line in [
            "4 of 109 rules are built: 2 are tried on a real program that is brought to that limit, 1 on series",
            "| H1 | HAProxy server `maxconn` / `timeout queue` | yes | real program |",
            "| P9 | sort/hash spill (`work_mem`) | yes | real program |",
            "| P2 | PostgreSQL CPU | yes | nothing by name |",
            "| N2 | SYN drop, not accept queue (memory, filters) | yes | made-up or recorded series |",
            "| G1 | load generator CPU | not built | – |",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
        let strange = [source("table.rs", &row("Z9"))];
        assert!(super::page(&strange, &[]).is_err());
    }

    #[test]
    fn texts_that_are_no_ids() {
        assert_eq!(
            ids_tried("(\"HTTP\", \"a\", \"X10\") \"X123\" \"10\""),
            ["X10"]
        );
        assert!(!is_id("") && !is_id("H") && !is_id("7") && is_id("N12"));
    }
}
