//! Transformations that servers apply to the bytes of a path: decoding, folding, omission. Pure.

use super::Confused;

/// Number of slashes, plain or encoded once.
pub(super) fn slashes(path: &[u8]) -> usize {
    let plain = memchr::memchr_iter(b'/', path).count();
    let encoded = path
        .windows(3)
        .filter(|code| code.eq_ignore_ascii_case(b"%2f"));
    plain + encoded.count()
}

/// Without text between a semicolon and the next slash.
pub(super) fn without_parameters(path: &[u8]) -> Vec<u8> {
    let mut is_parameter = false;
    let stays = |byte: &u8| {
        match byte {
            b';' => is_parameter = true,
            b'/' => is_parameter = false,
            _ => {}
        }
        !is_parameter
    };
    path.iter().copied().filter(stays).collect()
}

/// Decoded once. Encoded slashes and backslashes become slashes, or stay.
pub(super) fn decoded(path: &[u8], slashes: bool) -> Result<Vec<u8>, Confused> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'%' {
            decoded.push(if byte == b'\\' && slashes { b'/' } else { byte });
            continue;
        }
        match code(rest).ok_or(Confused)? {
            0 => return Err(Confused),
            b'/' | b'\\' if !slashes => decoded.push(b'%'),
            byte => {
                decoded.push(if byte == b'\\' { b'/' } else { byte });
                rest = &rest[2..];
            }
        }
    }
    Ok(decoded)
}

/// The byte of two digits.
fn code(digits: &[u8]) -> Option<u8> {
    number(digits, 2).and_then(|number| u8::try_from(number).ok())
}

/// The number of so many hexadecimal digits.
fn number(digits: &[u8], count: usize) -> Option<u32> {
    let digits = digits.get(..count)?;
    digits.iter().try_fold(0, |number, &digit| {
        Some(16 * number + char::from(digit).to_digit(16)?)
    })
}

/// Decoded a second time, as an application behind a server does, and `%u002e` as IIS does. Invalid codes stay.
pub(super) fn decoded_again(path: &[u8]) -> Result<Vec<u8>, Confused> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'%' {
            decoded.push(byte);
        } else if let Some(byte) = code(rest) {
            decoded.push(byte);
            rest = &rest[2..];
        } else if let Some(character) = unicode(rest) {
            decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[5..];
        } else {
            decoded.push(b'%');
        }
    }
    let is_encoded =
        |at: usize| code(&decoded[at..]).is_some() || unicode(&decoded[at..]).is_some();
    let mut signs = memchr::memchr_iter(b'%', &decoded);
    if decoded.contains(&0) || signs.any(|at| is_encoded(at + 1)) {
        return Err(Confused);
    }
    Ok(decoded)
}

/// The character of `u002e`; surrogate halves are none.
fn unicode(rest: &[u8]) -> Option<char> {
    let digits = rest.strip_prefix(b"u").or(rest.strip_prefix(b"U"))?;
    let number = number(digits, 4)?;
    Some(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER))
}

/// ASCII for what lenient decoders take for it; backslashes become slashes.
pub(super) fn folded(path: &[u8]) -> Result<Vec<u8>, Confused> {
    let mut folded = Vec::with_capacity(path.len());
    let mut at = 0;
    while at < path.len() {
        let (byte, len) = overlong(&path[at..])
            .or_else(|| likeness(&path[at..]))
            .unwrap_or((path[at], 1));
        if byte == 0 {
            return Err(Confused);
        }
        folded.push(if byte == b'\\' { b'/' } else { byte });
        at += len;
    }
    Ok(folded)
}

/// An ASCII byte in an overlong UTF-8 encoding, and the encoding's length.
fn overlong(bytes: &[u8]) -> Option<(u8, usize)> {
    let (first, len) = match bytes.first()? {
        byte @ (0xc0 | 0xc1) => (*byte & 1, 2),
        0xe0 => (0, 3),
        0xf0 => (0, 4),
        0xf8 => (0, 5),
        0xfc => (0, 6),
        _ => return None,
    };
    let continuation = bytes.get(1..len)?;
    // Some decoders evaluate only six bits of the continuation bytes.
    let number = continuation.iter().try_fold(first, |number: u8, byte| {
        (number < 2).then_some(number << 6 | byte & 0x3f)
    });
    Some((number?, len))
}

/// ASCII equivalent of a character: full-width characters, and signs that resemble slashes, dots and semicolons.
fn likeness(bytes: &[u8]) -> Option<(u8, usize)> {
    let len = match bytes.first()? {
        0xc2 | 0xcd => 2,
        0xe2 | 0xef => 3,
        _ => return None,
    };
    let character = std::str::from_utf8(bytes.get(..len)?)
        .ok()?
        .chars()
        .next()?;
    let byte = match character {
        '\u{ff01}'..='\u{ff5e}' => u8::try_from(u32::from(character) - 0xfee0).ok()?,
        '\u{2044}' | '\u{2215}' | '\u{29f8}' => b'/',
        // Yen and won replace the backslash in Windows code pages.
        '\u{2216}' | '\u{29f5}' | '\u{29f9}' | '\u{fe68}' | '\u{a5}' | '\u{20a9}' => b'\\',
        '\u{2024}' | '\u{fe52}' => b'.',
        '\u{fe54}' | '\u{37e}' => b';',
        _ => return None,
    };
    Some((byte, len))
}

/// Without control characters and invalid UTF-8, which some servers omit.
pub(super) fn without_noise(path: &[u8]) -> Vec<u8> {
    let valid = path.utf8_chunks().flat_map(|chunk| chunk.valid().bytes());
    valid.filter(|byte| !byte.is_ascii_control()).collect()
}
