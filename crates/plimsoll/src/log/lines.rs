//! Lines of a log, as slices of the buffer wherever possible.

use std::io::{self, BufRead};

/// Longest line that is handed on, bytes; of a longer one only so much, which no reader takes for a whole line.
const LINE_LEN_MAX: usize = (64 << 10) + 1;

/// Lines of one input.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The beginning of a line whose end is not in the buffer.
    begun: Vec<u8>,
}

impl Lines {
    /// Calls `take` with each line, without its end, until it returns false or the input ends; the next call goes on behind
    /// that line. Returns whether the input has ended.
    pub(super) fn each(
        &mut self,
        reader: &mut dyn BufRead,
        mut take: impl FnMut(&[u8]) -> bool,
    ) -> io::Result<bool> {
        loop {
            let buffer = match reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() {
                if !self.begun.is_empty() {
                    take(without_end(&self.begun));
                    self.begun.clear();
                }
                return Ok(true);
            }
            let (mut from, len) = (0, buffer.len());
            let mut goes_on = true;
            for end in memchr::memchr_iter(b'\n', buffer) {
                goes_on = if self.begun.is_empty() {
                    let line = &buffer[from..end];
                    take(without_end(&line[..line.len().min(LINE_LEN_MAX)]))
                } else {
                    append(&mut self.begun, &buffer[from..end]);
                    let goes_on = take(without_end(&self.begun));
                    self.begun.clear();
                    goes_on
                };
                from = end + 1;
                if !goes_on {
                    break;
                }
            }
            if !goes_on {
                reader.consume(from);
                return Ok(false);
            }
            append(&mut self.begun, &buffer[from..]);
            reader.consume(len);
        }
    }
}

fn append(begun: &mut Vec<u8>, more: &[u8]) {
    let room = LINE_LEN_MAX - begun.len();
    begun.extend_from_slice(&more[..more.len().min(room)]);
}

fn without_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn lines(text: &[u8], buffer: usize) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        let mut reader = BufReader::with_capacity(buffer, text);
        let has_ended = Lines::default()
            .each(&mut reader, |line| {
                lines.push(line.to_vec());
                true
            })
            .unwrap();
        assert!(has_ended);
        lines
    }

    #[test]
    fn lines_are_the_same_whatever_the_buffer() {
        let text = b"one\r\n\ntwo\nthree";
        for buffer in [1, 2, 3, 5, 100] {
            assert_eq!(lines(text, buffer), [&b"one"[..], b"", b"two", b"three"]);
        }
        assert_eq!(lines(b"", 8), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn a_long_line_is_handed_on_in_part() {
        let mut text = vec![b'a'; 300_000];
        text.extend_from_slice(b"\nshort\n");
        for buffer in [1000, 1 << 20] {
            let lines = lines(&text, buffer);
            assert_eq!(
                (lines[0].len(), &lines[1][..]),
                (LINE_LEN_MAX, &b"short"[..])
            );
        }
    }

    #[test]
    fn reading_stops_when_it_is_asked_to_and_goes_on_behind_it() {
        for buffer in [1, 2, 3, 100] {
            let mut reader = BufReader::with_capacity(buffer, &b"1\n22\n3\n4"[..]);
            let (mut lines, mut read) = (Lines::default(), Vec::new());
            let mut calls = 0;
            loop {
                calls += 1;
                let has_ended = lines
                    .each(&mut reader, |line| {
                        read.push(line.to_vec());
                        line != b"22"
                    })
                    .unwrap();
                if has_ended {
                    break;
                }
            }
            assert_eq!(
                (calls, &read[..]),
                (2, &[&b"1"[..], b"22", b"3", b"4"].map(<[u8]>::to_vec)[..])
            );
        }
    }
}
