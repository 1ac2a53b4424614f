//! What somebody meets who does not know the program: no arguments, no URL.

use std::io::Write as _;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use crate::support::Sandbox;

/// The binary on a terminal, with what is typed: its exit code and what the terminal shows.
fn on_terminal(place: &Sandbox, arguments: &str, typed: &str) -> (i32, String) {
    let line = format!("{} {arguments}", env!("CARGO_BIN_EXE_plimsoll"));
    let mut child = Command::new("script")
        .args(["-qec", line.trim_end(), "/dev/null"])
        .current_dir(place.path())
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    let shown = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    (output.status.code().unwrap(), shown)
}

#[test]
fn alone_it_tells_what_it_is_and_answers() {
    let place = Sandbox::new();
    let (code, shown) = on_terminal(&place, "", "");
    assert_eq!(code, 0, "{shown}");
    for text in [
        "How much does it carry?",
        "plimsoll limit http",
        "plimsoll compare",
        "plimsoll edge",
    ] {
        assert!(shown.contains(text), "{shown}");
    }
    // In a pipe it is a usage error, as of other programs.
    let output = place.run(&[]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stdout.is_empty() && output.stderr.contains("Usage: plimsoll"),
        "{output:?}"
    );
}

#[test]
fn limit_without_a_url_lists_what_listens_here() {
    // The list is in the order of ports and has an end. Other tests listen on higher ports.
    let place = Sandbox::new();
    let listener = (10_000..20_000)
        .find_map(|port| TcpListener::bind(("127.0.0.1", port)).ok())
        .unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let output = place.run(&["limit", "--quick"]);
    assert_eq!(output.code, 2, "{output:?}");
    let command = format!("plimsoll limit --quick {url}   # ");
    assert!(output.stderr.contains(&command), "{command}: {output:?}");
    assert!(
        output.stderr.contains(&format!("({})", std::process::id())),
        "{output:?}"
    );
    let (code, shown) = on_terminal(&place, "limit --quick", "\n");
    assert_eq!(code, 2, "{shown}");
    assert!(
        shown.contains("Which service?") && shown.contains(&url),
        "{shown}"
    );
    assert!(shown.contains("no service was chosen"), "{shown}");
    // What is typed takes the place of the URL: nothing listens there.
    let (code, shown) = on_terminal(&place, "limit --quick", "not a url\n");
    assert_eq!(code, 2, "{shown}");
    assert!(shown.contains("not a url"), "{shown}");
}
