//! Records of CSV files.

/// The delimiter that the first line has most often.
pub(super) fn guessed_delimiter(text: &str) -> char {
    let line = text.lines().next().unwrap_or_default();
    let counts =
        [',', ';', '\t', '|'].map(|delimiter| (line.matches(delimiter).count(), delimiter));
    let best = counts.iter().rev().max_by_key(|(count, _)| *count);
    best.filter(|(count, _)| *count > 0)
        .map_or(',', |(_, delimiter)| *delimiter)
}

/// Records of a CSV text, at most so many, and whether there are more.
pub(super) fn csv(text: &str, delimiter: char, records_max: usize) -> (Vec<Vec<String>>, bool) {
    let mut records = Vec::new();
    let mut record = Vec::new();
    let mut field = String::new();
    let mut is_quoted = false;
    let mut chars = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(c) = chars.next() {
        if is_quoted {
            if c == '"' && chars.peek() == Some(&'"') {
                chars.next();
                field.push('"');
            } else if c == '"' {
                is_quoted = false;
            } else {
                field.push(c);
            }
            continue;
        }
        match c {
            '"' if field.is_empty() => is_quoted = true,
            '\r' => {}
            '\n' => {
                record.push(std::mem::take(&mut field));
                let whole = std::mem::take(&mut record);
                if whole.iter().any(|field| !field.is_empty()) {
                    records.push(whole);
                }
                if records.len() >= records_max {
                    return (records, chars.peek().is_some());
                }
            }
            c if c == delimiter => record.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    if !field.is_empty() || !record.is_empty() {
        record.push(field);
        records.push(record);
    }
    (records, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_is_read_with_quotes_and_any_line_end() {
        let (records, is_cut) = csv("a,b\r\n\"x,\"\"y\",2\n\n3,4", ',', 10);
        assert_eq!(records, [["a", "b"], ["x,\"y", "2"], ["3", "4"]]);
        assert!(!is_cut);
        assert!(csv("a\nb\nc\n", ',', 2).1);
        assert_eq!(guessed_delimiter("a;b;c"), ';');
        assert_eq!(guessed_delimiter("a"), ',');
    }
}
