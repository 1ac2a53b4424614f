//! Writes bodies in the chunked transfer coding of HTTP/1.1; `plimsoll-wire` reads them.

/// Writes a piece of a body as a chunk.
pub fn write(out: &mut Vec<u8>, content: &[u8]) {
    let mut digits = [0_u8; 18];
    let mut at = 16;
    digits[16] = b'\r';
    digits[17] = b'\n';
    let mut left = content.len();
    while left > 0 {
        at -= 1;
        digits[at] = b"0123456789abcdef"[left & 15];
        left >>= 4;
    }
    out.extend_from_slice(&digits[at..]);
    out.extend_from_slice(content);
    out.extend_from_slice(b"\r\n");
}

/// The end of a chunked body.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_written_as_the_grammar_says() {
        let mut out = Vec::new();
        write(&mut out, b"hello");
        write(&mut out, &[b'x'; 300]);
        assert!(out.starts_with(b"5\r\nhello\r\n12c\r\nxxx"));
        assert!(out.ends_with(b"xxx\r\n"));
    }
}
