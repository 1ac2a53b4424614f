//! The site as a client sees it, over a real socket.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};

use super::*;

fn plan(folder: &std::path::Path) -> SitePlan {
    SitePlan {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        nodes: 362,
        workers: 2,
        folder: folder.to_owned(),
    }
}

fn get(address: SocketAddr, method: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn serves_pages_and_stops() {
    let folder = tempfile::tempdir().unwrap();
    let site = serve(plan(folder.path())).unwrap();
    let address = site.address();
    let front = get(address, "GET", "/");
    assert!(front.starts_with("HTTP/1.1 200 OK\r\n"), "{front}");
    let nodes: u32 = front
        .split("x-dom-nodes: ")
        .nth(1)
        .unwrap()
        .split('\r')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!((349..=362).contains(&nodes), "{nodes}");
    assert!(get(address, "GET", "/article/7").contains("<h1 class=\"page__title\">"));
    assert!(get(address, "GET", "/health").ends_with("\r\n\r\nok\n"));
    assert!(get(address, "GET", "/nothing").starts_with("HTTP/1.1 404 Not Found\r\n"));
    assert!(get(address, "POST", "/").starts_with("HTTP/1.1 405 Method Not Allowed\r\n"));
    assert!(get(address, "HEAD", "/article/7").ends_with("\r\n\r\n"));
    site.stop();
    assert!(TcpStream::connect(address).is_err());
}

/// More concurrent requests than the queue holds: each gets a page or a refusal. The worker begins when all have come, for it
/// could keep up with a slow client.
#[test]
fn a_full_queue_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let path = store::prepare(folder.path()).unwrap();
    let (queue, queue_end) = workers::queue(1);
    let listener = server::listen(plan(folder.path()).listen).unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = watch::channel(false);
    let server = server::start(listener, queue, stopped).unwrap();
    let mut streams: Vec<TcpStream> = (0..400)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    for stream in &mut streams {
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .unwrap();
    }
    // It is answered after those before it were queued or refused.
    assert!(get(address, "GET", "/health").ends_with("ok\n"));
    let _site = SiteHandle {
        address,
        stop,
        server: Some(server),
        workers: workers::start(&queue_end, &path, 1, 1_000).unwrap(),
    };
    let statuses: Vec<String> = streams
        .iter_mut()
        .map(|stream| {
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer[9..12].to_owned()
        })
        .collect();
    let count = |status: &str| statuses.iter().filter(|found| *found == status).count();
    assert_eq!(count("200") + count("503"), 400, "{statuses:?}");
    assert!(
        count("200") >= 256 && count("503") > 0,
        "{} pages",
        count("200")
    );
}

#[test]
fn bad_plans_say_what_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let error = serve(SitePlan {
        nodes: 10,
        ..plan(folder.path())
    })
    .unwrap_err();
    assert_eq!(error.to_string(), "10 nodes per page: valid are 60 to 3000");
    let error = serve(SitePlan {
        workers: 0,
        ..plan(folder.path())
    })
    .unwrap_err();
    assert_eq!(error.to_string(), "0 workers: valid are 1 to 256");
    let first = serve(plan(folder.path())).unwrap();
    let error = serve(SitePlan {
        listen: first.address(),
        ..plan(folder.path())
    })
    .unwrap_err();
    assert!(
        error.to_string().starts_with("cannot listen on 127.0.0.1:"),
        "{error}"
    );
}
