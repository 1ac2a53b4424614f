//! HTTP/2 to a real nginx: chosen within TLS, and in the clear.

use std::collections::BTreeSet;

use crate::nginx::NginxProcess;
use crate::support::{CommandOutput, Sandbox, count};
use plimsoll_testkit::origin::site;

const ANY: &str = "location / { default_type text/html; return 200 \"$request_id$request_id\"; }";

/// An nginx with TLS for localhost, and a folder in which its certificate is `ca.pem`.
fn secure(words: &str, locations: &str) -> (NginxProcess, Sandbox) {
    let place = Sandbox::new();
    let folder = tempfile::tempdir().unwrap();
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let pem = certified.cert.pem();
    std::fs::write(place.path().join("ca.pem"), &pem).unwrap();
    let (certificate, key) = (folder.path().join("own.pem"), folder.path().join("own.key"));
    std::fs::write(&certificate, &pem).unwrap();
    std::fs::write(&key, certified.signing_key.serialize_pem()).unwrap();
    let locations = format!(
        "ssl_certificate {}; ssl_certificate_key {}; {locations}",
        certificate.display(),
        key.display()
    );
    let nginx = NginxProcess::listening(&format!("ssl {words}"), &locations, folder);
    (nginx, place)
}

fn url(nginx: &NginxProcess) -> String {
    format!("https://localhost:{}/", nginx.port())
}

/// Runs with the certificate trusted.
fn run(place: &Sandbox, arguments: &[&str]) -> CommandOutput {
    let trusting = ["--cacert", "ca.pem", "--json"];
    place.run(&[arguments, &trusting[..]].concat())
}

/// Connections on which requests came, all by this protocol.
fn connections(nginx: &NginxProcess, protocol: &str) -> usize {
    let log = nginx.log();
    assert!(!log.is_empty());
    let other = log.iter().find(|line| line[0] != protocol);
    assert!(other.is_none(), "{other:?}");
    log.iter()
        .map(|line| &line[1])
        .collect::<BTreeSet<_>>()
        .len()
}

#[test]
fn it_is_chosen_within_tls_and_told() {
    let (nginx, place) = secure("http2", ANY);
    let url = url(&nginx);
    let load = [
        "run",
        &url,
        "--rate",
        "500/s",
        "--for",
        "2s",
        "--spacing",
        "even",
    ];
    let output = run(&place, &[&load[..], &["--http2"]].concat());
    // A late generator voids latencies, not the protocol.
    assert!([0, 6].contains(&output.code), "{output:?}");
    let json = output.json();
    assert_eq!(count(&json, "outcomes.ok"), 1000, "{json:#}");
    assert_eq!(json["protocol"]["h2"].as_u64(), Some(1000));
    assert!(json["protocol"]["http/1.1"].is_null());
    connections(&nginx, "HTTP/2.0");
    let output = run(&place, &load);
    assert_eq!(output.json()["protocol"]["http/1.1"].as_u64(), Some(1000));
}

#[test]
fn a_server_that_does_not_offer_it_is_spoken_to_by_http1() {
    let (nginx, place) = secure("", ANY);
    let url = url(&nginx);
    let load = [
        "run",
        &url,
        "--rate",
        "200/s",
        "--for",
        "1s",
        "--spacing",
        "even",
    ];
    let json = run(
        &place,
        &[&load[..], &["--http2", "--streams", "4"]].concat(),
    )
    .json();
    assert_eq!(json["protocol"]["http/1.1"].as_u64(), Some(200), "{json:#}");
    assert_eq!(count(&json, "outcomes.ok"), 200);
    connections(&nginx, "HTTP/1.1");
}

#[test]
fn it_is_spoken_in_the_clear_to_who_is_known_to() {
    let nginx = NginxProcess::listening("http2", ANY, tempfile::tempdir().unwrap());
    let place = Sandbox::new();
    let url = nginx.url();
    let load = ["run", &url, "--connections", "2", "--for", "1s", "--json"];
    let flags = ["--http2-prior-knowledge", "--streams", "8"];
    let json = place.run(&[&load[..], &flags[..]].concat()).json();
    let answered = count(&json, "outcomes.ok");
    // At least once on each stream; how often is the machine's matter.
    assert!(answered >= 2 * 8, "{json:#}");
    assert_eq!(answered, count(&json, "requests"));
    assert_eq!(json["protocol"]["h2"].as_u64(), Some(answered));
    assert_eq!(connections(&nginx, "HTTP/2.0"), 2);
    let output = place.run(&[&load[..], &["--http2"]].concat());
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("--http2-prior-knowledge"),
        "{output:?}"
    );
}

#[test]
fn a_server_that_closes_its_connections_again_and_again_loses_nothing() {
    let locations = format!("keepalive_requests 10; {ANY}");
    let (nginx, place) = secure("http2", &locations);
    let url = url(&nginx);
    let load = [
        "run",
        &url,
        "--rate",
        "1000/s",
        "--for",
        "2s",
        "--http2",
        "--streams",
        "8",
    ];
    let json = run(&place, &[&load[..], &["--max-connections", "4"]].concat()).json();
    assert_eq!(
        count(&json, "outcomes.ok"),
        count(&json, "requests"),
        "{json:#}"
    );
    assert!(count(&json, "requests") > 1500);
    assert!(connections(&nginx, "HTTP/2.0") > 100);
}

#[test]
fn the_search_speaks_it_too() {
    let (nginx, place) = secure("http2", ANY);
    let url = url(&nginx);
    let search = ["limit", &url, "--http2", "--at-least", "200/s", "--quick"];
    let output = place.two_gate_trials(&[&search[..], &["--cacert", "ca.pem", "--json"]].concat());
    // A machine that is too busy ends it as void, maybe before two trials.
    if output.code == 6 && output.measured().is_none() {
        return;
    }
    assert_eq!(output.code, 130, "{output:?}");
    let json = output.json();
    assert!(json["protocol"]["h2"].as_u64() > Some(500), "{json:#}");
    assert!(json["protocol"]["http/1.1"].is_null());
}

#[test]
fn people_log_in_and_load_pages_on_one_connection_each() {
    let site = site::start().unwrap();
    let pass = format!("location / {{ proxy_pass http://{}; }}", site.address());
    let (nginx, place) = secure("http2", &pass);
    let plan = format!(
        "target: {}\n\
         once:\n\
         \x20 - get: /login\n\
         \x20   capture: {{ csrf: 'value=\"([^\"]+)\"' }}\n\
         \x20 - post: /login\n\
         \x20   form: {{ username: ada, password: secret, csrf: \"{{{{ unescape(csrf) }}}}\" }}\n\
         \x20   expect: {{ status: 302, location: /home }}\n\
         steps:\n\
         \x20 - get: /home\n\
         \x20   expect: {{ contains: Hello ada }}\n\
         \x20 - page: /page\n\
         \x20   resources: [/items, /asset/d, /slow/20, /slow/20?again]\n\
         transport: {{ http: 2, ca_file: ca.pem }}\n\
         load: {{ users: 3, hold: 8s }}\n",
        url(&nginx)
    );
    std::fs::write(place.path().join("plan.yaml"), plan).unwrap();
    let output = place.run(&["run", "plan.yaml", "--json"]);
    // A late generator voids latencies, not the completed steps.
    assert!([0, 6].contains(&output.code), "{output:?}");
    let json = output.json();
    let ok = count(&json, "outcomes.ok");
    assert!(ok > 30 && ok == count(&json, "requests"), "{json:#}");
    assert_eq!(json["protocol"]["h2"].as_u64(), Some(ok));
    assert_eq!(connections(&nginx, "HTTP/2.0"), 3, "one for each user");
    let other = place
        .run(&["run", "plan.yaml", "--json", "--http1.1"])
        .json();
    assert!(other["protocol"]["h2"].is_null(), "{other:#}");
}
