//! A case tuned by the program: `plimsoll tune` searches the knobs of the case's `tune.yaml`, what it found is measured in turn with
//! the settings known by hand, and a page tells what came of it.

mod found;
mod page;
mod search_course;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use plimsoll_harness::page::{ReportPage, write};
use plimsoll_harness::template::{Values, fill};

use self::found::{FoundSettings, HandComparison};
use self::page::{TunePage, command_of};
use self::search_course::SearchCourse;
use crate::case::Case;
use crate::tune_definition::{TuneDefinition, machine_values};

/// How a case is tuned.
#[derive(Args, Clone, Debug)]
pub(crate) struct TuneTimes {
    /// Time of the search [default: that of case.toml]
    #[arg(long, value_name = "TIME")]
    within: Option<String>,
    /// Time of each search of a load line: the first and the last of `plimsoll tune`, and those of the comparison
    #[arg(long, value_name = "TIME", default_value = "2m")]
    line_within: String,
    /// Load lines of each side of the comparison with the settings known by hand; 0 for none
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=20))]
    rounds: u32,
}

/// What stands beside the other measurements of a case.
#[derive(Args, Clone, Debug)]
pub(crate) struct TuneCaseArguments {
    /// Let `plimsoll tune` find the settings, and compare them with those known by hand
    #[arg(long, conflicts_with_all = ["quick", "serve", "smoke"])]
    pub(crate) tune: bool,
    #[command(flatten)]
    pub(crate) times: TuneTimes,
}

/// A case that is tuned, with its stores running.
pub(crate) struct TunedCase<'a> {
    pub(crate) case: &'a Case,
    /// Of `tune.yaml` and the templates.
    pub(crate) values: Values,
    /// Files beside `tune.yaml`, by their names, with a text that is filled in.
    pub(crate) files: Vec<(&'static str, String)>,
}

/// Searches, compares, and writes the page.
pub(crate) fn measure(
    tuned: &TunedCase<'_>,
    times: &TuneTimes,
    mut written: ReportPage,
    out: &Path,
) -> Result<()> {
    let case = tuned.case;
    let definition = case.tune_definition()?.filled()?;
    let folder = TuneFolder::new(tuned, &definition)?;
    let within = times.within.as_deref().unwrap_or(&definition.within);

    let file = folder.search_file(times)?;
    let mut command = vec![
        "tune".to_owned(),
        file,
        "--within".to_owned(),
        within.to_owned(),
    ];
    if let Some(users) = &definition.users {
        command.extend(["--for".to_owned(), format!("users={users}")]);
    }
    written.command(&command_of(&command, &folder.path));
    println!("== the search, at most {within}");
    let report = case.run_in(&folder.path.join("search"), command)?;
    let found = FoundSettings::of(&report)?;
    println!("{}", found.answer);
    ensure!(
        found.baseline.is_some(),
        "without the load line of the settings at the start there is no page; give it more time with --line-within, such as 4m"
    );

    // What an hour and a half have found is not lost with it.
    let hand = compare(&folder, times, &found, &mut written).unwrap_or_else(|error| {
        written.failure("the comparison", &format!("{error:#}"));
        None
    });
    case.go_on()?;
    let course = SearchCourse::read(&folder.path.join("search"))?;
    let page = TunePage {
        definition: &definition,
        found: &found,
        hand: hand.as_ref(),
        course: &course,
    };
    page.write(&mut written);
    write(&case.workspace, out, &written.finish())
}

/// Load lines of what was found and of what is known by hand, in turn; none where both are the same.
fn compare(
    folder: &TuneFolder<'_>,
    times: &TuneTimes,
    found: &FoundSettings,
    page: &mut ReportPage,
) -> Result<Option<HandComparison>> {
    let by_hand = &folder.definition.by_hand;
    let differing = found.differing(by_hand);
    if times.rounds == 0 || differing.is_empty() {
        return Ok(None);
    }
    let file = folder.comparison_file(times, found)?;
    let command = vec!["matrix".to_owned(), file];
    page.command(&command_of(&command, &folder.path));
    println!(
        "== in turn with the settings known by hand, {} times",
        times.rounds
    );
    let case = folder.tuned.case;
    let report = case.run_in(&folder.path.join("comparison"), command)?;
    HandComparison::of(&report, found, by_hand).map(Some)
}

/// The folder of the experiment's files and of its results.
struct TuneFolder<'a> {
    tuned: &'a TunedCase<'a>,
    definition: &'a TuneDefinition,
    path: PathBuf,
}

impl<'a> TuneFolder<'a> {
    /// A folder without results of an earlier search, which was of other ports and sockets.
    fn new(tuned: &'a TunedCase<'a>, definition: &'a TuneDefinition) -> Result<Self> {
        let path = tuned.case.store.join("tune");
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", path.display()));
            }
            _ => fs::create_dir_all(&path)?,
        }
        for (name, text) in &tuned.files {
            fs::write(path.join(name), fill(name, text, &tuned.values)?)?;
        }
        Ok(Self {
            tuned,
            definition,
            path,
        })
    }

    /// Writes `tune.yaml` of the case with these values beside its own; returns its path.
    fn file(&self, name: &str, times: &TuneTimes, values: &Values) -> Result<String> {
        let text = self.tuned.case.read("tune.yaml")?;
        let values = machine_values()?
            .join(&self.tuned.values)
            .with("cases", self.tuned.case.cases().display())
            .with("limit", &times.line_within)
            .join(values);
        let path = self.path.join(name);
        fs::write(&path, fill("tune.yaml", &text, &values)?)?;
        Ok(path.display().to_string())
    }

    fn search_file(&self, times: &TuneTimes) -> Result<String> {
        let values = Values::default()
            .with("search", "yes")
            .with("comparison", "");
        self.file("tune.yaml", times, &values)
    }

    /// The matrix of two cells: the settings known by hand, and those that were found.
    fn comparison_file(&self, times: &TuneTimes, found: &FoundSettings) -> Result<String> {
        let head = comparison_head(found, &self.definition.by_hand, times.rounds);
        let values = Values::default()
            .with("search", "")
            .with("comparison", head);
        self.file("comparison.yaml", times, &values)
    }
}

/// Axes of two cells, the settings known by hand first.
fn comparison_head(
    found: &FoundSettings,
    by_hand: &std::collections::BTreeMap<String, String>,
    rounds: u32,
) -> String {
    let mut head = "axes:\n".to_owned();
    let mut names = Vec::new();
    for (knob, setting) in &found.settings {
        let hand = by_hand.get(knob).unwrap_or(&setting.from);
        let _ = writeln!(head, "  {knob}: [\"{hand}\", \"{}\"]", setting.to);
        names.push(knob.as_str());
    }
    if names.len() > 1 {
        let _ = writeln!(head, "zip: [{}]", names.join(", "));
    }
    let _ = write!(head, "trials: {rounds}");
    head
}
