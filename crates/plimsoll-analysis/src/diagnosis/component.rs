//! The component that a series is about.

use plimsoll_model::reading::label;

/// Address of the subject's component.
pub(crate) fn place(label_set: &str) -> &str {
    label(label_set, "at").unwrap_or("?")
}

/// `in FILE:LINE` where a file is known.
pub(crate) fn written(file: Option<&str>) -> String {
    file.map(|file| format!(" in {file}")).unwrap_or_default()
}
