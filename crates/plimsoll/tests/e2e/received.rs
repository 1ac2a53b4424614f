//! Requests, as a server of a test receives them.

use std::io::BufRead;

/// The head and the body of the next request; `None` when the connection ends before it is whole.
pub(crate) fn request(reader: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let lower = head.to_ascii_lowercase();
    let len = lower
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let mut body = vec![0; len.map_or(0, |len| len.trim().parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}
