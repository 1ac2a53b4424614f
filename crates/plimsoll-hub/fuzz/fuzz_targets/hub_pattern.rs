//! Pattern matching, compared with an exhaustive reference matcher.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_hub::pattern::Pattern;

/// Longer inputs are too slow for the reference.
const LEN_MAX: usize = 48;

/// The reference: the textbook dynamic program over pattern and name.
fn means(pattern: &[char], name: &[char]) -> bool {
    let mut before = vec![false; name.len() + 1];
    before[0] = true;
    for &wanted in pattern {
        let mut after = vec![false; name.len() + 1];
        for at in 0..=name.len() {
            after[at] = if wanted == '*' {
                before[at] || (at > 0 && after[at - 1])
            } else {
                at > 0 && before[at - 1] && name[at - 1] == wanted
            };
        }
        before = after;
    }
    before[name.len()]
}

fuzz_target!(|input: (&str, &str)| {
    let (pattern, name) = input;
    if pattern.len().max(name.len()) > LEN_MAX {
        return;
    }
    let letters = |text: &str| text.chars().collect::<Vec<_>>();
    let expected = means(&letters(pattern), &letters(name));
    assert_eq!(Pattern::new(pattern).matches(name), expected);
});
