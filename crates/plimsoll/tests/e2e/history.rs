//! Histories of runs by the binary: appended by runs, read from files with known series, damaged, of another version.

use std::fmt::Write as _;
use std::fs;

use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan};
use serde_json::Value;

use crate::support::{CommandOutput, Sandbox, count, number};

/// A commit that git could have.
fn commit(run: usize) -> String {
    format!("{run:040x}")
}

fn moment(run: usize) -> String {
    format!("2026-11-{:02}T{:02}:00:00Z", run / 24 + 1, run % 24)
}

/// A line of the history: p95 of a run.
fn line(run: usize, p95: f64) -> String {
    let (at, commit) = (moment(run), commit(run));
    format!(
        "{{\"format\":1,\"at\":\"{at}\",\"command\":\"run\",\"name\":\"shop\",\"commit\":\"{commit}\",\
         \"metrics\":{{\"p95\":{p95},\"throughput\":100}}}}\n"
    )
}

/// A history of these levels, each with a noise of half a per cent.
fn history_of(place: &Sandbox, levels: &[(usize, f64)]) {
    let mut text = String::new();
    let mut run = 0;
    for &(runs, level) in levels {
        for _ in 0..runs {
            let noise = [0.0, 0.4, -0.3, 0.1, -0.5, 0.2, 0.5][run % 7];
            text.push_str(&line(run, level * (1.0 + noise / 100.0)));
            run += 1;
        }
    }
    write(place, &text);
}

fn write(place: &Sandbox, text: &str) {
    let folder = place.path().join("ci");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("history.jsonl"), text).unwrap();
}

fn history(place: &Sandbox, arguments: &[&str]) -> CommandOutput {
    place.run(&[&["history", "ci"], arguments].concat())
}

#[test]
fn runs_append_their_line_with_the_commit_of_the_folder() {
    let origin = KnownLaw::start(KnownLawPlan::default()).unwrap();
    let place = Sandbox::new();
    let git = place.path().join(".git");
    fs::create_dir_all(git.join("refs/heads")).unwrap();
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(git.join("refs/heads/main"), commit(7)).unwrap();
    let url = origin.url();
    let load = [
        "run", &url, "--rate", "50/s", "--for", "1s", "--name", "shop",
    ];
    for more in [
        &["--history", "ci"][..],
        &["--history", "ci", "--commit", "v2"],
    ] {
        let output = place.run(&[&load[..], more].concat());
        assert!([0, 6].contains(&output.code), "{output:?}");
    }
    let text = fs::read_to_string(place.path().join("ci/history.jsonl")).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(
        (&lines[0]["commit"], &lines[1]["commit"]),
        (&commit(7).into(), &"v2".into())
    );
    for field in ["format", "command", "name", "plan", "machine"] {
        assert_eq!(lines[0][field], lines[1][field], "{field}");
    }
    for line in lines.iter().filter(|line| line["verdict"] == "met") {
        let [p95, throughput] =
            ["p95", "throughput"].map(|name| number(line, &format!("metrics.{name}")));
        assert!(p95 > 0.0, "{line}");
        // A second in which the origin got no CPU has fewer answers, and late ones.
        assert!(p95 > 100.0 || (throughput - 50.0).abs() < 25.0, "{line}");
    }
    let shown = history(&place, &["--json"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    assert_eq!(shown.json()["points"].as_array().unwrap().len(), 2);
    let gate = history(&place, &["--gate"]);
    assert!(
        [4, 6].contains(&gate.code),
        "two runs are no history: {gate:?}"
    );
}

#[test]
fn a_step_is_found_with_its_commits_and_fails_the_gate() {
    let place = Sandbox::new();
    history_of(&place, &[(40, 100.0), (10, 112.0)]);
    let output = history(
        &place,
        &[
            "--json",
            "--gate",
            "--junit",
            "out/h.xml",
            "--html",
            "out/h.html",
        ],
    );
    assert_eq!(output.code, 3, "{output:?}");
    assert!(output.stderr.contains("p95 rose from"), "{output:?}");
    let json = output.json();
    place.assert_follows_schema("history", &json);
    assert_eq!(json["gate"]["verdict"], "regressed");
    let changes = json["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{changes:?}");
    let change = &changes[0];
    assert_eq!(change["metric"], "p95");
    assert_eq!(change["at"], moment(40));
    assert_eq!(
        (count(change, "index"), &change["worse"]),
        (40, &true.into())
    );
    assert_eq!(change["commits"]["from"], commit(39));
    assert_eq!(change["commits"]["to"], commit(40));
    assert!((number(change, "before") - 100.0).abs() < 1.0);
    assert!((number(change, "after") - 112.0).abs() < 1.0);
    assert!(number(change, "p") < 0.001);
    let junit = fs::read_to_string(place.path().join("out/h.xml")).unwrap();
    assert!(
        junit.contains("failures=\"1\"") && junit.contains("p95 rose"),
        "{junit}"
    );
    let page = fs::read_to_string(place.path().join("out/h.html")).unwrap();
    assert!(page.contains("The newest run is worse"), "{page}");
    let markdown = history(&place, &["--markdown"]);
    assert_eq!(markdown.code, 0, "without --gate");
    assert!(
        markdown.stdout.starts_with("## Plimsoll: worse\n"),
        "{markdown:?}"
    );
    assert!(markdown.stdout.contains("| p95 |"), "{markdown:?}");
}

#[test]
fn the_exit_code_is_that_of_what_the_newest_runs_show() {
    let place = Sandbox::new();
    let slide: Vec<(usize, f64)> = (0..60)
        .map(|run| (1, 100.0 + 0.4 * f64::from(run)))
        .collect();
    for (levels, code, what) in [
        (&[(60, 100.0)][..], 0, "steady"),
        (&[(40, 112.0), (10, 100.0)], 0, "better"),
        (
            &[(30, 100.0), (1, 300.0), (10, 100.0)],
            0,
            "a lone spike in the past",
        ),
        (&[(30, 100.0), (1, 300.0)], 4, "a lone spike now"),
        (&[(30, 100.0), (2, 300.0)], 3, "two in a row"),
        (&[(3, 100.0)], 4, "too few"),
        (&slide, 3, "a slow slide"),
    ] {
        history_of(&place, levels);
        let output = history(&place, &["--gate"]);
        assert_eq!(output.code, code, "{what}: {output:?}");
    }
    history_of(&place, &[(30, 100.0), (1, 300.0), (10, 100.0)]);
    let json = history(&place, &["--json"]).json();
    assert!(json["changes"].as_array().unwrap().is_empty(), "{json:#}");
    write(&place, "");
    let output = history(&place, &["--gate"]);
    assert_eq!(output.code, 4, "{output:?}");
    assert!(output.stderr.contains("nothing was compared"), "{output:?}");
}

#[test]
fn damaged_lines_are_named_and_never_green() {
    let place = Sandbox::new();
    history_of(&place, &[(30, 100.0)]);
    let path = place.path().join("ci/history.jsonl");
    let mut text = fs::read_to_string(&path).unwrap();
    let _ = write!(text, "{{\"some\":\"other\"}}\n{{\"format\":1,\"at\":\"2026");
    fs::write(&path, text).unwrap();
    for arguments in [&["--gate"][..], &[]] {
        let output = history(&place, arguments);
        assert_eq!(output.code, 2, "{output:?}");
        for words in [
            "line 31: `format` is missing",
            "line 32: the line is torn",
            "help:",
        ] {
            assert!(output.stderr.contains(words), "{words}: {output:?}");
        }
        assert!(output.stdout.contains("30 runs"), "{output:?}");
    }
}

#[test]
fn other_versions_and_missing_histories_have_a_remedy() {
    let place = Sandbox::new();
    write(&place, &format!("{}{{\"format\":2}}\n", line(0, 100.0)));
    let output = history(&place, &[]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("history.jsonl, line 2: version 2"),
        "{output:?}"
    );
    assert!(output.stderr.contains("another folder"), "{output:?}");
    let output = place.run(&["history", "nowhere"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("--history"), "{output:?}");
    write(&place, &line(0, 100.0));
    let output = history(&place, &["--name", "shpo"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("valid: shop"), "{output:?}");
}

#[test]
fn a_folder_that_cannot_be_written_does_not_lose_the_result() {
    let origin = KnownLaw::start(KnownLawPlan::default()).unwrap();
    let place = Sandbox::new();
    fs::write(place.path().join("taken"), "a file").unwrap();
    let url = origin.url();
    let output = place.run(&[
        "run",
        &url,
        "--rate",
        "50/s",
        "--for",
        "200ms",
        "--history",
        "taken/x",
        "--json",
    ]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.json()["requests"].as_u64().is_some());
    assert!(output.stderr.contains("not in the history"), "{output:?}");
}
