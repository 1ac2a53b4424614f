//! `plimsoll ui`: the runs of a folder in a browser. It reads them; it writes nothing itself.

mod listing;
mod start;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_analysis::experiment::comparison::{RunsCriteria, compare_runs};
use plimsoll_lab::progress::StopFlag;
use plimsoll_lab::run_log;
use plimsoll_live::{
    LiveAddress, Server, ServerOptions, Site, SiteRequest, SiteResponse, page, recorded,
};
use plimsoll_report::Report;
use plimsoll_report::compare::{self, ComparedRuns, ComparedSide};

use self::listing::Listing;
use self::start::Starter;
use crate::arguments::UiArguments;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::screen::eprint;
use crate::signals;

/// Serves the page until it is interrupted.
pub(crate) fn ui(arguments: &UiArguments) -> Result<Exit, CliError> {
    let folder = &arguments.folder;
    if let Err(error) = std::fs::read_dir(folder) {
        let message = format!("cannot read the folder {}: {error}", folder.display());
        return Err(
            CliError::usage(message).remedy("name a folder with .run files: plimsoll ui DIR")
        );
    }
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let site = RunsSite {
        folder: folder.clone(),
        listing: Listing::new(folder),
        starter: Starter::new(folder, arguments.allow_run.clone()),
    };
    let options = ServerOptions {
        address: arguments.listen.unwrap_or_default(),
    };
    let server = Server::start(options, Arc::new(site))
        .map_err(|error| CliError::new(Exit::Usage, error.to_string()))?;
    eprint(&format!("page: {}", server.url()));
    note_address(options.address);
    signals::wait_for(&stop)?;
    server.stop();
    Ok(Exit::Met)
}

fn note_address(address: LiveAddress) {
    if !address.0.ip().is_loopback() {
        eprint(
            "note: the page is not encrypted, and whoever has its URL reads all runs of the folder",
        );
    }
}

struct RunsSite {
    folder: PathBuf,
    listing: Listing,
    starter: Starter,
}

impl RunsSite {
    /// The path of a run of the list; nothing else of the machine can be named.
    fn path(&self, name: &str) -> Option<PathBuf> {
        self.listing.has(name).then(|| self.folder.join(name))
    }

    fn of_run(&self, rest: &str) -> SiteResponse {
        let Some((name, file)) = rest.split_once('/') else {
            return SiteResponse::not_found();
        };
        let Some(path) = decoded(name).and_then(|name| self.path(&name)) else {
            return SiteResponse::not_found();
        };
        match file {
            "" => page::live(),
            "run.json" => match recorded::document(&path) {
                Ok(document) => SiteResponse::ok("application/json", document),
                Err(error) => SiteResponse::text(422, error.to_string()),
            },
            file => page::asset(file).unwrap_or_else(SiteResponse::not_found),
        }
    }

    fn compare(&self, query: &str) -> SiteResponse {
        let field = |name: &str| {
            let mut fields = url::form_urlencoded::parse(query.as_bytes());
            let value = fields.find(|(key, _)| key == name)?.1.into_owned();
            Some((value.clone(), self.path(&value)?))
        };
        let (Some(before), Some(after)) = (field("before"), field("after")) else {
            return SiteResponse::not_found();
        };
        match comparison(&before, &after) {
            Ok(page) => SiteResponse::report(page),
            Err(error) => SiteResponse::text(422, error.to_string()),
        }
    }
}

/// The page of `plimsoll compare BEFORE AFTER`.
fn comparison(
    before: &(String, PathBuf),
    after: &(String, PathBuf),
) -> Result<String, run_log::RunLogError> {
    let runs = [run_log::read(&before.1)?.run, run_log::read(&after.1)?.run];
    let side = |index: usize, (name, path): &(String, PathBuf)| ComparedSide {
        name: name.clone(),
        run_file: Some(path.clone()),
        report: Some(Report::of(&runs[index])),
    };
    let criteria = RunsCriteria::standard(runs[0].header.plan.seed);
    let compared = compare_runs(&runs[0], &runs[1], criteria);
    Ok(compare::render(&ComparedRuns::new(
        side(0, before),
        side(1, after),
        compared,
    )))
}

impl Site for RunsSite {
    fn respond(&self, request: SiteRequest) -> SiteResponse {
        let path = request.path.as_str();
        if request.is_act {
            return match path {
                "start" => self.starter.start(&request.body),
                _ => SiteResponse::not_found(),
            };
        }
        match path {
            "" => page::runs(),
            "runs.json" => {
                let listing = self.listing.json(&self.starter);
                SiteResponse::ok("application/json", listing)
            }
            "compare" => self.compare(&request.query),
            _ => match path.strip_prefix("run/") {
                Some(rest) => self.of_run(rest),
                None => page::asset(path).unwrap_or_else(SiteResponse::not_found),
            },
        }
    }

    fn is_slow(&self, path: &str) -> bool {
        matches!(path, "runs.json" | "compare" | "start") || path.ends_with("/run.json")
    }
}

/// A segment of a path without its percent-encoding; `None` if it is no text.
fn decoded(segment: &str) -> Option<String> {
    let pair = format!("n={}", segment.replace('+', "%2B"));
    let mut fields = url::form_urlencoded::parse(pair.as_bytes());
    let name = fields.next()?.1.into_owned();
    (!name.contains('\u{fffd}')).then_some(name)
}

/// Whether a file is a run by its name.
fn is_run(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "run")
}
