//! Tunables: a setting of a component is changed at run time, through its own interface, and reverted.
//!
//! Only settings of a short list, with plain values: the value to restore may come from a file.

mod kernel;
mod open_files;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use plimsoll_model::component::{Login, Tunable};

use super::integration::integration;
use super::link::{ComponentLink, ScrapeError, shortly};
pub use kernel::{kernel_setting, set_kernel_setting};
pub use open_files::{OpenFiles, open_files, set_open_files};

/// Time-out of a change: buffer pools may be reallocated.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest value.
const VALUE_LEN_MAX: usize = 32;

/// Why a setting was not read or not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunableError {
    text: String,
    /// It is unknown whether it was applied: no response arrived.
    is_open: bool,
}

impl TunableError {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_open: false,
        }
    }

    /// Whether the change may have been applied despite the error.
    pub fn is_open(&self) -> bool {
        self.is_open
    }
}

impl fmt::Display for TunableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for TunableError {}

impl From<ScrapeError> for TunableError {
    fn from(error: ScrapeError) -> Self {
        Self {
            text: error.to_string(),
            is_open: matches!(error, ScrapeError::Late | ScrapeError::Closed),
        }
    }
}

impl From<std::io::Error> for TunableError {
    fn from(error: std::io::Error) -> Self {
        ScrapeError::from(error).into()
    }
}

/// How the settings of a technology are changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct TunableAccess {
    /// The current value; `None` where it is not reported.
    pub(super) value: fn(&mut TunableClient<'_>) -> Result<Option<String>, TunableError>,
    /// Changes it.
    pub(super) set: fn(&mut TunableClient<'_>, &str) -> Result<(), TunableError>,
    /// The manual command that sets it.
    pub(super) manual_command: fn(&Tunable, &str) -> String,
    /// A number in the component's notation.
    pub(super) format_value: fn(f64) -> String,
    /// Whether an empty value means that the setting has its default.
    pub(super) has_default: bool,
}

/// A number that needs no unit.
pub(super) fn whole_number(number: f64) -> String {
    format!("{number:.0}")
}

/// A connection through which a setting is changed.
pub(super) struct TunableClient<'a> {
    pub(super) tunable: &'a Tunable,
    pub(super) login: Option<&'a Login>,
    pub(super) link: ComponentLink,
}

impl<'a> TunableClient<'a> {
    fn new(tunable: &'a Tunable, login: Option<&'a Login>) -> Result<Self, TunableError> {
        let is_known = tunable.kind.tunables().contains(&tunable.setting.as_str());
        if !is_known {
            let kind = tunable.kind.name();
            let text = format!(
                "`{}` of {kind} cannot be changed at run time",
                tunable.setting
            );
            return Err(TunableError::new(text));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
        if !tunable.of.chars().all(is_plain) {
            return Err(TunableError::new(format!(
                "`{}` is not a valid name",
                tunable.of
            )));
        }
        let mut link = ComponentLink::new(tunable.place.clone());
        link.begin(PATIENCE);
        Ok(Self {
            tunable,
            login,
            link,
        })
    }
}

/// The current value of a setting, in the form that [`apply`] accepts to restore it.
///
/// # Errors
/// When the component cannot be reached, does not report it, or the setting is not a tunable.
pub fn value_of(tunable: &Tunable, login: Option<&Login>) -> Result<String, TunableError> {
    let mut client = TunableClient::new(tunable, login)?;
    let access = access(tunable)?;
    let value = (access.value)(&mut client)?;
    let value = value.ok_or_else(|| TunableError::new(format!("{tunable} is not reported")))?;
    check(&value)?;
    if value.is_empty() && !access.has_default {
        return Err(TunableError::new(format!("{tunable} is not reported")));
    }
    Ok(value)
}

fn access(tunable: &Tunable) -> Result<&'static TunableAccess, TunableError> {
    integration(tunable.kind)
        .tunables()
        .ok_or_else(|| TunableError::new(format!("{tunable} cannot be changed at run time")))
}

/// A value that is safe to send without quoting.
fn check(value: &str) -> Result<(), TunableError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    // A dash is part of a word: two of them begin a comment.
    let is_word = !value.starts_with('-') && !value.contains("--");
    if value.len() <= VALUE_LEN_MAX && is_word && value.chars().all(is_plain) {
        Ok(())
    } else {
        Err(TunableError::new(format!(
            "`{}` is not a number or word that can be set",
            shortly(value)
        )))
    }
}

/// Changes a setting.
///
/// # Errors
/// When the component cannot be reached or refuses; the setting is then unchanged.
pub fn apply(tunable: &Tunable, login: Option<&Login>, value: &str) -> Result<(), TunableError> {
    check(value)?;
    let mut client = TunableClient::new(tunable, login)?;
    (access(tunable)?.set)(&mut client, value)
}

/// A value in the component's notation; sizes of PostgreSQL have units.
pub fn format_value(tunable: &Tunable, number: f64) -> String {
    match integration(tunable.kind).tunables() {
        Some(access) => (access.format_value)(number),
        None => whole_number(number),
    }
}

/// The manual command that sets it.
pub fn manual_command(tunable: &Tunable, value: &str) -> String {
    match integration(tunable.kind).tunables() {
        Some(access) => (access.manual_command)(tunable, value),
        None => format!("set {tunable} to {value}"),
    }
}
