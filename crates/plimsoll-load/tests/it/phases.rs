//! Where the time of a request goes: connecting, TLS, first byte, transfer; and the results of each URL.

use std::fs;
use std::time::Duration;

use plimsoll_model::histogram::Histogram;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::Http2;
use plimsoll_model::window::Window;
use plimsoll_testkit::origin::fault::{self, OriginFault};
use plimsoll_testkit::origin::http2::{self, Setup};
use plimsoll_testkit::origin::site;

use crate::trial::{alone, assert_all, closed, even, ms, plan, run, stood_still};

/// The server's delay before the first byte, and before the rest.
const FIRST_BYTE: Duration = Duration::from_millis(60);
const REST: Duration = Duration::from_millis(200);

/// Whether the loop stood still so long that a first byte was read with the rest. An answer that was complete meanwhile then
/// took longer, or a request was sent late. Reported with a message.
fn is_disturbed(total: &Window) -> bool {
    let slowest_us = total.service.max().unwrap_or(0);
    let is_slow = slowest_us > 340_000;
    if is_slow {
        plimsoll_testkit::not_tried::disturbed(format_args!("an answer took {slowest_us} µs"));
    }
    is_slow || stood_still(total, ms(50))
}

/// Asserts that all answers took several reads, with the delays of the server. A busy machine makes a first byte later and
/// the transfer after it shorter, by less than a hundred milliseconds; their sum stays exact but for buckets.
fn assert_delays(total: &Window, number: u64) {
    if is_disturbed(total) {
        return;
    }
    let partial = total.partial.as_deref().unwrap();
    for histogram in [&partial.service, &partial.first_byte, &partial.transfer] {
        assert_eq!(histogram.count(), number);
    }
    let (first, transfer) = (&partial.first_byte, &partial.transfer);
    let least = |histogram: &Histogram| histogram.buckets()[0].0;
    assert!(least(first) >= 60_000, "{} µs", least(first));
    assert!(least(&partial.service) >= 260_000, "{:?}", partial.service);
    assert!(first.quantile(0.5).unwrap() < 160_000, "{first:?}");
    assert!(transfer.quantile(0.5).unwrap() >= 100_000, "{transfer:?}");
    let means = [&partial.service, first, transfer].map(|histogram| histogram.mean().unwrap());
    let off = (means[1] + means[2]) / means[0] - 1.0;
    assert!(off.abs() < 2e-3, "{means:?}");
}

#[test]
fn an_answer_read_at_once_has_no_first_byte_of_its_own() {
    let origin = fault::start(OriginFault::None).unwrap();
    let total = run(plan(origin.address()), closed(2, ms(5), ms(200)));
    assert_all(&total, Outcome::Ok);
    let partial = total.partial.map_or(0, |partial| partial.service.count());
    // One packet, written at once.
    assert_eq!(partial, 0);
    assert_eq!(total.connect.count(), 2);
}

#[test]
fn each_new_connection_has_its_own_times() {
    let folder = tempfile::tempdir().unwrap();
    let origin = fault::start(OriginFault::Tls(vec!["localhost".to_owned()])).unwrap();
    let pem = folder.path().join("ca.pem");
    fs::write(&pem, origin.certificate_pem().unwrap()).unwrap();
    let mut plan = plan(origin.address());
    plan.target.tls = true;
    "localhost".clone_into(&mut plan.target.host);
    plan.transport.ca_file = Some(pem);
    plan.transport.requests_per_connection = 1;
    let total = run(plan, even(50.0, ms(200)));
    assert_all(&total, Outcome::Ok);
    assert_eq!((total.connect.count(), total.tls.count()), (10, 10));
    // Each request waits for both.
    let mean = |histogram: &Histogram| histogram.mean().unwrap();
    let both = mean(&total.tls) + mean(&total.connect);
    assert!(
        mean(&total.tls) > 0.0 && both < mean(&total.response),
        "{both} µs"
    );
}

#[test]
fn http2_has_a_first_byte_where_the_head_comes_before_the_body() {
    let origin = http2::start(Setup::default()).unwrap();
    let mut plan = plan(origin.address());
    plan.request.paths = vec!["/body/600000".to_owned()];
    plan.transport.http2 = Some(Http2 {
        prior_knowledge: true,
        streams: 1,
    });
    let total = run(plan, even(20.0, ms(500)));
    assert_all(&total, Outcome::Ok);
    // More than a read can take.
    let partial = total.partial.as_deref().unwrap();
    assert_eq!(partial.first_byte.count(), 10);
    assert!(partial.first_byte.max() <= partial.service.max());
}

#[test]
fn one_url_costs_no_row() {
    let origin = fault::start(OriginFault::None).unwrap();
    let total = run(plan(origin.address()), even(50.0, ms(200)));
    assert_all(&total, Outcome::Ok);
    assert!(total.urls.is_empty());
}

#[test]
fn bodies_count_in_their_coding() {
    for (fault, name) in [
        (OriginFault::None, "other"),
        (OriginFault::Gzip, "gzip"),
        (OriginFault::Brotli, "br"),
        (OriginFault::Chunked(100), "other"),
    ] {
        let origin = fault::start(fault.clone()).unwrap();
        let total = run(plan(origin.address()), even(50.0, ms(200)));
        assert_all(&total, Outcome::Ok);
        let bodies = total.bodies.by_coding();
        let [(coding, bytes)] = bodies[..] else {
            panic!("{bodies:?}");
        };
        assert_eq!((coding, bytes.answers), (name, 10));
        match fault {
            // Eleven bytes, by the reference encoder.
            OriginFault::Brotli => assert_eq!(bytes.bytes, 110),
            OriginFault::Gzip => assert!((100..1000).contains(&bytes.bytes), "{bytes:?}"),
            _ => assert_eq!(bytes.bytes, 10 * fault::BODY_LEN as u64),
        }
        // A plain load reads no body, so it decodes none.
        assert_eq!((bytes.decoded_from, bytes.decoded), (0, 0));
    }
}

#[test]
fn bodies_of_http2_count_too() {
    let origin = http2::start(Setup::default()).unwrap();
    let mut plan = plan(origin.address());
    plan.request.paths = vec!["/body/1000".to_owned()];
    plan.transport.http2 = Some(Http2 {
        prior_knowledge: true,
        streams: 1,
    });
    let total = run(plan, even(50.0, ms(200)));
    assert_all(&total, Outcome::Ok);
    assert_eq!(
        (total.bodies.other.answers, total.bodies.other.bytes),
        (10, 10_000)
    );
}

/// Tests that have the machine alone.
mod alone {
    use super::{
        FIRST_BYTE, OriginFault, Outcome, REST, alone, assert_all, assert_delays, even, fault, ms,
        plan, run, site,
    };

    #[test]
    fn a_late_first_byte_and_a_slow_body() {
        let _alone = alone();
        let origin = fault::start(OriginFault::LateAnswer {
            first_byte: FIRST_BYTE,
            rest: REST,
        })
        .unwrap();
        let total = run(plan(origin.address()), even(40.0, ms(500)));
        assert_all(&total, Outcome::Ok);
        assert_delays(&total, 20);
        assert_eq!(total.connect.count(), total.connections_opened);
        assert!(total.tls.is_empty());
    }

    #[test]
    fn first_bytes_by_the_stamps_of_the_kernel() {
        let _alone = alone();
        // A load with a tick leaves answers unread, and takes their moments from the kernel.
        let origin = fault::start(OriginFault::LateAnswer {
            first_byte: FIRST_BYTE,
            rest: REST,
        })
        .unwrap();
        let mut plan = plan(origin.address());
        plan.tick = Some(ms(5));
        let total = run(plan, even(40.0, ms(500)));
        assert_all(&total, Outcome::Ok);
        assert_delays(&total, 20);
    }

    #[test]
    fn every_url_has_its_own_results() {
        let _alone = alone();
        let site = site::start().unwrap();
        let mut plan = plan(site.address());
        plan.request.paths = ["/slow/40", "/status/404", "/items"]
            .map(str::to_owned)
            .into();
        let total = run(plan, even(60.0, ms(500)));
        let rows: Vec<(u32, u64)> = total
            .urls
            .iter()
            .map(|(&row, results)| (row, results.outcomes.total()))
            .collect();
        assert_eq!(rows, [(0, 10), (1, 10), (2, 10)]);
        assert!(total.urls[&0].response.buckets()[0].0 >= 40_000);
        assert_eq!(total.urls[&1].outcomes.get(Outcome::WrongStatus), 10);
        assert_eq!(
            (
                total.urls[&1].response.count(),
                total.urls[&1].failed.count()
            ),
            (0, 10)
        );
        assert!(total.urls[&2].response.quantile(0.5).unwrap() < 40_000);
        let of_rows: u64 = total.urls.values().map(|row| row.response.count()).sum();
        assert_eq!(of_rows, total.response.count());
        // The same bodies each time.
        assert_eq!(total.urls[&2].bytes_in % 10, 0);
        assert!(total.urls[&2].bytes_in > 0);
    }
}
