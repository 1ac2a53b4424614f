//! Handling of hook verdicts about a client's commands.

use std::sync::Arc;

use hyper::body::Bytes;
use plimsoll_hub::{HubRefusal, protocol};
use serde_json::value::RawValue;

use super::{SubscriberConnection, access};
use crate::access::dialog::{Answered, Matter};
use crate::access::hooks::{HookVerdict, Hooks, replaced};
use crate::subscribers::local_hub::SubscriberTable;

impl SubscriberConnection {
    /// Sends the hook requests caused by the client's last command.
    pub(super) fn send_questions(
        &mut self,
        hooks: Option<&Arc<Hooks>>,
        subscribers: &mut SubscriberTable,
    ) {
        let user = self.user();
        let (Some(dialog), Some(hooks)) = (&mut self.dialog, hooks) else {
            return;
        };
        let Some(socket) = subscribers
            .sockets
            .get(self.id)
            .filter(|_| dialog.has_next())
        else {
            return;
        };
        let local_hub = &self.local_hub;
        let name = || local_hub.name_client();
        dialog.send_questions(
            hooks,
            &local_hub.links,
            user.as_deref(),
            name,
            socket.waker(),
        );
    }

    /// Applies the verdicts received meanwhile.
    pub(super) fn take_answers(&mut self, subscribers: &mut SubscriberTable) {
        let Some(dialog) = &mut self.dialog else {
            return;
        };
        for answered in dialog.take_answers() {
            if self.closing.may_send() {
                self.settle(answered, subscribers);
            }
        }
    }

    fn settle(&mut self, answered: Answered, subscribers: &mut SubscriberTable) {
        let Answered { question, verdict } = answered;
        let id = question.id.as_deref();
        let user = self.user();
        let speaker = self
            .local_hub
            .speaker(self.id, self.format, user.as_deref());
        let (gate, hooks, bounds) = self.local_hub.deciders();
        let allows = hooks
            .as_ref()
            .is_some_and(|hooks| hooks.config.allows_when_down);
        let mut access = access(
            (gate.as_deref(), hooks.as_deref(), &bounds),
            &mut self.grant,
            None,
            subscribers.audience.has_any(self.id),
        );
        let mut shards = self.local_hub.shards();
        let mut handler = subscribers.command_handler(&mut shards);
        match (question.matter, verdict) {
            (Matter::Subscribe(wanted), verdict) => match yes(verdict, allows) {
                Ok(_) => {
                    access.settled = std::slice::from_ref(&wanted.channel);
                    handler.fulfil(&speaker, &access, &wanted, id);
                }
                Err(why) => handler.send(&speaker, &protocol::denied(id, &wanted.channel, &why)),
            },
            (Matter::Publish { channel, data }, verdict) => match yes(verdict, allows) {
                Ok(body) => {
                    let replaced = replaced(&body).ok().flatten();
                    let data = replaced.map_or(data.as_str(), RawValue::get);
                    access.settled = std::slice::from_ref(&channel);
                    handler.publish(&speaker, &access, (&channel, data), id);
                }
                Err(why) => handler.send(&speaker, &protocol::denied(id, &channel, &why)),
            },
            (Matter::Send { .. }, verdict) => match (yes(verdict, false), id) {
                (Ok(body), Some(id)) => {
                    let body = std::str::from_utf8(&body).unwrap_or_default().trim();
                    let body = if body.is_empty() { "null" } else { body };
                    handler.send(&speaker, &protocol::answer(id, body));
                }
                (Ok(_), None) => {}
                (Err(why), id) => handler.send(&speaker, &protocol::unwelcome(id, &why)),
            },
        }
    }
}

/// The body of a positive response.
///
/// # Errors
/// A message for the client when it is denied, or when there is no response and that does not count as allowed.
fn yes(verdict: HookVerdict, allows_when_down: bool) -> Result<Bytes, String> {
    match verdict {
        HookVerdict::Yes(body) => Ok(body),
        HookVerdict::Down if allows_when_down => Ok(Bytes::new()),
        HookVerdict::No(why) => Err(why.unwrap_or_else(|| HubRefusal::Denied.to_string())),
        HookVerdict::Down => Err(HubRefusal::Unanswered.to_string()),
    }
}
