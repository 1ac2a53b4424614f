//! Messages of Prometheus in protobuf, as far as they are sent: remote write 1.0 (`prometheus.WriteRequest`) and 2.0
//! (`io.prometheus.write.v2.Request`), and what a scrape may ask for (`io.prometheus.client.MetricFamily`). Numbers and
//! types of fields are those of the published definitions; fields that are never sent are left out.

/// `io.prometheus.write.v2.Request`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Request {
    #[prost(string, repeated, tag = "4")]
    pub(crate) symbols: Vec<String>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) timeseries: Vec<TimeSeries>,
}

/// `io.prometheus.write.v2.TimeSeries`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TimeSeries {
    #[prost(uint32, repeated, tag = "1")]
    pub(crate) labels_refs: Vec<u32>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) samples: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) histograms: Vec<Histogram>,
    #[prost(message, optional, tag = "5")]
    pub(crate) metadata: Option<Metadata>,
}

/// `io.prometheus.write.v2.Metadata`; types: 1 counter, 2 gauge, 3 histogram.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct Metadata {
    #[prost(int32, tag = "1")]
    pub(crate) r#type: i32,
    #[prost(uint32, tag = "3")]
    pub(crate) help_ref: u32,
    #[prost(uint32, tag = "4")]
    pub(crate) unit_ref: u32,
}

/// A sample, the same in both versions.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct Sample {
    #[prost(double, tag = "1")]
    pub(crate) value: f64,
    #[prost(int64, tag = "2")]
    pub(crate) timestamp: i64,
}

/// A native histogram with whole counts, the same in both versions.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Histogram {
    #[prost(uint64, tag = "1")]
    pub(crate) count: u64,
    #[prost(double, tag = "3")]
    pub(crate) sum: f64,
    #[prost(sint32, tag = "4")]
    pub(crate) schema: i32,
    #[prost(double, tag = "5")]
    pub(crate) zero_threshold: f64,
    /// One of a choice: written also when it is 0.
    #[prost(uint64, optional, tag = "6")]
    pub(crate) zero_count: Option<u64>,
    #[prost(message, repeated, tag = "11")]
    pub(crate) positive_spans: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "12")]
    pub(crate) positive_deltas: Vec<i64>,
    #[prost(int64, tag = "15")]
    pub(crate) timestamp: i64,
}

/// Consecutive buckets, the same in all three.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct BucketSpan {
    #[prost(sint32, tag = "1")]
    pub(crate) offset: i32,
    #[prost(uint32, tag = "2")]
    pub(crate) length: u32,
}

/// `prometheus.WriteRequest` of version 1.0.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    pub(crate) timeseries: Vec<LabelledSeries>,
}

/// `prometheus.TimeSeries` of version 1.0.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct LabelledSeries {
    #[prost(message, repeated, tag = "1")]
    pub(crate) labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) samples: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) histograms: Vec<Histogram>,
}

/// A label, also `LabelPair` of a scrape.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Label {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

/// `io.prometheus.client.MetricFamily`; types: 0 counter, 1 gauge, 4 histogram.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct MetricFamily {
    #[prost(string, optional, tag = "1")]
    pub(crate) name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(crate) help: Option<String>,
    #[prost(int32, optional, tag = "3")]
    pub(crate) r#type: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) metric: Vec<ScrapedMetric>,
}

/// `io.prometheus.client.Metric`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ScrapedMetric {
    #[prost(message, repeated, tag = "1")]
    pub(crate) label: Vec<Label>,
    #[prost(message, optional, tag = "2")]
    pub(crate) gauge: Option<ScrapedValue>,
    #[prost(message, optional, tag = "3")]
    pub(crate) counter: Option<ScrapedValue>,
    #[prost(message, optional, tag = "7")]
    pub(crate) histogram: Option<ScrapedHistogram>,
}

/// `io.prometheus.client.Gauge` and `Counter`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct ScrapedValue {
    #[prost(double, optional, tag = "1")]
    pub(crate) value: Option<f64>,
}

/// `io.prometheus.client.Histogram`: classic and native buckets.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ScrapedHistogram {
    #[prost(uint64, optional, tag = "1")]
    pub(crate) sample_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    pub(crate) sample_sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) bucket: Vec<ScrapedBucket>,
    #[prost(sint32, optional, tag = "5")]
    pub(crate) schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    pub(crate) zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    pub(crate) zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    pub(crate) positive_span: Vec<BucketSpan>,
    /// Not packed: the definition is of proto2.
    #[prost(sint64, repeated, packed = "false", tag = "13")]
    pub(crate) positive_delta: Vec<i64>,
}

/// `io.prometheus.client.Bucket`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct ScrapedBucket {
    #[prost(uint64, optional, tag = "1")]
    pub(crate) cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    pub(crate) upper_bound: Option<f64>,
}
