//! Client commands: within the limits or rejected; and a reply is always one line of JSON, or one event.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_hub::protocol::{CHANNELS_MAX, Command, done, failed};
use plimsoll_hub::sse;
use serde_json::Value;

fn check_command(text: &str) {
    let command = match Command::read(text) {
        Ok(command) => command,
        Err(error) => {
            let reply = failed(&error.to_string());
            assert!(serde_json::from_str::<Value>(&reply).is_ok(), "{reply}");
            return;
        }
    };
    assert!(command.subscribe.len() <= CHANNELS_MAX);
    assert!(command.unsubscribe.len() <= CHANNELS_MAX);
    if let Some(id) = command.id {
        let reply: Value = serde_json::from_str(&done(id)).expect("JSON");
        let given: Value = serde_json::from_str(id).expect("it was read as JSON");
        assert_eq!(reply["id"], given);
    }
}

/// The text of an event cannot begin another event or field.
fn check_event(text: &str) {
    let event = sse::event(Some((7, 5)), text);
    let lines = event.strip_prefix("id: 7:5\n").expect("the id");
    let lines = lines.strip_suffix("\n\n").expect("the end");
    for line in lines.split(['\n', '\r']) {
        assert!(line.starts_with("data: "), "{event:?}");
    }
}

fuzz_target!(|text: &str| {
    check_command(text);
    check_event(text);
    assert!(sse::channels(text).len() <= sse::CHANNELS_MAX + 1);
    if let Some((epoch, offset)) = sse::last_event_id(text) {
        let again = sse::last_event_id(&format!("{epoch}:{offset}"));
        assert_eq!(again, Some((epoch, offset)));
    }
});
