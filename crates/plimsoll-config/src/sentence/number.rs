//! Numbers in digits and in words.

/// Numbers that are a word.
const SMALL: [(&str, f64); 28] = [
    ("one", 1.0),
    ("two", 2.0),
    ("three", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("eleven", 11.0),
    ("twelve", 12.0),
    ("thirteen", 13.0),
    ("fourteen", 14.0),
    ("fifteen", 15.0),
    ("sixteen", 16.0),
    ("seventeen", 17.0),
    ("eighteen", 18.0),
    ("nineteen", 19.0),
    ("twenty", 20.0),
    ("thirty", 30.0),
    ("forty", 40.0),
    ("fifty", 50.0),
    ("sixty", 60.0),
    ("seventy", 70.0),
    ("eighty", 80.0),
    ("ninety", 90.0),
    ("dozen", 12.0),
];

/// A number below a hundred in words, also `twenty-five`.
pub(super) fn small(word: &str) -> Option<f64> {
    let of = |word: &str| SMALL.iter().find(|(name, _)| *name == word);
    if let Some((_, value)) = of(word) {
        return Some(*value);
    }
    let (tens, units) = word.split_once('-')?;
    let (tens, units) = (of(tens)?.1, of(units)?.1);
    ((20.0..=90.0).contains(&tens) && units < 10.0).then_some(tens + units)
}

/// A word that multiplies the number before it.
pub(super) fn scale(word: &str) -> Option<f64> {
    Some(match word {
        "hundred" => 100.0,
        "thousand" | "k" => 1e3,
        "million" | "millions" => 1e6,
        _ => return None,
    })
}

/// A number in digits: `12,000`, `12_000`, `1.5`, `3000`.
pub(super) fn digits(word: &str) -> Option<f64> {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, "0"));
    let groups: Vec<&str> = whole.split([',', '_']).collect();
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let are_groups = groups.len() == 1
        || (groups[0].len() <= 3 && groups[1..].iter().all(|group| group.len() == 3));
    if !are_groups || !groups.iter().all(|group| are_digits(group)) || !are_digits(fraction) {
        return None;
    }
    format!("{}.{fraction}", groups.concat()).parse().ok()
}

/// Whether a word is a number, or belongs to one.
pub(super) fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) || small(word).is_some() || scale(word).is_some()
}
