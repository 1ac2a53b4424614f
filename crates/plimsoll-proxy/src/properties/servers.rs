//! Models of how kinds of servers read a path. They share nothing with the edge's own readings, so that both are not
//! wrong alike.

/// The segments of a path as a server resolves it.
pub(super) type Segments = Vec<Vec<u8>>;

/// The readings that a kind of server may have.
pub(super) type Model = fn(&[u8]) -> Vec<Segments>;

/// Case-sensitive servers.
pub(super) const MODELS: [(&str, Model); 7] = [
    ("standard", standard),
    ("nginx", nginx),
    ("tomcat", tomcat),
    ("jetty", jetty),
    ("framework", framework),
    ("careless", careless),
    ("url", url),
];

/// All kinds of servers, and case-insensitive ones when `caseless`.
pub(super) fn models(caseless: bool) -> impl Iterator<Item = (&'static str, Model)> {
    let windows: Option<(&str, Model)> = caseless.then_some(("iis", iis));
    MODELS.into_iter().chain(windows)
}

fn hex(digits: Option<&[u8]>) -> Option<u32> {
    let digits = std::str::from_utf8(digits?).ok()?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| is_number)
}

/// Decoded once; `%u002e` too, when `wide`. Invalid codes stay.
fn unescaped(path: &[u8], wide: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < path.len() {
        let is_wide = wide && matches!(path.get(at + 1), Some(b'u' | b'U'));
        match path[at] {
            b'%' if let Some(byte) = hex(path.get(at + 1..at + 3)) => {
                out.extend(u8::try_from(byte).ok());
                at += 3;
            }
            b'%' if is_wide && let Some(unit) = hex(path.get(at + 2..at + 6)) => {
                let character = char::from_u32(unit).unwrap_or('?');
                out.extend_from_slice(character.to_string().as_bytes());
                at += 6;
            }
            byte => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

/// Each segment up to its semicolon.
fn stripped(path: &[u8]) -> Vec<u8> {
    let segments = path.split(|&byte| byte == b'/');
    let names = segments.map(|segment| {
        segment
            .split(|&byte| byte == b';')
            .next()
            .unwrap_or_default()
    });
    names.collect::<Vec<_>>().join(&b'/')
}

fn turned(mut path: Vec<u8>) -> Vec<u8> {
    for byte in &mut path {
        if *byte == b'\\' {
            *byte = b'/';
        }
    }
    path
}

/// The segments that are left when dots are resolved; with slashes in a row as one, when `merge`.
fn resolved(path: &[u8], merge: bool) -> Segments {
    let mut segments: Segments = Vec::new();
    let path = path.strip_prefix(b"/").unwrap_or(path);
    for segment in path.split(|&byte| byte == b'/') {
        match segment {
            b"." => {}
            b"" if merge => {}
            b".." => drop(segments.pop()),
            segment => segments.push(segment.to_vec()),
        }
    }
    segments
}

/// RFC 3986: split into segments first, then decode each.
fn standard(path: &[u8]) -> Vec<Segments> {
    let mut segments = resolved(path, false);
    for segment in &mut segments {
        *segment = unescaped(segment, false);
    }
    vec![segments]
}

fn nginx(path: &[u8]) -> Vec<Segments> {
    let decoded = unescaped(path, false);
    vec![resolved(&decoded, true), resolved(&decoded, false)]
}

/// Parameters are removed before decoding; encoded slashes are rejected, kept or treated as slashes.
fn tomcat(path: &[u8]) -> Vec<Segments> {
    let bare = stripped(path);
    let decoded = unescaped(&bare, false);
    vec![
        standard(&bare).remove(0),
        resolved(&decoded, true),
        resolved(&turned(decoded), true),
    ]
}

/// Knows `%u002e`, and finds parameters in decoded text, or dots behind them.
fn jetty(path: &[u8]) -> Vec<Segments> {
    let decoded = unescaped(&stripped(path), true);
    vec![
        resolved(&decoded, false),
        resolved(&decoded, true),
        resolved(&stripped(&unescaped(path, true)), true),
    ]
}

/// A framework behind a server: both decode, and each may leave out parameters.
fn framework(path: &[u8]) -> Vec<Segments> {
    let mut readings = Vec::new();
    for first in [path.to_vec(), stripped(path)] {
        let decoded = unescaped(&first, false);
        for second in [decoded.clone(), stripped(&decoded)] {
            let twice = unescaped(&second, false);
            for third in [twice.clone(), stripped(&twice)] {
                readings.push(resolved(&second, true));
                readings.push(resolved(&third, true));
                readings.push(resolved(&turned(third), true));
            }
        }
    }
    readings
}

/// ASCII for unvalidated UTF-8 bytes and for full-width characters.
fn narrowed(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < path.len() {
        let len = path[at].leading_ones() as usize;
        let piece = path.get(at..at + len).filter(|_| (2..=6).contains(&len));
        let number = piece.map(|piece| {
            let first = u32::from(piece[0]) & (0x7f >> len);
            let bits = piece[1..].iter().map(|byte| u32::from(byte & 0x3f));
            bits.fold(first, |number, bits| number << 6 | bits)
        });
        let narrow = match number {
            Some(number @ 0..=0x7f) => Some(number),
            Some(number @ 0xff01..=0xff5e) => Some(number - 0xfee0),
            _ => None,
        };
        if let Some(byte) = narrow.and_then(|narrow| u8::try_from(narrow).ok()) {
            out.push(byte);
            at += len;
        } else {
            out.push(path[at]);
            at += 1;
        }
    }
    out
}

/// Without invalid text.
fn strip_non_text(path: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(path).replace(
        |sign: char| sign.is_ascii_control() || sign == '\u{fffd}',
        "",
    );
    text.into_bytes()
}

fn careless(path: &[u8]) -> Vec<Segments> {
    let once = unescaped(path, true);
    let narrow = turned(narrowed(&unescaped(&once, true)));
    vec![
        resolved(&turned(narrowed(&once)), true),
        resolved(&narrow, true),
        resolved(&stripped(&narrow), true),
        resolved(&strip_non_text(&narrow), true),
        resolved(&strip_non_text(&stripped(&narrow)), true),
    ]
}

/// Treats the path as a URL: it may begin with a host, and a decoded `?` or `#` may end it.
fn url(path: &[u8]) -> Vec<Segments> {
    let mut readings = Vec::new();
    for path in [path.to_vec(), turned(unescaped(path, false))] {
        let end = path.iter().position(|byte| b"?#".contains(byte));
        let path = &path[..end.unwrap_or(path.len())];
        readings.push(resolved(path, true));
        if let Some(rest) = path.strip_prefix(b"//") {
            let host = rest
                .iter()
                .position(|&byte| byte != b'/')
                .unwrap_or(rest.len());
            let behind = rest[host..].iter().position(|&byte| byte == b'/');
            let behind = behind.map_or(&b"/"[..], |at| &rest[host + at..]);
            readings.push(resolved(behind, true));
        }
    }
    readings
}

/// Windows: trailing blanks and dots of a name are ignored, and so is everything behind a colon.
fn iis(path: &[u8]) -> Vec<Segments> {
    let once = turned(narrowed(&unescaped(path, true)));
    let twice = turned(narrowed(&unescaped(&once, true)));
    let as_names = |path: Vec<u8>| {
        let mut names: Segments = Vec::new();
        for segment in String::from_utf8_lossy(&path).split('/') {
            let name = segment
                .split(':')
                .next()
                .unwrap_or_default()
                .trim_end_matches(' ');
            match (name, name.trim_end_matches(['.', ' '])) {
                ("..", _) => drop(names.pop()),
                (_, "") => {}
                (_, name) => names.push(name.as_bytes().to_vec()),
            }
        }
        names
    };
    vec![as_names(once), as_names(twice)]
}
