//! OTLP, decoded by its published definition.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use prost::Message as _;

use crate::receiver::HttpReceiver;
use crate::run::{FAST_US, GOOD, SECONDS, SLOW_US, export};

#[test]
fn sums_and_exponential_histograms_have_the_numbers_of_the_run() {
    let collector = HttpReceiver::start(|_| "200 OK");
    let destination = format!("otlp=http://{}", collector.address);
    assert_eq!(export(&[&destination], &[]), [""; 0]);
    let received = collector.received();
    let last = received.last().unwrap();
    assert_eq!(last.target, "/v1/metrics");
    assert_eq!(last.header("content-type"), Some("application/x-protobuf"));
    let total = GOOD * u64::from(SECONDS);
    let metrics: Vec<_> = received
        .iter()
        .map(|request| ExportMetricsServiceRequest::decode(&*request.body).unwrap())
        .flat_map(|request| request.resource_metrics)
        .flat_map(|resource| resource.scope_metrics)
        .flat_map(|scope| scope.metrics)
        .collect();
    let last_of = |name: &str| metrics.iter().rfind(|metric| metric.name == name).unwrap();
    let Some(Data::Sum(sum)) = &last_of("http_reqs").data else {
        panic!("http_reqs is no sum");
    };
    let point = sum.data_points.iter().rfind(|point| {
        point
            .attributes
            .iter()
            .any(|it| format!("{it:?}").contains("\"ok\""))
    });
    assert_eq!(point.unwrap().value, Some(Value::AsDouble(total as f64)));
    let Some(Data::ExponentialHistogram(histogram)) = &last_of("http.client.request.duration").data
    else {
        panic!("it is no exponential histogram");
    };
    let point = histogram.data_points.last().unwrap();
    let buckets = point.positive.as_ref().unwrap();
    assert_eq!(
        (point.count, buckets.bucket_counts.iter().sum::<u64>()),
        (total, total)
    );
    // Each recorded value lies in a bucket that its formula says.
    let base = 2_f64.powf(2_f64.powi(-point.scale));
    let filled: Vec<(f64, f64)> = (buckets.offset..)
        .zip(&buckets.bucket_counts)
        .filter(|(_, count)| **count > 0)
        .map(|(index, _)| (base.powi(index), base.powi(index + 1)))
        .collect();
    assert_eq!(filled.len(), 2);
    for ((low, high), us) in filled.into_iter().zip([FAST_US, SLOW_US]) {
        // Values are known to a thousandth.
        let value = us as f64 / 1e6;
        assert!(
            low * 0.999 < value && value <= high * 1.001,
            "{low} {value} {high}"
        );
    }
}
