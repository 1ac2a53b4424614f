use std::collections::BTreeMap;
use std::fs::{self, File};

use super::*;
use crate::line_file::{FILE_LEN_MAX, LINE_LEN_MAX};

fn entry(at: &str, value: f64) -> HistoryEntry {
    HistoryEntry {
        format: HISTORY_FORMAT,
        at: at.to_owned(),
        command: "run".to_owned(),
        name: "shop".to_owned(),
        commit: None,
        plan: String::new(),
        machine: String::new(),
        verdict: None,
        metrics: BTreeMap::from([("p95_ms".to_owned(), value)]),
        plimsoll: String::new(),
    }
}

fn moment(second: usize) -> String {
    format!(
        "2026-11-26T{:02}:{:02}:{:02}Z",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[test]
fn what_is_appended_is_read_in_the_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("a/history");
    for second in [3, 1, 2] {
        append(&folder, &entry(&moment(second), second as f64)).unwrap();
    }
    let loaded = read(&folder).unwrap();
    let values: Vec<f64> = loaded.entries.iter().map(|e| e.metrics["p95_ms"]).collect();
    assert_eq!(values, [1.0, 2.0, 3.0]);
    assert!(loaded.damaged.is_empty());
}

#[test]
fn lines_of_writers_at_the_same_time_stay_whole() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let folder = folder.path();
            scope.spawn(move || {
                for number in 0..50 {
                    append(folder, &entry(&moment(writer * 50 + number), 1.0)).unwrap();
                }
            });
        }
    });
    let loaded = read(folder.path()).unwrap();
    assert_eq!((loaded.entries.len(), loaded.damaged.len()), (400, 0));
    let moments: Vec<String> = loaded.entries.into_iter().map(|e| e.at).collect();
    assert_eq!(moments, (0..400).map(moment).collect::<Vec<_>>());
}

#[test]
fn torn_and_foreign_lines_are_named_and_spoil_no_other() {
    let folder = tempfile::tempdir().unwrap();
    append(folder.path(), &entry(&moment(1), 1.0)).unwrap();
    let path = folder.path().join(FILE_NAME);
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str(
        "hello\n{\"a\":1}\n{\"format\":1,\"at\":\"noon\",\"command\":\"run\",\"name\":\"x\"}\n",
    );
    text.push_str("{\"format\":1,\"at\":\"20");
    fs::write(&path, text).unwrap();
    append(folder.path(), &entry(&moment(2), 2.0)).unwrap();
    let loaded = read(folder.path()).unwrap();
    assert_eq!(loaded.entries.len(), 2);
    let lines: Vec<usize> = loaded.damaged.iter().map(|line| line.line).collect();
    assert_eq!(lines, [2, 3, 4, 5]);
    let words = ["not JSON", "`format` is missing", "`at` is `noon`", "torn"];
    for (line, words) in loaded.damaged.iter().zip(words) {
        assert!(line.what.contains(words), "{line:?}");
    }
}

#[test]
fn another_version_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    fs::write(&path, "\n{\"format\":2,\"anything\":[]}\n").unwrap();
    let text = read(folder.path()).unwrap_err().to_string();
    let place = format!("{}, line 2: version 2", path.display());
    assert!(text.starts_with(&place), "{text}");
}

#[test]
fn lines_and_files_have_a_longest_length() {
    let folder = tempfile::tempdir().unwrap();
    let mut long = entry(&moment(1), 1.0);
    long.name = "x".repeat(LINE_LEN_MAX);
    assert!(matches!(
        append(folder.path(), &long),
        Err(LineFileError::LineTooLong { .. })
    ));
    let path = folder.path().join(FILE_NAME);
    let file = File::create(&path).unwrap();
    file.set_len(FILE_LEN_MAX - 10).unwrap();
    assert!(matches!(
        append(folder.path(), &entry(&moment(1), 1.0)),
        Err(LineFileError::FileTooLong { .. })
    ));
    assert_eq!(file.metadata().unwrap().len(), FILE_LEN_MAX - 10);
}

const ID: &str = "0123456789abcdef0123456789abcdef01234567";

#[test]
fn the_commit_is_that_of_head_however_git_keeps_it() {
    let place = tempfile::tempdir().unwrap();
    let git = place.path().join(".git");
    let inside = place.path().join("a/b");
    fs::create_dir_all(&inside).unwrap();
    fs::create_dir_all(git.join("refs/heads/x")).unwrap();
    fs::write(git.join("HEAD"), format!("{ID}\n")).unwrap();
    assert_eq!(head_commit(&inside).as_deref(), Some(ID), "detached");
    fs::write(git.join("HEAD"), "ref: refs/heads/x/y\n").unwrap();
    assert_eq!(head_commit(&inside), None, "before the first commit");
    let packed = format!("# pack-refs with: peeled\n{ID} refs/heads/x/y\n^{ID}\n");
    fs::write(git.join("packed-refs"), packed).unwrap();
    assert_eq!(head_commit(&inside).as_deref(), Some(ID), "packed");
    let other = ID.replace('0', "f");
    fs::write(git.join("refs/heads/x/y"), format!("{other}\n")).unwrap();
    assert_eq!(head_commit(&inside), Some(other.clone()), "loose wins");
    // A further worktree: a file that names a folder, which names the shared one.
    let worktree = tempfile::tempdir().unwrap();
    let own = git.join("worktrees/w");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("HEAD"), "ref: refs/heads/x/y\n").unwrap();
    fs::write(own.join("commondir"), "../..\n").unwrap();
    let named = format!("gitdir: {}\n", own.display());
    fs::write(worktree.path().join(".git"), named).unwrap();
    assert_eq!(head_commit(worktree.path()), Some(other), "worktree");
}

#[test]
fn a_head_that_points_outside_gives_no_commit() {
    let place = tempfile::tempdir().unwrap();
    let git = place.path().join(".git");
    fs::create_dir_all(&git).unwrap();
    fs::write(place.path().join("secret"), ID).unwrap();
    for head in ["ref: refs/../../secret", "ref: /etc/passwd", "xyz", ""] {
        fs::write(git.join("HEAD"), head).unwrap();
        assert_eq!(head_commit(place.path()), None, "{head}");
    }
}

#[test]
fn a_number_that_no_run_measured_is_named_and_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    for (second, value) in [(0, 1e18), (1, 1e308), (2, -1e19), (3, 5.0)] {
        append(folder.path(), &entry(&moment(second), value)).unwrap();
    }
    let loaded = read(folder.path()).unwrap();
    assert_eq!(loaded.entries.len(), 2);
    let lines: Vec<usize> = loaded.damaged.iter().map(|line| line.line).collect();
    assert_eq!(lines, [2, 3]);
    let what = &loaded.damaged[0].what;
    assert_eq!(what, "`p95_ms` is 1e308; valid: numbers up to 1e18");
}
