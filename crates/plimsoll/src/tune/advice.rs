//! What a search would try, and why, without measuring anything.

use std::fmt::Write as _;

use plimsoll_model::experiment::{Experiment, Knob};
use serde_json::{Map, Value, json};

/// Levels of a setting that are shown in text.
const SHOWN_MAX: usize = 8;

/// A setting, and what a search tries for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AdvisedSetting {
    /// Name of the knob.
    pub(crate) name: String,
    /// What stands today.
    pub(crate) from: String,
    /// What is tried instead.
    pub(crate) to: Vec<String>,
    /// What it does, and why it may limit.
    pub(crate) why: Option<String>,
    /// Whether the service is restarted for it.
    pub(crate) restart: bool,
    /// Why it is not tried; `None` where it is.
    pub(crate) left_out: Option<String>,
}

/// What a search over the knobs of an experiment tries, in the order of its file; nothing where it has none.
pub(crate) fn advice(experiment: &Experiment) -> Vec<AdvisedSetting> {
    let knobs = experiment.tuning.iter().flat_map(|tuning| &tuning.knobs);
    knobs.map(of_knob).collect()
}

fn of_knob(knob: &Knob) -> AdvisedSetting {
    let others = knob.levels.iter().enumerate();
    let others = others.filter(|(index, _)| *index != knob.default);
    AdvisedSetting {
        name: knob.name.clone(),
        from: knob.levels.get(knob.default).cloned().unwrap_or_default(),
        to: others.map(|(_, level)| level.clone()).collect(),
        why: knob.meaning.clone(),
        restart: knob.needs_restart,
        left_out: None,
    }
}

/// The settings as `settings` of the JSON object: by name, what stands and what is tried, likeliest limit first in
/// `order`.
pub(crate) fn json(settings: &[AdvisedSetting]) -> Value {
    let entry = |setting: &AdvisedSetting| {
        let mut entry = json!({
            "from": setting.from,
            "to": setting.to,
            "why": setting.why,
            "restart": setting.restart,
            "tried": setting.left_out.is_none(),
        });
        if let Some(reason) = &setting.left_out {
            entry["left_out"] = json!(reason);
        }
        (setting.name.clone(), entry)
    };
    Value::Object(settings.iter().map(entry).collect::<Map<_, _>>())
}

/// The settings as text: first those that a search tries.
pub(crate) fn text(settings: &[AdvisedSetting]) -> String {
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
        let settings = [setting("workers", None), setting("heap", Some("no file"))];
        let json = json(&settings);
        assert_eq!(json["workers"]["from"], "2");
        assert_eq!(json["workers"]["to"][1], "8");
        assert_eq!(json["workers"]["tried"], true);
        assert_eq!(json["heap"]["left_out"], "no file");
        let text = text(&settings);
        assert!(
            text.contains("workers  now 2, tries 4, 8  (restarts the service)"),
            "{text}"
        );
        assert!(text.contains("heap (2): no file"), "{text}");
    }

    #[test]
    fn of_nothing_nothing_is_tried() {
        assert_eq!(text(&[]), "No setting can be tried.\n");
    }
}
