//! URLs of a plain load, in the rows in which their percentiles are shown: each where they are few, else by route.

use plimsoll_model::url_rows::{OTHER, UrlRows};
use plimsoll_model::window::Window;

use super::FailureCandidate;

/// Each row with its failed and good requests; none where all requests had one URL. Requests that were dropped before they had
/// a URL are in no row, and among all.
pub(super) fn candidates(windows: &[Window], paths: &[String]) -> Vec<FailureCandidate> {
    if windows.iter().all(|window| window.urls.is_empty()) {
        return Vec::new();
    }
    let rows = UrlRows::of(paths);
    let mut counts = vec![(0_u64, 0_u64); rows.len()];
    let (mut of_windows, mut of_rows) = ((0, 0), (0, 0));
    for window in windows {
        let failed = window.outcomes.failed();
        of_windows.0 += failed;
        of_windows.1 += window.outcomes.total() - failed;
        for (&row, results) in &window.urls {
            let Some(count) = counts.get_mut(row as usize) else {
                continue;
            };
            let failed = results.outcomes.failed();
            let good = results.outcomes.total() - failed;
            *count = (count.0 + failed, count.1 + good);
            of_rows = (of_rows.0 + failed, of_rows.1 + good);
        }
    }
    // A log that somebody has edited may have more in its rows.
    let all = (of_windows.0.max(of_rows.0), of_windows.1.max(of_rows.1));
    let rows = rows.rows().zip(counts);
    let with_requests = rows.filter(|(_, (failed, good))| failed + good > 0);
    let candidates = with_requests.map(|((label, urls), (failed, good))| FailureCandidate {
        thing: name(label, urls),
        failed_with: failed,
        failed: all.0,
        good_with: good,
        good: all.1,
    });
    candidates.collect()
}

/// `URL /a`, or `URLs /orders/{id}` of a row for several.
fn name(label: &str, urls: u64) -> String {
    match urls {
        _ if label == OTHER => "URLs without a row of their own".to_owned(),
        0 | 1 => format!("URL {label}"),
        _ => format!("URLs {label}"),
    }
}
