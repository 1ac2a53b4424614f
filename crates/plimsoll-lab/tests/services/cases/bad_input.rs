//! What goes wrong is named, with its place and a remedy, and nothing is left.

use std::net::TcpListener;

use plimsoll_lab::service::{ApplyFault, ApplyFaultKind};

use plimsoll_testkit::origin::fault::{self, FaultOrigin, OriginFault};

use crate::fixture::Fixture;

pub(crate) const ALL: &[super::Case] = &[
    (
        "a_command_that_never_becomes_ready",
        a_command_that_never_becomes_ready,
    ),
    (
        "a_certificate_is_checked_as_in_plans",
        a_certificate_is_checked_as_in_plans,
    ),
    ("a_command_that_ends_early", a_command_that_ends_early),
    (
        "a_command_that_does_not_exist",
        a_command_that_does_not_exist,
    ),
    (
        "an_address_that_answers_before_the_start",
        an_address_that_answers_before_the_start,
    ),
    ("a_port_that_stays_taken", a_port_that_stays_taken),
    (
        "two_experiments_on_one_folder",
        two_experiments_on_one_folder,
    ),
];

/// The fault of applying the first cell and waiting for it.
fn fault_of(fixture: &Fixture, text: &str) -> ApplyFault {
    let mut services = fixture.open(text);
    let fault = match services.apply(0) {
        Err(fault) => fault,
        Ok(mut service) => {
            let fault = service.ready().unwrap_err();
            service.stop().unwrap();
            fault
        }
    };
    services.close().unwrap();
    fixture.is_clean();
    assert!(fault.is_of_trial(), "{fault}");
    assert!(!fault.remedy().is_empty(), "{fault}");
    fault
}

fn a_command_that_never_becomes_ready() {
    let fixture = Fixture::new();
    // Time enough for the service to start and to answer.
    let ready = format!(
        "ready: {{ http: \"http://127.0.0.1:{}/missing\", within: 3s }}",
        fixture.port
    );
    let apply = format!("command: [{}]", fixture.serve());
    let fault = fault_of(&fixture, &fixture.text(&apply, &ready));
    assert_eq!(fault.kind(), ApplyFaultKind::NotReady);
    let text = fault.to_string();
    assert!(text.contains("was not ready within 3s"), "{text}");
    assert!(
        text.contains("status 404") && text.contains("service-1-0.log"),
        "{text}"
    );
    let ready = "ready: { command: [\"false\"], within: 3s }";
    let fault = fault_of(&fixture, &fixture.text(&apply, ready));
    assert!(fault.to_string().contains("exit code 1"), "{fault}");
}

fn a_certificate_is_checked_as_in_plans() {
    let fixture = Fixture::new();
    let names = vec!["localhost".to_owned()];
    let origin = fault::start(OriginFault::Tls(names.clone())).unwrap();
    let other = fault::start(OriginFault::Tls(names)).unwrap();
    let pem = |origin: &FaultOrigin| origin.certificate_pem().unwrap().to_owned();
    fixture.write("ca.pem", pem(&origin).as_bytes());
    fixture.write("other.pem", pem(&other).as_bytes());
    fixture.write("prose.pem", b"nothing");
    let url = origin.url();
    fixture.write("conf.in", b"{{ level }}");
    // Nothing is started: what answers is there before.
    let text = |url: &str, more: &str| {
        format!(
            "axes: {{ level: [a, b] }}\n\
             measure: {{ url: \"http://127.0.0.1:1/\", loads: [10/s], for: 1s }}\n\
             ready: {{ http: {url:?}, within: 20s{more} }}\n\
             apply:\n  - file: {{ template: conf.in, to: server.conf }}\n"
        )
    };
    let by_address = format!("https://{}/", origin.address());
    for (url, more) in [
        (&url, ", ca_file: ca.pem"),
        (&url, ", insecure: true"),
        (&by_address, ", insecure: true"),
    ] {
        let mut services = fixture.open(&text(url, more));
        let mut service = services.apply(0).unwrap();
        service.ready().unwrap_or_else(|fault| panic!("{fault}"));
        service.stop().unwrap();
        services.close().unwrap();
    }
    for (url, more, part) in [
        (&url, "", "certificate"),
        (&url, ", ca_file: other.pem", "certificate"),
        (&by_address, ", ca_file: ca.pem", "certificate"),
        (&url, ", ca_file: absent.pem", "absent.pem"),
        (&url, ", ca_file: prose.pem", "no certificate"),
    ] {
        let fault = fault_of(&fixture, &text(url, more));
        assert_eq!(fault.kind(), ApplyFaultKind::NotReady);
        assert!(fault.to_string().contains(part), "{more}: {fault}");
        assert!(fault.remedy().contains("ca_file"), "{more}: {fault}");
    }
}

fn a_command_that_ends_early() {
    let fixture = Fixture::new();
    let script = "echo cannot read the configuration; exit 78";
    let apply = format!("command: [sh, -c, {script:?}]");
    let ready = format!("ready: 127.0.0.1:{}", fixture.port);
    let fault = fault_of(&fixture, &fixture.text(&apply, &ready));
    assert_eq!(fault.kind(), ApplyFaultKind::Command);
    let text = fault.to_string();
    assert!(
        text.contains("`sh` ended with exit code 78: cannot read the configuration"),
        "{text}"
    );
}

fn a_command_that_does_not_exist() {
    let fixture = Fixture::new();
    let fault = fault_of(
        &fixture,
        &fixture.text("command: [bin/absent, \"{{ level }}\"]", ""),
    );
    assert_eq!(fault.kind(), ApplyFaultKind::Command);
    let text = fault.to_string();
    assert!(
        text.contains("apply 1: `bin/absent` cannot be started: No such file"),
        "{text}"
    );
}

fn an_address_that_answers_before_the_start() {
    let fixture = Fixture::new();
    let _other = TcpListener::bind(("127.0.0.1", fixture.port)).unwrap();
    let ready = format!(
        "ready: {{ tcp: \"127.0.0.1:{}\", within: 300ms }}",
        fixture.port
    );
    let apply = format!("command: [{}]", fixture.serve());
    let fault = fault_of(&fixture, &fixture.text(&apply, &ready));
    assert_eq!(fault.kind(), ApplyFaultKind::PortTaken);
    let text = fault.to_string();
    assert!(
        text.contains("answers before the service is started"),
        "{text}"
    );
    let own = format!("(process {})", std::process::id());
    assert!(text.contains(&own), "{text}");
}

/// What listens there does not answer as the service would.
fn a_port_that_stays_taken() {
    let fixture = Fixture::new();
    let listener = TcpListener::bind(("127.0.0.1", fixture.port)).unwrap();
    let closing = std::thread::spawn(move || {
        // Each connection is closed without a response, until nothing comes for the last.
        for connection in listener.incoming().map_while(Result::ok) {
            let mut first = [0];
            if connection.peek(&mut first).unwrap_or(0) == 0 {
                return;
            }
        }
    });
    let fault = fault_of(&fixture, &fixture.serving("", ""));
    assert_eq!(fault.kind(), ApplyFaultKind::PortTaken);
    let text = fault.to_string();
    assert!(text.contains("ended with exit code 1"), "{text}");
    let own = format!("(process {}) listens there", std::process::id());
    assert!(text.contains(&own), "{text}");
    drop(std::net::TcpStream::connect(("127.0.0.1", fixture.port)));
    closing.join().unwrap();
}

fn two_experiments_on_one_folder() {
    let fixture = Fixture::new();
    let text = fixture.serving("", "");
    let first = fixture.open(&text);
    let refused = fixture.try_open(&text).unwrap_err();
    assert_eq!(refused.kind(), ApplyFaultKind::Journal);
    assert!(
        refused.to_string().contains("another experiment runs"),
        "{refused}"
    );
    first.close().unwrap();
    fixture.open(&text).close().unwrap();
}
