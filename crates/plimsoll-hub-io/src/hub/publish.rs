//! Publishing at the admin address: `{"channel":"game-1","data":…}`, or a list of these.

use plimsoll_hub::channels::{HubRefusal, Published};
use plimsoll_hub::protocol::Publication;
use serde_json::{Value, json};

use super::ActiveHub;
use super::broker::Begun;

/// Longest request body, bytes.
pub const ORDER_LEN_MAX: usize = 4 << 20;
/// Maximum number of messages in one request.
const BATCH_MAX: usize = 10_000;
/// Expected form, for error messages.
const VALID: &str = "expected {\"channel\":\"game-1\",\"data\":…}, or a list of these";

/// Handles a publish request: status and body of the response.
pub async fn order(hub: &ActiveHub, body: &[u8]) -> (u16, Value) {
    if body.trim_ascii_start().starts_with(b"[") {
        return match serde_json::from_slice::<Vec<Publication<'_>>>(body) {
            Ok(batch) if batch.len() <= BATCH_MAX => list(hub, &batch).await,
            Ok(_) => (
                422,
                error_body(&format!("more than {BATCH_MAX} messages at once")),
            ),
            Err(error) => not_understood(&error),
        };
    }
    match serde_json::from_slice::<Publication<'_>>(body) {
        Ok(publication) => match end(begin(hub, &publication)).await {
            Ok(done) => (200, done),
            Err(refusal) => (status(refusal), error_body(&refusal.to_string())),
        },
        Err(error) => not_understood(&error),
    }
}

/// Publishes all of a list, whatever the outcome of each; the status is that of the first rejection.
async fn list(hub: &ActiveHub, batch: &[Publication<'_>]) -> (u16, Value) {
    let mut whole = 200;
    // All are started before the first is awaited.
    let begun: Vec<_> = batch
        .iter()
        .map(|publication| begin(hub, publication))
        .collect();
    let mut results = Vec::new();
    for pending in begun {
        results.push(end(pending).await.unwrap_or_else(|refusal| {
            if whole == 200 {
                whole = status(refusal);
            }
            error_body(&refusal.to_string())
        }));
    }
    (whole, json!({ "published": results }))
}

fn begin(hub: &ActiveHub, publication: &Publication<'_>) -> Result<Begun, HubRefusal> {
    let data = publication.data.get();
    hub.broker.begin_publishing(&publication.channel, data)
}

/// Its position, or why it has none.
async fn end(begun: Result<Begun, HubRefusal>) -> Result<Value, HubRefusal> {
    let position = match begun? {
        Begun::Done(Published::Sent(message, _)) => message.position(),
        Begun::Done(Published::Held | Published::Gathered(_)) => {
            return Ok(json!({ "held": true }));
        }
        Begun::Done(Published::Unheard) => return Ok(json!({ "unheard": true })),
        Begun::Pending(answer) => answer.await.unwrap_or(Err(HubRefusal::Unsure))?,
    };
    Ok(json!({ "epoch": position.epoch, "offset": position.offset }))
}

/// Response status of a rejection.
pub(super) fn status(refusal: HubRefusal) -> u16 {
    match refusal {
        HubRefusal::DataTooLong(_) => 413,
        HubRefusal::TooOften => 429,
        HubRefusal::SharedLogUnavailable
        | HubRefusal::Unsure
        | HubRefusal::Behind
        | HubRefusal::TooManyHeld
        | HubRefusal::TooManyChannels => 503,
        _ => 422,
    }
}

fn not_understood(error: &serde_json::Error) -> (u16, Value) {
    let why = format!("invalid message: {error}; {VALID}");
    (422, error_body(&why))
}

fn error_body(why: &str) -> Value {
    json!({ "fault": why })
}

#[cfg(test)]
mod tests {
    use plimsoll_config::edge::{self, HubRule};

    use super::*;
    use plimsoll_net::clock::EdgeClock;

    fn hub() -> ActiveHub {
        let mut config = edge::HubConfig::at("/live").unwrap();
        config.channels = vec![
            HubRule {
                history_max: 0,
                ..HubRule::of("silent")
            },
            HubRule {
                rate: Some(0.001),
                ..HubRule::of("rare")
            },
        ];
        ActiveHub::new(&config, None, 1, EdgeClock::start()).unwrap()
    }

    fn run_order(hub: &ActiveHub, body: &str) -> (u16, Value) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(order(hub, body.as_bytes()))
    }

    #[test]
    fn what_is_published_has_its_place() {
        let hub = hub();
        let (status, first) = run_order(&hub, r#"{"channel":"a","data":{"x":1}}"#);
        assert_eq!((status, &first["offset"]), (200, &json!(1)));
        assert!(first["epoch"].as_u64().unwrap() < 1 << 53);
        let (status, all) = run_order(
            &hub,
            r#" [{"channel":"a","data":2},{"channel":"silent","data":3}]"#,
        );
        assert_eq!(status, 200);
        assert_eq!(all["published"][0]["epoch"], first["epoch"]);
        assert_eq!(all["published"][0]["offset"], 2);
        assert_eq!(all["published"][1], json!({ "unheard": true }));
        assert_eq!(hub.view(&[]).published, 3);
    }

    #[test]
    fn what_is_refused_says_why() {
        let hub = hub();
        for (body, status, why) in [
            ("", 422, "invalid message: EOF"),
            (r#"{"channel":"a"}"#, 422, "missing field `data`"),
            (r#"{"channel":"a","data":1,"x":2}"#, 422, "unknown field"),
            (
                r#"{"channel":"","data":1}"#,
                422,
                "the channel name is empty",
            ),
            (r#"["a"]"#, 422, "expected {\"channel\""),
        ] {
            let (answered, reply) = run_order(&hub, body);
            let message = reply["fault"].as_str().unwrap().to_owned();
            assert!(
                answered == status && message.contains(why),
                "{body}: {answered} {message}"
            );
        }
        let long = format!(r#"{{"channel":"a","data":"{}"}}"#, "x".repeat(70_000));
        assert_eq!(run_order(&hub, &long).0, 413);
        let rare = r#"{"channel":"rare","data":1}"#;
        let (status, all) = run_order(&hub, &format!("[{rare},{rare},{rare}]"));
        assert_eq!(status, 429);
        assert_eq!(all["published"][0]["offset"], 1);
        assert!(
            all["published"][2]["fault"]
                .as_str()
                .unwrap()
                .contains("rate limit")
        );
    }
}
