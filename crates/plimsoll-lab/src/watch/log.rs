//! The log of readings without load. Each second is on disk before the next is read, so that a process that is killed
//! loses nothing.

use std::collections::BTreeSet;
use std::path::Path;

use plimsoll_model::event::{Event, FORMAT_MAJOR, FORMAT_MINOR, WatchHeader};
use plimsoll_model::plan::Facts;
use plimsoll_model::reading::Readings;
use plimsoll_model::redact;

use crate::run_log::{Followers, RunLog, RunLogError};

/// The open log of `watch`.
#[derive(Debug)]
pub struct WatchLog {
    log: RunLog,
    /// The second after the last readings.
    next_second: u32,
    /// Notes that it holds: those of the end repeat earlier ones.
    noted: BTreeSet<String>,
}

impl WatchLog {
    /// Makes the file, and its folder if need be; `target` is redacted here. Never overwrites a file.
    ///
    /// # Errors
    /// When the folder or file cannot be made, or the header cannot be written.
    pub fn create(
        path: &Path,
        target: Option<&str>,
        started_at: String,
        versions: Facts,
        followers: Followers,
    ) -> Result<Self, RunLogError> {
        let header = WatchHeader {
            format_major: FORMAT_MAJOR,
            format_minor: FORMAT_MINOR,
            started_at,
            target: target.map(|url| redact::url(url).into_owned()),
            host: plimsoll_probe::host_facts(),
            versions,
        };
        Ok(Self {
            log: RunLog::create_watch(path, header, followers)?,
            next_second: 0,
            noted: BTreeSet::new(),
        })
    }

    /// Appends the readings of a second, and notes. A disk that refuses is no error here: see [`WatchLog::close`].
    pub fn append(&mut self, readings: Option<&Readings>, notes: &[String]) {
        for note in notes {
            // Notes quote texts of services, drivers and logs.
            let text = redact::text(note).into_owned();
            if self.noted.insert(text.clone()) {
                self.log.append(Event::NoteMade {
                    second: self.next_second,
                    text,
                });
            }
        }
        if let Some(readings) = readings {
            self.next_second = readings.second.saturating_add(1);
            self.log.append(Event::ReadingsTaken(readings.clone()));
        }
    }

    /// Tries again to write what the disk refused. What it still refuses is lost: the reason.
    pub fn close(self) -> Option<String> {
        let reason = self.log.write_error().map(ToString::to_string);
        let (_, refused) = self.log.close();
        reason.filter(|_| !refused.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::run_log;

    fn readings(second: u32) -> Readings {
        Readings {
            second,
            values: BTreeMap::from([("busy".to_owned(), f64::from(second) / 10.0)]),
            new_series: BTreeMap::new(),
        }
    }

    fn begun(path: &Path) -> Result<WatchLog, RunLogError> {
        WatchLog::create(
            path,
            Some("http://me:hidden-word@127.0.0.1/?token=hidden-word"),
            "2026-01-01T00:00:00Z".to_owned(),
            Facts::new(),
            Followers::default(),
        )
    }

    #[test]
    fn each_second_is_on_disk_before_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/w.run");
        let mut log = begun(&path).unwrap();
        for second in [0, 1, 4] {
            log.append(Some(&readings(second)), &[]);
            // As after a crash: the log is not closed.
            let loaded = run_log::read_readings(&path).unwrap();
            assert_eq!(loaded.readings.seconds().last(), Some(&second));
            assert_eq!(
                (loaded.cut, &*loaded.started_at),
                (None, "2026-01-01T00:00:00Z")
            );
        }
        assert_eq!(log.close(), None);
        let loaded = run_log::read_readings(&path).unwrap();
        assert_eq!(loaded.readings.values("busy"), Some(&[0.0, 0.1, 0.4][..]));
    }

    #[test]
    fn a_cut_file_holds_what_is_in_front_of_the_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.run");
        let mut log = begun(&path).unwrap();
        let header_len = std::fs::metadata(&path).unwrap().len();
        for second in 0..3 {
            log.append(Some(&readings(second)), &[]);
        }
        drop(log);
        let bytes = std::fs::read(&path).unwrap();
        let mut complete = 0;
        for len in usize::try_from(header_len).unwrap()..=bytes.len() {
            std::fs::write(&path, &bytes[..len]).unwrap();
            let seconds = run_log::read_readings(&path).unwrap().readings;
            assert!(seconds.seconds().len() >= complete);
            complete = seconds.seconds().len();
        }
        assert_eq!(complete, 3);
    }

    #[test]
    fn it_is_no_run_is_not_overwritten_and_has_no_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.run");
        let mut log = begun(&path).unwrap();
        let note = "cannot ask redis://me:hidden-word@127.0.0.1:6379".to_owned();
        log.append(None, &[note.clone(), note]);
        assert_eq!(log.close(), None);
        let error = run_log::read(&path).unwrap_err();
        assert!(matches!(error, RunLogError::WithoutLoad { .. }), "{error}");
        let error = begun(&path).unwrap_err();
        assert!(matches!(error, RunLogError::Exists { .. }), "{error}");
        let file = std::fs::File::open(&path).unwrap();
        let mut text = String::new();
        let mut events = flate2::read::MultiGzDecoder::new(file);
        std::io::Read::read_to_string(&mut events, &mut text).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains("hidden-word"), "{text}");
    }
}
