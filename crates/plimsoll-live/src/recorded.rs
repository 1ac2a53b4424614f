//! A recorded run as the document that the live page draws.

use std::path::Path;

use bytes::Bytes;
use plimsoll_lab::run_log::{self, RunLogError};
use serde_json::json;

use crate::state::LiveState;
use crate::update::{Reducer, Update};

/// The document of a run log, of a run or of `watch`, up to its end or to where it was cut off.
///
/// # Errors
/// When the file cannot be opened, does not begin as a run log, or was written by a newer version.
pub fn document(path: &Path) -> Result<Bytes, RunLogError> {
    let (mut state, mut reducer) = (LiveState::default(), Reducer::default());
    let cut = run_log::each_event(path, |event| {
        for update in reducer.reduce(event) {
            state.apply(update);
        }
    })?;
    state.apply(Update::Section {
        name: "recorded",
        value: json!({ "cut": cut }),
    });
    Ok(state.full())
}
