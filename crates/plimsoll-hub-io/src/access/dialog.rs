//! Hook requests of one client: queued, sent, and their responses returned to the task that serves the client.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use plimsoll_config::edge::HubHooks;
use plimsoll_hub::HubRefusal;
use plimsoll_hub::command_handler::ClientRequest;
use plimsoll_hub::protocol::SubscriptionRequest;
use serde_json::value::RawValue;

use super::hooks::{ClientIdentity, HookKind, HookRequest, HookVerdict, Hooks, Links};

/// Hook requests of one client.
#[derive(Debug)]
pub struct Dialog {
    person: ClientIdentity,
    /// Maximum number of subscriptions in flight.
    pending_subscriptions_max: usize,
    /// Unique name of the client; assigned when it sends something.
    name: Option<String>,
    /// Channels in flight, by request number. A channel that is no longer wanted has no name: the application still
    /// works on it, so it counts until the response arrives.
    pending_subscriptions: Vec<(u64, Option<String>)>,
    /// Messages and publications in flight.
    waiting: u32,
    questions: u64,
    /// Requests to send next.
    next: Vec<Question>,
    mail: Mail,
}

/// Responses received since the last poll.
type Mail = Rc<RefCell<Vec<Answered>>>;

/// A request and its response.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) question: Question,
    pub(crate) verdict: HookVerdict,
}

/// The request.
#[derive(Debug)]
pub(crate) struct Question {
    number: u64,
    pub(crate) matter: Matter,
    /// Id that the reply to the client carries, as JSON.
    pub id: Option<String>,
}

/// Subject of a request.
#[derive(Debug)]
pub(crate) enum Matter {
    Subscribe(SubscriptionRequest),
    Publish { channel: String, data: String },
    Send { data: String },
}

impl Dialog {
    /// Nothing requested yet; at most `wanted_max` subscriptions.
    pub fn new(person: ClientIdentity, wanted_max: u32) -> Self {
        Self {
            person,
            pending_subscriptions_max: wanted_max as usize,
            name: None,
            pending_subscriptions: Vec::new(),
            waiting: 0,
            questions: 0,
            next: Vec::new(),
            mail: Mail::default(),
        }
    }

    /// Queues a request to the application; whether it was queued.
    ///
    /// # Errors
    /// When too many are in flight, or no hook accepts what a client sends.
    pub(crate) fn defer(
        &mut self,
        hooks: &HubHooks,
        request: ClientRequest<'_>,
        id: Option<&str>,
    ) -> Result<bool, HubRefusal> {
        let is_asked = match request {
            ClientRequest::Subscribe(_) => hooks.subscribe.is_some(),
            ClientRequest::Publish(..) => hooks.publish.is_some(),
            ClientRequest::Send(_) if hooks.messages.is_none() => {
                return Err(HubRefusal::NoMessageHook);
            }
            ClientRequest::Send(_) => true,
        };
        if !is_asked {
            return Ok(false);
        }
        let number = self.questions;
        if let ClientRequest::Subscribe(wanted) = request {
            let is_this = |name: &Option<String>| name.as_ref() == Some(&wanted.channel);
            if self
                .pending_subscriptions
                .iter()
                .any(|(_, name)| is_this(name))
            {
                return Err(HubRefusal::Subscribed);
            }
            if self.pending_subscriptions.len() >= self.pending_subscriptions_max {
                return Err(HubRefusal::TooManySubscriptions);
            }
            self.pending_subscriptions
                .push((number, Some(wanted.channel.clone())));
        } else {
            if self.waiting >= hooks.per_client {
                return Err(HubRefusal::TooManyPending);
            }
            self.waiting += 1;
        }
        self.questions += 1;
        self.next.push(Question {
            number,
            matter: match request {
                ClientRequest::Subscribe(wanted) => Matter::Subscribe(wanted.clone()),
                ClientRequest::Publish(channel, data) => Matter::Publish {
                    channel: channel.to_owned(),
                    data: data.to_owned(),
                },
                ClientRequest::Send(data) => Matter::Send {
                    data: data.to_owned(),
                },
            },
            id: id.map(str::to_owned),
        });
        Ok(true)
    }

    /// Unique name of the client, if assigned.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The client dropped a channel: a queued request is removed, a response in flight is ignored.
    pub(crate) fn withdraw(&mut self, channel: &str) {
        let is_this = |(_, name): &(u64, Option<String>)| name.as_deref() == Some(channel);
        let Some(at) = self.pending_subscriptions.iter().position(is_this) else {
            return;
        };
        let number = self.pending_subscriptions[at].0;
        let before = self.next.len();
        self.next.retain(|question| question.number != number);
        if self.next.len() < before {
            self.pending_subscriptions.swap_remove(at);
        } else {
            self.pending_subscriptions[at].1 = None;
        }
    }

    /// Whether a response is pending.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting > 0 || !self.pending_subscriptions.is_empty()
    }

    /// Whether a request is queued.
    pub(crate) fn has_next(&self) -> bool {
        !self.next.is_empty()
    }

    /// Sends the queued requests. The waker is woken by responses.
    pub(crate) fn send_questions(
        &mut self,
        hooks: &Arc<Hooks>,
        links: &Rc<Links>,
        user: Option<&str>,
        name: impl FnOnce() -> String,
        waker: &Waker,
    ) {
        let name = self.name.get_or_insert_with(name).clone();
        for question in self.next.drain(..) {
            let (hooks, links) = (Arc::clone(hooks), Rc::clone(links));
            let (person, mail) = (self.person.clone(), Rc::clone(&self.mail));
            let (user, name, waker) = (user.map(str::to_owned), name.clone(), waker.clone());
            tokio::task::spawn_local(async move {
                let asked = HookRequest {
                    address: &person.address,
                    user: user.as_deref(),
                    ..HookRequest::default()
                };
                let verdict = question.put(&hooks, &links, &person, asked, &name).await;
                mail.borrow_mut().push(Answered { question, verdict });
                waker.wake();
            });
        }
    }

    /// Responses received, except those that are no longer wanted.
    pub(crate) fn take_answers(&mut self) -> Vec<Answered> {
        let mut answers = std::mem::take(&mut *self.mail.borrow_mut());
        answers.retain(|answered| {
            let number = answered.question.number;
            if !matches!(answered.question.matter, Matter::Subscribe(_)) {
                self.waiting -= 1;
                return true;
            }
            let at = self
                .pending_subscriptions
                .iter()
                .position(|(id, _)| *id == number);
            at.is_some_and(|at| self.pending_subscriptions.swap_remove(at).1.is_some())
        });
        answers
    }
}

impl Question {
    async fn put(
        &self,
        hooks: &Hooks,
        links: &Links,
        person: &ClientIdentity,
        asked: HookRequest<'_>,
        name: &str,
    ) -> HookVerdict {
        let (kind, asked) = match &self.matter {
            Matter::Subscribe(wanted) => (
                HookKind::Subscribe,
                HookRequest {
                    channel: Some(&wanted.channel),
                    ..asked
                },
            ),
            Matter::Publish { channel, data } => (
                HookKind::Publish,
                HookRequest {
                    channel: Some(channel),
                    data: raw(data),
                    ..asked
                },
            ),
            Matter::Send { data } => (
                HookKind::Messages,
                HookRequest {
                    client: Some(name),
                    data: raw(data),
                    ..asked
                },
            ),
        };
        hooks.query(links, kind, &person.passed, &asked).await
    }
}

/// JSON that was validated on arrival.
fn raw(data: &str) -> Option<&RawValue> {
    serde_json::from_str(data).ok()
}

#[cfg(test)]
mod tests {
    use plimsoll_config::edge::Endpoint;

    use super::*;

    fn dialog() -> Dialog {
        let person = ClientIdentity {
            address: "::1".into(),
            passed: [].into(),
        };
        Dialog::new(person, 2)
    }

    fn hooks() -> HubHooks {
        let to = Endpoint {
            secure: false,
            host: "app".to_owned(),
            port: 1,
            target: "/".to_owned(),
            headers: Vec::new(),
        };
        HubHooks {
            subscribe: Some(to.clone()),
            messages: Some(to),
            per_client: 2,
            ..HubHooks::none()
        }
    }

    fn subscribe_request(channel: &str) -> SubscriptionRequest {
        SubscriptionRequest {
            channel: channel.to_owned(),
            since: None,
        }
    }

    fn answer(dialog: &mut Dialog) {
        let answered = dialog.next.drain(..).map(|question| Answered {
            question,
            verdict: HookVerdict::No(None),
        });
        dialog.mail.borrow_mut().extend(answered);
    }

    #[test]
    fn what_waits_for_answers_is_bounded() {
        let (mut dialog, hooks) = (dialog(), hooks());
        let [a, b, c] = ["a", "b", "c"].map(subscribe_request);
        for request in [
            ClientRequest::Subscribe(&a),
            ClientRequest::Subscribe(&b),
            ClientRequest::Send("1"),
            ClientRequest::Send("2"),
        ] {
            assert_eq!(dialog.defer(&hooks, request, None), Ok(true));
        }
        for (request, refusal) in [
            (ClientRequest::Subscribe(&b), HubRefusal::Subscribed),
            (
                ClientRequest::Subscribe(&c),
                HubRefusal::TooManySubscriptions,
            ),
            (ClientRequest::Send("3"), HubRefusal::TooManyPending),
        ] {
            assert_eq!(dialog.defer(&hooks, request, None), Err(refusal));
        }
        // No hook for publications here.
        assert_eq!(
            dialog.defer(&hooks, ClientRequest::Publish("a", "1"), None),
            Ok(false)
        );
        answer(&mut dialog);
        assert!(dialog.is_waiting());
        assert_eq!(dialog.take_answers().len(), 4);
        assert!(!dialog.is_waiting());
        for request in [ClientRequest::Subscribe(&c), ClientRequest::Send("3")] {
            assert_eq!(dialog.defer(&hooks, request, None), Ok(true));
        }
        let deaf = HubHooks {
            messages: None,
            ..hooks
        };
        assert_eq!(
            dialog.defer(&deaf, ClientRequest::Send("4"), None),
            Err(HubRefusal::NoMessageHook)
        );
    }

    #[test]
    fn who_takes_a_wish_back_is_not_subscribed() {
        let (mut dialog, hooks) = (dialog(), hooks());
        let a = subscribe_request("a");
        dialog
            .defer(&hooks, ClientRequest::Subscribe(&a), Some("1"))
            .unwrap();
        dialog.withdraw("a");
        dialog
            .defer(&hooks, ClientRequest::Subscribe(&a), Some("2"))
            .unwrap();
        answer(&mut dialog);
        let answers = dialog.take_answers();
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0].question.id.as_deref(), Some("2"));
    }

    #[test]
    fn who_takes_wishes_back_has_no_more_of_them_asked_about() {
        let (mut dialog, hooks) = (dialog(), hooks());
        let mut asked = Vec::new();
        for number in 0..100 {
            let request = subscribe_request(&number.to_string());
            if dialog
                .defer(&hooks, ClientRequest::Subscribe(&request), None)
                .is_ok()
            {
                // In flight when it is withdrawn.
                asked.append(&mut dialog.next);
            }
            dialog.withdraw(&request.channel);
        }
        assert_eq!(asked.len(), 2);
        dialog.next = asked;
        answer(&mut dialog);
        assert!(dialog.take_answers().is_empty() && !dialog.is_waiting());
        let request = subscribe_request("a");
        assert_eq!(
            dialog.defer(&hooks, ClientRequest::Subscribe(&request), None),
            Ok(true)
        );
    }
}
