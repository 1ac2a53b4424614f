//! The numbers of a plain load by URL, or by route where there are many URLs.

use plimsoll_model::run::Run;
use plimsoll_model::url_rows::UrlRows;

use super::MeasuredSpan;
use super::breakdown::{ScopeMetrics, StepTotal};

/// The numbers of the URLs of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct UrlSummary {
    /// The URL's path and query; the route of several; or `other`.
    pub label: String,
    /// URLs of the plan in this row.
    pub urls: u64,
    /// The numbers; bytes are those of bodies, without heads.
    pub metrics: ScopeMetrics,
}

impl UrlSummary {
    /// A row for each URL or route of the plan, in its order; empty with one URL, with journeys, and for logs of older
    /// versions.
    pub(super) fn all(run: &Run, spans: &[MeasuredSpan]) -> Vec<Self> {
        if run.windows.iter().all(|window| window.urls.is_empty()) {
            return Vec::new();
        }
        let rows = UrlRows::of(&run.header.plan.request.paths);
        let mut totals = vec![StepTotal::default(); rows.len()];
        for span in spans {
            for window in span.windows(run) {
                for (&row, results) in &window.urls {
                    if let Some(total) = totals.get_mut(row as usize) {
                        total.add(results, window.second < span.due_until);
                    }
                }
            }
        }
        let seconds = spans.iter().map(|span| span.seconds).sum();
        let rows = rows.rows().zip(&totals);
        rows.map(|((label, urls), total)| Self {
            label: label.to_owned(),
            urls,
            metrics: total.metrics(seconds),
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::histogram::bucket_top;
    use plimsoll_model::outcome::Outcome;
    use plimsoll_model::window::{StepWindow, Window};

    use crate::summary::Summary;
    use crate::summary::tests::run;

    fn results(good_us: &[u64], failed: u64) -> StepWindow {
        let mut results = StepWindow::default();
        for &us in good_us {
            results.outcomes.add(Outcome::Ok);
            results.response.record(us, 1);
            results.bytes_in += 100;
        }
        results.outcomes.add_many(Outcome::Timeout, failed);
        results
    }

    #[test]
    fn every_url_has_its_percentiles() {
        let mut run = run(Duration::from_secs(4));
        run.windows = (0..4).map(Window::new).collect();
        run.header.plan.request.paths = ["/", "/slow", "/never"].map(str::to_owned).into();
        assert!(Summary::of(&run).urls.is_empty(), "a log without rows");
        for window in &mut run.windows {
            window.urls.insert(0, results(&[1000, 1100], 0));
            window.urls.insert(1, results(&[50_000], 1));
            // A row that the plan does not have.
            window.urls.insert(9, results(&[1], 0));
        }
        let urls = Summary::of(&run).urls;
        let labels: Vec<&str> = urls.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels, ["/", "/slow", "/never"]);
        let (fast, slow) = (&urls[0].metrics, &urls[1].metrics);
        assert_eq!(
            (fast.samples, slow.samples, urls[2].metrics.samples),
            (8, 8, 0)
        );
        assert_eq!((fast.error_share(), slow.error_share()), (0.0, 0.5));
        assert_eq!(slow.response_us.unwrap().p50, bucket_top(50_000));
        assert_eq!((fast.bytes, urls[0].urls), (800, 1));
        assert!((fast.throughput - 2.0).abs() < 1e-9, "{}", fast.throughput);
        assert_eq!(urls[2].metrics.response_us, None);
    }
}
