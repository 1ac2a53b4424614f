//! What the clients print, as they printed it on a real run.

use super::*;

#[test]
fn reads_wrk() {
    let text = "Running 5s test @ http://127.0.0.1:35359/\n  1 threads and 4 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     1.14ms  638.96us   7.95ms   93.55%\n    Req/Sec     3.72k   194.57     4.04k    80.00%\n  Latency Distribution\n     50%    0.99ms\n     75%    1.00ms\n     90%    1.05ms\n     99%    4.50ms\n  18501 requests in 5.00s, 18.83MB read\nRequests/sec:   3698.85\nTransfer/sec:      3.76MB\n";
    let told = Tool::Wrk.told(text).unwrap();
    assert_eq!(
        (told.requests, told.failed, told.p99_ms),
        (18_501, 0, Some(4.5))
    );
    let told = Tool::Wrk
        .told(
            &text
                .replace(
                    "Requests/sec",
                    "  Non-2xx or 3xx responses: 501\nRequests/sec",
                )
                .replace("4.50ms", "450.00us"),
        )
        .unwrap();
    assert_eq!(
        (told.requests, told.failed, told.p99_ms),
        (18_000, 501, Some(0.45))
    );
    assert!(Tool::Wrk.told("unable to connect\n").is_err());
}

#[test]
fn reads_our_own() {
    let text = r#"{ "outcomes": { "ok": 90, "timeout": 10 }, "response_time_ms": { "p95": 1.5, "p99": 2.5 }, "generator": { "lag_ms_p99": 0.02 }, "void": null }"#;
    let told = Tool::Plimsoll.told(text).unwrap();
    assert_eq!(
        (told.requests, told.failed, told.p95_ms, told.lag_ms_p99),
        (90, 10, Some(1.5), Some(0.02))
    );
    assert!(!told.is_void);
    let told = Tool::Plimsoll
        .told(&text.replace("null", "[\"late\"]"))
        .unwrap();
    assert!(told.is_void);
}
