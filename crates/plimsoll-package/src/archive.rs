//! The static binary with man pages and completions, tried in an empty root.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::clock::Stopwatch;
use plimsoll_harness::step::execute;

use crate::release::{Release, copy, output, renew};
use crate::roots::{debian, shell};
use crate::{build, guide};

/// Time in which `--version` must answer, the start of the process included.
const VERSION_WITHIN: Duration = Duration::from_millis(10);
/// Of so many starts the fastest counts: other work on the machine makes some slower and none faster.
const STARTS: usize = 20;
/// Functions of the C library that load modules of another one: for hosts, services, users, groups and alphabets. `dlopen`
/// itself is there, for extensions of `SQLite` that nobody loads.
const FOREIGN: [&str; 14] = [
    "getaddrinfo",
    "getnameinfo",
    "gethostbyname",
    "gethostbyname_r",
    "gethostbyname2_r",
    "gethostbyaddr_r",
    "getservbyname_r",
    "getpwnam_r",
    "getpwuid_r",
    "getgrnam_r",
    "getgrgid_r",
    "getgrouplist",
    "initgroups",
    "iconv_open",
];
/// What every static binary with symbols has: without these, an absent name would prove nothing.
const OWN: [&str; 2] = ["main", "malloc"];
/// Files that only the C library's search for names opens.
const FOREIGN_FILES: [&str; 4] = ["nsswitch.conf", "libnss_", "ld.so.cache", "gconv"];

/// Name servers answer in a network of its own, at the address of the root's `resolv.conf`. The site prints a line when it
/// listens. Random numbers come from a device, which each container has. A run that is void for a busy machine (6) has found its
/// name, too; a name that is not there is 5.
const NAMES: &str = r#"
ip link set lo up
mkdir "$1/dev"
for device in null random urandom; do
    touch "$1/dev/$device"
    mount --bind "/dev/$device" "$1/dev/$device"
done
dnsmasq --conf-file=/dev/null --no-hosts --no-resolv --user=root --pid-file= \
    --listen-address=127.0.0.1 --bind-interfaces --address=/shop.test/127.0.0.1
mkfifo "$1/ready"
chroot "$1" /bin/plimsoll demo --serve 127.0.0.1:8080 --out /tmp > "$1/ready" &
read -r line < "$1/ready"
ends_with() {
    wanted="$1"
    shift
    code=0
    "$@" || code=$?
    case " $wanted " in *" $code "*) ;; *) echo "ended with $code, not $wanted" && exit 1 ;; esac
}
load="--rate 20/s --for 2s --quiet"
ends_with "0 6" strace --follow-forks --quiet=all --trace=open,openat,openat2,stat,newfstatat,access,execve --output="$2" \
    chroot "$1" /bin/plimsoll run http://shop.test:8080/ $load
ends_with "0 6" chroot "$1" /bin/plimsoll run http://printed.test:8080/ $load
ends_with 5 chroot "$1" /bin/plimsoll run http://gone.test:8080/ $load
rm -r "$1/etc"
ends_with "0 6" chroot "$1" /bin/plimsoll run http://localhost:8080/ $load
"#;

/// Packs binary, man pages, completions, the licence and what has changed.
pub(crate) fn make(release: &Release) -> Result<()> {
    let name = release.archive_name();
    let parent = release.staging().join("archive");
    let folder = parent.join(&name);
    renew(&folder)?;
    copy(&release.stripped(), &folder.join("bin/plimsoll"))?;
    for (from, to) in [
        ("man", "share/man/man1"),
        ("completions", "share/completions"),
    ] {
        let from = release.staging().join(from);
        std::fs::create_dir_all(folder.join(to))?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &folder.join(to).join(entry.file_name()))?;
        }
    }
    let root = release.workspace.root();
    for file in ["LICENSE", "CHANGELOG.md", "README.md"] {
        copy(&root.join(file), &folder.join(file))?;
    }
    for file in [
        "plimsoll-agent.service",
        "plimsoll-edge.service",
        "edge.yaml",
    ] {
        copy(
            &release.source("deb").join(file),
            &folder.join("share/systemd").join(file),
        )?;
    }
    release.pack(&parent, &name, &release.file(&format!("{name}.tar.gz")))
}

/// Runs it where nothing else is, and as the guide says.
pub(crate) fn check(release: &Release) -> Result<()> {
    let name = format!("{}.tar.gz", release.archive_name());
    let folder = release.try_folder()?;
    execute(
        Command::new("tar")
            .args(["--extract", "--gzip", "--file"])
            .arg(release.file(&name))
            .arg("--directory")
            .arg(folder.path()),
    )?;
    let root = folder.path().join("empty");
    let binary = folder
        .path()
        .join(release.archive_name())
        .join("bin/plimsoll");
    copy(&binary, &root.join("bin/plimsoll"))?;
    build::names_no_folder(release, &binary)?;
    answers_quickly(release, &root)?;
    has_no_foreign_names(release)?;
    finds_names(&root)?;

    let fresh = release.try_folder()?;
    debian(release, fresh.path())?;
    copy(&release.file(&name), &fresh.path().join("root").join(&name))?;
    let commands = guide::commands(release, "The archive")?;
    shell(fresh.path(), &format!("cd /root\n{commands}"))
}

fn answers_quickly(release: &Release, root: &Path) -> Result<()> {
    let mut fastest = Duration::MAX;
    for _ in 0..STARTS {
        let mut command = Command::new("chroot");
        command.arg(root).args(["/bin/plimsoll", "--version"]);
        let stopwatch = Stopwatch::start();
        let text = output(&mut command)?;
        fastest = fastest.min(stopwatch.elapsed());
        let expected = format!("plimsoll {}", release.version);
        ensure!(
            text == expected,
            "--version says `{text}`, not `{expected}`"
        );
    }
    println!("--version takes {fastest:?} in an empty root");
    ensure!(
        fastest < VERSION_WITHIN,
        "--version takes {fastest:?}; at most {VERSION_WITHIN:?}"
    );
    Ok(())
}

/// The C library's own functions for names would load modules of the C library of the system.
fn has_no_foreign_names(release: &Release) -> Result<()> {
    let binary = release.binary();
    ensure!(
        binary.exists(),
        "{} is missing, whose symbols prove that names are not left to the C library; build it by `cargo xtask package archive`",
        binary.display()
    );
    let mut nm = Command::new("nm");
    nm.arg("--format=just-symbols").arg(binary);
    let symbols = output(&mut nm)?;
    knows_names_itself(&symbols)?;
    println!(
        "of {} symbols none is getaddrinfo, nor another of {} functions that load modules",
        symbols.lines().count(),
        FOREIGN.len()
    );
    Ok(())
}

fn knows_names_itself(symbols: &str) -> Result<()> {
    let symbols = symbols.lines().map(|symbol| symbol.trim_start_matches('_'));
    let symbols: BTreeSet<&str> = symbols.collect();
    for own in OWN {
        ensure!(
            symbols.contains(own),
            "the binary lacks the symbol {own}: it is stripped or not static, and proves nothing"
        );
    }
    let found: Vec<&str> = FOREIGN
        .into_iter()
        .filter(|name| symbols.contains(name))
        .collect();
    ensure!(
        found.is_empty(),
        "the static binary contains {}; use plimsoll-names instead",
        found.join(", ")
    );
    Ok(())
}

/// Names of hosts are found by `/etc/hosts` and by a real name server, and localhost without either.
fn finds_names(root: &Path) -> Result<()> {
    let etc = root.join("etc");
    std::fs::create_dir_all(&etc)?;
    std::fs::create_dir_all(root.join("tmp"))?;
    std::fs::write(etc.join("resolv.conf"), "nameserver 127.0.0.1\n")?;
    std::fs::write(etc.join("hosts"), "127.0.0.1 printed.test\n")?;
    let trace = root.with_extension("trace");
    let mut command = Command::new("unshare");
    command
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child"])
        .args(["sh", "-euc", NAMES, "names"])
        .args([root, &trace]);
    execute(&mut command).context("names are not found in an empty root")?;
    opens_nothing_foreign(&std::fs::read_to_string(trace)?)
}

/// What was opened while a name was found, by the lines of strace after the program began.
fn opens_nothing_foreign(trace: &str) -> Result<()> {
    let (_, trace) = trace
        .split_once("execve(\"/bin/plimsoll\"")
        .context("the trace does not have the start of the program")?;
    ensure!(
        trace.contains("/etc/resolv.conf"),
        "the program found a name without /etc/resolv.conf, or was not watched"
    );
    let lines: Vec<&str> = trace
        .lines()
        .filter(|line| FOREIGN_FILES.iter().any(|file| line.contains(file)))
        .collect();
    ensure!(
        lines.is_empty(),
        "a name was looked for by the C library's modules: {}",
        lines.join("; ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_the_c_library_for_names_is_refused_and_so_is_a_binary_without_symbols() {
        assert!(knows_names_itself("main\n__libc_malloc\nmalloc\nplimsoll_names\n").is_ok());
        let with = knows_names_itself("main\nmalloc\n__getaddrinfo\n").unwrap_err();
        assert!(with.to_string().contains("getaddrinfo"), "{with}");
        let stripped = knows_names_itself("").unwrap_err();
        assert!(stripped.to_string().contains("stripped"), "{stripped}");
    }

    #[test]
    fn modules_that_were_opened_are_found_in_a_trace() {
        let start = "1 execve(\"/usr/sbin/chroot\", [\"/bin/plimsoll\"])\n1 openat(\"/etc/ld.so.cache\")\n1 execve(\"/bin/plimsoll\")\n";
        let good = format!("{start}1 openat(\"/etc/resolv.conf\")\n");
        assert!(opens_nothing_foreign(&good).is_ok());
        let bad = format!("{good}1 openat(\"/etc/nsswitch.conf\")\n");
        assert!(opens_nothing_foreign(&bad).is_err());
        assert!(opens_nothing_foreign(start).is_err());
        assert!(opens_nothing_foreign("").is_err());
    }
}
