//! What a search would try, where nothing is measured.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::object::{BestObject, RejectedObject, TuneObject};
use crate::number::{seconds, whole};
use crate::pretty;
use crate::text::{Style, block};

/// The output of `plimsoll tune --advice --json` and `plimsoll tune --discover --json`: what is measured by a search is
/// null, empty or false in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "plimsoll tune --advice --json")]
pub struct TuneAdviceObject {
    /// Version of this object, `major.minor`.
    pub format_version: String,
    /// Name of the experiment, or the URL of the service.
    pub name: String,
    /// `advice`.
    pub state: String,
    /// The settings that would be tried, by the name of their knob.
    #[schemars(with = "BTreeMap<String, AdvisedObject>")]
    pub settings: Value,
    /// What must hold between the levels of knobs.
    pub constraints: Vec<String>,
    /// What a search would do, in its order; empty where no search would follow.
    pub steps: Vec<String>,
    /// Time of the whole search at most, s; null where no search would follow.
    pub seconds: Option<f64>,
    /// What was found, and which access is missing.
    pub notes: Vec<String>,
    /// Files that were written.
    pub files: Vec<PathBuf>,
    /// Null: nothing was measured.
    pub baseline: Option<f64>,
    /// Null: nothing was measured.
    pub best: Option<BestObject>,
    /// False.
    pub adopt: bool,
    /// Zero.
    pub evaluations: u64,
    /// Empty.
    pub rejected: Vec<RejectedObject>,
    /// True: nothing was changed.
    pub undone: bool,
    /// Null.
    pub next_limit: Option<String>,
}

/// A setting that would be tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AdvisedSetting")]
pub struct AdvisedObject {
    /// The level that stands.
    pub from: String,
    /// The levels that would be tried.
    pub to: Vec<String>,
    /// What it does, and why it may limit; null when it is not known.
    pub why: Option<String>,
    /// Whether the service is restarted for it.
    pub restart: bool,
    /// Whether it would be tried.
    pub tried: bool,
    /// Why it would not be tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

impl TuneAdviceObject {
    /// Advice on these settings, without constraints and files.
    pub fn new(name: String, settings: Value) -> Self {
        Self {
            format_version: TuneObject::FORMAT_VERSION.to_owned(),
            name,
            state: "advice".to_owned(),
            settings,
            undone: true,
            ..Self::default()
        }
    }

    /// As pretty JSON with a newline at the end.
    pub fn json(&self) -> String {
        pretty::object(self)
    }

    /// Everything but the settings, in lines of about 80 columns.
    pub fn lines(&self, colour: bool) -> String {
        let style = Style { colour };
        let time = self.seconds.map(|time| {
            let time = seconds(whole(time));
            format!(
                "{time} at most for the search, and the time to start services and to come to rest"
            )
        });
        let files = self.files.iter().map(|path| path.display().to_string());
        let named: [(&str, Vec<String>); 5] = [
            ("only if", self.constraints.clone()),
            ("then", self.steps.clone()),
            ("time", time.into_iter().collect()),
            ("note", self.notes.clone()),
            ("written", files.collect()),
        ];
        let mut lines = Vec::new();
        for (label, texts) in named {
            lines.extend(texts.iter().flat_map(|text| block(style, label, text, 3)));
        }
        lines.join("\n") + "\n"
    }
}

/// The JSON schema of [`TuneAdviceObject`].
pub fn advice_schema() -> String {
    pretty::schema::<TuneAdviceObject>()
}
