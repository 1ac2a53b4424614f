//! The packages that users install: `cargo xtask package` builds the static binary once, makes each package of it in
//! `target/package`, and tries each in a clean root.
//!
//! What a package contains is in `packaging/`; here is how it is made and tried.

#![expect(
    clippy::print_stdout,
    reason = "a task talks to the person who started it"
)]

mod again;
mod archive;
mod build;
mod ci;
mod deb;
mod guide;
mod helm;
mod image;
mod npm;
mod recipes;
mod records;
mod release;
mod roots;
mod sbom;
#[cfg(test)]
mod tests;
mod tools;
mod wheel;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand, ValueEnum};
use plimsoll_harness::clock::Stopwatch;
use plimsoll_harness::exit;
use plimsoll_harness::step::Steps;

use crate::release::Release;

/// Packages
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build the static binary and every package of it in target/package, and try each in a clean root
    Package(PackageArguments),
}

#[derive(Args)]
struct PackageArguments {
    /// Only these packages
    #[arg(value_enum)]
    kinds: Vec<Kind>,
    /// Build nothing: try the packages that are in target/package
    #[arg(long)]
    check: bool,
    /// Where the files of this release will be, for recipes that download them
    #[arg(
        long,
        value_name = "URL",
        default_value = "https://downloads.invalid/plimsoll"
    )]
    downloads: String,
    /// The project's page, for recipes that name it
    #[arg(long, value_name = "URL", default_value = "https://plimsoll.invalid/")]
    homepage: String,
}

/// A package, and how it is made and tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// The static binary with man pages and completions, as tar.gz
    Archive,
    /// For Debian and its descendants
    Deb,
    /// For npm and npx
    Npm,
    /// For pip
    Wheel,
    /// A container image as one file
    Image,
    /// The edge on Kubernetes
    Helm,
    /// For GitHub and GitLab
    Ci,
    /// Homebrew's formula and Nix' flake: parsed, not run
    Recipes,
    /// Checksums, bill of materials, provenance
    Records,
}

impl Kind {
    fn make(self, release: &Release) -> Result<()> {
        match self {
            Self::Archive => archive::make(release),
            Self::Deb => deb::make(release),
            Self::Npm => npm::make(release),
            Self::Wheel => wheel::make(release),
            Self::Image => image::make(release),
            Self::Helm => helm::make(release),
            Self::Ci => ci::make(release),
            Self::Recipes => recipes::make(release),
            Self::Records => records::make(release),
        }
    }

    fn check(self, release: &Release) -> Result<()> {
        match self {
            Self::Archive => archive::check(release),
            Self::Deb => deb::check(release),
            Self::Npm => npm::check(release),
            Self::Wheel => wheel::check(release),
            Self::Image => image::check(release),
            Self::Helm => helm::check(release),
            Self::Ci => ci::check(release),
            Self::Recipes => recipes::check(release),
            Self::Records => records::check(release),
        }
    }
}

fn main() -> ExitCode {
    let Task::Package(arguments) = Cli::parse().task;
    exit::code(package(&arguments))
}

fn package(arguments: &PackageArguments) -> Result<ExitCode> {
    let stopwatch = Stopwatch::start();
    let release = Release::new(&arguments.downloads, &arguments.homepage)?;
    let kinds: Vec<Kind> = if arguments.kinds.is_empty() {
        Kind::value_variants().to_vec()
    } else {
        arguments.kinds.clone()
    };
    let mut steps = Steps::default();
    let is_ready = steps
        .run("tools", || tools::install(&release))
        .and_then(|()| {
            if arguments.check {
                return Some(());
            }
            steps.run("build", || build::run(&release))
        })
        .is_some();
    if is_ready {
        for &kind in &kinds {
            let name = format!("{kind:?}").to_lowercase();
            let is_made = arguments.check || steps.run(&name, || kind.make(&release)).is_some();
            if is_made {
                steps.run(&format!("{name}: check"), || kind.check(&release));
            }
        }
        if !arguments.check && steps.failed().is_empty() {
            steps.run("made again", || again::check(&release, &kinds));
        }
        records::list(&release)?;
    }
    println!("took {:.0} s", stopwatch.elapsed().as_secs_f64());
    if !steps.failed().is_empty() {
        println!("failed steps: {}", steps.failed().join(", "));
        return Ok(ExitCode::FAILURE);
    }
    println!("packages: {}", release.folder().display());
    Ok(ExitCode::SUCCESS)
}
