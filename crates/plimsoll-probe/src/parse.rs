//! Parsers of the kernel's text files: pure functions over text that never fail. Missing or malformed values are zero or
//! absent, so that added, dropped or reordered lines do no harm.

pub(crate) mod cgroup;
pub(crate) mod cpu;
pub(crate) mod disk;
pub(crate) mod memory;
pub(crate) mod mount;
pub(crate) mod network;
pub(crate) mod process;
pub(crate) mod socket;
pub(crate) mod syscall;

#[cfg(test)]
mod tests;

/// The first number of a line after its name: `value_of("Foo: 12 kB\n", "Foo:")` is 12.
pub(crate) fn value_of(text: &str, name: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some(name)).then(|| words.next())
        })
        .flatten()?
        .parse()
        .ok()
}

/// A number as a count; of what is none, nothing is left.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count, which is neither negative nor beyond 2^64"
)]
pub(crate) fn whole(number: f64) -> u64 {
    number.max(0.0) as u64
}

/// The number at a position of a line, 0 without one.
fn number_at(words: &[&str], index: usize) -> u64 {
    words
        .get(index)
        .and_then(|word| word.parse().ok())
        .unwrap_or(0)
}
