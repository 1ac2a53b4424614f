//! Dates of cookies: a user of a plan, curl and Chromium keep and delete the same ones.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use plimsoll_testkit::browser;

use crate::support::Sandbox;

/// Dates, their Unix times by the RFC, and who decides otherwise.
const TABLE: &str = include_str!("../../../plimsoll-load/tests/it/cookie-dates.txt");

/// One date.
struct DateRow {
    date: &'static str,
    /// Unix time, seconds; `None` when it is no date.
    expected: Option<i64>,
    /// Programs that decide otherwise whether it deletes a cookie.
    others: &'static str,
}

impl DateRow {
    /// Whether a cookie with this date is deleted, by the RFC.
    fn deletes(&self) -> bool {
        self.expected.is_some_and(|at| at < 1_700_000_000)
    }
}

fn table() -> Vec<DateRow> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut columns = line.split('|').map(str::trim);
            DateRow {
                date: columns.next().unwrap(),
                expected: columns.next().unwrap().parse().ok(),
                others: columns.next().unwrap_or_default(),
            }
        })
        .collect()
}

/// An origin that sets a cookie for each date, then each again with its date, and shows what is sent then.
struct CookieOrigin {
    address: SocketAddr,
    /// The `Cookie` of each request for `/see`.
    observed: Arc<Mutex<Vec<String>>>,
}

impl CookieOrigin {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let observed = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&observed);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let log = Arc::clone(&log);
                std::thread::spawn(move || serve(&stream, &log));
            }
        });
        Self { address, observed }
    }

    /// Numbers of the dates whose cookies came back.
    fn kept(&self) -> Vec<usize> {
        let observed = self.observed.lock().unwrap().pop().unwrap();
        let names = observed
            .split("; ")
            .filter_map(|pair| pair.split('=').next());
        let mut numbers: Vec<usize> = names
            .filter_map(|name| name.strip_prefix('c')?.parse().ok())
            .collect();
        numbers.sort_unstable();
        numbers
    }
}

fn serve(stream: &TcpStream, observed: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut target, mut cookie) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            if !matches!(reader.read_line(&mut line), Ok(len) if len > 0) {
                return;
            }
            let line = line.trim_end();
            if target.is_empty() {
                line.split(' ')
                    .nth(1)
                    .unwrap_or("/")
                    .clone_into(&mut target);
            } else if let Some((name, value)) = line.split_once(": ")
                && name.eq_ignore_ascii_case("cookie")
            {
                value.clone_into(&mut cookie);
            } else if line.is_empty() {
                break;
            }
        }
        if target == "/see" {
            observed.lock().unwrap().push(cookie);
        }
        if (&*stream).write_all(answer(&target).as_bytes()).is_err() {
            return;
        }
    }
}

fn answer(target: &str) -> String {
    let rows = table();
    let (next, lines): (&str, String) = match target {
        "/in" => {
            let set = (0..rows.len()).map(|n| format!("Set-Cookie: c{n}=1; Path=/\r\n"));
            ("/out", set.collect())
        }
        "/out" => {
            let set = rows.iter().enumerate();
            let set =
                set.map(|(n, row)| format!("Set-Cookie: c{n}=1; Path=/; Expires={}\r\n", row.date));
            ("/see", set.collect())
        }
        _ => {
            return "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok"
                .to_owned();
        }
    };
    format!("HTTP/1.1 302 Found\r\nLocation: {next}\r\n{lines}Content-Length: 0\r\n\r\n")
}

/// Compares with the table; `program` is its name there, empty for the RFC itself. Where the table says that it decides
/// otherwise, it may: its versions differ.
#[track_caller]
fn check(kept: &[usize], program: &str) {
    let mut wrong = Vec::new();
    for (number, row) in table().iter().enumerate() {
        let may_differ = !program.is_empty() && row.others.split(' ').any(|name| name == program);
        let is_kept = kept.contains(&number);
        if is_kept == row.deletes() && !may_differ {
            let verb = if is_kept { "kept" } else { "deleted" };
            wrong.push(format!("{verb}: {}", row.date));
        }
    }
    assert!(wrong.is_empty(), "{program}: {wrong:#?}");
}

#[test]
fn users_of_a_plan_read_dates_as_the_rfc_says() {
    let origin = CookieOrigin::start();
    let place = Sandbox::new();
    let plan = format!(
        "target: http://{}\nsteps:\n  - get: /in\n    follow: 5\nload: {{ users: 1, iterations: 1 }}\n",
        origin.address
    );
    std::fs::write(place.path().join("plan.yaml"), plan).unwrap();
    place.run(&["run", "plan.yaml", "--quiet"]).assert_sent();
    check(&origin.kept(), "");
}

#[test]
fn curl_and_its_jar_agree_but_where_the_table_says() {
    let origin = CookieOrigin::start();
    let place = Sandbox::new();
    let jar = place.path().join("jar");
    let done = Command::new("curl")
        .args(["--silent", "--show-error", "--location", "--noproxy", "*"])
        .arg("--cookie-jar")
        .arg(&jar)
        .arg("--cookie")
        .arg(&jar)
        .arg(format!("http://{}/in", origin.address))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    check(&origin.kept(), "curl");
    // Its jar has the times of those that live on; 0 is until the end of the session.
    let rows = table();
    let written = std::fs::read_to_string(&jar).unwrap();
    let mut compared = 0;
    for line in written.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [.., expires, name, _] = columns.as_slice() else {
            continue;
        };
        let row = &rows[name.trim_start_matches('c').parse::<usize>().unwrap()];
        if row.others.is_empty() {
            assert_eq!(
                expires.parse::<i64>().unwrap(),
                row.expected.unwrap_or(0),
                "{}",
                row.date
            );
            compared += 1;
        }
    }
    assert!(compared > 0, "{written}");
}

#[test]
fn chromium_agrees_but_where_the_table_says() {
    let origin = CookieOrigin::start();
    let profile = tempfile::tempdir().unwrap();
    let done = browser::command(profile.path())
        .arg(format!("http://{}/in", origin.address))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    check(&origin.kept(), "chromium");
}
