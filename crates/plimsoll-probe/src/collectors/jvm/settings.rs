//! The settings of a JVM, for advice: they are in its command line.

use super::discover;
use crate::collectors::FileSetting;
use crate::collectors::configuration::{ComponentConfig, bytes};
use crate::files::Files;

/// Settings of a JVM.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let counters = discover::find(files, pid, false);
    let at = counters.map(|found| found.component.place.to_string());
    let heap = heap_of(words).map(|heap| FileSetting::number("-Xmx", heap, ""));
    vec![ComponentConfig {
        at: at.unwrap_or_else(|| format!("pid {pid}")),
        settings: heap.into_iter().collect(),
        ..ComponentConfig::default()
    }]
}

/// Bytes that its heap may have: the last of several options applies.
fn heap_of(words: &[&str]) -> Option<f64> {
    words.iter().rev().find_map(|word| {
        let size = word
            .strip_prefix("-Xmx")
            .or(word.strip_prefix("-XX:MaxHeapSize="));
        bytes(size?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_size_of_the_heap_applies() {
        assert_eq!(
            heap_of(&["java", "-Xmx1g", "-XX:MaxHeapSize=64m", "Main"]),
            Some(67_108_864.0)
        );
        assert_eq!(heap_of(&["java", "Main"]), None);
    }
}
