//! The file of settings that a search has found: `tuned.yaml`.
//!
//! `plimsoll tune` writes it beside its log, and makes its settings permanent with `--apply`, also later. It names what the
//! settings were measured with, so that they are refused where something else stands meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::document::Shape::{MapOf, Text};
use crate::document::{
    Diagnostics, DocumentKey, DocumentNode, DocumentReader, MapFields, SettingsMap as _,
    Surroundings, count, settings, switch, text, time,
};

/// The key by which the file is told from an experiment file.
const KEY: &str = "tuned";
/// Written for a file that was not there.
pub const NO_FILE: &str = "none";

settings! {
    /// Settings that `plimsoll tune` has found.
    struct TunedSettings, TUNED "tuned" {
        /// Version of the form.
        version: u32 = 1, "tuned": count(1..=1);
        /// The experiment file.
        experiment: Option<String> = None, "experiment": text("a path");
        /// Time that the search had.
        within: Duration = Duration::from_mins(90), "within": time();
        /// Whether the settings are better than those that stand.
        adopt: bool = false, "adopt": switch();
        /// The level of each knob.
        "settings": MapOf(&Text);
        /// The level of each knob before.
        "before": MapOf(&Text);
        /// Digests of the files as they were before, by their path.
        "files": MapOf(&Text);
    }
}

/// Settings that a search has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TunedFile {
    /// Version of the form.
    pub version: u32,
    /// The experiment file, relative to the folder of this file or absolute.
    pub experiment: String,
    /// Time that the search had.
    pub within: Duration,
    /// Whether the settings are better than those that stand.
    pub adopt: bool,
    /// The level of each knob.
    pub settings: BTreeMap<String, String>,
    /// The level of each knob before.
    pub before: BTreeMap<String, String>,
    /// Digests of the files as they were before, by their path; `None` for a file that was not there.
    pub files: BTreeMap<String, Option<String>>,
}

/// Whether a text is such a file and not an experiment.
pub fn is_tuned(text: &str) -> bool {
    text.lines().any(|line| {
        line.strip_prefix(KEY)
            .is_some_and(|rest| rest.trim_start().starts_with(':'))
    })
}

/// Reads a file of settings.
///
/// # Errors
/// All errors of the file together.
pub fn read(text: &str, surroundings: &dyn Surroundings) -> Result<TunedFile, Diagnostics> {
    let reader = DocumentReader::new(text, surroundings);
    let root = reader.root();
    let tuned = root.as_ref().and_then(|root| tuned(&reader, root));
    if tuned.is_none() && !reader.has_diagnostics() {
        reader.report_at(
            0,
            "the file is empty",
            "a file that plimsoll tune wrote",
            None,
        );
    }
    reader.finish(tuned)
}

fn tuned(reader: &DocumentReader<'_>, root: &DocumentNode) -> Option<TunedFile> {
    let fields = reader.fields(root, &TUNED)?;
    let settings = TunedSettings::read(reader, &fields);
    let known = [
        (KEY, fields.get(KEY).is_some()),
        ("experiment", settings.experiment.is_some()),
        ("settings", fields.get("settings").is_some()),
    ];
    for (key, is_there) in known {
        if !is_there && !fields.misspells(&[key]) {
            let message = format!("`{key}` is missing");
            reader.report(fields.node, message, "a file that plimsoll tune wrote");
        }
    }
    let files = texts(reader, &fields, "files").into_iter();
    Some(TunedFile {
        version: settings.version,
        experiment: settings.experiment.unwrap_or_default(),
        within: settings.within,
        adopt: settings.adopt,
        settings: texts(reader, &fields, "settings"),
        before: texts(reader, &fields, "before"),
        files: files
            .map(|(path, digest)| (path, (digest != NO_FILE).then_some(digest)))
            .collect(),
    })
}

/// The entries of a map of texts.
fn texts(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    key: &str,
) -> BTreeMap<String, String> {
    let Some(node) = fields.get(key).filter(|node| !node.is_null()) else {
        return BTreeMap::new();
    };
    let entries = reader.entries(node, "names and texts").unwrap_or_default();
    let text = |(key, value): &(DocumentKey, DocumentNode)| {
        Some((key.text.clone(), reader.scalar(value, "a text")?.to_owned()))
    };
    entries.iter().filter_map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::TestSurroundings;

    #[test]
    fn settings_are_read_with_what_they_were_measured_with() {
        let text = "# found\ntuned: 1\nexperiment: \"a b.yaml\"\nwithin: 1200000ms\nadopt: true\n\
                    settings:\n  \"workers\": \"16\"\nbefore:\n  \"workers\": \"2\"\n\
                    files:\n  \"/etc/x.conf\": \"sha256:1b\"\n  \"/etc/y.conf\": none\n";
        assert!(is_tuned(text));
        let tuned = read(text, &TestSurroundings::default()).unwrap();
        assert!(tuned.adopt);
        assert_eq!(tuned.within, Duration::from_mins(20));
        assert_eq!(tuned.settings["workers"], "16");
        assert_eq!(tuned.before["workers"], "2");
        assert_eq!(tuned.files["/etc/x.conf"].as_deref(), Some("sha256:1b"));
        assert_eq!(tuned.files["/etc/y.conf"], None);
    }

    #[test]
    fn another_file_is_refused_with_its_faults() {
        assert!(!is_tuned("knobs: { tuned: [1, 2] }\n"));
        for (text, fault) in [
            ("", "empty"),
            ("tuned: 2\n", "out of range"),
            ("tuned: 1\nadopt: true\n", "`settings` is missing"),
            ("tuned: 1\nsettings: [a]\n", "not a map"),
        ] {
            let errors = read(text, &TestSurroundings::default()).unwrap_err();
            let lines = errors.lines("tuned.yaml").join("\n");
            assert!(lines.contains(fault), "{text}: {lines}");
        }
    }
}
