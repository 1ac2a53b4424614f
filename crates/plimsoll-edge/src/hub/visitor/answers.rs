//! What becomes of a client's wishes that the application decides about.

use std::sync::Arc;

use hyper::body::Bytes;
use plimsoll_hub::{Refusal, protocol};
use serde_json::value::RawValue;

use super::{Visitor, access};
use crate::hub::dialog::{Answered, Matter};
use crate::hub::hooks::{Hooks, Verdict, replaced};
use crate::hub::house::Room;

impl Visitor {
    /// Has the application asked what the client has just said.
    pub(super) fn ask(&mut self, hooks: Option<&Arc<Hooks>>, room: &mut Room) {
        let user = self.user();
        let (Some(dialog), Some(hooks)) = (&mut self.dialog, hooks) else {
            return;
        };
        let Some(seat) = room.seats.get(self.id).filter(|_| dialog.has_next()) else {
            return;
        };
        let house = &self.house;
        let name = || house.name_client();
        dialog.ask(hooks, &house.links, user.as_deref(), name, seat.waker());
    }

    /// Does what the application has decided meanwhile.
    pub(super) fn take_answers(&mut self, room: &mut Room) {
        let Some(dialog) = &mut self.dialog else {
            return;
        };
        for answered in dialog.take_answers() {
            if self.closing.may_send() {
                self.settle(answered, room);
            }
        }
    }

    fn settle(&mut self, answered: Answered, room: &mut Room) {
        let Answered { question, verdict } = answered;
        let id = question.id.as_deref();
        let user = self.user();
        let speaker = self.house.speaker(self.id, self.format, user.as_deref());
        let (gate, hooks, bounds) = self.house.deciders();
        let allows = hooks
            .as_ref()
            .is_some_and(|hooks| hooks.config.allows_when_down);
        let mut access = access(
            (gate.as_deref(), hooks.as_deref(), &bounds),
            &mut self.grant,
            None,
            room.audience.has_any(self.id),
        );
        let mut shards = self.house.shards();
        let mut desk = room.desk(&mut shards);
        match (question.matter, verdict) {
            (Matter::Subscribe(wanted), verdict) => match yes(verdict, allows) {
                Ok(_) => {
                    access.settled = std::slice::from_ref(&wanted.channel);
                    desk.fulfil(&speaker, &access, &wanted, id);
                }
                Err(why) => desk.say(&speaker, &protocol::denied(id, &wanted.channel, &why)),
            },
            (Matter::Publish { channel, data }, verdict) => match yes(verdict, allows) {
                Ok(body) => {
                    let replaced = replaced(&body).ok().flatten();
                    let data = replaced.map_or(data.as_str(), RawValue::get);
                    access.settled = std::slice::from_ref(&channel);
                    desk.publish(&speaker, &access, (&channel, data), id);
                }
                Err(why) => desk.say(&speaker, &protocol::denied(id, &channel, &why)),
            },
            (Matter::Send { .. }, verdict) => match (yes(verdict, false), id) {
                (Ok(body), Some(id)) => {
                    let body = std::str::from_utf8(&body).unwrap_or_default().trim();
                    let body = if body.is_empty() { "null" } else { body };
                    desk.say(&speaker, &protocol::answer(id, body));
                }
                (Ok(_), None) => {}
                (Err(why), id) => desk.say(&speaker, &protocol::unwelcome(id, &why)),
            },
        }
    }
}

/// The body of an answer that says yes.
///
/// # Errors
/// In words for the client, when it says no; or when there is none, and that is not taken for a yes.
fn yes(verdict: Verdict, allows_when_down: bool) -> Result<Bytes, String> {
    match verdict {
        Verdict::Yes(body) => Ok(body),
        Verdict::Down if allows_when_down => Ok(Bytes::new()),
        Verdict::No(why) => Err(why.unwrap_or_else(|| Refusal::Denied.to_string())),
        Verdict::Down => Err(Refusal::Unanswered.to_string()),
    }
}
