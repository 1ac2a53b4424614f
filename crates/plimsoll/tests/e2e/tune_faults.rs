//! What goes wrong in a search is named, everything is put back, and the exit code tells what happened.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use plimsoll_testkit::program::Nginx;
use plimsoll_testkit::program::runtimes::PhpFpm;
use rustix::process::{Signal, geteuid};

use crate::support::{self, CommandOutput, Sandbox};
use crate::tune::{STANDS, SiteSearch};

/// A change of the file of the search.
fn rewrite(site: &SiteSearch, from: &str, to: &str) {
    let path = site.place.path().join("site.yaml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from}: {text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

/// What a search says that ends before its first measurement.
fn search(site: &SiteSearch) -> CommandOutput {
    let output = site.place.run(&["tune", "site.yaml", "--quiet"]);
    assert_eq!(site.stands(), STANDS, "{output:?}");
    let journal = site.place.path().join("plimsoll/site/applied.journal");
    let journal = fs::read_to_string(journal).unwrap();
    assert_eq!(journal.lines().count(), 1, "{journal}");
    output
}

fn assert_ends_with(output: &CommandOutput, code: i32, part: &str) {
    assert_eq!(output.code, code, "{output:?}");
    // Lines are wrapped.
    let text = format!("{}{}", output.stdout, output.stderr).replace('\n', " ");
    assert!(text.contains(part), "{part}: {output:?}");
}

#[test]
fn signals_end_a_search_and_nothing_stays_changed() {
    let site = SiteSearch::new();
    for (signal, code) in [
        (Signal::TERM, Some(130)),
        (Signal::INT, Some(130)),
        (Signal::HUP, None),
    ] {
        // What starts the tests may ignore SIGHUP, as `nohup` does.
        let mut child = Command::new("env")
            .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_plimsoll")])
            .args(["tune", "site.yaml"])
            .current_dir(site.place.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let is_loaded = lines.any(|line| line.unwrap().contains("in flight"));
        assert!(is_loaded, "{signal:?}: it ended before");
        assert_eq!(site.stands(), "2000\n");
        support::signal(&child, signal);
        lines.for_each(drop);
        assert_eq!(child.wait().unwrap().code(), code, "{signal:?}");
        if code.is_none() {
            // As after a kill: by the dead-man process, for which the next start waits, or by that start.
            site.write("2m");
            assert_ends_with(&search(&site), 2, "experiment");
            site.write("1m");
        }
        assert_eq!(site.stands(), STANDS, "{signal:?}");
        assert!(!site.is_site_running(), "{signal:?}");
    }
}

#[test]
fn a_file_that_the_check_refuses_is_never_read() {
    let site = SiteSearch::new();
    let check = "to: nodes.conf, check: [sh, -c, 'echo too many nodes; exit 1']";
    rewrite(&site, "to: nodes.conf", check);
    assert_ends_with(&search(&site), 3, "too many nodes");
    assert!(!site.is_site_running());
}

#[test]
fn a_service_that_ends_at_a_setting_is_named() {
    let site = SiteSearch::new();
    // It starts with what stands alone.
    let script = "read nodes rest < nodes.conf\n[ -n \"$rest\" ] || { echo out of shared memory; exit 9; }\n";
    fs::write(site.place.path().join("run.sh"), script).unwrap();
    let output = search(&site);
    assert_ends_with(&output, 3, "exit code 9");
    assert_ends_with(&output, 3, "out of shared memory");
}

#[test]
fn a_file_that_may_not_be_written_is_named_before_anything_is_tried() {
    let site = SiteSearch::new();
    fs::set_permissions(site.file(), fs::Permissions::from_mode(0o444)).unwrap();
    // Root passes over permissions unless it gives that right up.
    let without_right: &[&str] = if geteuid().is_root() {
        &["setpriv", "--bounding-set=-dac_override"]
    } else {
        &["env"]
    };
    let output = Command::new(without_right[0])
        .args(&without_right[1..])
        .args([env!("CARGO_BIN_EXE_plimsoll"), "tune", "site.yaml"])
        .current_dir(site.place.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).replace('\n', " ");
    assert_eq!(output.status.code(), Some(2), "{text}");
    for part in [
        "nodes.conf cannot be changed: Permission denied",
        "run with the rights of its owner",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(site.stands(), STANDS);
    assert!(!site.place.path().join("plimsoll").exists());
}

/// Ends with the test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_service_that_does_not_come_back_ends_the_search() {
    let site = SiteSearch::new();
    let address = format!("127.0.0.1:{}", site.port);
    let arguments = [
        "demo", "--serve", &address, "--nodes", "60", "--out", "site",
    ];
    let mut service = Running(site.place.start(&arguments));
    let mut lines = BufReader::new(service.0.stdout.take().unwrap()).lines();
    assert!(
        lines.any(|line| line.unwrap().contains(&address)),
        "it serves"
    );
    let pid = service.0.id();
    // A reload after which it is gone: a process that is told to end still listens for a moment.
    let listens = format!("(: < /dev/tcp/127.0.0.1/{}) 2> /dev/null", site.port);
    let reload =
        format!("to: nodes.conf, reload: [bash, -c, 'kill {pid}; while {listens}; do :; done']");
    rewrite(&site, "to: nodes.conf", &reload);
    rewrite(&site, " command: [sh, run.sh]\n", "");
    let ready = format!("ready: '{address}'");
    rewrite(
        &site,
        &ready,
        &format!("ready: {{ tcp: '{address}', within: 500ms }}"),
    );
    let output = search(&site);
    assert_ends_with(&output, 2, "the service does not come back");
    assert_ends_with(&output, 2, "start it by hand");
}

/// PHP-FPM behind nginx, with a template that it refuses and no check: its master starts itself anew, reads it, and is gone.
#[test]
fn a_php_that_does_not_come_back_ends_the_search() {
    let fpm = PhpFpm::without_page(2, "echo 1;");
    let nginx = Nginx::start(64, false, &fpm.location());
    let place = Sandbox::new();
    let stands = fs::read_to_string(&fpm.configuration).unwrap();
    let children = "pm.max_children = 2";
    assert!(stands.contains(children), "{stands}");
    let wrong = "pm.max_children = {{ children }}\nno_such_setting = 1";
    fs::write(
        place.path().join("pool.in"),
        stands.replace(children, wrong),
    )
    .unwrap();
    let (address, pid) = (fpm.address, fpm.program.pid());
    let port = address.port();
    let listens = format!("(: < /dev/tcp/127.0.0.1/{port}) 2> /dev/null");
    let text = format!(
        "knobs: {{ children: [2, 4] }}\n\
         measure: {{ url: 'http://{}/', limit: 1m }}\n\
         apply:\n\
         \x20 file:\n\
         \x20   template: pool.in\n\
         \x20   to: '{}'\n\
         \x20   reload: [bash, -c, 'kill -USR2 {pid}; while {listens}; do :; done']\n\
         ready: {{ tcp: '{address}', within: 500ms }}\n\
         settle: 0s\n",
        nginx.address,
        fpm.configuration.display()
    );
    fs::write(place.path().join("pool.yaml"), text).unwrap();
    let output = place.run(&["tune", "pool.yaml", "--quiet"]);
    assert_ends_with(&output, 2, "the service does not come back");
    assert_ends_with(&output, 2, "start it by hand");
    assert_eq!(fs::read_to_string(&fpm.configuration).unwrap(), stands);
}
