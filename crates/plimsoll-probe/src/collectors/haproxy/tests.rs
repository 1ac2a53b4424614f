//! `HAProxy`'s statistics and configurations: texts of real programs, and generated texts.

use proptest::prelude::*;

use super::{configuration, parse};
use crate::collectors::discovery::ExaminedProcess;
use crate::files::Files;

/// Of HAProxy 2.6, shortened.
const HAPROXY: &str = "Name: HAProxy\nPid: 12\nMaxconn: 200\nCurrConns: 7\nIdle_pct: 93\n\n\
    # pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,econ,eresp,wretr,type,rate,cli_abrt,hrsp_5xx,qtime,ctime,rtime,ttime,desc\n\
    web,FRONTEND,,,5,9,100,70,1,,,,0,3,,4,,,,,\n\
    app,s1,2,8,20,20,20,60,1,1,0,3,2,3,9,4,12,0,104,117,\"a, b\"\n\
    app,BACKEND,11,40,31,60,20,60,1,1,0,3,1,3,9,4,12,0,104,117,\n\
    web,sock-1,,,5,9,100,70,1,,,,3,3,,,,,,,\n\n";

#[test]
fn haproxy_is_read_with_and_without_info() {
    let (info, csv) = parse::split(HAPROXY).unwrap();
    assert_eq!(parse::value(info, "Maxconn"), Some("200"));
    assert_eq!(parse::value(info, "Max"), None);
    let rows = parse::rows(csv);
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
    assert_eq!(parse::split(csv), Some(("", csv)));
    assert_eq!(parse::split("Permission denied\n"), None);
    let csv = "# pxname,svname,type,weight,bck,req_tot,\napp,s1,2,7,0,,\napp,s2,2,7,1,9,\n";
    let weights: Vec<_> = parse::rows(csv).iter().map(|row| row.weight).collect();
    assert_eq!(weights, [Some(7), Some(0)]);
    let requests: Vec<_> = parse::rows(csv).iter().map(|row| row.requests).collect();
    assert_eq!(requests, [None, Some(9)]);
}

#[test]
fn haproxy_configurations_are_read() {
    let text = "global\n  maxconn 2000 # all\n  stats socket /run/admin.sock mode 660 level admin\n  stats timeout 30s\n\
        listen web\n  maxconn 100\n  server maxconn 127.0.0.1:1 check maxconn 20\n  default-server maxconn 30\n\
        backend app\n  server s2 127.0.0.1:2\n  stats socket /not/here\n";
    let read = configuration::read(text);
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
    assert_eq!(read.threads, None);
    let threads = configuration::read("global\n  nbthread 2\ndefaults\n  nbthread 9\n").threads;
    let threads = threads.map(|limit| (limit.value, limit.line));
    assert_eq!(threads, Some((2, 2)));
}

#[test]
fn a_configuration_is_named_relative_to_the_folder_in_which_it_runs() {
    let root = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put(
        "srv/haproxy.cfg",
        "global\n  maxconn 100\n  stats socket /run/admin.sock\ndefaults\n  timeout server 10s\nfrontend fe\n  \
         bind 127.0.0.1:80\n  default_backend be\nbackend be\n  server a 127.0.0.1:8000 maxconn 2\n",
    );
    put(
        "proc/7/status",
        "Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t\n",
    );
    std::os::unix::fs::symlink(root.path(), root.path().join("proc/7/root")).unwrap();
    std::os::unix::fs::symlink(root.path().join("srv"), root.path().join("proc/7/cwd")).unwrap();
    let mut files = Files::new(root.path().to_owned());
    let words = ["haproxy", "-f", "haproxy.cfg"];
    let configs = super::settings::of_process(&mut files, 7, &words);
    let limits: Vec<_> = configs[0]
        .settings
        .iter()
        .map(|setting| (setting.of.as_str(), setting.value, setting.file.as_str()))
        .collect();
    assert_eq!(
        limits,
        [
            ("", 100.0, "haproxy.cfg:2"),
            ("be/a", 2.0, "haproxy.cfg:10")
        ]
    );
    assert_eq!(configs[0].at, "/run/admin.sock");
    let servers = super::timeouts::of_process(&mut files, 7, &words);
    assert_eq!(servers[0].hops[0].to, "127.0.0.1:8000");
    let mut found = Vec::new();
    super::discover::find(&mut ExaminedProcess {
        files: &mut files,
        pid: 7,
        comm: "haproxy",
        words: &words,
        auto: true,
        named: &[],
        found: &mut found,
    });
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(files.take_announced(), Vec::<String>::new());
}

proptest! {
    /// No response of a component crashes the probe.
    #[test]
    fn any_text_is_taken(text in any::<String>()) {
        let _ = parse::split(&text).map(|(_, csv)| parse::rows(csv));
        let _ = parse::rows(&text);
        let _ = configuration::read(&text);
    }

    /// The same, of texts that are nearly right.
    #[test]
    fn any_part_of_a_right_text_is_taken(from in 0..200_usize, to in 0..600_usize, put in "[{};'\"#,:\n0-9]{0,4}") {
        let (from, to) = (from.min(HAPROXY.len()), to.min(HAPROXY.len()));
        let text = format!("{}{put}{}", &HAPROXY[..from], &HAPROXY[to..]);
        let rows = parse::split(&text).map_or(Vec::new(), |(_, csv)| parse::rows(csv));
        prop_assert!(rows.len() <= 256);
    }
}
