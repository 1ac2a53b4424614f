use std::time::Duration;

use plimsoll_wire::request_head::{header_buffer, parse};

use super::*;

fn waiting_room() -> WaitingRoom {
    let config = WaitingRoomConfig {
        queue_len_max: 3,
        retry: Duration::from_secs(10),
        stay: Duration::from_mins(10),
        page: None,
    };
    WaitingRoom::new(&config, 7).unwrap()
}

fn decide(room: &WaitingRoom, cookie: Option<&str>, now: Nanoseconds) -> WaitingDecision {
    let cookie = cookie.map_or_else(String::new, |cookie| {
        let (pair, _) = cookie.split_once(';').unwrap();
        format!("Cookie: a=b; {pair}\r\nCookie: c=d\r\n")
    });
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{cookie}\r\n");
    let mut headers = header_buffer();
    let head = parse(request.as_bytes(), &mut headers).unwrap();
    room.decide(&head, now, false, 1)
}

fn place(decision: WaitingDecision) -> QueuePosition {
    match decision {
        WaitingDecision::Wait(place) => place,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_place_is_kept_by_its_cookie_and_by_no_other() {
    let (room, other) = (waiting_room(), waiting_room());
    let now = SECOND_NS;
    let first = place(room.join(now, 1));
    let first = room.page(&first, now, true).cookie.unwrap();
    assert!(first.ends_with("; Secure"));
    let second = place(decide(&room, None, now));
    assert_eq!(second.before, 1);
    let page = room.page(&second, now, false);
    assert!(page.content.contains(">2<") && page.retries_itself);
    let second = page.cookie.unwrap();
    assert!(second.contains("HttpOnly; SameSite=Lax"));
    assert_eq!(decide(&room, Some(&first), now), WaitingDecision::Try(1));
    let again = place(decide(&room, Some(&second), now));
    assert_eq!((again.number, again.before, again.is_new), (2, 1, false));
    // Forged numbers and cookies of another process are worthless.
    let forged = second.replacen("=w2.", "=w1.", 1);
    assert_eq!(place(decide(&room, Some(&forged), now)).before, 2);
    let foreign = place(other.join(now, 1));
    let foreign = other.page(&foreign, now, false).cookie.unwrap();
    assert_eq!(decide(&room, Some(&foreign), now), WaitingDecision::Full);
    // An admitted browser bypasses the line while its cookie is valid, and receives a new one in time.
    let pass = room.got_in(1, now, false);
    assert_eq!(
        decide(&room, Some(&pass), now + SECOND_NS),
        WaitingDecision::Past(None)
    );
    let later = now + 400 * SECOND_NS;
    assert!(matches!(
        decide(&room, Some(&pass), later),
        WaitingDecision::Past(Some(_))
    ));
    assert_eq!(room.len(), 2);
    let over = now + 601 * SECOND_NS;
    assert_eq!(
        decide(&room, Some(&pass), over),
        WaitingDecision::Past(None),
        "nobody waits any more"
    );
    place(room.join(over, 1));
    assert_eq!(place(decide(&room, Some(&pass), over)).before, 1);
    // A pass cannot be forged from a place.
    let forged = second.replacen("=w", "=p", 1);
    assert_eq!(place(decide(&room, Some(&forged), over)).before, 2);
}
