//! `plimsoll tune` on the sample site, whose settings are in a file.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::PathBuf;

use plimsoll_testkit::port;

use crate::support::Sandbox;

/// What stands in the file, which no level writes.
pub(crate) const STANDS: &str = "2000 # by hand\n";

/// A search on the sample site: pages of two sizes.
pub(crate) struct SiteSearch {
    pub(crate) place: Sandbox,
    pub(crate) port: u16,
}

impl SiteSearch {
    pub(crate) fn new() -> Self {
        let place = Sandbox::new();
        let port = port::unused().port();
        let program = env!("CARGO_BIN_EXE_plimsoll");
        fs::create_dir(place.path().join("site")).unwrap();
        fs::write(place.path().join("nodes.in"), "{{ nodes }}\n").unwrap();
        fs::write(
            place.path().join("run.sh"),
            format!(
                "read nodes rest < nodes.conf\n\
                 exec '{program}' demo --serve 127.0.0.1:{port} --nodes $nodes --out site\n"
            ),
        )
        .unwrap();
        let search = Self { place, port };
        fs::write(search.file(), STANDS).unwrap();
        search.write("1m");
        search
    }

    pub(crate) fn write(&self, limit: &str) {
        let port = self.port;
        let text = format!(
            "knobs: {{ nodes: {{ values: [2000, 60], default: 2000, meaning: 'nodes of a page' }} }}\n\
             seed: 7\n\
             measure: {{ url: 'http://127.0.0.1:{port}/', limit: {limit} }}\n\
             apply:\n\
             \x20 command: [sh, run.sh]\n\
             \x20 file: {{ template: nodes.in, to: nodes.conf }}\n\
             ready: '127.0.0.1:{port}'\n\
             settle: 0s\n"
        );
        fs::write(self.place.path().join("site.yaml"), text).unwrap();
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.place.path().join("nodes.conf")
    }

    pub(crate) fn stands(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    pub(crate) fn is_site_running(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port)).is_ok()
    }
}

#[test]
fn advice_measures_nothing() {
    let site = SiteSearch::new();
    let output = site.place.run(&["tune", "site.yaml", "--advice", "--json"]);
    assert_eq!(output.code, 0, "{output:?}");
    let advice = output.json();
    site.place.assert_follows_schema("tune-advice", &advice);
    assert_eq!(advice["settings"]["nodes"]["from"], "2000");
    assert_eq!(advice["settings"]["nodes"]["to"][0], "60");
    assert_eq!(advice["settings"]["nodes"]["why"], "nodes of a page");
    assert_eq!(advice["evaluations"], 0);
    assert!(advice["best"].is_null());
    let output = site.place.run(&["tune", "site.yaml", "--advice"]);
    assert!(output.stdout.contains("now 2000, tries 60"), "{output:?}");
    assert!(!site.place.path().join("plimsoll").exists());
    assert_eq!(site.stands(), STANDS);
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let site = SiteSearch::new();
    let path = site.place.path().join("site.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let refused = |text: &str, arguments: &[&str], part: &str| {
        fs::write(&path, text).unwrap();
        let output = site
            .place
            .run(&[&["tune", "site.yaml"], arguments].concat());
        assert_eq!(output.code, 2, "{part}: {output:?}");
        assert!(output.stderr.contains(part), "{part}: {output:?}");
    };
    let axes = "axes: { nodes: [60, 2000] }\n\
                measure: { url: 'http://127.0.0.1:9/', limit: 1m }\n\
                apply: { command: [sh, run.sh, '{{ nodes }}'] }\n";
    refused(axes, &[], "has no knobs");
    let public = text.replace("http://127.0.0.1", "http://192.0.2.1");
    refused(&public, &[], "--i-own-this");
    refused(&text, &["--for", "users=10"], "needs a load line in users");
    refused(&text, &["--for", "10"], "users=100,500,2000");
    let constraint = format!("{text}constraints: nodes <= 100\n");
    refused(&constraint, &[], "excludes the default nodes=2000");
    let unread = text.replace("knobs: {", "knobs: { workers: [2, 4],");
    refused(&unread, &[], "`workers`");
    let folder = text.replace("to: nodes.conf", "to: site");
    refused(&folder, &[], "site cannot be changed");
    let output = site.place.run(&["tune"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert_eq!(site.stands(), STANDS);
}

#[test]
fn what_a_killed_search_left_is_put_back() {
    let site = SiteSearch::new();
    let mut child = site.place.start(&["tune", "site.yaml"]);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    // A line of the load: the service runs with the file of the trial.
    let is_loaded = lines.any(|line| line.unwrap().contains("in flight"));
    assert!(is_loaded, "it ended before");
    assert_eq!(site.stands(), "2000\n");
    child.kill().unwrap();
    child.wait().unwrap();
    // The dead-man process may be at it; the next start waits for its end. The file is another one, and is refused.
    site.write("2m");
    let refused = site.place.run(&["tune", "site.yaml", "--quiet"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert_eq!(site.stands(), STANDS, "{refused:?}");
    assert!(!site.is_site_running(), "{refused:?}");
}
