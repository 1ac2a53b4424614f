//! The service: an HTTP server that dies, grows and fails on request.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

/// First argument of the service.
pub(crate) const SERVE: &str = "serve";
/// First argument of the edge.
pub(crate) const EDGE: &str = "edge";

/// Memory that was requested.
static GROWN: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// `PORT` as the argument. Its answer is the level and the number of the process.
pub(crate) fn serve(arguments: &[String]) -> ExitCode {
    let address = format!("127.0.0.1:{}", arguments[0]);
    let listener = match TcpListener::bind(&address) {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!("{address}: {error}");
            return ExitCode::FAILURE;
        }
    };
    for connection in listener.incoming().map_while(Result::ok) {
        std::thread::spawn(move || answer(connection));
    }
    ExitCode::SUCCESS
}

fn answer(mut connection: TcpStream) {
    let mut request = [0; 2048];
    let Ok(len) = connection.read(&mut request) else {
        return;
    };
    let text = String::from_utf8_lossy(&request[..len]).into_owned();
    let path = text.split(' ').nth(1).unwrap_or("/");
    if path == "/abort" {
        std::process::abort();
    }
    if let Some(mebibytes) = path.strip_prefix("/grow/") {
        let len: usize = mebibytes.parse().unwrap_or(0) << 20;
        // Not zero: such pages are shared.
        let memory = vec![1; len];
        GROWN
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(memory);
    }
    let status = if path == "/missing" {
        "404 Not Found"
    } else {
        "200 OK"
    };
    let variable = |name: &str| {
        let value = std::env::var_os(name).unwrap_or_default();
        value.to_string_lossy().into_owned()
    };
    let body = format!("{} {}", variable("LEVEL"), variable("PLIMSOLL_PROCESS"));
    let _ = write!(
        connection,
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}

/// `--listen ADDRESS --admin ADDRESS --config FILE` as arguments: prints what an edge prints, and waits for its end. A
/// file of the name `broken` is refused.
pub(crate) fn edge(arguments: &[String]) -> ExitCode {
    let configuration = arguments.last().cloned().unwrap_or_default();
    if configuration.ends_with("broken") {
        eprintln!("error: {configuration} is broken");
        return ExitCode::FAILURE;
    }
    let (Ok(listener), Ok(admin)) = (
        TcpListener::bind("127.0.0.1:0"),
        TcpListener::bind("127.0.0.1:0"),
    ) else {
        return ExitCode::FAILURE;
    };
    let address = |listener: &TcpListener| listener.local_addr().expect("it is bound");
    eprintln!(
        "edge at http://{}, to http://127.0.0.1:1",
        address(&listener)
    );
    eprintln!("admin at http://{}: /, /metrics", address(&admin));
    for connection in listener.incoming().map_while(Result::ok) {
        answer(connection);
    }
    ExitCode::SUCCESS
}
