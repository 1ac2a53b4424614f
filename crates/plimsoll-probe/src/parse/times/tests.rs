//! Configurations as they are written.

use proptest::prelude::*;

use super::*;

#[test]
fn times_have_units() {
    let all = ["60", "1m30s", "1500ms", "2d", "", "s", "1x", "auto"];
    let read = all.map(|text| seconds(text, 1.0));
    let right = [Some(60.0), Some(90.0), Some(1.5), Some(172_800.0)];
    assert_eq!(read[..4], right);
    assert_eq!(read[4..], [None; 4]);
    assert_eq!(seconds("5000", 1e-3), Some(5.0));
}

#[test]
fn what_a_block_of_nginx_says_holds_inside_it_wherever_it_stands() {
    let text = "events {}\nhttp {\n  server {\n    listen 8080;\n    location / { proxy_pass http://app/x; }\n\
        location /p { proxy_read_timeout 5s; fastcgi_pass unix:/run/p.sock; fastcgi_read_timeout 2m; }\n\
        location /v { proxy_pass http://$host; }\n  }\n  proxy_read_timeout 90;\n\
        upstream app { server 127.0.0.1:9001 weight=2; server 127.0.0.1:9002; keepalive 8; }\n  include more/*.conf;\n}\n";
    let mut asked = Vec::new();
    let servers = nginx("/n.conf", text, &mut |pattern| {
        asked.push(pattern.to_owned());
        let more = "server { listen 81; keepalive_timeout 10s; }";
        vec![("/more/a.conf".to_owned(), more.to_owned())]
    });
    assert_eq!(asked, ["more/*.conf"]);
    let hops: Vec<_> = servers[0]
        .hops
        .iter()
        .map(|hop| {
            let keeps = hop.keeps.as_ref().map(|limit| limit.seconds);
            (
                hop.to.as_str(),
                hop.waits.seconds,
                hop.waits.place.as_str(),
                keeps,
            )
        })
        .collect();
    let right = [
        ("127.0.0.1:9001", 90.0, "/n.conf:9", Some(60.0)),
        ("127.0.0.1:9002", 90.0, "/n.conf:9", Some(60.0)),
        ("/run/p.sock", 120.0, "/n.conf:6", None),
    ];
    assert_eq!(hops, right);
    let Ends::After(longest) = &servers[0].ends else {
        panic!("{servers:?}")
    };
    assert_eq!(
        (longest.word, longest.seconds),
        ("fastcgi_read_timeout", 120.0)
    );
    let keeps = servers[1].keeps.as_ref().unwrap();
    assert_eq!(
        (keeps.seconds, keeps.place.as_str()),
        (10.0, "/more/a.conf:1")
    );
    assert_eq!(
        (servers[1].hops.len(), &servers[1].ends),
        (0, &Ends::Unknown)
    );
}

#[test]
fn sections_of_haproxy_take_what_the_defaults_before_them_say() {
    let text = "global\n  maxconn 9\ndefaults\n  timeout client 30s\n  timeout server 50000 # ms\n  timeout queue 10s\n\
        frontend web\n  bind :80\n  default_backend app\nbackend app\n  timeout connect 2s\n  server a 127.0.0.1:1 check\n\
        backend other\n  server b 127.0.0.1:2\ndefaults\n  timeout client 1m\nlisten api\n  bind *:81,*:82\n  timeout server 9s\n\
        server c 127.0.0.1:3\n";
    let text = text.replace("\nserver c", "\n  server c");
    let servers = haproxy("/h.cfg", &text);
    let [web, api] = servers.as_slice() else {
        panic!("{servers:?}")
    };
    let [hop] = web.hops.as_slice() else {
        panic!("{web:?}")
    };
    assert_eq!(
        (hop.to.as_str(), hop.waits.seconds, hop.waits.place.as_str()),
        ("127.0.0.1:1", 50.0, "/h.cfg:5")
    );
    assert_eq!(hop.connects.as_ref().map(|limit| limit.seconds), Some(2.0));
    let Ends::After(whole) = &web.ends else {
        panic!("{web:?}")
    };
    assert_eq!((whole.word, whole.seconds), ("timeout server", 60.0));
    assert_eq!(web.keeps.as_ref().map(|limit| limit.seconds), Some(30.0));
    assert_eq!((api.listens.len(), api.hops[0].waits.seconds), (2, 9.0));
    assert_eq!(api.client.as_ref().map(|limit| limit.seconds), Some(60.0));
}

#[test]
fn addresses_are_the_same_however_they_are_written() {
    for (to, listen) in [
        ("127.0.0.1:9000", "127.0.0.1:9000"),
        ("localhost:80", "*:80"),
        ("127.0.0.1:80", "80"),
        ("127.0.0.1", "[::]:80"),
        ("/run/a.sock", "unix:/run/a.sock"),
    ] {
        assert!(is_at(to, listen), "{to} {listen}");
    }
    for (to, listen) in [
        ("127.0.0.1:9000", "127.0.0.2:9000"),
        ("10.1.2.3:80", "*:80"),
        ("/run/a.sock", "80"),
        ("127.0.0.1:9000", "9001"),
    ] {
        assert!(!is_at(to, listen), "{to} {listen}");
    }
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in "(proxy_pass|timeout|server|bind|[a-z{};:$ \n/0-9])*") {
        let _ = nginx("a", &text, &mut |_| Vec::new());
        let _ = (haproxy("a", &text), seconds(&text, 1.0), is_at(&text, &text));
    }
}
