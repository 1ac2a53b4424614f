//! What a search would try, where nothing is measured.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::object::{BestObject, RejectedObject, TuneObject};
use crate::number::{seconds, whole};
use crate::pretty;
use crate::text::{Style, block};

/// Levels of a setting that are shown in text.
const SHOWN_MAX: usize = 8;

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
    /// The settings by the name of their knob, the likeliest limit first.
    #[schemars(with = "BTreeMap<String, AdvisedObject<'_>>")]
    #[serde(serialize_with = "by_name")]
    pub settings: Vec<AdvisedSetting>,
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

/// A setting, and what a search tries for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AdvisedSetting {
    /// Name of the knob.
    #[serde(skip)]
    pub name: String,
    /// The level that stands.
    pub from: String,
    /// The levels that would be tried.
    pub to: Vec<String>,
    /// What it does, and why it may limit; null when it is not known.
    pub why: Option<String>,
    /// Whether the service is restarted for it.
    pub restart: bool,
    /// Why it would not be tried; absent where it would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// A setting in JSON.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AdvisedSetting")]
struct AdvisedObject<'s> {
    #[serde(flatten)]
    setting: &'s AdvisedSetting,
    /// Whether it would be tried.
    tried: bool,
}

fn by_name<S: Serializer>(settings: &[AdvisedSetting], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(settings.iter().map(|setting| {
        let tried = setting.left_out.is_none();
        (&setting.name, AdvisedObject { setting, tried })
    }))
}

impl TuneAdviceObject {
    /// Advice on these settings, without constraints and files.
    pub fn new(name: String, settings: Vec<AdvisedSetting>) -> Self {
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

    /// The settings as text: first those that a search tries.
    pub fn settings_text(&self) -> String {
        settings_text(&self.settings)
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

fn settings_text(settings: &[AdvisedSetting]) -> String {
    let (left_out, tried): (Vec<_>, Vec<_>) = settings
        .iter()
        .partition(|setting| setting.left_out.is_some());
    let mut text = match tried.as_slice() {
        [] => "No setting can be tried.\n".to_owned(),
        [_] => "One setting would be tried; nothing was measured or changed.\n".to_owned(),
        tried => format!(
            "{} settings would be tried, the likeliest limit first; nothing was measured or changed.\n",
            tried.len()
        ),
    };
    for setting in &tried {
        let restart = if setting.restart {
            "  (restarts the service)"
        } else {
            ""
        };
        text.push_str(&format_setting(setting, restart));
        if let Some(why) = &setting.why {
            let _ = writeln!(text, "  {why}");
        }
    }
    if !left_out.is_empty() {
        text.push_str("\nnot tried:\n");
    }
    for setting in &left_out {
        let reason = setting.left_out.as_deref().unwrap_or_default();
        let _ = writeln!(text, "  {} ({}): {reason}", setting.name, setting.from);
    }
    text
}

fn format_setting(setting: &AdvisedSetting, restart: &str) -> String {
    let mut levels = setting
        .to
        .iter()
        .take(SHOWN_MAX)
        .cloned()
        .collect::<Vec<_>>();
    if setting.to.len() > SHOWN_MAX {
        levels.push("…".to_owned());
    }
    format!(
        "\n{}  now {}, tries {}{restart}\n",
        setting.name,
        setting.from,
        levels.join(", ")
    )
}

/// The JSON schema of [`TuneAdviceObject`].
pub fn advice_schema() -> String {
    pretty::schema::<TuneAdviceObject>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, left_out: Option<&str>) -> AdvisedSetting {
        AdvisedSetting {
            name: name.to_owned(),
            from: "2".to_owned(),
            to: vec!["4".to_owned(), "8".to_owned()],
            why: Some("workers".to_owned()),
            restart: true,
            left_out: left_out.map(str::to_owned),
        }
    }

    #[test]
    fn settings_are_listed_with_what_is_tried_and_what_is_not() {
        let settings = vec![setting("workers", None), setting("heap", Some("no file"))];
        let object = TuneAdviceObject::new("exam".to_owned(), settings);
        let json: serde_json::Value = serde_json::from_str(&object.json()).unwrap();
        let json = &json["settings"];
        assert_eq!(json["workers"]["from"], "2");
        assert_eq!(json["workers"]["to"][1], "8");
        assert_eq!(json["workers"]["tried"], true);
        assert_eq!(json["heap"]["left_out"], "no file");
        let text = object.settings_text();
        assert!(
            text.contains("workers  now 2, tries 4, 8  (restarts the service)"),
            "{text}"
        );
        assert!(text.contains("heap (2): no file"), "{text}");
    }

    #[test]
    fn of_nothing_nothing_is_tried() {
        assert_eq!(settings_text(&[]), "No setting can be tried.\n");
    }
}
