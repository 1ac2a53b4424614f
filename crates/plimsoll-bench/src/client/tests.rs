//! What the clients print, as they printed it on a real run.

use super::*;

fn parse(program: &str, text: &str) -> Result<ClientSummary> {
    ClientSummary::parse(&[format!("/usr/bin/{program}"), "URL".to_owned()], text)
}

#[test]
fn reads_wrk() {
    let text = "Running 5s test @ http://127.0.0.1:35359/\n  1 threads and 4 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     1.14ms  638.96us   7.95ms   93.55%\n    Req/Sec     3.72k   194.57     4.04k    80.00%\n  Latency Distribution\n     50%    0.99ms\n     75%    1.00ms\n     90%    1.05ms\n     99%    4.50ms\n  18501 requests in 5.00s, 18.83MB read\nRequests/sec:   3698.85\nTransfer/sec:      3.76MB\n";
    let summary = parse("wrk", text).unwrap();
    assert_eq!(
        (summary.requests, summary.failed, summary.p99_ms),
        (18_501, 0, Some(4.5))
    );
    let summary = parse(
        "wrk",
        &text
            .replace(
                "Requests/sec",
                "  Non-2xx or 3xx responses: 501\nRequests/sec",
            )
            .replace("4.50ms", "450.00us"),
    )
    .unwrap();
    assert_eq!(
        (summary.requests, summary.failed, summary.p99_ms),
        (18_000, 501, Some(0.45))
    );
    assert!(parse("wrk", "unable to connect\n").is_err());
}

#[test]
fn reads_our_own() {
    let text = r#"{ "outcomes": { "ok": 90, "timeout": 10 }, "response_time_ms": { "p95": 1.5, "p99": 2.5 }, "generator": { "lag_ms_p99": 0.02 }, "void": null }"#;
    let summary = parse("plimsoll", text).unwrap();
    assert_eq!(
        (
            summary.requests,
            summary.failed,
            summary.p95_ms,
            summary.lag_ms_p99
        ),
        (90, 10, Some(1.5), Some(0.02))
    );
    assert_eq!(summary.void, None);
    let summary = parse("plimsoll", &text.replace("null", "[\"late\"]")).unwrap();
    assert_eq!(summary.void.as_deref(), Some("late"));
}

#[test]
fn reads_hey() {
    let text = "Latency distribution:\n  90% in 0.0032 secs\n  95% in 0.0103 secs\n  99% in 0.0595 secs\n\n\
                Status code distribution:\n  [200]\t200 responses\n  [503]\t3 responses\n";
    let summary = parse("hey", text).unwrap();
    assert_eq!((summary.requests, summary.failed), (200, 3));
    assert_eq!((summary.p95_ms, summary.p99_ms), (Some(10.3), Some(59.5)));
}

#[test]
fn reads_ab() {
    let text = "Complete requests:      200\nFailed requests:        2\nPercentage of the requests served within a \
                certain time (ms)\n  90%      1\n  95%      3\n  99%      9\n 100%     12 (longest request)\n";
    let summary = parse("ab", text).unwrap();
    assert_eq!(
        (
            summary.requests,
            summary.failed,
            summary.p95_ms,
            summary.p99_ms
        ),
        (198, 2, Some(3.0), Some(9.0))
    );
}

/// The names of oha 1.16's fields.
#[test]
fn reads_oha() {
    let text = r#"{ "latencyPercentiles": { "p95": 0.508, "p99": 0.903 },
        "statusCodeDistribution": { "200": 90, "503": 4 }, "errorDistribution": { "aborted due to deadline": 6 } }"#;
    let summary = parse("oha", text).unwrap();
    assert_eq!(
        (
            summary.requests,
            summary.failed,
            summary.p95_ms,
            summary.p99_ms
        ),
        (90, 10, Some(508.0), Some(903.0))
    );
}

#[test]
fn reads_h2load() {
    let text = "\nfinished in 5.00s, 31055.20 req/s, 34.44MB/s\n\
                requests: 155276 total, 155276 started, 155276 done, 155270 succeeded, 4 failed, 2 errored, 0 timeout\n";
    let summary = parse("h2load", text).unwrap();
    assert_eq!((summary.requests, summary.failed), (155_270, 6));
    assert!(parse("h2load", "no counts").is_err());
}

#[test]
fn reads_gatling() {
    let picture = |all: &str, good: &str, bad: &str| {
        format!(
            "---- Requests ------|---Total---|-----OK----|----KO----\n\
             > Global            | {all:>9} | {good:>9} | {bad:>8}\n\
             > GET /form         |         1 |         1 |        0\n\n"
        )
    };
    let text = picture("10", "10", "-") + &picture("9,364", "9,361", "3") + "Simulation done\n";
    let summary = parse("java", &text).unwrap();
    assert_eq!((summary.all(), summary.failed), (9_364, 3));
    let summary = parse("java", &picture("1,009,364", "1,009,364", "0")).unwrap();
    assert_eq!((summary.requests, summary.failed), (1_009_364, 0));
    let error = parse("java", "WARN no such class\n\n").unwrap_err();
    assert!(error.to_string().ends_with("WARN no such class"), "{error}");
}

/// The metrics of k6 1.8's summary.
#[test]
fn reads_k6() {
    let text = r#"{ "http_reqs": { "type": "counter", "contains": "default", "values": { "count": 40000, "rate": 6719.5 } },
        "http_req_failed": { "type": "rate", "contains": "default", "values": { "rate": 0.0001, "passes": 4, "fails": 39996 } },
        "checks": { "type": "rate", "contains": "default", "values": { "rate": 0.9, "passes": 15997, "fails": 3 } } }"#;
    let summary = parse("k6", text).unwrap();
    assert_eq!((summary.all(), summary.failed), (40_000, 7));
    assert!(parse("k6", "{}").is_err());
}
