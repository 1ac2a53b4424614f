//! URLs with alternatives and ranges, as curl expands them: `{a,b}`, `[1-10:2]`, `[a-f]`.

/// Most URLs of one pattern.
const URLS_MAX: usize = 1_000;

/// Why a pattern is not expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GlobError {
    /// No pattern of curl: curl would refuse it.
    Invalid,
    TooMany,
}

/// All URLs of a pattern, the last alternative changing fastest.
pub(super) fn expand(pattern: &str) -> Result<Vec<String>, GlobError> {
    let mut urls = vec![String::new()];
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        let choices = match c {
            '\\' if behind.starts_with(['{', '}', '[', ']']) => {
                rest = &behind[1..];
                vec![behind[..1].to_owned()]
            }
            '{' => {
                let end = behind.find('}').ok_or(GlobError::Invalid)?;
                let inner = &behind[..end];
                if inner.is_empty() || inner.contains(['{', '[', ']']) {
                    return Err(GlobError::Invalid);
                }
                rest = &behind[end + 1..];
                inner.split(',').map(str::to_owned).collect()
            }
            '[' if is_address(behind) || behind.starts_with(']') => {
                rest = behind;
                vec!["[".to_owned()]
            }
            '[' => {
                let end = behind.find(']').ok_or(GlobError::Invalid)?;
                rest = &behind[end + 1..];
                range(&behind[..end])?
            }
            '}' => return Err(GlobError::Invalid),
            _ => {
                let len = rest.find(['\\', '{', '}', '[']).unwrap_or(rest.len());
                let len = len.max(c.len_utf8());
                let literal = rest[..len].to_owned();
                rest = &rest[len..];
                vec![literal]
            }
        };
        if urls.len().saturating_mul(choices.len()) > URLS_MAX {
            return Err(GlobError::TooMany);
        }
        urls = urls
            .iter()
            .flat_map(|url| choices.iter().map(move |choice| format!("{url}{choice}")))
            .collect();
    }
    Ok(urls)
}

/// Whether an IPv6 address follows a bracket.
fn is_address(text: &str) -> bool {
    text.find(']').is_some_and(|end| {
        let address = text[..end].split('%').next().unwrap_or_default();
        address.parse::<std::net::Ipv6Addr>().is_ok()
    })
}

/// The values of `1-10`, `001-100:2` or `a-z`.
fn range(inner: &str) -> Result<Vec<String>, GlobError> {
    let (span, step) = inner.split_once(':').unwrap_or((inner, "1"));
    let step: u64 = step.parse().map_err(|_| GlobError::Invalid)?;
    let (from, to) = span.split_once('-').ok_or(GlobError::Invalid)?;
    if step == 0 {
        return Err(GlobError::Invalid);
    }
    let letters = (single_letter(from), single_letter(to));
    if let (Some(from), Some(to)) = letters {
        if from > to || from.is_ascii_lowercase() != to.is_ascii_lowercase() {
            return Err(GlobError::Invalid);
        }
        let step = usize::try_from(step).map_err(|_| GlobError::Invalid)?;
        return Ok((from..=to).step_by(step).map(|c| c.to_string()).collect());
    }
    let number = |text: &str| text.parse::<u64>().map_err(|_| GlobError::Invalid);
    let (first, last) = (number(from)?, number(to)?);
    if first > last {
        return Err(GlobError::Invalid);
    }
    if (last - first) / step >= URLS_MAX as u64 {
        return Err(GlobError::TooMany);
    }
    let width = if from.starts_with('0') { from.len() } else { 0 };
    let mut values = Vec::new();
    let mut value = first;
    while value <= last {
        values.push(format!("{value:0width$}"));
        match value.checked_add(step) {
            Some(next) => value = next,
            None => break,
        }
    }
    Ok(values)
}

fn single_letter(text: &str) -> Option<char> {
    let mut chars = text.chars();
    let only = chars.next().filter(char::is_ascii_alphabetic)?;
    chars.next().is_none().then_some(only)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_expanded_as_curl_does() {
        for (pattern, expected) in [
            ("http://a/", &["http://a/"][..]),
            ("/{a,b}/[1-2]", &["/a/1", "/a/2", "/b/1", "/b/2"]),
            ("/[08-10]", &["/08", "/09", "/10"]),
            ("/[1-7:3]", &["/1", "/4", "/7"]),
            ("/[a-c]", &["/a", "/b", "/c"]),
            ("/{id}", &["/id"]),
            ("http://[::1]:80/", &["http://[::1]:80/"]),
            ("/a\\[b\\]", &["/a[b]"]),
            ("/a[]=1", &["/a[]=1"]),
            ("/\\x", &["/\\x"]),
        ] {
            assert_eq!(expand(pattern).unwrap(), expected, "{pattern}");
        }
        for pattern in [
            "/{{id}}", "/{", "/[1", "/[z-a]", "/[3-1]", "/[x]", "/}", "/{}",
        ] {
            assert_eq!(expand(pattern), Err(GlobError::Invalid), "{pattern}");
        }
        assert_eq!(expand("/[1-5000]"), Err(GlobError::TooMany));
        assert_eq!(expand("/[1-900]/[1-900]"), Err(GlobError::TooMany));
    }
}
