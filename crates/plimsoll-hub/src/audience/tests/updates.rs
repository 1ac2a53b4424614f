//! Updates of several channels, which a reader of Mercure is given once.

use super::*;

/// A reader of Mercure that is subscribed to `a` and `b`, whose messages share one order.
fn reader_of_both(limits: AudienceLimits, capacity: usize) -> (Channels, Audience, Pipe) {
    let mut channels = channels();
    let position = Position {
        epoch: 7,
        offset: 0,
    };
    channels.begin_anew(position, 0);
    let mut audience = Audience::new(limits);
    let client = audience.enter(0, ClientFormat::Mercure);
    let mut pipe = Pipe {
        capacity,
        bytes: Vec::new(),
    };
    for name in ["a", "b"] {
        let subscription = channels.subscribe(0, name, None, LOOP).unwrap();
        audience
            .subscribe(client, &subscription, &mut pipe)
            .unwrap();
    }
    (channels, audience, pipe)
}

/// Delivers an update of these channels; returns how often it was given.
fn update(
    (channels, audience, pipe): (&mut Channels, &mut Audience, &mut Pipe),
    names: &[&str],
    at: u64,
) -> usize {
    let mut given = 0;
    for name in names {
        let data = format!("\"{}-{at}\"", names.join("+"));
        let taken = match names.len() {
            1 => channels.take(0, name, &data, at),
            _ => channels.take_copy(0, name, &data, at),
        };
        let Ok(Published::Sent(message, _)) = taken else {
            panic!("{taken:?}");
        };
        given += audience.deliver(&message, pipe);
    }
    given
}

#[test]
fn an_update_of_several_topics_is_given_once() {
    let (mut channels, mut audience, mut pipe) = reader_of_both(limits_of_tests(), usize::MAX);
    let other = audience.enter(0, ClientFormat::WebSocket);
    for name in ["a", "b"] {
        let subscription = channels.subscribe(0, name, None, LOOP).unwrap();
        audience.subscribe(other, &subscription, &mut pipe).unwrap();
    }
    let all = |place: &str| format!("id: #7:{place}\n");
    for (names, at, given) in [
        (&["a", "b"][..], 1, 3),
        (&["b"], 2, 2),
        (&["b", "a"], 3, 3),
        (&["a"], 4, 2),
    ] {
        assert_eq!(
            update((&mut channels, &mut audience, &mut pipe), names, at),
            given
        );
    }
    let text = String::from_utf8_lossy(&pipe.bytes).into_owned();
    for place in ["1", "2", "3", "4"] {
        assert_eq!(text.matches(&all(place)).count(), 1, "{text}");
    }
}

#[test]
fn after_a_loss_offsets_may_begin_again() {
    let (mut channels, mut audience, mut pipe) = reader_of_both(limits_of_tests(), usize::MAX);
    assert_eq!(
        update((&mut channels, &mut audience, &mut pipe), &["a", "b"], 1),
        1
    );
    let position = Position {
        epoch: 8,
        offset: 0,
    };
    channels.begin_anew(position, 0);
    while let Some(Published::Sent(notice, _)) = channels.next_notice() {
        audience.deliver(&notice, &mut pipe);
    }
    assert_eq!(
        update((&mut channels, &mut audience, &mut pipe), &["a", "b"], 1),
        1
    );
}

#[test]
fn a_newer_message_of_one_topic_does_not_replace_an_update_of_two() {
    let limits = AudienceLimits {
        waiting_max: 3,
        ..limits_of_tests()
    };
    let (mut channels, mut audience, mut pipe) = reader_of_both(limits, 0);
    for (names, at) in [(&["a"][..], 1), (&["a", "b"], 2), (&["a"], 3), (&["a"], 4)] {
        update((&mut channels, &mut audience, &mut pipe), names, at);
    }
    pipe.capacity = usize::MAX;
    let client = ClientId(0);
    assert!(audience.flush(client, &mut pipe));
    let text = String::from_utf8_lossy(&pipe.bytes).into_owned();
    let data: Vec<&str> = text.split("data: ").skip(1).map(str::trim_end).collect();
    // The first was replaced by the second, the third by the fourth; `b` still has its newest.
    assert_eq!(data.len(), 2, "{text}");
    assert!(
        data[0].starts_with("a+b-2") && data[1].starts_with("a-4"),
        "{text}"
    );
    assert_eq!(
        (audience.counts().delivered, audience.counts().dropped),
        (2, 2)
    );
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// The names of the bits that are set.
fn chosen(bits: u8) -> Vec<&'static str> {
    let names = NAMES.iter().enumerate();
    let set = names.filter(|(index, _)| bits >> index & 1 == 1);
    set.map(|(_, name)| *name).collect()
}

proptest! {
    #[test]
    fn every_reader_of_a_topic_gets_every_update_once(
        readers in prop::collection::vec(1_u8..16, 1..4),
        updates in prop::collection::vec(1_u8..16, 1..20),
    ) {
        let (mut channels, mut audience, _) = reader_of_both(limits_of_tests(), 0);
        // One outlet for each, so that everybody is read apart.
        let mut pipes = Vec::new();
        for &reads in &readers {
            let client = audience.enter(0, ClientFormat::Mercure);
            for name in chosen(reads) {
                let subscription = channels.subscribe(0, name, None, LOOP).unwrap();
                audience.join(client, &subscription).unwrap();
            }
            pipes.push(client);
        }
        let mut outlet = Apart::default();
        for (index, &topics) in updates.iter().enumerate() {
            let at = index as u64 + 1;
            for name in chosen(topics) {
                let taken = match topics.count_ones() {
                    1 => channels.take(0, name, "1", at),
                    _ => channels.take_copy(0, name, "1", at),
                };
                // Nobody may read this channel.
                if let Ok(Published::Sent(message, _)) = taken {
                    audience.deliver(&message, &mut outlet);
                }
            }
        }
        for (client, reads) in pipes.iter().zip(readers) {
            let expected: Vec<u64> = updates
                .iter()
                .zip(1..)
                .filter(|(topics, _)| *topics & reads != 0)
                .map(|(_, at)| at)
                .collect();
            prop_assert_eq!(outlet.ids(*client), expected);
        }
    }
}

/// Keeps the bytes of each client.
#[derive(Default)]
struct Apart(std::collections::BTreeMap<ClientId, Vec<u8>>);

impl Apart {
    /// The offsets of what a client was given.
    fn ids(&self, client: ClientId) -> Vec<u64> {
        let bytes = self.0.get(&client).map_or(&[][..], Vec::as_slice);
        let text = String::from_utf8_lossy(bytes);
        let ids = text.lines().filter_map(|line| line.strip_prefix("id: #7:"));
        ids.map(|id| id.parse().unwrap()).collect()
    }
}

impl Outlet for Apart {
    fn write(&mut self, client: ClientId, bytes: &[u8]) -> usize {
        self.0.entry(client).or_default().extend_from_slice(bytes);
        bytes.len()
    }
}
