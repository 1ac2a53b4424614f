//! Lines of a log, as slices of the buffer wherever possible.

use std::io::{self, BufRead};

/// Longest line that is handed on, bytes; of a longer one only so much, which no reader takes for a whole line.
const LINE_LEN_MAX: usize = (64 << 10) + 1;

/// Calls `take` with each line, without its end, until it returns false or the input ends.
pub(super) fn each(
    reader: &mut dyn BufRead,
    mut take: impl FnMut(&[u8]) -> bool,
) -> io::Result<()> {
    // The beginning of a line whose end is not in the buffer.
    let mut begun: Vec<u8> = Vec::new();
    loop {
        let buffer = match reader.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            if !begun.is_empty() {
                take(without_end(&begun));
            }
            return Ok(());
        }
        let (mut from, len) = (0, buffer.len());
        for end in memchr::memchr_iter(b'\n', buffer) {
            let goes_on = if begun.is_empty() {
                let line = &buffer[from..end];
                take(without_end(&line[..line.len().min(LINE_LEN_MAX)]))
            } else {
                append(&mut begun, &buffer[from..end]);
                let goes_on = take(without_end(&begun));
                begun.clear();
                goes_on
            };
            if !goes_on {
                return Ok(());
            }
            from = end + 1;
        }
        append(&mut begun, &buffer[from..]);
        reader.consume(len);
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
        each(&mut reader, |line| {
            lines.push(line.to_vec());
            true
        })
        .unwrap();
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
    fn reading_stops_when_it_is_asked_to() {
        let mut count = 0;
        each(&mut &b"1\n2\n3\n"[..], |_| {
            count += 1;
            count < 2
        })
        .unwrap();
        assert_eq!(count, 2);
    }
}
