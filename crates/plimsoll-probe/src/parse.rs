//! Parsers of the kernel's text files: pure functions over text that never fail. What is missing or malformed is
//! zero or absent, so a kernel that adds, drops or reorders lines is read as far as it is understood.

pub mod cgroup;
pub mod cpu;
pub mod disk;
pub mod memory;
pub mod network;
pub mod process;
pub mod socket;

#[cfg(test)]
mod tests;

/// The first number of a line after its name: `value_of("Foo: 12 kB\n", "Foo:")` is 12.
pub fn value_of(text: &str, name: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some(name)).then(|| words.next())
        })
        .flatten()?
        .parse()
        .ok()
}

/// The number at a position of a line, 0 without one.
fn number_at(words: &[&str], index: usize) -> u64 {
    words
        .get(index)
        .and_then(|word| word.parse().ok())
        .unwrap_or(0)
}
