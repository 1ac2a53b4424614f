//! Reports the exporters of metrics pages.

use crate::files::Files;

/// An exporter of another program's metrics: the user must choose the series.
pub(crate) fn report(files: &mut Files, pid: u32, comm: &str, words: &[&str]) {
    let listens = words.iter().find_map(|word| {
        word.trim_start_matches('-')
            .strip_prefix("web.listen-address=")
    });
    let port = match (listens, comm) {
        (Some(listens), _) => listens.rsplit(':').next().unwrap_or("9100"),
        (None, "node_exporter" | "prometheus-node") => "9100",
        (None, _) => "PORT",
    };
    files.announce(
        &format!("exporter {pid}"),
        &format!(
            "{comm} (pid {pid}) exposes metrics; to watch some of them, choose series: `watch: {{ auto: true, \
             prometheus: {{ url: http://127.0.0.1:{port}/metrics, series: [NAME, …] }} }}`"
        ),
    );
}
