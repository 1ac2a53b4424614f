//! The process under load: an HTTP server that strains one resource on command.
//!
//! `BACKLOG PORT NOFILE STRAIN...` as arguments; prints its address, serves, strains after a line on standard input,
//! and ends with it.

use std::any::Any;
use std::fs::File;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Resource, Rlimit, setpriority_process, setrlimit};
use socket2::{Domain, Socket, Type};

/// First argument of the process.
pub(crate) const WORD: &str = "strain";

pub(crate) fn run(arguments: &[String]) {
    let number = |index: usize| -> u32 {
        let word = arguments.get(index);
        word.and_then(|word| word.parse().ok())
            .expect("numbers come first")
    };
    let (backlog, port, files) = (number(0), number(1), number(2));
    // Other work on the machine must not hide the strain. Needs root; without it the machine has to be idle.
    let _ = setpriority_process(None, -15);
    if files > 0 {
        let limit = Rlimit {
            current: Some(files.into()),
            maximum: Some(files.into()),
        };
        setrlimit(Resource::Nofile, limit).expect("a limit may be lowered");
    }
    let listener = listen(backlog, port);
    let address = listener
        .local_addr()
        .expect("a bound socket has an address");
    println!("{}", address.as_socket().expect("the socket is of IPv4"));
    let closed = Arc::new(AtomicBool::new(false));
    let serving = Arc::clone(&closed);
    std::thread::spawn(move || serve(&listener, &serving));
    let mut lines = io::stdin().lock();
    let mut line = String::new();
    let is_started = lines.read_line(&mut line).is_ok_and(|len| len > 0);
    let held = is_started.then(|| strain(&arguments[3..], &closed));
    let _ = lines.read_to_end(&mut Vec::new());
    drop(held);
}

/// A listener on loopback; port 0 for any.
pub(crate) fn listen(backlog: u32, port: u32) -> Socket {
    let port = u16::try_from(port).expect("a port has 16 bits");
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("sockets can be made");
    socket.set_reuse_address(true).expect("reuse can be set");
    socket
        .bind(&SocketAddr::from(([127, 0, 0, 1], port)).into())
        .expect("the port is free");
    let backlog = i32::try_from(backlog).expect("backlogs are small");
    socket.listen(backlog).expect("a bound socket can listen");
    socket
}

/// Accepts until closed, or until there is no descriptor left.
fn serve(listener: &Socket, closed: &AtomicBool) {
    while !closed.load(Ordering::Relaxed) {
        let Ok((connection, _)) = listener.accept() else {
            // Keeps listening without accepting, as a server without descriptors does.
            return park(listener);
        };
        std::thread::spawn(move || answer(connection.into()));
    }
    park(listener);
}

fn park(_listener: &Socket) {
    loop {
        std::thread::park();
    }
}

fn answer(mut connection: TcpStream) {
    let mut buffer = [0; 4096];
    let mut received = Vec::new();
    while let Ok(len) = connection.read(&mut buffer)
        && len > 0
    {
        received.extend_from_slice(&buffer[..len]);
        if received.ends_with(b"\r\n\r\n") {
            received.clear();
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            if connection.write_all(answer).is_err() {
                return;
            }
        }
    }
}

/// Strains; what it gives back is held until the process ends.
fn strain(words: &[String], closed: &AtomicBool) -> Box<dyn Any> {
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    let count: usize = word(1).parse().unwrap_or(0);
    match word(0) {
        "none" => Box::new(()),
        "stop-accepting" => {
            closed.store(true, Ordering::Relaxed);
            Box::new(())
        }
        "hoard" => {
            let files = std::iter::from_fn(|| File::open("/dev/null").ok());
            Box::new(files.collect::<Vec<File>>())
        }
        "spin" => {
            for _ in 0..count {
                let thread = std::thread::Builder::new().name("spin".to_owned());
                thread.spawn(spin).expect("threads can be started");
            }
            Box::new(())
        }
        "eat" => {
            let memory = (0..count).map(|_| vec![1_u8; 1 << 20]);
            Box::new(memory.collect::<Vec<_>>())
        }
        "threads" => {
            let spawn_parked = || std::thread::Builder::new().spawn(std::thread::park).ok();
            Box::new(std::iter::from_fn(spawn_parked).collect::<Vec<_>>())
        }
        "fill" => {
            let mut file = File::create(word(1)).expect("there is room for a name");
            while file.write_all(&[0; 4096]).is_ok() {}
            Box::new(file)
        }
        "dial" => {
            let upstream: SocketAddr = word(2).parse().expect("an address follows");
            let connections = (0..count).map_while(|_| TcpStream::connect(upstream).ok());
            Box::new(connections.collect::<Vec<_>>())
        }
        other => panic!("no such strain: {other}"),
    }
}

fn spin() {
    loop {
        std::hint::spin_loop();
    }
}
