//! What an experiment is, for its log: a resumed experiment must agree with it. No secret of the file is in it.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_config::plan::PLAN_LEN_MAX;
use plimsoll_model::experiment::Experiment;
use plimsoll_model::hexadecimal::hexadecimal;
use plimsoll_model::redact;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::loads::ExperimentLoads;
use crate::explain::CliError;
use crate::plan_file;

/// Keys of which the digest alone is stored: commands, environments and templates may have secrets.
const DIGESTED: [(&str, &str); 4] = [
    ("setups", "apply"),
    ("ready", "ready"),
    ("health", "health"),
    ("reset", "reset"),
];

/// The definition of an experiment with the plans that it names, and what else must agree.
pub(crate) fn definition(
    experiment: &Experiment,
    loads: &ExperimentLoads,
    further: Vec<(&str, Value)>,
) -> Result<Value, CliError> {
    let internal =
        |error: serde_json::Error| CliError::new(crate::exit::Exit::Internal, error.to_string());
    let mut value = serde_json::to_value(experiment).map_err(internal)?;
    let Some(map) = value.as_object_mut() else {
        unreachable!("a structure is an object");
    };
    // They follow from the axes.
    map.remove("cells");
    for (field, key) in DIGESTED {
        let digest = match map.remove(field) {
            None | Some(Value::Null) => Value::Null,
            Some(found) => json!(digest(found.to_string().as_bytes())),
        };
        map.insert(key.to_owned(), digest);
    }
    map.insert("plans".to_owned(), json!(plans(experiment, loads)?));
    if let Some(tuning) = map.remove("tuning") {
        // Numbers of constraints may lose their last bit in a log; the levels are those of the axes.
        let tuning = digest(tuning.to_string().as_bytes());
        map.insert("tuning".to_owned(), json!(tuning));
    }
    for (key, found) in further {
        map.insert(key.to_owned(), found);
    }
    redact_texts(&mut value);
    Ok(value)
}

/// Digests of the plan files, by their names.
fn plans(
    experiment: &Experiment,
    loads: &ExperimentLoads,
) -> Result<BTreeMap<String, String>, CliError> {
    let mut digests = BTreeMap::new();
    // Where knobs are searched, the plan of the settings that stand counts for all.
    let cells = match &experiment.tuning {
        Some(tuning) => vec![experiment.design.index_of(&tuning.default_levels())],
        None => (0..experiment.listed().len()).collect(),
    };
    for cell in cells {
        let Some(target) = loads.target(cell) else {
            continue;
        };
        if digests.contains_key(&target) || !plan_file::is_plan(&target) {
            continue;
        }
        let content = plan_file::bounded(Path::new(&target), PLAN_LEN_MAX).map_err(|error| {
            CliError::usage(format!("cannot read the plan {target}: {error}"))
                .remedy("name a plan file in `measure`, relative to the folder of the experiment")
        })?;
        digests.insert(target, digest(&content));
    }
    Ok(digests)
}

/// A digest, as it is stored.
pub(crate) fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hexadecimal(&Sha256::digest(bytes)))
}

/// Replaces secrets in all texts: a URL may have a login.
fn redact_texts(value: &mut Value) {
    match value {
        Value::String(text) => {
            let redacted = redact::text(text).into_owned();
            *text = redacted;
        }
        Value::Array(items) => items.iter_mut().for_each(redact_texts),
        Value::Object(map) => map.values_mut().for_each(redact_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
