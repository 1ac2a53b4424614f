//! Parses the final statistics of libFuzzer.

/// The table's first lines.
pub(crate) const HEADING: &str =
    "| target | inputs tried | a second | edges reached | MiB | |\n|---|---|---|---|---|---|";

/// Results of one target.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FuzzReport {
    pub(crate) tried: u64,
    a_second: u64,
    pub(crate) edges: u64,
    pub(crate) peak_mib: u64,
    /// libFuzzer's report of the failure.
    pub(crate) finding: Option<String>,
    /// The file with the failing input.
    pub(crate) input: Option<String>,
}

impl FuzzReport {
    /// None when the closing figures are missing.
    pub(super) fn read(text: &str, is_success: bool) -> Option<Self> {
        let figure = |name: &str| -> Option<u64> {
            let rest = text
                .lines()
                .find_map(|line| line.strip_prefix(&format!("stat::{name}:")))?;
            rest.trim().parse().ok()
        };
        let input = text
            .lines()
            .find_map(|line| line.split_once("Test unit written to "))
            .map(|(_, path)| path.trim().to_owned());
        let edges = text.lines().rev().find_map(|line| {
            let (_, rest) = line.split_once(" cov: ")?;
            rest.split(' ').next()?.parse().ok()
        });
        Some(Self {
            tried: figure("number_of_executed_units")?,
            a_second: figure("average_exec_per_sec")?,
            edges: edges.unwrap_or(0),
            peak_mib: figure("peak_rss_mb")?,
            finding: (!is_success).then(|| finding(text)),
            input,
        })
    }

    pub(crate) fn row(&self, name: &str) -> String {
        format!(
            "| {name} | {} | {} | {} | {} | {} |",
            self.tried,
            self.a_second,
            self.edges,
            self.peak_mib,
            if self.finding.is_none() {
                "nothing found"
            } else {
                "**found**"
            }
        )
    }
}

/// The panic's message and libFuzzer's, without the preceding table of edges.
fn finding(text: &str) -> String {
    let begins = |line: &str| line.contains("panicked at") || line.starts_with("==");
    let lines: Vec<&str> = text.lines().skip_while(|line| !begins(line)).collect();
    if lines.is_empty() {
        return text.to_owned();
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: &str = "stat::number_of_executed_units: 4096\nstat::average_exec_per_sec:     512\n\
                           stat::new_units_added:          9\nstat::slowest_unit_time_sec:    0\n\
                           stat::peak_rss_mb:              38\n";

    #[test]
    fn figures_and_the_last_count_of_edges_are_read() {
        let text = format!(
            "INFO: Seed: 1\n#2\tINITED cov: 12 ft: 13 corp: 1/1b\n#40\tNEW    cov: 77 ft: 90 corp: 2/3b\n{FIGURES}"
        );
        let report = FuzzReport::read(&text, true).expect("all figures are there");
        assert_eq!(
            report.row("range"),
            "| range | 4096 | 512 | 77 | 38 | nothing found |"
        );
    }

    #[test]
    fn a_panic_is_told_from_its_first_word() {
        let text = format!(
            "#2\tINITED cov: 12 ft: 13\nthread 'main' panicked at src/a.rs:1:2:\nno\n==7== ERROR: libFuzzer: deadly signal\n\
             artifact_prefix='f/'; Test unit written to f/crash-1\n{FIGURES}"
        );
        let report = FuzzReport::read(&text, false).expect("all figures are there");
        let finding = report.finding.expect("the run failed");
        assert_eq!(report.input.as_deref(), Some("f/crash-1"));
        assert!(finding.starts_with("thread 'main' panicked at src/a.rs:1:2:\nno\n"));
    }

    #[test]
    fn a_program_that_tells_no_figures_is_not_taken_for_a_clean_one() {
        assert_eq!(FuzzReport::read("Segmentation fault", false), None);
    }
}
