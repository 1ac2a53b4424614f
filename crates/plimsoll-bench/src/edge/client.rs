//! Load clients of an edge: wrk for HTTP/1.1, h2load for HTTP/2, and our generator for response times.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::child::{POLL, pinned, weigh};
use serde_json::Value;

use super::edges::ClientTransport;
use crate::context::BenchContext;
use crate::load::tool::Tool;
use crate::page::shown;

/// In flight at once, whatever the protocol.
const IN_FLIGHT: u32 = 64;
/// Streams of one HTTP/2 connection.
const STREAMS: u32 = 4;

/// The words of the command.
pub(crate) fn words(
    transport: ClientTransport,
    port: u16,
    path: &str,
    seconds: u32,
) -> Vec<String> {
    let line = match transport {
        ClientTransport::Plain => format!(
            "wrk -t1 -c{IN_FLIGHT} -d{seconds}s -H Accept:text/html http://127.0.0.1:{port}{path}"
        ),
        ClientTransport::Tls => {
            format!("wrk -t1 -c{IN_FLIGHT} -d{seconds}s https://127.0.0.1:{port}{path}")
        }
        ClientTransport::Http2 => format!(
            "h2load -t1 -c{} -m{STREAMS} -D{seconds} https://127.0.0.1:{port}{path}",
            IN_FLIGHT / STREAMS
        ),
    };
    line.split(' ').map(ToOwned::to_owned).collect()
}

/// Result of `plimsoll run` with these arguments, and its command for the page, with names for varying values.
pub(crate) fn generate(
    ground: &BenchContext,
    plimsoll: &Path,
    words: &str,
    named: &[(&str, &str)],
) -> Result<(Value, String)> {
    let line = format!("{} run {words} --cores 1 --json", plimsoll.display());
    let words: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
    let mut command = pinned(ground.client_core, &words);
    command.current_dir(ground.folder.path());
    // A void measurement has a result too, marked as void.
    let weighed = weigh(command, &[6], POLL, |_, _| ())?;
    let report = serde_json::from_str(&weighed.stdout)?;
    Ok((report, shown(&words, named)))
}

/// Good answers, none of which may have failed.
pub(crate) fn requests(transport: ClientTransport, text: &str) -> Result<u64> {
    let (good, failed) = if transport == ClientTransport::Http2 {
        h2load(text).context("h2load reports no count of requests")?
    } else {
        let summary = Tool::Wrk.parse_output(text)?;
        (summary.requests, summary.failed)
    };
    ensure!(good > 0, "no request succeeded");
    ensure!(failed == 0, "{failed} requests failed, none may");
    Ok(good)
}

/// `requests: 100 total, 100 started, 100 done, 100 succeeded, 0 failed, 0 errored, 0 timeout`: succeeded, and failed
/// of those that were done. In a run by time, what is under way at the end is neither.
fn h2load(text: &str) -> Option<(u64, u64)> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("requests: "))?;
    let count = |name: &str| {
        let field = line
            .split(", ")
            .find_map(|field| field.strip_suffix(name))?;
        field.trim().parse::<u64>().ok()
    };
    Some((count("succeeded")?, count("failed")? + count("errored")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_h2load_counts() {
        let text = "\nfinished in 5.00s, 31055.20 req/s, 34.44MB/s\n\
                    requests: 155276 total, 155276 started, 155276 done, 155270 succeeded, 4 failed, 2 errored, 0 timeout\n";
        assert_eq!(h2load(text), Some((155_270, 6)));
        assert!(requests(ClientTransport::Http2, text).is_err());
        assert_eq!(h2load("no counts"), None);
    }
}
