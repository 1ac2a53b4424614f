//! Metrics of components: texts of real programs, and generated texts.

use proptest::prelude::*;

use super::nginx::StubStatus;
use super::nginx_configuration::{self as configuration, StatusPage};
use super::{haproxy, haproxy_configuration, memcached, nginx, redis};

const STUB: &str = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630940 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n";

/// Of HAProxy 2.6, shortened.
const HAPROXY: &str = "Name: HAProxy\nPid: 12\nMaxconn: 200\nCurrConns: 7\nIdle_pct: 93\n\n\
    # pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,econ,eresp,wretr,type,rate,cli_abrt,hrsp_5xx,qtime,ctime,rtime,ttime,desc\n\
    web,FRONTEND,,,5,9,100,70,1,,,,0,3,,4,,,,,\n\
    app,s1,2,8,20,20,20,60,1,1,0,3,2,3,9,4,12,0,104,117,\"a, b\"\n\
    app,BACKEND,11,40,31,60,20,60,1,1,0,3,1,3,9,4,12,0,104,117,\n\
    web,sock-1,,,5,9,100,70,1,,,,3,3,,,,,,,\n\n";

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
    assert_eq!(nginx::stub_status(STUB), Some(right));
    for other in ["", "<html>\n", "Active connections: x\n", &STUB[..60]] {
        assert_eq!(nginx::stub_status(other), None, "{other}");
    }
}

#[test]
fn haproxy_is_read_with_and_without_info() {
    let (info, csv) = haproxy::split(HAPROXY).unwrap();
    assert_eq!(haproxy::value(info, "Maxconn"), Some("200"));
    assert_eq!(haproxy::value(info, "Max"), None);
    let rows = haproxy::rows(csv);
    let parsed: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row.proxy.as_str(),
                row.server.as_str(),
                row.queue,
                row.sessions,
                row.limit,
            )
        })
        .collect();
    assert_eq!(
        parsed,
        [
            ("web", "FRONTEND", None, Some(5), Some(100)),
            ("app", "s1", Some(2), Some(20), Some(20)),
            ("app", "BACKEND", Some(11), Some(31), Some(20)),
        ]
    );
    assert_eq!(rows[1].times_ms, [Some(12), Some(0), Some(104), Some(117)]);
    assert_eq!(rows[1].retries, Some(3));
    assert_eq!(haproxy::split(csv), Some(("", csv)));
    assert_eq!(haproxy::split("Permission denied\n"), None);
    let csv = "# pxname,svname,type,weight,bck,\napp,s1,2,7,0,\napp,s2,2,7,1,\n";
    let weights: Vec<_> = haproxy::rows(csv).iter().map(|row| row.weight).collect();
    assert_eq!(weights, [Some(7), Some(0)]);
}

#[test]
fn info_and_stats_are_read() {
    let info = redis::info(
        "# Server\r\nrun_id:a1\r\nexecutable:/usr/bin/redis:x\r\n\r\n# Clients\r\nconnected_clients:3\r\n",
    );
    assert_eq!(info.get("connected_clients"), Some(&"3"));
    assert_eq!(info.get("executable"), Some(&"/usr/bin/redis:x"));
    assert_eq!(redis::micros("12.034500"), Some(12_034_500));
    assert_eq!(redis::micros("3"), Some(3_000_000));
    assert_eq!(redis::micros("-1.5"), None);
    assert_eq!(redis::error_count("count=12"), Some(12));
    let field = "calls=3,usec=40123,usec_per_call=13374.33,rejected_calls=0";
    assert_eq!(redis::command(field), Some((3, 40_123)));
    assert_eq!(redis::command("usec=4"), None);
    let stats = memcached::stats("STAT pid 7\r\nSTAT version 1.6 x\r\nEND\r\n");
    assert_eq!(
        (stats.get("pid"), stats.get("version")),
        (Some(&"7"), Some(&"1.6 x"))
    );
}

#[test]
fn nginx_configurations_are_read_with_what_they_include() {
    let main = "worker_processes auto; # four\nevents {\n  worker_connections 64;\n}\nhttp { include conf.d/*.conf;\n\
        server { listen 80; location / { root /x; } } }\n";
    let status = "log_format a '{ \"x\": \"$y\" }';\nserver { server_name st;\n location = /s { stub_status on; allow 127.0.0.1; }\n\
        listen 127.0.0.1:8999; location ~ \"^/(a|b){1,2}$\" { stub_status; } set $z \"${y}};\"; }\n";
    let mut asked = Vec::new();
    let read = configuration::read("/etc/nginx.conf", main, &mut |pattern| {
        asked.push(pattern.to_owned());
        vec![("/etc/conf.d/s.conf".to_owned(), status.to_owned())]
    });
    assert_eq!(asked, ["conf.d/*.conf"]);
    assert_eq!(
        read.pages,
        [StatusPage {
            listen: vec!["127.0.0.1:8999".to_owned()],
            server_name: Some("st".to_owned()),
            path: "/s".to_owned(),
        }]
    );
    let connections = read.worker_connections.unwrap();
    assert_eq!((connections.value.as_str(), connections.line), ("64", 3));
    assert_eq!(read.worker_processes.unwrap().value, "auto");
}

#[test]
fn haproxy_configurations_are_read() {
    let text = "global\n  maxconn 2000 # all\n  stats socket /run/admin.sock mode 660 level admin\n  stats timeout 30s\n\
        listen web\n  maxconn 100\n  server maxconn 127.0.0.1:1 check maxconn 20\n  default-server maxconn 30\n\
        backend app\n  server s2 127.0.0.1:2\n  stats socket /not/here\n";
    let read = haproxy_configuration::read(text);
    assert_eq!(read.sockets, ["/run/admin.sock"]);
    let limits: Vec<_> = read
        .limits
        .iter()
        .map(|limit| (limit.of.as_str(), limit.value, limit.line))
        .collect();
    assert_eq!(
        limits,
        [
            ("", 2000, 2),
            ("web", 100, 6),
            ("web/maxconn", 20, 7),
            ("web/default-server", 30, 8)
        ]
    );
}

#[test]
fn a_file_that_includes_itself_ends() {
    let text = "include x; worker_processes 2;";
    let mut asked = 0;
    let read = configuration::read("x", text, &mut |_| {
        asked += 1;
        vec![("x".to_owned(), text.to_owned())]
    });
    assert!(asked < 20, "{asked}");
    assert!(read.worker_processes.is_some());
}

proptest! {
    /// No response of a component crashes the probe.
    #[test]
    fn any_text_is_taken(text in any::<String>()) {
        let _ = nginx::stub_status(&text);
        let _ = haproxy::split(&text).map(|(_, csv)| haproxy::rows(csv));
        let _ = haproxy::rows(&text);
        for value in redis::info(&text).values() {
            let _ = (redis::micros(value), redis::error_count(value));
        }
        let _ = (memcached::stats(&text), haproxy_configuration::read(&text));
        let _ = configuration::read("x", &text, &mut |_| Vec::new());
    }

    /// The same, of texts that are nearly right.
    #[test]
    fn any_part_of_a_right_text_is_taken(from in 0..200_usize, to in 0..600_usize, put in "[{};'\"#,:\n0-9]{0,4}") {
        for right in [STUB, HAPROXY, "a { b \"c\"; include d; server { stub_status; } }\n"] {
            let (from, to) = (from.min(right.len()), to.min(right.len()));
            let text = format!("{}{put}{}", &right[..from], &right[to..]);
            let _ = nginx::stub_status(&text);
            let rows = haproxy::split(&text).map_or(Vec::new(), |(_, csv)| haproxy::rows(csv));
            prop_assert!(rows.len() <= 256);
            let _ = configuration::read("x", &text, &mut |_| Vec::new());
        }
    }
}
