//! Invalid certificates, and renewed ones.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use plimsoll_config::edge::{Certificate, EdgeConfig, PathMatch, RouteConfig, RouteMatch};
use plimsoll_edge::{Hooks, examine};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use tempfile::TempDir;

use crate::support::{ObservedEdge, Scripted, connect, plain, pool};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Validity in years.
type Years = (i32, i32);

const NOW: Years = (2020, 4000);

/// Installs a certificate.
fn put(files: &Certificate, name: &str, (from, until): Years) {
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.not_before = date_time_ymd(from, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    // Like renewal tools: written beside it, then renamed over it.
    for (path, content) in [
        (&files.cert, certificate.pem()),
        (&files.key, key.serialize_pem()),
    ] {
        let beside = path.with_extension("new");
        std::fs::write(&beside, content).unwrap();
        std::fs::rename(&beside, path).unwrap();
    }
}

fn files(folder: &Path, stem: &str) -> Certificate {
    Certificate {
        cert: folder.join(format!("{stem}.pem")),
        key: folder.join(format!("{stem}.key")),
    }
}

fn secure(server: &Scripted, tls: Vec<Certificate>) -> EdgeConfig {
    let mut edge = plain(pool(&[server.address]));
    edge.listen[0].tls = tls;
    edge
}

/// The certificate that a client gets.
fn served_start_date(edge: &ObservedEdge) -> String {
    let address = edge.edge.address;
    let output = Command::new("curl")
        .args(["-sSkv", "--max-time", "60", "-o", "/dev/null"])
        .arg(format!("https://{address}/"))
        .output()
        .expect("curl is installed: apt-get install curl");
    assert!(output.status.success(), "{output:?}");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let date = stderr
        .lines()
        .find_map(|line| line.split("start date: ").nth(1));
    date.unwrap_or_else(|| panic!("{stderr}")).to_owned()
}

fn why(edge: &EdgeConfig) -> String {
    let refused = plimsoll_edge::start(edge, Hooks::none())
        .err()
        .expect("it must not start");
    std::error::Error::source(&refused).unwrap().to_string()
}

#[test]
fn certificates_that_cannot_be_used_are_named() {
    let server = Scripted::always(OK);
    let folder: TempDir = tempfile::tempdir().unwrap();
    let at = |stem: &str| files(folder.path(), stem);
    let (expired, early, good, other) = (at("expired"), at("early"), at("good"), at("other"));
    put(&expired, "a.example", (2000, 2001));
    put(&early, "a.example", (3999, 4000));
    put(&good, "a.example", NOW);
    put(&other, "a.example", NOW);
    let mixed = Certificate {
        cert: good.cert.clone(),
        key: other.key.clone(),
    };
    let swapped = Certificate {
        cert: good.key.clone(),
        key: good.cert.clone(),
    };
    let missing = at("missing");
    let cases: [(&Certificate, &str, &PathBuf); 5] = [
        (&expired, "has expired on Mon, 01 Jan 2001", &expired.cert),
        (&early, "is not valid before Fri, 01 Jan 3999", &early.cert),
        (&mixed, "does not belong to the certificate", &other.key),
        (&swapped, "holds no certificate", &good.key),
        (&missing, "cannot read", &missing.cert),
    ];
    for (files, expected, place) in cases {
        let edge = secure(&server, vec![files.clone()]);
        let error = why(&edge);
        assert!(
            error.contains(expected) && error.contains(place.to_str().unwrap()),
            "{error}"
        );
        let examined = examine(&edge);
        assert_eq!(examined.errors.len(), 1);
        assert!(examined.errors[0].in_words().starts_with(&error));
    }
    // All errors at once, before anything is started.
    let all = secure(&server, vec![expired, early, mixed, good]);
    assert_eq!(examine(&all).errors.len(), 3);
}

#[test]
fn a_reload_with_a_bad_certificate_keeps_the_old_one() {
    let server = Scripted::always(OK);
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (files(folder.path(), "good"), files(folder.path(), "bad"));
    put(&good, "a.example", (2020, 4000));
    put(&bad, "a.example", (2000, 2001));
    let observed = ObservedEdge::start(&secure(&server, vec![good]));
    let before = served_start_date(&observed);
    let refused = observed.reload(&secure(&server, vec![bad])).unwrap_err();
    assert!(refused.contains("has expired"), "{refused}");
    assert_eq!(served_start_date(&observed), before);
}

#[test]
fn a_certificate_that_is_renewed_is_used_without_a_reload() {
    let server = Scripted::always(OK);
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path(), "a");
    put(&files, "a.example", (2020, 4000));
    let observed = ObservedEdge::start(&secure(&server, vec![files.clone()]));
    assert!(served_start_date(&observed).contains("2020"));
    let mut kept = connect(observed.edge.address);
    put(&files, "a.example", (2021, 4000));
    observed.wait_for_message("was renewed; it is valid until");
    assert!(served_start_date(&observed).contains("2021"));
    // An unusable certificate changes nothing.
    put(&files, "a.example", (2000, 2001));
    // Between the writes of its two files the pair does not match, which may be reported before.
    let message = observed.wait_for_message("has expired");
    assert!(message.contains("the previous one stays"), "{message}");
    assert!(served_start_date(&observed).contains("2021"));
    std::fs::write(&files.cert, "half a file").unwrap();
    observed.wait_for_message("holds no certificate");
    put(&files, "a.example", (2022, 4000));
    observed.wait_for_message("was renewed");
    assert!(served_start_date(&observed).contains("2022"));
    std::io::Write::write_all(&mut kept, b"\x16").unwrap();
}

#[test]
fn what_is_most_likely_not_meant_is_told() {
    let server = Scripted::always(OK);
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path(), "a");
    let mut params =
        CertificateParams::new(["a.example".to_owned(), "*.b.example".to_owned()]).unwrap();
    let soon = rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(in_three_days());
    params.not_after = soon;
    let key = KeyPair::generate().unwrap();
    std::fs::write(&files.cert, params.self_signed(&key).unwrap().pem()).unwrap();
    std::fs::write(&files.key, key.serialize_pem()).unwrap();
    let mut edge = secure(&server, vec![files]);
    edge.routes = [
        "a.example",
        "x.b.example",
        "*.b.example",
        "c.example",
        "*.c.example",
    ]
    .map(|host| RouteConfig {
        matches: RouteMatch {
            hosts: vec![host.to_owned()],
            path: PathMatch::Any,
            ..RouteMatch::default()
        },
        ..RouteConfig::everything(0)
    })
    .into();
    let examined = examine(&edge);
    assert!(examined.errors.is_empty(), "{examined:?}");
    let warning_count = |words: &str| {
        examined
            .warnings
            .iter()
            .filter(|warning| warning.contains(words))
            .count()
    };
    assert_eq!(
        (
            warning_count("no certificate for `c.example`"),
            warning_count("no certificate for `*.c.example`"),
            warning_count("expires on")
        ),
        (1, 1, 1)
    );
    assert_eq!(examined.warnings.len(), 3, "{examined:?}");
    let observed = ObservedEdge::start(&edge);
    observed.wait_for_message("no certificate for `*.c.example`");
    observed.wait_for_message("expires on");
}

fn in_three_days() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap().as_secs() + 3 * 86_400
}
