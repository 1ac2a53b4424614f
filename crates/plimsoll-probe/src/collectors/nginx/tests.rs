//! nginx' status page and configurations: texts of real programs, and generated texts.

use proptest::prelude::*;

use super::configuration::{self, StatusPage};
use super::parse::{StubStatus, stub_status};
use super::tree::NginxTree;

const STUB: &str = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630940 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n";

#[test]
fn stub_status_is_read() {
    let right = StubStatus {
        active: 291,
        accepts: 16_630_948,
        handled: 16_630_940,
        requests: 31_070_465,
        reading: 6,
        writing: 179,
        waiting: 106,
    };
    assert_eq!(stub_status(STUB), Some(right));
    for other in ["", "<html>\n", "Active connections: x\n", &STUB[..60]] {
        assert_eq!(stub_status(other), None, "{other}");
    }
}

#[test]
fn nginx_configurations_are_read_with_what_they_include() {
    let main = "worker_processes auto; # four\nevents {\n  worker_connections 64;\n}\nhttp { include conf.d/*.conf;\n\
        server { listen 80; location / { root /x; } } }\n";
    let status = "log_format a '{ \"x\": \"$y\" }';\nserver { server_name st;\n location = /s { stub_status on; allow 127.0.0.1; }\n\
        listen 127.0.0.1:8999; location ~ \"^/(a|b){1,2}$\" { stub_status; } set $z \"${y}};\"; }\n";
    let mut asked = Vec::new();
    let tree = NginxTree::read("/etc/nginx.conf", main.to_owned(), &mut |pattern| {
        asked.push(pattern.to_owned());
        vec![("/etc/conf.d/s.conf".to_owned(), status.to_owned())]
    });
    assert_eq!(asked, ["conf.d/*.conf"]);
    let read = configuration::read(&tree.directives);
    assert_eq!(
        read.pages,
        [StatusPage {
            listen: vec!["127.0.0.1:8999".to_owned()],
            path: "/s".to_owned(),
        }]
    );
    let connections = read.worker_connections.unwrap();
    assert_eq!(connections.value(), "64");
    assert_eq!(connections.place, "/etc/nginx.conf:3");
    assert_eq!(read.worker_processes.unwrap().value(), "auto");
}

#[test]
fn a_file_that_includes_itself_ends() {
    let text = "include x; worker_processes 2;";
    let mut asked = 0;
    let tree = NginxTree::read("x", text.to_owned(), &mut |_| {
        asked += 1;
        vec![("x".to_owned(), text.to_owned())]
    });
    assert!(asked < 20, "{asked}");
    assert!(
        configuration::read(&tree.directives)
            .worker_processes
            .is_some()
    );
}

proptest! {
    /// No response of a component crashes the probe.
    #[test]
    fn any_text_is_taken(text in any::<String>()) {
        let _ = stub_status(&text);
        let tree = NginxTree::read("x", text, &mut |_| Vec::new());
        let _ = configuration::read(&tree.directives);
    }

    /// The same, of texts that are nearly right.
    #[test]
    fn any_part_of_a_right_text_is_taken(from in 0..200_usize, to in 0..600_usize, put in "[{};'\"#,:\n0-9]{0,4}") {
        for right in [STUB, "a { b \"c\"; include d; server { stub_status; } }\n"] {
            let (from, to) = (from.min(right.len()), to.min(right.len()));
            let text = format!("{}{put}{}", &right[..from], &right[to..]);
            let _ = stub_status(&text);
            let tree = NginxTree::read("x", text, &mut |_| Vec::new());
            let _ = configuration::read(&tree.directives);
        }
    }
}
