use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::SystemTime;

use plimsoll_config::edge::{Endpoint, Parents, Traces};
use plimsoll_net::clock::EdgeClock;
use plimsoll_proxy::telemetry::trace::{Context, SpanRequest};
use tokio::runtime::Builder;

use super::*;
use crate::overview::ExportCounts;

/// Longer than the collector's thread stands still on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

fn span() -> RequestSpan {
    RequestSpan {
        context: Context {
            trace: 1,
            parent: 0,
            sampled: true,
        },
        id: 0x5ca1_ab1e,
        exchange: 3,
        request: Box::new(SpanRequest::default()),
        status: 200,
        reason: None,
        server: None,
        wall: SystemTime::UNIX_EPOCH,
        began: 0,
        admitted: 0,
        first_byte: 0,
        ended: 0,
    }
}

/// Accepts one export, replies with `answer`, and returns the request.
fn collector(answer: &'static str) -> (BackgroundTasks, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let tasks = BackgroundTasks::with_traces(Traces {
        to: Endpoint {
            secure: false,
            host: address.ip().to_string(),
            port: address.port(),
            target: "/v1/traces".to_owned(),
            headers: Vec::new(),
        },
        share: 1.0,
        parents: Parents::None,
        service: "shop".to_owned(),
    });
    let taken = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        let mut len = 0;
        while line != "\r\n" {
            line.clear();
            assert!(stream.read_line(&mut line).unwrap() > 0, "cut off");
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                len = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; len];
        stream.read_exact(&mut body).expect("a whole message");
        stream.get_mut().write_all(answer.as_bytes()).unwrap();
        String::from_utf8(body).unwrap()
    });
    (tasks, taken)
}

fn of_no_loops() -> OverviewSource {
    OverviewSource {
        clock: EdgeClock::start(),
        loops: Vec::new(),
        pools: Mutex::default(),
        routes: Mutex::default(),
        cache: Mutex::default(),
        hub: Mutex::default(),
        rate_alerts: Mutex::default(),
        exports: ExportCounts::default(),
    }
}

/// Shuts down as soon as a batch has left the channel; returns the request, and the counts of sent and lost spans.
fn end_while_gathering(answer: &'static str) -> (String, u64, u64) {
    let (tasks, taken) = collector(answer);
    let watch = of_no_loops();
    let report: NoticeSink = Arc::new(|_: &str| ());
    let (sender, mut spans) = mpsc::channel(1);
    let (ending, is_ending) = watch::channel(false);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let end = async {
            sender.send(vec![span()]).await.unwrap();
            // The channel has room again once the batch was taken; it now waits a second for more spans.
            drop(sender.reserve().await.unwrap());
            drop(sender);
            ending.send_replace(true);
        };
        tokio::join!(
            keep_exporting_for(PATIENCE, (&watch, &tasks, &report), &mut spans, is_ending),
            end
        )
    });
    let counters = &watch.exports;
    let (sent, lost) = (counters.spans_sent.get(), counters.spans_lost.get());
    (taken.join().unwrap(), sent, lost)
}

#[test]
fn what_is_gathered_at_the_end_is_told() {
    let (body, sent, lost) = end_while_gathering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    assert_eq!(body.matches("000000005ca1ab1e").count(), 1, "{body}");
    assert_eq!((sent, lost), (1, 0));
}

/// Otherwise shutdown would wait for retry delays of five seconds.
#[test]
fn what_fails_at_the_end_is_not_tried_again() {
    let busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
    let (_, sent, lost) = end_while_gathering(busy);
    assert_eq!((sent, lost), (0, 1));
}
