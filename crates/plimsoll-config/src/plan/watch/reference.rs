//! The description of `watch:` in the schema and the reference, from the parts of the technologies.

use plimsoll_model::component::ComponentKind;

/// Before these parts.
const BEFORE: &str = "Collectors to run beside the load: `host: local`, `process: [nginx, node]` (names), `pid: 4711`, `edge: 127.0.0.1:9191` (the admin address of an edge), and components of the service by their status interface: ";
/// After them.
const AFTER: &str = "`gauges: [{ gauge: queue_depth, limit: 100 }]` names gauges of the application that are full at a limit; `agents: [db1.internal:9192]` agents on other machines, whose components are discovered there. `auto` (or `auto: true` in addition to other keys) discovers these on this machine. Other programs (`envoy`, …) are accepted; they are not supported yet, and a note reports it.";

const LEN: usize = {
    let mut len = BEFORE.len() + AFTER.len();
    let mut index = 0;
    while index < ComponentKind::ALL.len() {
        len += ComponentKind::ALL[index].reference().len();
        index += 1;
    }
    len
};

const BYTES: [u8; LEN] = {
    let mut bytes = [0; LEN];
    let mut at = append(&mut bytes, 0, BEFORE);
    let mut index = 0;
    while index < ComponentKind::ALL.len() {
        at = append(&mut bytes, at, ComponentKind::ALL[index].reference());
        index += 1;
    }
    append(&mut bytes, at, AFTER);
    bytes
};

/// The description. It is joined by the compiler, since the tables of keys are constants.
pub(crate) const MEANING: &str = match str::from_utf8(&BYTES) {
    Ok(meaning) => meaning,
    Err(_) => panic!("whole texts are joined"),
};

/// Writes a text at a place; returns the place behind it.
const fn append(bytes: &mut [u8; LEN], at: usize, text: &str) -> usize {
    let (_, rest) = bytes.split_at_mut(at);
    let (own, _) = rest.split_at_mut(text.len());
    own.copy_from_slice(text.as_bytes());
    at + text.len()
}

#[cfg(test)]
mod tests {
    use super::super::read_watch;
    use super::*;
    use crate::document::TestSurroundings;

    #[test]
    fn every_technology_is_described_by_a_valid_example() {
        assert!(MEANING.starts_with(BEFORE) && MEANING.ends_with(AFTER));
        for &kind in ComponentKind::ALL {
            assert!(MEANING.contains(kind.reference()), "{}", kind.name());
            let key = format!("`{}: ", kind.words()[0]);
            let (_, rest) = kind.reference().split_once(&key).unwrap();
            let example = rest.split('`').next().unwrap();
            for word in kind.words() {
                let text = format!("{word}: {example}\n");
                let watch = read_watch(&text, &TestSurroundings::default()).expect(&text);
                let kinds: Vec<_> = watch.components.iter().map(|read| read.kind).collect();
                assert_eq!(kinds, [kind], "{text}");
            }
        }
    }
}
