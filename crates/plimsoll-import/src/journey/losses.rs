//! What a recording has and its plan lacks.

use super::draft::Drafted;
use super::sift::Sifted;
use crate::Loss;
use crate::recording::{Recording, RecordingLoss};

/// Most losses that are listed one by one.
const LOSSES_MAX: usize = 1_000;

/// All losses in the order of the recording.
pub(super) fn list(
    file: &str,
    recording: &Recording,
    sifted: &Sifted<'_>,
    drafted: &Drafted,
) -> Vec<Loss> {
    let mut found: Vec<&RecordingLoss> = recording
        .losses
        .iter()
        .chain(&sifted.losses)
        .chain(&drafted.losses)
        .collect();
    found.sort_by_key(|loss| loss.place);
    let loss = |loss: &&RecordingLoss| {
        let (what, why) = loss
            .what
            .split_once(": ")
            .unwrap_or((&loss.what, "a plan has no such thing"));
        Loss {
            file: file.to_owned(),
            line: loss.place.0,
            column: loss.place.1,
            what: what.to_owned(),
            why: why.to_owned(),
            remedy: "write it into the plan".to_owned(),
        }
    };
    found.iter().take(LOSSES_MAX).map(loss).collect()
}
