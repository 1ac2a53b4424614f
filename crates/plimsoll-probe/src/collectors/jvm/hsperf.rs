//! The counters that a HotSpot JVM keeps in a shared memory file, `/tmp/hsperfdata_USER/PID`: the format 2.0 of its
//! `perfMemory.hpp`.

use std::collections::BTreeMap;

/// Longest file that is read, bytes. A JVM makes it 32 KiB long (`-XX:PerfDataMemorySize`).
pub(crate) const LEN_MAX: usize = 1 << 20;
/// Most counters; a JVM has about 250.
const ENTRIES_MAX: usize = 8192;
/// Longest name and longest text, bytes.
const TEXT_LEN_MAX: usize = 4096;
/// Its magic number, in either byte order.
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
const VERSION: u8 = 2;
/// Length of the prologue, and of an entry's header, bytes.
const PROLOGUE_LEN: usize = 32;
const ENTRY_LEN: usize = 20;

/// The counters of a JVM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Numbers by name; negative ones mean unknown, and are left out.
    pub(crate) numbers: BTreeMap<String, u64>,
    /// Texts by name.
    pub(crate) texts: BTreeMap<String, String>,
}

/// Parses as much as possible; `None` when it is not such a file, or the JVM has not finished creating it.
pub(crate) fn counters(bytes: &[u8]) -> Option<Counters> {
    let bytes = bytes.get(..bytes.len().min(LEN_MAX))?;
    let head = bytes.get(..PROLOGUE_LEN)?;
    let is_little = head[4] == 1;
    let is_ready = head[7] != 0;
    if head[..4] != MAGIC || head[5] != VERSION || !is_ready {
        return None;
    }
    let mut at = word_at(head, 24, is_little)?;
    let count = word_at(head, 28, is_little)?.min(ENTRIES_MAX);
    let mut counters = Counters::default();
    for _ in 0..count {
        let Some(len) = entry(
            bytes.get(at..).unwrap_or_default(),
            is_little,
            &mut counters,
        ) else {
            break;
        };
        at = at.saturating_add(len);
    }
    Some(counters)
}

/// Parses one entry; returns its length, or `None` without one.
fn entry(bytes: &[u8], is_little: bool, counters: &mut Counters) -> Option<usize> {
    let word = |at: usize| word_at(bytes, at, is_little);
    let len = word(0).filter(|&len| len >= ENTRY_LEN)?;
    let own = bytes.get(..len)?;
    let (kind, vector_len) = (own[12], word(8)?);
    let name = own.get(word(4)?..).and_then(text);
    let data = word(16).and_then(|at| own.get(at..));
    // Unknown entries are skipped.
    if let (Some(name), Some(data)) = (name, data) {
        match (kind, vector_len) {
            (b'J', 0) => {
                let number = data.first_chunk().and_then(|bytes| {
                    let number = if is_little {
                        i64::from_le_bytes(*bytes)
                    } else {
                        i64::from_be_bytes(*bytes)
                    };
                    u64::try_from(number).ok()
                });
                counters.numbers.extend(number.map(|number| (name, number)));
            }
            (b'B', 1..) => {
                let value = data.get(..vector_len).and_then(text);
                counters.texts.extend(value.map(|value| (name, value)));
            }
            _ => {}
        }
    }
    Some(len)
}

/// Text up to its zero.
fn text(bytes: &[u8]) -> Option<String> {
    let bytes = bytes.get(..bytes.len().min(TEXT_LEN_MAX))?;
    let end = bytes.iter().position(|&byte| byte == 0);
    let text = &bytes[..end.unwrap_or(bytes.len())];
    Some(String::from_utf8_lossy(text).into_owned())
}

fn word_at(bytes: &[u8], at: usize, is_little: bool) -> Option<usize> {
    let word = *bytes.get(at..)?.first_chunk()?;
    let word = if is_little {
        u32::from_le_bytes(word)
    } else {
        u32::from_be_bytes(word)
    };
    usize::try_from(word).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A file as a JVM on a machine of that order of bytes writes it.
    fn file(is_little: bool) -> Vec<u8> {
        let word = |word: u32| {
            if is_little {
                word.to_le_bytes()
            } else {
                word.to_be_bytes()
            }
        };
        let number = |number: i64| {
            if is_little {
                number.to_le_bytes()
            } else {
                number.to_be_bytes()
            }
        };
        let entry = |name: &str, kind: u8, vector_len: u32, data: &[u8]| {
            let name_len = (name.len() + 1).next_multiple_of(8);
            let data_at = ENTRY_LEN + name_len;
            let len = u32::try_from(data_at + data.len()).unwrap();
            let mut bytes = Vec::new();
            for head in [len, 20, vector_len] {
                bytes.extend(word(head));
            }
            bytes.extend([kind, 0, 1, 1]);
            bytes.extend(word(u32::try_from(data_at).unwrap()));
            bytes.extend(name.as_bytes());
            bytes.resize(data_at, 0);
            bytes.extend(data);
            bytes
        };
        let mut bytes = MAGIC.to_vec();
        bytes.extend([u8::from(is_little), VERSION, 0, 1]);
        bytes.extend([0; 16]);
        bytes.extend(word(32));
        bytes.extend(word(4));
        bytes.extend(entry(
            "sun.gc.collector.0.invocations",
            b'J',
            0,
            &number(17),
        ));
        bytes.extend(entry(
            "sun.gc.generation.1.maxCapacity",
            b'J',
            0,
            &number(-1),
        ));
        bytes.extend(entry(
            "java.rt.vmArgs",
            b'B',
            16,
            b"-Xmx64m\0\0\0\0\0\0\0\0\0",
        ));
        bytes.extend(entry("later", b'Z', 0, &[1]));
        bytes
    }

    #[test]
    fn numbers_and_texts_are_read_in_either_order_of_bytes() {
        for is_little in [true, false] {
            let read = counters(&file(is_little)).unwrap();
            let numbers: Vec<_> = read.numbers.into_iter().collect();
            assert_eq!(numbers, [("sun.gc.collector.0.invocations".to_owned(), 17)]);
            let texts: Vec<_> = read.texts.into_iter().collect();
            assert_eq!(texts, [("java.rt.vmArgs".to_owned(), "-Xmx64m".to_owned())]);
        }
    }

    #[test]
    fn what_is_not_ready_or_of_another_kind_is_not_read() {
        let mut bytes = file(true);
        bytes[7] = 0;
        assert_eq!(counters(&bytes), None);
        bytes[7] = 1;
        bytes[5] = 3;
        assert_eq!(counters(&bytes), None);
        assert_eq!(counters(b"root:x:0:0:root:/root:/bin/bash\n\n\n"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(
            at in 0_usize..240, noise in proptest::collection::vec(any::<u8>(), 1..24), cut in 0_usize..300
        ) {
            let mut bytes = file(true);
            for (byte, noise) in bytes.iter_mut().skip(at).zip(noise) {
                *byte = noise;
            }
            bytes.truncate(cut);
            let _ = counters(&bytes);
        }
    }
}
