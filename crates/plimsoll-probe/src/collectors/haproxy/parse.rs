//! Metrics of HAProxy: `show info` and the CSV of `show stat`, which is also the CSV of its stats page.

/// Rows that are read: frontends, backends and servers.
const ROWS_MAX: usize = 256;
/// First column name of the CSV header.
const HEAD: &str = "# pxname,";

/// Kind of a row of the CSV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    /// The side of clients.
    Frontend,
    /// All servers of a proxy together.
    Backend,
    /// One server.
    Server,
}

/// A row of the CSV; missing values are `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HaproxyRow {
    /// Name of the frontend or backend.
    pub(crate) proxy: String,
    /// Name of the server; FRONTEND or BACKEND for the proxy as a whole.
    pub(crate) server: String,
    /// Its kind.
    pub(crate) kind: RowKind,
    /// Requests that wait (`qcur`).
    pub(crate) queue: Option<u64>,
    /// Sessions (`scur`).
    pub(crate) sessions: Option<u64>,
    /// Most sessions (`slim`).
    pub(crate) limit: Option<u64>,
    /// Sessions since the start (`stot`).
    pub(crate) begun: Option<u64>,
    /// Connections that failed (`econ`).
    pub(crate) connect_errors: Option<u64>,
    /// Response errors (`eresp`).
    pub(crate) answer_errors: Option<u64>,
    /// Connections tried again (`wretr`).
    pub(crate) retries: Option<u64>,
    /// Transfers that clients gave up (`cli_abrt`).
    pub(crate) client_aborts: Option<u64>,
    /// HTTP requests (`req_tot`), of frontends.
    pub(crate) requests: Option<u64>,
    /// Responses with 5xx (`hrsp_5xx`).
    pub(crate) server_errors: Option<u64>,
    /// Its weight (`weight`); 0 for a backup server (`bck`).
    pub(crate) weight: Option<u64>,
    /// Mean times in ms: `qtime`, `ctime`, `rtime`, `ttime`.
    pub(crate) times_ms: [Option<u64>; 4],
}

/// The text of `show info` and that of the CSV, of a response that holds both; the first is empty where there is
/// only the CSV. `None` without a CSV.
pub(crate) fn split(text: &str) -> Option<(&str, &str)> {
    if text.starts_with(HEAD) {
        return Some(("", text));
    }
    let at = text.find(&format!("\n{HEAD}"))?;
    Some((&text[..at], &text[at + 1..]))
}

/// A value of `show info`: `Maxconn: 2000`.
pub(crate) fn value<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = info.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
}

/// The rows of the CSV, at most 256; listeners are left out.
pub(crate) fn rows(text: &str) -> Vec<HaproxyRow> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    let Ok(head) = reader.headers().cloned() else {
        return Vec::new();
    };
    let column = |name: &str| {
        head.iter()
            .position(|have| have.trim_start_matches("# ") == name)
    };
    let names = [
        "qcur", "scur", "slim", "stot", "econ", "eresp", "wretr", "cli_abrt", "hrsp_5xx", "qtime",
        "ctime", "rtime", "ttime", "weight", "bck", "req_tot",
    ];
    let columns = names.map(column);
    let (proxy, server, kind) = (column("pxname"), column("svname"), column("type"));
    let row = |record: csv::StringRecord| -> Option<HaproxyRow> {
        let text = |column: Option<usize>| record.get(column?);
        let kind = match text(kind)? {
            "0" => RowKind::Frontend,
            "1" => RowKind::Backend,
            "2" => RowKind::Server,
            _ => return None,
        };
        let value = |index: usize| text(columns[index])?.parse().ok();
        Some(HaproxyRow {
            proxy: text(proxy)?.to_owned(),
            server: text(server)?.to_owned(),
            kind,
            queue: value(0),
            sessions: value(1),
            limit: value(2),
            begun: value(3),
            connect_errors: value(4),
            answer_errors: value(5),
            retries: value(6),
            client_aborts: value(7),
            requests: value(15),
            server_errors: value(8),
            weight: value(13).map(|weight| if value(14) == Some(1) { 0 } else { weight }),
            times_ms: [value(9), value(10), value(11), value(12)],
        })
    };
    let records = reader.into_records().map_while(Result::ok);
    records.filter_map(row).take(ROWS_MAX).collect()
}
