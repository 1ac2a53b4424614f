//! `plimsoll matrix` on the sample site, started, limited and stopped by the experiment.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::PathBuf;

use plimsoll_testkit::port;
use serde_json::Value;

use crate::support::{Sandbox, count};

/// An experiment on the sample site: pages of two sizes.
pub(crate) struct SiteExperiment {
    pub(crate) place: Sandbox,
    port: u16,
}

impl SiteExperiment {
    pub(crate) fn new(trials: u32, lasting: &str) -> Self {
        let place = Sandbox::new();
        let port = port::unused().port();
        fs::create_dir(place.path().join("site")).unwrap();
        let experiment = Self { place, port };
        experiment.write(trials, lasting);
        experiment
    }

    fn write(&self, trials: u32, lasting: &str) {
        let program = env!("CARGO_BIN_EXE_plimsoll");
        let port = self.port;
        let text = format!(
            "axes: {{ nodes: [60, 2000] }}\n\
             trials: {trials}\n\
             seed: 7\n\
             measure: {{ url: 'http://127.0.0.1:{port}/', loads: 40/s, for: {lasting} }}\n\
             apply:\n\
             \x20 command: ['{program}', demo, --serve, '127.0.0.1:{port}', --nodes, '{{{{ nodes }}}}', --out, site]\n\
             ready: '127.0.0.1:{port}'\n\
             settle: 0s\n"
        );
        fs::write(self.place.path().join("site.yaml"), text).unwrap();
    }

    fn log(&self) -> PathBuf {
        self.place.path().join("plimsoll/site/experiment.log")
    }

    /// The records of the log so far.
    fn records(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        lines
            .filter_map(|line: Value| line.get("trial_ended").cloned())
            .collect()
    }

    /// Bytes of an answer in the trials of a cell.
    fn answer_len(&self, cell: u64) -> u64 {
        let mut own = self.records();
        own.retain(|record| count(record, "trial.cell") == cell);
        let sum = |of: &str| own.iter().map(|record| count(record, of)).sum::<u64>();
        sum("traffic.bytes_out") / sum("traffic.requests").max(1)
    }

    pub(crate) fn is_site_running(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port)).is_ok()
    }
}

#[test]
fn a_dry_run_measures_nothing() {
    let site = SiteExperiment::new(3, "30s");
    let output = site
        .place
        .run(&["matrix", "site.yaml", "--dry-run", "--json"]);
    assert_eq!(output.code, 0, "{output:?}");
    let forecast = output.json();
    // Two cells and the reference in each of three blocks, half a minute each.
    assert_eq!(forecast["trials"], 9);
    assert_eq!(forecast["seconds"], 270.0);
    assert_eq!(forecast["cells"][1], "nodes=2000");
    let output = site.place.run(&["matrix", "site.yaml", "--dry-run"]);
    assert!(
        output.stdout.contains("2 cells, 3 trials each"),
        "{output:?}"
    );
    assert!(!site.place.path().join("plimsoll").exists());
}

#[test]
fn every_cell_is_measured_and_nothing_is_left() {
    let site = SiteExperiment::new(2, "1s");
    let output = site
        .place
        .run(&["matrix", "site.yaml", "--json", "--quiet"]);
    let result = output.json();
    assert_eq!(result["state"], "complete", "{output:?}");
    assert!(!site.is_site_running(), "the site is stopped");
    let folder = site.place.path().join("plimsoll/site");
    for name in [
        "trials.csv",
        "trials.parquet",
        "report.html",
        "experiment.log",
    ] {
        assert!(folder.join(name).is_file(), "{name}");
    }
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("nodes=2000"));
    if result["trials"]["void"] != 0 {
        plimsoll_testkit::not_tried::disturbed("a trial is void");
        return;
    }
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(result["trials"]["total"], 6, "{result:#}");
    assert_eq!(result["trials"]["measured"], 6, "{result:#}");
    let table = fs::read_to_string(folder.join("trials.csv")).unwrap();
    let header = table.lines().next().unwrap();
    for column in [
        "validity", "nodes", "p50", "p75", "p90", "p95", "p99", "sd", "min", "max",
    ] {
        assert!(
            header.split(',').any(|name| name == column),
            "{column}: {header}"
        );
    }
    assert_eq!(table.lines().count(), 7);
    for cell in 0..2_usize {
        let value = result["cells"][cell]["value"].as_f64();
        assert!(value > Some(0.0), "{result:#}");
    }
    // Thirty times the nodes are a longer page. That it takes longer, other work on this machine can hide.
    assert!(site.answer_len(1) > site.answer_len(0), "{result:#}");
    // Complete: the same command measures nothing more.
    let again = site
        .place
        .run(&["matrix", "site.yaml", "--json", "--quiet"]);
    assert_eq!(again.json()["cells"], result["cells"]);
}

#[test]
fn a_killed_matrix_resumes_where_it_was() {
    let site = SiteExperiment::new(2, "300ms");
    let mut child = site.place.start(&["matrix", "site.yaml"]);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    // Of six, or of more where one before is void, which is made up for.
    let is_third = lines.any(|line| line.unwrap().starts_with("trial 3 of "));
    assert!(is_third, "it ended before");
    // In the midst of the third trial, or of its preparation.
    child.kill().unwrap();
    child.wait().unwrap();
    let before = site.records();
    assert!(before.len() >= 2, "{before:?}");
    // A start that is refused, as the file was changed, stops the service too.
    site.write(4, "300ms");
    let refused = site.place.run(&["matrix", "site.yaml", "--quiet"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(!site.is_site_running(), "{refused:?}");
    site.write(2, "300ms");
    let output = site
        .place
        .run(&["matrix", "site.yaml", "--resume", "--json", "--quiet"]);
    assert_eq!(output.json()["state"], "complete", "{output:?}");
    let after = site.records();
    let planned = after
        .iter()
        .filter(|record| count(record, "trial.block") < 2);
    assert_eq!(planned.count(), 6);
    assert_eq!(after[..before.len()], before);
    assert!(!site.is_site_running(), "the site is stopped");
}

#[test]
fn another_experiment_in_the_folder_is_refused() {
    let site = SiteExperiment::new(1, "300ms");
    let output = site.place.run(&["matrix", "site.yaml", "--resume"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("no experiment to resume"),
        "{output:?}"
    );
    site.place.run(&["matrix", "site.yaml", "--quiet"]);
    site.write(4, "300ms");
    let output = site.place.run(&["matrix", "site.yaml", "--quiet"]);
    assert_eq!(output.code, 2, "{output:?}");
    for part in [
        "another experiment (site.yaml)",
        "`trials` is 1 in the log, and 4 now",
    ] {
        assert!(output.stderr.contains(part), "{part}: {output:?}");
    }
}

#[test]
fn a_service_that_never_becomes_ready_fails_its_cell_alone() {
    let site = SiteExperiment::new(1, "300ms");
    let path = site.place.path().join("site.yaml");
    let text = fs::read_to_string(&path).unwrap();
    // The second level is refused by the site, which ends.
    fs::write(&path, text.replace("2000", "none")).unwrap();
    let output = site
        .place
        .run(&["matrix", "site.yaml", "--json", "--quiet"]);
    let result = output.json();
    assert_eq!(result["cells"][1]["failed"], 1, "{output:?}");
    assert_eq!(result["cells"][0]["failed"], 0, "{output:?}");
    assert!(!site.is_site_running());
}
