//! A server whose settings are right already: `plimsoll tune` must find that there is nothing to gain.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;
use clap::Args;
use plimsoll_harness::arguments::MeasurementArguments;
use plimsoll_harness::template::Values;

use crate::case::{Case, open_to_all};
use crate::tune::{self, TuneTimes, TunedCase};

/// Lines of the page: with its compression a request costs some milliseconds.
const LINES: u32 = 4000;

#[derive(Args)]
pub(crate) struct NoGainArguments {
    #[command(flatten)]
    times: TuneTimes,
    #[command(flatten)]
    measurement: MeasurementArguments,
}

pub(crate) fn run(arguments: &NoGainArguments) -> Result<()> {
    let case = Case::new("no-gain")?;
    case.build(&arguments.measurement)?;
    case.note_signals()?;
    let page = case.tune_page("case no-gain", &arguments.measurement)?;
    // Taken by nobody, and nginx listens there for each trial.
    case.matrix_port("nginx")?;
    let folder = tempfile::Builder::new().prefix("no-gain-").tempdir()?;
    open_to_all(folder.path())?;
    write_page(folder.path())?;
    let tuned = TunedCase {
        case: &case,
        values: Values::default().with("stack", folder.path().display()),
        files: vec![("nginx.conf.in", case.read("nginx.conf")?)],
    };
    let out = case.out(&arguments.measurement);
    tune::measure(&tuned, &arguments.times, page, &out)
}

/// The page that nginx serves, which compresses as text does.
fn write_page(folder: &Path) -> Result<()> {
    let mut text = String::from("<!doctype html><title>Numbers</title>\n");
    let mut number = 1_u32;
    for line in 0..LINES {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        writeln!(text, "<p>Line {line} has the number {number}.</p>")?;
    }
    let pages = folder.join("pages");
    fs::create_dir(&pages)?;
    open_to_all(&pages)?;
    Ok(fs::write(pages.join("page.html"), text)?)
}
