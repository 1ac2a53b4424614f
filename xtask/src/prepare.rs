//! Programs that the tests start: installs them if permitted, otherwise lists the missing ones in one line.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use plimsoll_harness::clock::Stopwatch;
use plimsoll_harness::go;
use plimsoll_harness::machine::raise_descriptor_limit;
use plimsoll_harness::packages;
use plimsoll_harness::python;
use plimsoll_harness::step::execute;
use plimsoll_harness::test_programs;
use plimsoll_harness::workspace::Workspace;

/// Parts of the toolchain that rustup installs separately.
const COMPONENTS: [(&str, &str); 2] = [("fmt", "rustfmt"), ("clippy", "clippy")];

/// What pip installs: lock file, environment below `target`, and what is in it.
const BY_PIP: [(&str, &str, &str); 3] = [
    (
        "crates/plimsoll-testkit/python/requirements.txt",
        "tools/python",
        "py-spy",
    ),
    (
        "docs/examples/trials/requirements.txt",
        "tools/notebook",
        "duckdb, pandas and pyarrow",
    ),
    // Whose example in the documentation is run.
    (
        "crates/plimsoll/tests/e2e/docs/locust/requirements.txt",
        "tools/locust",
        "Locust",
    ),
];

/// Installs missing programs, or fails with one line that lists them. Runs beside cargo, and calls none itself: it would wait
/// for the lock of the other.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    let stopwatch = Stopwatch::start();
    // The tests inherit it.
    raise_descriptor_limit()?;
    test_programs::install()?;
    pretend_indexes()?;
    for (lock, environment, programs) in BY_PIP {
        python::install(
            &workspace.root().join(lock),
            &workspace.target().join(environment),
        )
        .with_context(|| format!("missing: {programs}, which pip installs"))?;
    }
    jmeter(workspace)?;
    let mut programs = BUILT_BY_GO.into_iter();
    programs.try_for_each(|(folder, package, name)| {
        let program = workspace.target().join("tools").join(name);
        go::build(
            &workspace.root().join(folder),
            package,
            &program,
            &["main.go"],
        )
    })?;
    println!(
        "the programs of the tests are installed ({:.1} s)",
        stopwatch.elapsed().as_secs_f64()
    );
    Ok(())
}

/// JMeter, which has no Debian package, by the `pom.xml` with its version; made anew when that has changed.
fn jmeter(workspace: &Workspace) -> Result<()> {
    let project = workspace
        .root()
        .join("crates/plimsoll/tests/e2e/import_scripts/jmeter/pom.xml");
    let tools = workspace.target().join("tools");
    let modified = |path: &Path| std::fs::metadata(path).and_then(|it| it.modified());
    let installed = modified(&tools.join("jmeter/bin/jmeter.properties"));
    let made = modified(&tools.join("jmeter/dependency-maven-plugin-markers"));
    if installed.is_ok() && made.is_ok_and(|made| modified(&project).is_ok_and(|it| it <= made)) {
        return Ok(());
    }
    execute(
        Command::new("mvn")
            .args(["--quiet", "--batch-mode", "--strict-checksums", "--file"])
            .arg(&project)
            .arg(format!("-Dmaven.repo.local={}", tools.join("m2").display()))
            .arg(format!(
                "-Djmeter.folder={}",
                tools.join("jmeter").display()
            ))
            .arg("package")
            .stdin(Stdio::null()),
    )
    .context("missing: JMeter, which Maven brings")
}

/// HypoPG, whose package is named after PostgreSQL's version.
fn pretend_indexes() -> Result<()> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").context("PostgreSQL is missing")?;
    let versions = versions.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let newest: u32 = versions.max().context("PostgreSQL is missing")?;
    let control = format!("/usr/share/postgresql/{newest}/extension/hypopg.control");
    if Path::new(&control).exists() {
        return Ok(());
    }
    packages::install(&[&format!("postgresql-{newest}-hypopg")]).with_context(|| {
        format!("missing: {control}; `apt-get install postgresql-{newest}-hypopg` as root")
    })
}

/// Programs built by Go from sources locked by a `go.sum`: folder, package and program.
const BUILT_BY_GO: [(&str, &str, &str); 4] = [
    // The conformance suite of HTTP/2, which has no Debian package.
    (
        "crates/plimsoll-edge/tests/h2spec",
        "github.com/summerwind/h2spec/cmd/h2spec",
        "h2spec",
    ),
    // A server based on Centrifuge, the library of Centrifugo.
    ("crates/plimsoll/tests/e2e/centrifuge", ".", "centrifuge"),
    // Whose requests an imported plan sends, too.
    ("crates/plimsoll/tests/e2e/k6", "go.k6.io/k6", "k6"),
    // Decodes messages of remote write 2.0 by the code of Prometheus 3; Debian's Prometheus knows 1.0.
    (
        "crates/plimsoll-export/tests/remote_write",
        ".",
        "remote-write-v2",
    ),
];

/// Installs missing parts of the toolchain, which cargo calls.
pub(crate) fn toolchain() -> Result<()> {
    for (command, component) in COMPONENTS {
        let present = Command::new("cargo")
            .args([command, "--version"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .context("cannot run cargo")?
            .success();
        if !present {
            execute(Command::new("rustup").args(["component", "add", component])).with_context(
                || format!("missing: {component}; install it with your Rust toolchain"),
            )?;
        }
    }
    Ok(())
}
