//! A real browser and Mercure's protocol: an `EventSource` with a cookie, which loses its connection and returns.

use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::edge::RunningEdge;
use crate::hub::{Cable, browse, site, wait_for};
use crate::support::Sandbox;

/// Time-out for events that never happen.
const PATIENCE: Duration = Duration::from_mins(1);
/// Exactly as long as the block of the hash, so that it is its own key (RFC 2104).
const SECRET: &[u8; 64] = b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// A page as applications of Mercure have it.
const PAGE: &str = r#"<!doctype html><title>mercure</title><script>
  const report = (what, said) =>
    fetch(`http://SITE/report?${what}`, { method: "POST", mode: "no-cors", body: JSON.stringify(said) });
  document.cookie = "mercureAuthorization=TOKEN; path=/.well-known/mercure";
  const url = new URL("/.well-known/mercure", location.href);
  url.searchParams.append("topic", "https://a.example/books/1");
  url.searchParams.append("topic", "https://a.example/users/{id}");
  const events = new EventSource(url, { withCredentials: true });
  events.onopen = () => report("open", {});
  events.onerror = () => report("error", { state: events.readyState });
  events.onmessage = async (event) => {
    report("update", { id: event.lastEventId, data: event.data });
    if (event.data !== "go") return;
    const body = new URLSearchParams({ topic: "https://a.example/users/7", data: "from the browser", private: "on" });
    const answer = await fetch("/.well-known/mercure", { method: "POST", body });
    report("posted", { status: answer.status, id: await answer.text() });
  };
</script>"#;

/// A token with these claims for Mercure, signed (HS256).
fn token(claims: &Value) -> String {
    let claims = json!({ "exp": 4_000_000_000_u64, "mercure": claims });
    let sections = [json!({ "alg": "HS256", "typ": "JWT" }), claims];
    let signing_input = sections
        .map(|section| BASE64.encode(section.to_string()))
        .join(".");
    let pad = |with: u8| SECRET.map(|byte| byte ^ with);
    let inner = Sha256::new()
        .chain_update(pad(0x36))
        .chain_update(&signing_input)
        .finalize();
    let tag = Sha256::new()
        .chain_update(pad(0x5c))
        .chain_update(inner)
        .finalize();
    format!("{signing_input}.{}", BASE64.encode(tag))
}

/// Publishes as applications do; the id.
fn publish(edge: &RunningEdge, token: &str, topic: &str, data: &str) -> String {
    let done = Command::new("curl")
        .args(["-sS", "--fail-with-body", "--max-time", "60"])
        .args(["-H", &format!("Authorization: Bearer {token}")])
        .args(["--data-urlencode", &format!("topic={topic}")])
        .args(["--data-urlencode", &format!("data={data}")])
        .arg(format!("http://{}/.well-known/mercure", edge.address))
        .output()
        .expect("curl is installed: apt-get install curl");
    let output = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{output}");
    output
}

/// What was updated, in order.
fn updates(events: &[(String, Value)]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut all: Vec<_> = events
        .iter()
        .filter(|(what, _)| what == "update")
        .map(|(_, event)| (text(&event["id"]), text(&event["data"])))
        .collect();
    // Reports overtake each other.
    all.sort_by_key(|(id, _)| id.rsplit_once(':').unwrap().1.parse::<u64>().unwrap());
    all
}

#[test]
fn a_browser_speaks_mercure() {
    let place = Sandbox::new();
    let reader = token(&json!({
        "subscribe": ["https://a.example/users/{id}"], "publish": ["https://a.example/users/7"],
    }));
    let (site, reports) = site(&PAGE.replace("TOKEN", &reader));
    let text = format!(
        "pools: {{ site: {{ servers: [\"http://{site}\"] }} }}\nhub:\n  path: /live\n  mercure: true\n  tokens:\n    \
         secret: {}\n    public: https://a.example/books/*\n",
        std::str::from_utf8(SECRET).unwrap()
    );
    std::fs::write(place.path().join("edge.yaml"), text).unwrap();
    let edge = RunningEdge::start(&place, &["--config", "edge.yaml"]);
    let cable = Cable::to(edge.address);
    let _browser = browse(&format!("http://{}/", cable.address));
    wait_for(&reports, &["open"]);
    let publisher = token(&json!({ "publish": ["*"] }));
    let send_update = |topic: &str, data: &str| {
        let id = publish(
            &edge,
            &publisher,
            &format!("https://a.example/{topic}"),
            data,
        );
        (id, data.to_owned())
    };
    let mut sent = vec![send_update("books/1", "first")];
    let mut events = wait_for(&reports, &["update"]);
    cable.cut();
    wait_for(&reports, &["error"]);
    for number in 0..6 {
        let topic = ["books/1", "users/5", "users/6"][number % 3];
        sent.push(send_update(topic, &format!("missed\n{number}")));
    }
    // Not what it asked for.
    send_update("books/2", "another");
    cable.mend();
    while updates(&events).len() < sent.len() {
        events.extend(wait_for(&reports, &["update"]));
    }
    assert_eq!(updates(&events), sent);
    sent.push(send_update("users/5", "go"));
    while updates(&events).len() < sent.len() + 1 || events.iter().all(|(what, _)| what != "posted")
    {
        events.push(reports.recv_timeout(PATIENCE).unwrap());
    }
    let (_, posted) = events.iter().find(|(what, _)| what == "posted").unwrap();
    assert_eq!(posted["status"], 200, "{posted}");
    let id = posted["id"].as_str().unwrap().to_owned();
    sent.push((id, "from the browser".to_owned()));
    assert_eq!(updates(&events), sent);
}
