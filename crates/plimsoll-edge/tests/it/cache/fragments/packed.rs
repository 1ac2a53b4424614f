//! Bodies compressed by servers, and assembled pages compressed by the edge.

use std::io::{Read as _, Write as _};

use plimsoll_config::edge::Compress;

use super::super::{page, value};
use super::{body, html, site, with_esi};
use crate::programs::curl;
use crate::support::{connect, get, start};

fn gzip(text: &str) -> Vec<u8> {
    let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    coder.write_all(text.as_bytes()).unwrap();
    coder.finish().unwrap()
}

#[test]
fn compressed_bodies_are_put_together_too() {
    let packed = |lines: &str, text: &str| {
        let content = gzip(text);
        let head = format!(
            "HTTP/1.1 200 OK\r\n{lines}\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            content.len()
        );
        [head.into_bytes(), content].concat()
    };
    let origin = site(move |path, _| match path {
        "/kept" => packed(
            "Content-Type: text/html\r\nCache-Control: max-age=60",
            "a<esi:include src=\"/b\"/>c",
        ),
        "/passed" => packed(
            "Content-Type: text/html\r\nCache-Control: no-store",
            "a<esi:include src=\"/b\"/>c",
        ),
        "/plain" => packed(
            "Content-Type: text/html\r\nCache-Control: no-store",
            "no tag",
        ),
        _ => packed("Cache-Control: max-age=60", "b"),
    });
    let edge = start(&with_esi(origin.address));
    for path in ["/kept", "/kept", "/passed", "/passed"] {
        let answer = get(edge.address, path);
        assert_eq!(body(&answer), "abc", "{path}: {answer}");
        assert_eq!(value(&answer, "content-encoding"), "");
    }
    let line = b"GET /plain HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let mut client = connect(edge.address);
    client.write_all(line).unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    let content = gzip("no tag");
    assert_eq!(&answer[answer.len() - content.len()..], content);
}

#[test]
fn what_is_put_together_is_compressed_afterwards() {
    let text = "text ".repeat(2000);
    let whole = format!("{text}b{text}");
    let origin = site(move |path, _| match path {
        "/" => html(&format!("{text}<esi:include src=\"/b\"/>{text}")),
        "/plain" => html(&text),
        _ => page("Cache-Control: max-age=60", "b").into_bytes(),
    });
    let mut config = with_esi(origin.address);
    config.routes[0].compress = Some(Compress {
        cpu_share: 1.0,
        ..Compress::default()
    });
    let edge = start(&config);
    for _ in 0..2 {
        let url = format!("http://{}/", edge.address);
        let plain = curl(&["-s", &url]);
        assert_eq!(plain, whole);
        let packed = curl(&["-s", "--compressed", "-H", "Accept-Encoding: gzip", &url]);
        assert_eq!(packed, whole);
        let head = curl(&[
            "-s",
            "-D-",
            "-o/dev/null",
            "-H",
            "Accept-Encoding: gzip",
            &url,
        ]);
        let head = head.to_ascii_lowercase();
        assert!(head.contains("content-encoding: gzip\r\n"), "{head}");
        assert!(head.contains("vary: accept-encoding\r\n"), "{head}");
        let plain = format!("{url}plain");
        let packed = curl(&[
            "-s",
            "-D-",
            "--compressed",
            "-H",
            "Accept-Encoding: gzip",
            &plain,
        ]);
        assert!(
            packed
                .to_ascii_lowercase()
                .contains("content-encoding: gzip\r\n"),
            "{packed}"
        );
        assert!(packed.ends_with(&"text ".repeat(2000)));
    }
}
