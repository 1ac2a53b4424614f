//! Readings of a path by different servers. Pure.
//!
//! The standard has one reading, servers have others: they remove parameters (`/admin;a/x`), treat `%2f` and `\` as
//! slashes, decode twice, or take overlong UTF-8 and full-width characters for ASCII. This module lists each reading of
//! known servers and frameworks, so that a request takes a route only when no reading leads elsewhere. Dot segments are
//! in no reading: such requests are rejected.

use super::decoding::{decoded, decoded_again, folded, slashes, without_noise, without_parameters};

/// A path that could be read in two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Confused;

/// The readings of one path.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    /// Decoded once except for slashes, with repeated slashes as one.
    pub(crate) plain: String,
    /// With encoded slashes as slashes, decoded twice, and without omitted bytes; all with parameters.
    pub(crate) alternatives: Vec<String>,
    /// Without parameters, if there are any.
    pub(crate) bare: Vec<String>,
    /// Rare readings of repeated slashes (several slashes, or a host before the path) and of a sign (the path's end).
    pub(crate) rare: Vec<String>,
    /// Bytes that were read, and those of the readings.
    spent: usize,
}

/// Maximum number of bytes read and kept for one path: long and odd paths must not cost more time.
const SPENT_MAX: usize = 128 * 1024;

/// Other characters may stand for this byte, or this byte for others.
const ODD: u8 = 1;
/// The same for servers that read paths as Windows does.
const ODD_ON_WINDOWS: u8 = 2;
const SLASH: u8 = 4;
const DOT: u8 = 8;

const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    kinds[b'%' as usize] = ODD;
    kinds[b';' as usize] = ODD;
    kinds[b'\\' as usize] = ODD;
    kinds[b'~' as usize] = ODD_ON_WINDOWS;
    kinds[b':' as usize] = ODD_ON_WINDOWS;
    kinds[b'/' as usize] = SLASH;
    kinds[b'.' as usize] = DOT;
    kinds
};

/// Whether a path has only one reading, by one pass over its bytes.
#[inline]
pub(crate) fn is_plain(path: &[u8], on_windows: bool) -> bool {
    let (odd, behind_dot) = if on_windows {
        (ODD | ODD_ON_WINDOWS, SLASH)
    } else {
        (ODD, 0)
    };
    let mut barred = odd;
    for &byte in path {
        let kind = KINDS[usize::from(byte)];
        if kind & barred != 0 {
            return false;
        }
        barred = match kind {
            SLASH => odd | SLASH | DOT,
            DOT => odd | behind_dot,
            _ => odd,
        };
    }
    !(on_windows && path.last() == Some(&b'.'))
}

/// Parameters are removed before decoding.
const FIRST: u8 = 1;
/// After decoding.
const THEN: u8 = 2;
/// After decoding twice.
const LAST: u8 = 4;

impl Readings {
    /// All readings of a path that is not plain.
    ///
    /// # Errors
    /// When it contains something without a legitimate use: invalid codes, a zero byte, dot segments in any reading,
    /// triple encoding, parameters beside hidden slashes (`;a%5c`), or too much of it.
    pub(crate) fn of(path: &[u8]) -> Result<Self, Confused> {
        let plain = decoded(path, false)?;
        let mut readings = Self {
            plain: merged(&plain)?,
            ..Self::default()
        };
        let reading = readings.plain.clone();
        readings.add_what_few_read(&plain, &reading)?;
        readings.gather(path, 0)?;
        let lenient = folded(&decoded_again(&decoded(path, true)?)?)?;
        if lenient.contains(&b';') {
            // Servers must agree where parameters end: not all recognize a slash that is hidden deeper.
            let hidden = memchr::memchr_iter(b'/', &lenient).count();
            if hidden != slashes(path) {
                return Err(Confused);
            }
            // Without encoding, the time of removing parameters makes no difference.
            let all = if path.contains(&b'%') {
                FIRST | THEN | LAST
            } else {
                FIRST
            };
            for cuts in FIRST..=all {
                readings.gather(path, cuts)?;
            }
        }
        Ok(readings)
    }

    /// Reads a path as a server that removes parameters at these times and may stop after each step.
    fn gather(&mut self, path: &[u8], cuts: u8) -> Result<(), Confused> {
        self.spend(path.len())?;
        let at = |time: u8, bytes: Vec<u8>| {
            if cuts & time == 0 {
                return Some(bytes);
            }
            // Without parameters to remove, this equals another reading.
            bytes.contains(&b';').then(|| without_parameters(&bytes))
        };
        let Some(first) = at(FIRST, path.to_vec()) else {
            return Ok(());
        };
        let Some(then) = at(THEN, decoded(&first, true)?) else {
            return Ok(());
        };
        if cuts & LAST == 0 {
            self.add(&then, cuts)?;
        }
        let twice = folded(&decoded_again(&then)?)?;
        let Some(last) = at(LAST, twice) else {
            return Ok(());
        };
        if last != then {
            self.add(&last, cuts)?;
        }
        let cleaned = without_noise(&last);
        if cleaned != last {
            self.add(&cleaned, cuts)?;
        }
        Ok(())
    }

    fn spend(&mut self, len: usize) -> Result<(), Confused> {
        self.spent += len;
        if self.spent > SPENT_MAX {
            return Err(Confused);
        }
        Ok(())
    }

    fn add(&mut self, bytes: &[u8], cuts: u8) -> Result<(), Confused> {
        let reading = merged(bytes)?;
        self.add_what_few_read(bytes, &reading)?;
        let readings = if cuts == 0 {
            &mut self.alternatives
        } else {
            &mut self.bare
        };
        if (cuts != 0 || reading != self.plain) && !readings.contains(&reading) {
            let len = reading.len();
            readings.push(reading);
            self.spend(len)?;
        }
        Ok(())
    }

    fn add_what_few_read(&mut self, bytes: &[u8], reading: &str) -> Result<(), Confused> {
        if bytes.windows(2).any(|pair| pair == b"//") {
            self.add_rare(String::from_utf8_lossy(bytes).into_owned())?;
        }
        self.add_ends(reading)?;
        if bytes.starts_with(b"//") {
            // `//a/b` is a path, and for some servers the path `/b` of the host `a`.
            let behind = reading.get(1..).and_then(|rest| rest.split_once('/'));
            let path = format!("/{}", behind.map_or("", |(_, path)| path));
            self.add_ends(&path)?;
            self.add_rare(path)?;
        }
        Ok(())
    }

    /// An application that builds a URL from decoded text finds its end there.
    fn add_ends(&mut self, reading: &str) -> Result<(), Confused> {
        for end in [';', '?', '#'] {
            let Some((start, _)) = reading.split_once(end) else {
                continue;
            };
            // `/a/..%3f` ends in what was not a dot segment before.
            if matches!(start.rsplit('/').next(), Some("." | "..")) {
                return Err(Confused);
            }
            self.add_rare(start.to_owned())?;
        }
        Ok(())
    }

    fn add_rare(&mut self, reading: String) -> Result<(), Confused> {
        self.spend(reading.len())?;
        if !self.rare.contains(&reading) {
            self.rare.push(reading);
        }
        Ok(())
    }
}

/// Repeated slashes as one, and no dot segments.
fn merged(path: &[u8]) -> Result<String, Confused> {
    let mut merged = Vec::with_capacity(path.len());
    for &byte in path {
        if byte != b'/' || merged.last() != Some(&b'/') {
            merged.push(byte);
        }
    }
    let mut segments = merged.split(|&byte| byte == b'/');
    if segments.any(|segment| segment == b"." || segment == b"..") {
        return Err(Confused);
    }
    Ok(String::from_utf8_lossy(&merged).into_owned())
}

/// A reading as Windows file names: without trailing dots and blanks, and without streams.
///
/// # Errors
/// When a name consists of dots and blanks, or may be the short form of another (`ADMINI~1`).
pub(crate) fn on_windows(reading: &str) -> Result<String, Confused> {
    let mut names = Vec::new();
    for segment in reading.split('/') {
        let name = segment.split(':').next().unwrap_or_default();
        let name = name.trim_end_matches([' ', '.']);
        if name.is_empty() && !segment.is_empty() || is_short(name) {
            return Err(Confused);
        }
        names.push(name);
    }
    Ok(names.join("/"))
}

/// Whether a name is a short name as Windows generates for long names: up to eight characters ending in `~` and a
/// number, and an extension of up to three.
fn is_short(name: &str) -> bool {
    let (stem, ending) = name.split_once('.').unwrap_or((name, ""));
    let Some((_, number)) = stem.rsplit_once('~') else {
        return false;
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && stem.chars().count() <= 8 && ending.chars().count() <= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: [&[&str]; 3]) {
        let readings = Readings::of(path.as_bytes()).unwrap();
        let mut plain = vec![readings.plain];
        plain.extend(readings.alternatives);
        assert_eq!(plain, expected[0], "{path}");
        assert_eq!(readings.bare, expected[1], "{path}");
        assert_eq!(readings.rare, expected[2], "{path}");
    }

    #[test]
    fn each_reading_is_there_once() {
        check("/a%20b", [&["/a b"], &[], &[]]);
        check("//a//b", [&["/a/b"], &[], &["//a//b", "/b"]]);
        check("/a%2fb", [&["/a%2fb", "/a/b"], &[], &[]]);
        check("/a%5Cb", [&["/a%5Cb", "/a/b"], &[], &[]]);
        check("/%2561", [&["/%61", "/a"], &[], &[]]);
        check("/%25u0061", [&["/%u0061", "/a"], &[], &[]]);
        check("/%c1%a1", [&["/\u{fffd}\u{fffd}", "/a"], &[], &[]]);
        check("/%ef%bd%81", [&["/\u{ff41}", "/a"], &[], &[]]);
        check("/%e2%88%95", [&["/\u{2215}", "/"], &[], &["//", "/"]]);
        check("/%ffa%09b", [&["/\u{fffd}a\tb", "/ab"], &[], &[]]);
        check("/a;b/c", [&["/a;b/c"], &["/a/c"], &["/a"]]);
        check("/a%3bb/c", [&["/a;b/c"], &["/a/c"], &["/a"]]);
        check(
            "/;a=%2fb/c",
            [
                &["/;a=%2fb/c", "/;a=/b/c"],
                &["/c", "/b/c"],
                &["/", "//c", "//b/c", "/c"],
            ],
        );
    }

    #[test]
    fn what_nobody_needs_is_refused() {
        for path in [
            "/..;/a",
            "/.;a=b/c",
            "/%2e%2e;/a",
            "/..%3b/a",
            "/..%253b/a",
            "/%252e%252e/a",
            "/a%252f..",
            "/%25252e",
            "/%c0%ae%c0%ae/a",
            "/%c0%2e%c0%6e/a",
            "/%e0%80%ae/a",
            "/%f0%80%80%ae/a",
            "/%f8%80%80%80%ae/a",
            "/%fc%80%80%80%80%ae/a",
            "/..%3fa",
            "/a;b%5cc",
            "/a;b%252fc",
            "/a%5cb;c",
            "/a/.%23b",
            "/%c0%80",
            "/%00",
            "/%2500",
            "/%u002e/a",
            "/%25u002e/a",
            "/%25u0000",
            "/.%09./a",
            "/.%ff/a",
            "/%ef%bc%8e%ef%bc%8e/a",
            "/a/..%e2%88%95b",
            "/%",
            "/%+1",
            "/%0",
            "/%zz",
            "/%25%2532e",
        ] {
            assert_eq!(
                Readings::of(path.as_bytes()).map(|_| ()),
                Err(Confused),
                "{path}"
            );
        }
    }

    #[test]
    fn long_and_odd_paths_take_no_more_time_than_others() {
        let held = |path: &str| {
            let readings = Readings::of(path.as_bytes())?;
            let all = [&readings.alternatives, &readings.bare, &readings.rare];
            Ok(all.into_iter().flatten().map(String::len).sum::<usize>())
        };
        let long = |piece: &str| format!("/{}", piece.repeat(16_000 / piece.len()));
        assert_eq!(held(&long("%20a")), Ok(0));
        assert_eq!(held(&long("a;b/")), Ok(8_001 + 2));
        for piece in [
            ";%3ba/",
            "%2f;/",
            "/;%253b%c0%a1",
            "//;%ff%ef%bd%81%3f",
            "%3b%2f",
        ] {
            assert_eq!(held(&long(piece)), Err(Confused), "{piece}");
            let short = format!("/{}", piece.repeat(1_000 / piece.len()));
            assert!(held(&short).unwrap() <= SPENT_MAX, "{piece}");
        }
    }

    #[test]
    fn names_are_read_as_on_windows() {
        for (path, expected) in [
            ("/a./b .", Ok("/a/b")),
            ("/a::$DATA/b:c", Ok("/a/b")),
            ("/a.b/~c/", Ok("/a.b/~c/")),
            ("/abcdefgh~1/a~b", Ok("/abcdefgh~1/a~b")),
            ("/ABCDEF~1/b", Err(Confused)),
            ("/A~12.HTM", Err(Confused)),
            ("/.. /b", Err(Confused)),
            ("/.../b", Err(Confused)),
            ("/:a/b", Err(Confused)),
        ] {
            assert_eq!(on_windows(path), expected.map(str::to_owned), "{path}");
        }
    }

    #[test]
    fn plain_paths_have_nothing_odd() {
        for (path, here, on_windows) in [
            ("/", true, true),
            ("", true, true),
            ("/a.b/c-d_e+f,g=h@i!j", true, true),
            ("/a./b", true, false),
            ("/a.", true, false),
            ("/a~1", true, false),
            ("/a:b", true, false),
            ("/.a", false, false),
            ("//a", false, false),
            ("/a//", false, false),
            ("/a;b", false, false),
            ("/a%41", false, false),
            ("/a\\b", false, false),
        ] {
            assert_eq!(is_plain(path.as_bytes(), false), here, "{path}");
            assert_eq!(is_plain(path.as_bytes(), true), on_windows, "{path}");
        }
    }
}
