//! Logs that are followed.

use plimsoll_model::component::{ComponentAddress, ComponentKind};
use plimsoll_model::metric::{self, series};

use crate::collectors::fixture::CollectorFixture;

#[test]
fn a_log_is_followed_from_its_end_and_over_its_rotation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("error.log");
    let line = |upstream: &str| {
        format!(
            "2026/11/22 [error] 7#7: *9 no live upstreams while connecting, upstream: \"http://{upstream}/\"\n"
        )
    };
    let add = |text: &str| {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path);
        std::io::Write::write_all(&mut file.unwrap(), text.as_bytes()).unwrap();
    };
    add(&line("old"));
    let at = path.display().to_string();
    let log = ComponentAddress::File(path.clone());
    let mut watched = CollectorFixture::of(ComponentKind::NginxLog, log, "", "");
    let failures = series(
        metric::LOG_FAILURES,
        &[("at", &at), ("class", "no upstream")],
    );
    watched.scrape();
    assert_eq!(watched.scrape().values.get(&failures), Some(&0.0));
    let two = line("app").repeat(2);
    // An incomplete line is not counted yet.
    add(&two[..two.len() - 9]);
    assert!(watched.scrape().values[&failures] > 0.0);
    add(&two[two.len() - 9..]);
    assert!(watched.scrape().values[&failures] > 0.0);
    std::fs::rename(&path, folder.path().join("error.log.1")).unwrap();
    add(&line("app"));
    assert!(watched.scrape().values[&failures] > 0.0);
    assert_eq!(watched.scrape().values.get(&failures), Some(&0.0));
    let notes = watched.notes();
    assert!(
        notes.contains("a log was rotated") && notes.lines().count() == 1,
        "{notes}"
    );
}
