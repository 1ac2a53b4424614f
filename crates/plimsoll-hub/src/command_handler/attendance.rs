//! Readers of Server-Sent Events, which send no commands: their request names all channels.

use std::sync::Arc;

use super::{CommandHandler, Rights, Shards, Speaker};
use crate::audience::{Outlet, len_of};
use crate::channels::Since;
use crate::message::{ClientFormat, HubMessage};
use crate::protocol;

/// The subscriptions of a reader, of which nothing was sent yet: the head of the response depends on them.
#[derive(Debug)]
pub struct Attendance {
    channels: Vec<AttendedChannel>,
    is_recovered: bool,
}

/// A channel of the request: the reply, if any, and what is sent at once.
#[derive(Debug)]
struct AttendedChannel {
    reply: Option<String>,
    missed: Vec<Arc<HubMessage>>,
}

impl Attendance {
    /// Whether everything is sent that the reader asked for.
    pub fn is_recovered(&self) -> bool {
        self.is_recovered
    }
}

impl<S: Shards, O: Outlet> CommandHandler<'_, S, O> {
    /// Subscribes a reader to channels, all at one moment. From one position at most one channel can recover, or all
    /// of them where they share one order of offsets.
    pub fn attend(
        &mut self,
        speaker: &Speaker<'_>,
        rights: &impl Rights,
        names: &[String],
        since: Since,
    ) -> Attendance {
        let (audience, outlet) = (&mut *self.audience, &mut *self.outlet);
        self.shards.at_one_moment(|shards| {
            let mut handler = CommandHandler {
                shards,
                audience,
                outlet,
            };
            let mut attendance = Attendance {
                channels: Vec::with_capacity(names.len()),
                is_recovered: true,
            };
            let mut queued = 0;
            for name in names {
                let channel = handler.attend_one(speaker, rights, (name, since), queued);
                queued += len_of(&channel.missed);
                attendance.is_recovered &= channel.reply.is_none();
                attendance.channels.push(channel);
            }
            attendance
        })
    }

    fn attend_one(
        &mut self,
        speaker: &Speaker<'_>,
        rights: &impl Rights,
        (name, since): (&str, Since),
        queued: usize,
    ) -> AttendedChannel {
        match self.join(speaker, rights, (name, since), queued) {
            Ok(subscription) => AttendedChannel {
                // Without an id there is a reply only if a recovery failed.
                reply: protocol::subscribed(None, name, &subscription),
                missed: subscription.missed,
            },
            Err(refusal) => AttendedChannel {
                reply: Some(protocol::refused(None, name, refusal)),
                missed: Vec::new(),
            },
        }
    }

    /// Sends what subscriptions began with. A reader of Mercure gets all its topics in one order, and an update of
    /// several of them once.
    pub fn begin(&mut self, speaker: &Speaker<'_>, attendance: Attendance) {
        let mut all = Vec::new();
        for AttendedChannel { reply, mut missed } in attendance.channels {
            if let Some(reply) = reply {
                self.send(speaker, &reply);
            }
            if speaker.format == ClientFormat::Mercure {
                all.append(&mut missed);
            } else {
                self.audience
                    .give_missed(speaker.client, &missed, self.outlet);
            }
        }
        all.sort_by_key(|message| message.offset());
        let format = speaker.format;
        all.dedup_by(|later, earlier| {
            later.offset() == earlier.offset()
                && later.bytes(format, &mut None) == earlier.bytes(format, &mut None)
        });
        self.audience.give_missed(speaker.client, &all, self.outlet);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Everything, Shelf};
    use super::*;
    use crate::audience::{Audience, limits_of_tests};
    use crate::channels::{ChannelLimits, Channels, Position, Subscriber};
    use crate::command_handler::OpenAccess;
    use crate::rules::Rules;

    /// What a reader of these channels gets, and whether that is everything.
    fn read(
        shelf: &mut Shelf,
        format: ClientFormat,
        names: &[&str],
        since: Since,
    ) -> (String, bool) {
        let mut audience = Audience::new(limits_of_tests());
        let mut outlet = Everything::default();
        let speaker = Speaker {
            client: audience.enter(0, format),
            format,
            subscriber: Subscriber {
                event_loop: 0,
                user: None,
            },
            now_ms: 0,
        };
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut handler = CommandHandler {
            shards: shelf,
            audience: &mut audience,
            outlet: &mut outlet,
        };
        let attendance = handler.attend(&speaker, &OpenAccess, &names, since);
        let is_recovered = attendance.is_recovered();
        handler.begin(&speaker, attendance);
        handler.dismiss(&speaker);
        (String::from_utf8(outlet.0).unwrap(), is_recovered)
    }

    /// Channels in one order with an update of `a` and `b` between two of one of them.
    fn shelf() -> Shelf {
        let limits = ChannelLimits {
            channels_max: 100,
            history_bytes_max: 1 << 20,
        };
        let mut channels = Channels::new(Rules::default(), limits, (1, 2), 1, (0, 1));
        let position = Position {
            epoch: 7,
            offset: 0,
        };
        channels.begin_anew(position, 0);
        channels.take(0, "b", "1", 1).unwrap();
        channels.take_copy(0, "a", "2", 2).unwrap();
        channels.take_copy(0, "b", "2", 2).unwrap();
        channels.take(0, "a", "3", 3).unwrap();
        channels.take(0, "b", "4", 4).unwrap();
        Shelf::new(channels)
    }

    fn event(offset: u32) -> String {
        format!("id: #7:{offset}\ndata: {offset}\n\n")
    }

    #[test]
    fn all_topics_come_in_one_order_and_an_update_of_two_once() {
        let mut shelf = shelf();
        let mercure = ClientFormat::Mercure;
        let all: String = (1..=4).map(event).collect();
        let both = ["a", "b"];
        let read_all = read(&mut shelf, mercure, &both, Since::Earliest);
        assert_eq!(read_all, (all.clone(), true));
        let since = Since::After(Position {
            epoch: 7,
            offset: 1,
        });
        let (text, is_recovered) = read(&mut shelf, mercure, &both, since);
        assert_eq!(
            (text.as_str(), is_recovered),
            (&all[event(1).len()..], true)
        );
        let (text, is_recovered) = read(&mut shelf, mercure, &both, Since::Now);
        assert_eq!((text.as_str(), is_recovered), ("", true));
    }

    #[test]
    fn who_names_an_unknown_id_is_told_of_a_gap() {
        let mut shelf = shelf();
        let notice = |offset| {
            format!(r#"{{"subscribed":"a","epoch":7,"offset":{offset},"recovered":false}}"#)
        };
        for since in [
            Since::Unknown,
            Since::After(Position {
                epoch: 6,
                offset: 1,
            }),
            Since::After(Position {
                epoch: 7,
                offset: 5,
            }),
        ] {
            let (text, is_recovered) = read(&mut shelf, ClientFormat::Mercure, &["a"], since);
            let expected = format!("event: plimsoll\ndata: {}\n\n", notice(4));
            assert_eq!((text, is_recovered), (expected, false), "{since:?}");
            let (text, _) = read(&mut shelf, ClientFormat::Sse, &["a"], since);
            assert_eq!(text, format!("data: {}\n\n", notice(4)), "{since:?}");
        }
    }

    #[test]
    fn readers_of_channels_get_one_after_the_other() {
        let (text, _) = read(
            &mut shelf(),
            ClientFormat::Sse,
            &["a", "b"],
            Since::Earliest,
        );
        let order: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("id: "))
            .collect();
        assert_eq!(order, ["7:2", "7:3", "7:1", "7:2", "7:4"]);
    }
}
