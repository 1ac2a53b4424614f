//! Sees to the programs that the tests start: installs them where it may, otherwise says in one line what is missing.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::case::{market, tutor};
use crate::python;
use crate::step::execute;
use crate::workspace::Workspace;

/// A program the tests start, and the Debian package that brings it.
pub(crate) struct Tool {
    program: &'static str,
    package: &'static str,
}

impl Tool {
    pub(crate) const fn new(program: &'static str, package: &'static str) -> Self {
        Self { program, package }
    }
}

const TOOLS: [Tool; 44] = [
    Tool {
        program: "curl",
        package: "curl",
    },
    Tool {
        program: "openssl",
        package: "openssl",
    },
    Tool {
        program: "nginx",
        package: "nginx-light",
    },
    Tool {
        program: "apache2",
        package: "apache2",
    },
    Tool {
        program: "haproxy",
        package: "haproxy",
    },
    Tool {
        program: "redis-server",
        package: "redis-server",
    },
    Tool {
        program: "nats-server",
        package: "nats-server",
    },
    Tool {
        program: "webdis",
        package: "webdis",
    },
    Tool {
        program: "memcached",
        package: "memcached",
    },
    Tool {
        program: "setpriv",
        package: "util-linux",
    },
    Tool {
        program: "chromium",
        package: "chromium",
    },
    Tool {
        program: "node",
        package: "nodejs",
    },
    Tool {
        program: "npm",
        package: "npm",
    },
    Tool {
        program: "python3",
        package: "python3",
    },
    Tool {
        program: "go",
        package: "golang-go",
    },
    Tool {
        program: "dnsmasq",
        package: "dnsmasq-base",
    },
    Tool {
        program: "systemd-socket-activate",
        package: "systemd",
    },
    Tool {
        program: "pebble",
        package: "pebble",
    },
    Tool {
        program: "ip",
        package: "iproute2",
    },
    Tool {
        program: "nft",
        package: "nftables",
    },
    Tool {
        program: "ps",
        package: "procps",
    },
    Tool {
        program: "taskset",
        package: "util-linux",
    },
    Tool {
        program: "prlimit",
        package: "util-linux",
    },
    Tool {
        program: "pg_ctlcluster",
        package: "postgresql",
    },
    Tool {
        program: "psql",
        package: "postgresql-client",
    },
    Tool {
        program: "mariadbd",
        package: "mariadb-server",
    },
    Tool {
        program: "pgbouncer",
        package: "pgbouncer",
    },
    Tool {
        program: "gunicorn",
        package: "gunicorn",
    },
    Tool {
        program: "puma",
        package: "puma",
    },
    Tool {
        program: "/usr/lib/ruby/vendor_ruby/pg.rb",
        package: "ruby-pg",
    },
    Tool {
        program: "/usr/lib/ruby/vendor_ruby/mysql2.rb",
        package: "ruby-mysql2",
    },
    Tool {
        program: "/usr/share/doc/php-fpm/copyright",
        package: "php-fpm",
    },
    Tool {
        program: "cc",
        package: "gcc",
    },
    Tool {
        program: "java",
        package: "default-jdk-headless",
    },
    Tool {
        program: "javac",
        package: "default-jdk-headless",
    },
    Tool {
        program: "/usr/share/java/HikariCP.jar",
        package: "libhikaricp-java",
    },
    Tool {
        program: "/usr/share/java/jolokia-core.jar",
        package: "libjolokia-core-java",
    },
    Tool {
        program: "/usr/share/java/postgresql.jar",
        package: "libpostgresql-jdbc-java",
    },
    Tool {
        program: "/usr/share/java/slf4j-nop.jar",
        package: "libslf4j-java",
    },
    Tool {
        program: "/usr/share/java/tomcat10-catalina.jar",
        package: "libtomcat10-java",
    },
    Tool {
        program: "/usr/share/java/jetty9-server.jar",
        package: "libjetty9-java",
    },
    Tool {
        program: "uwsgi",
        package: "uwsgi-core",
    },
    Tool {
        program: "/usr/lib/uwsgi/plugins/python3_plugin.so",
        package: "uwsgi-plugin-python3",
    },
    Tool {
        program: "varnishd",
        package: "varnish",
    },
];

/// Parts of the toolchain that rustup installs separately.
const COMPONENTS: [(&str, &str); 2] = [("fmt", "rustfmt"), ("clippy", "clippy")];

/// The programs that the tests start.
pub(crate) fn programs() -> Result<()> {
    see_to(&TOOLS)
}

/// Installs what is missing or fails with one line that names it.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    install_components()?;
    see_to(&TOOLS)?;
    pretend_indexes()?;
    tutor::prepare()?;
    market::prepare()?;
    python::install(
        &workspace
            .root
            .join("crates/plimsoll-testkit/python/requirements.txt"),
        &workspace.target.join("tools/python"),
    )
    .context("missing: py-spy, which pip installs")?;
    let mut programs = BUILT_BY_GO.into_iter();
    programs.try_for_each(|program| build_by_go(workspace, program))
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
    install(&[&format!("postgresql-{newest}-hypopg")]).with_context(|| {
        format!("missing: {control}; `apt-get install postgresql-{newest}-hypopg` as root")
    })
}

/// What Go builds of sources that a `go.sum` locks: folder, package and program.
const BUILT_BY_GO: [(&str, &str, &str); 2] = [
    // The conformance suite of HTTP/2, which no package brings.
    (
        "crates/plimsoll-edge/tests/h2spec",
        "github.com/summerwind/h2spec/cmd/h2spec",
        "h2spec",
    ),
    // A server by the library of which Centrifugo is made.
    ("crates/plimsoll/tests/e2e/centrifuge", ".", "centrifuge"),
];

/// Builds a program, unless that has been done since its sources were locked.
fn build_by_go(workspace: &Workspace, (folder, package, name): (&str, &str, &str)) -> Result<()> {
    let folder = workspace.root.join(folder);
    let program = workspace.target.join("tools").join(name);
    let modified = |path: &Path| std::fs::metadata(path).and_then(|it| it.modified());
    let built = modified(&program);
    let locked = modified(&folder.join("go.sum"));
    if built.is_ok_and(|built| locked.is_ok_and(|locked| locked <= built)) {
        return Ok(());
    }
    execute(
        Command::new("go")
            .args(["build", "-mod=readonly", "-o"])
            .arg(&program)
            .arg(package)
            .current_dir(&folder)
            .env("CGO_ENABLED", "0")
            .env("GOTOOLCHAIN", "local")
            .stdin(Stdio::null()),
    )
    .with_context(|| {
        format!("missing: {name}, which `go` builds from sources of the Go module proxy")
    })
}

/// Installs those of these programs that are missing, or fails with one line that names them.
pub(crate) fn see_to(tools: &[Tool]) -> Result<()> {
    let missing = missing(tools);
    if missing.is_empty() {
        return Ok(());
    }
    let packages = packages(&missing);
    if !(is_installed("apt-get") && rustix::process::geteuid().is_root()) {
        bail!("{}", remedy(&missing, &packages));
    }
    install(&packages)?;
    let missing = self::missing(tools);
    if !missing.is_empty() {
        bail!("{}", remedy(&missing, &packages));
    }
    Ok(())
}

fn missing(tools: &[Tool]) -> Vec<&Tool> {
    tools
        .iter()
        .filter(|tool| !is_installed(tool.program))
        .collect()
}

fn remedy(missing: &[&Tool], packages: &[&str]) -> String {
    let programs: Vec<_> = missing.iter().map(|tool| tool.program).collect();
    format!(
        "missing: {}; install them, on Debian by `apt-get install {}` as root",
        programs.join(", "),
        packages.join(" ")
    )
}

fn packages(missing: &[&Tool]) -> Vec<&'static str> {
    let mut packages: Vec<_> = missing.iter().map(|tool| tool.package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// Installs Debian packages; a service that a package brings is not started.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    println!("installing {}", packages.join(" "));
    let apt = || {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive")
            // invoke-rc.d starts no service in the rescue runlevel: the tests start their own nginx.
            .env("RUNLEVEL", "1")
            .stdin(Stdio::null());
        apt
    };
    // An old list is often good enough; the installation says if it is not.
    let _ = execute(apt().args(["update", "--quiet=2"]));
    execute(
        apt()
            .args(["install", "--yes", "--quiet=2", "--no-install-recommends"])
            .args(packages),
    )
}

fn install_components() -> Result<()> {
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

/// Whether a program is in the path, or in the folders where Debian keeps root's.
pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .any(|folder| Path::new(&folder).join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_is_one_line_with_each_package_once() {
        let missing: Vec<&Tool> = TOOLS
            .iter()
            .filter(|tool| tool.package == "util-linux")
            .collect();
        let line = remedy(&missing, &packages(&missing));
        assert_eq!(
            line,
            "missing: setpriv, taskset, prlimit; install them, on Debian by `apt-get install util-linux` as root"
        );
    }

    #[test]
    fn finds_what_is_there_and_not_what_is_not() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-such-program-of-ours"));
    }
}
