//! What one client wants of the application: asked, waited for, and handed back to whoever looks after the client.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use plimsoll_config::edge::HubHooks;
use plimsoll_hub::Refusal;
use plimsoll_hub::desk::Wish;
use plimsoll_hub::protocol::Wanted;
use serde_json::value::RawValue;

use super::hooks::{Asked, Hooks, Kind, Links, Person, Verdict};

/// One client's questions.
#[derive(Debug)]
pub(crate) struct Dialog {
    person: Person,
    /// Most subscriptions that are asked about at once.
    wanted_max: usize,
    /// What tells the client from all others; given to it when it sends something.
    name: Option<String>,
    /// Channels that are asked about, by the numbers of the questions. One that is wanted no longer has no name: the
    /// application is still busy with it, so it counts until the answer is there.
    wanted: Vec<(u64, Option<String>)>,
    /// Messages and publications that wait for an answer.
    waiting: u32,
    questions: u64,
    /// What is to be asked next.
    next: Vec<Question>,
    mail: Mail,
}

/// What was answered since somebody looked.
type Mail = Rc<RefCell<Vec<Answered>>>;

/// A question, and its answer.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) question: Question,
    pub(super) verdict: Verdict,
}

/// What is asked.
#[derive(Debug)]
pub(super) struct Question {
    number: u64,
    pub(super) matter: Matter,
    /// What the client's answer is to carry, as JSON.
    pub(super) id: Option<String>,
}

/// What it is about.
#[derive(Debug)]
pub(super) enum Matter {
    Subscribe(Wanted),
    Publish { channel: String, data: String },
    Send { data: String },
}

impl Dialog {
    pub(crate) fn new(person: Person, wanted_max: u32) -> Self {
        Self {
            person,
            wanted_max: wanted_max as usize,
            name: None,
            wanted: Vec::new(),
            waiting: 0,
            questions: 0,
            next: Vec::new(),
            mail: Mail::default(),
        }
    }

    /// Notes what the application is to be asked; whether it is.
    ///
    /// # Errors
    /// When too much waits for answers, or nobody takes what a client sends.
    pub(super) fn defer(
        &mut self,
        hooks: &HubHooks,
        wish: Wish<'_>,
        id: Option<&str>,
    ) -> Result<bool, Refusal> {
        let is_asked = match wish {
            Wish::Subscribe(_) => hooks.subscribe.is_some(),
            Wish::Publish(..) => hooks.publish.is_some(),
            Wish::Send(_) if hooks.messages.is_none() => return Err(Refusal::NotHeard),
            Wish::Send(_) => true,
        };
        if !is_asked {
            return Ok(false);
        }
        let number = self.questions;
        if let Wish::Subscribe(wanted) = wish {
            let is_this = |one: &Option<String>| one.as_ref() == Some(&wanted.channel);
            if self.wanted.iter().any(|(_, one)| is_this(one)) {
                return Err(Refusal::Subscribed);
            }
            if self.wanted.len() >= self.wanted_max {
                return Err(Refusal::TooManySubscriptions);
            }
            self.wanted.push((number, Some(wanted.channel.clone())));
        } else {
            if self.waiting >= hooks.per_client {
                return Err(Refusal::TooManyAsked);
            }
            self.waiting += 1;
        }
        self.questions += 1;
        self.next.push(Question {
            number,
            matter: match wish {
                Wish::Subscribe(wanted) => Matter::Subscribe(wanted.clone()),
                Wish::Publish(channel, data) => Matter::Publish {
                    channel: channel.to_owned(),
                    data: data.to_owned(),
                },
                Wish::Send(data) => Matter::Send {
                    data: data.to_owned(),
                },
            },
            id: id.map(str::to_owned),
        });
        Ok(true)
    }

    /// What tells the client from all others, if it was given that.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The client does not want a channel any more: it is not asked about, or an answer about it does nothing.
    pub(super) fn withdraw(&mut self, channel: &str) {
        let is_this = |(_, one): &(u64, Option<String>)| one.as_deref() == Some(channel);
        let Some(at) = self.wanted.iter().position(is_this) else {
            return;
        };
        let number = self.wanted[at].0;
        let before = self.next.len();
        self.next.retain(|question| question.number != number);
        if self.next.len() < before {
            self.wanted.swap_remove(at);
        } else {
            self.wanted[at].1 = None;
        }
    }

    /// Whether an answer is awaited.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting > 0 || !self.wanted.is_empty()
    }

    /// Whether there is something to ask.
    pub(super) fn has_next(&self) -> bool {
        !self.next.is_empty()
    }

    /// Asks what was noted. The waker is told of answers.
    pub(super) fn ask(
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
                let asked = Asked {
                    address: &person.address,
                    user: user.as_deref(),
                    ..Asked::default()
                };
                let verdict = question.put(&hooks, &links, &person, asked, &name).await;
                mail.borrow_mut().push(Answered { question, verdict });
                waker.wake();
            });
        }
    }

    /// What was answered, but for what nobody wants any more.
    pub(super) fn take_answers(&mut self) -> Vec<Answered> {
        let mut answers = std::mem::take(&mut *self.mail.borrow_mut());
        answers.retain(|answered| {
            let number = answered.question.number;
            if !matches!(answered.question.matter, Matter::Subscribe(_)) {
                self.waiting -= 1;
                return true;
            }
            let at = self.wanted.iter().position(|(one, _)| *one == number);
            at.is_some_and(|at| self.wanted.swap_remove(at).1.is_some())
        });
        answers
    }
}

impl Question {
    async fn put(
        &self,
        hooks: &Hooks,
        links: &Links,
        person: &Person,
        asked: Asked<'_>,
        name: &str,
    ) -> Verdict {
        let (kind, asked) = match &self.matter {
            Matter::Subscribe(wanted) => (
                Kind::Subscribe,
                Asked {
                    channel: Some(&wanted.channel),
                    ..asked
                },
            ),
            Matter::Publish { channel, data } => (
                Kind::Publish,
                Asked {
                    channel: Some(channel),
                    data: raw(data),
                    ..asked
                },
            ),
            Matter::Send { data } => (
                Kind::Messages,
                Asked {
                    client: Some(name),
                    data: raw(data),
                    ..asked
                },
            ),
        };
        hooks.ask(links, kind, &person.passed, &asked).await
    }
}

/// JSON that was looked at when it came.
fn raw(data: &str) -> Option<&RawValue> {
    serde_json::from_str(data).ok()
}

#[cfg(test)]
mod tests {
    use plimsoll_config::edge::Endpoint;

    use super::*;

    fn dialog() -> Dialog {
        let person = Person {
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

    fn wanted(channel: &str) -> Wanted {
        Wanted {
            channel: channel.to_owned(),
            since: None,
        }
    }

    fn answer(dialog: &mut Dialog) {
        let answered = dialog.next.drain(..).map(|question| Answered {
            question,
            verdict: Verdict::No(None),
        });
        dialog.mail.borrow_mut().extend(answered);
    }

    #[test]
    fn what_waits_for_answers_is_bounded() {
        let (mut dialog, hooks) = (dialog(), hooks());
        let [a, b, c] = ["a", "b", "c"].map(wanted);
        for wish in [
            Wish::Subscribe(&a),
            Wish::Subscribe(&b),
            Wish::Send("1"),
            Wish::Send("2"),
        ] {
            assert_eq!(dialog.defer(&hooks, wish, None), Ok(true));
        }
        for (wish, refusal) in [
            (Wish::Subscribe(&b), Refusal::Subscribed),
            (Wish::Subscribe(&c), Refusal::TooManySubscriptions),
            (Wish::Send("3"), Refusal::TooManyAsked),
        ] {
            assert_eq!(dialog.defer(&hooks, wish, None), Err(refusal));
        }
        // Nobody is asked about publications here.
        assert_eq!(
            dialog.defer(&hooks, Wish::Publish("a", "1"), None),
            Ok(false)
        );
        answer(&mut dialog);
        assert!(dialog.is_waiting());
        assert_eq!(dialog.take_answers().len(), 4);
        assert!(!dialog.is_waiting());
        for wish in [Wish::Subscribe(&c), Wish::Send("3")] {
            assert_eq!(dialog.defer(&hooks, wish, None), Ok(true));
        }
        let deaf = HubHooks {
            messages: None,
            ..hooks
        };
        assert_eq!(
            dialog.defer(&deaf, Wish::Send("4"), None),
            Err(Refusal::NotHeard)
        );
    }

    #[test]
    fn who_takes_a_wish_back_is_not_subscribed() {
        let (mut dialog, hooks) = (dialog(), hooks());
        let a = wanted("a");
        dialog
            .defer(&hooks, Wish::Subscribe(&a), Some("1"))
            .unwrap();
        dialog.withdraw("a");
        dialog
            .defer(&hooks, Wish::Subscribe(&a), Some("2"))
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
            let wish = wanted(&number.to_string());
            if dialog.defer(&hooks, Wish::Subscribe(&wish), None).is_ok() {
                // On its way to the application when it is taken back.
                asked.append(&mut dialog.next);
            }
            dialog.withdraw(&wish.channel);
        }
        assert_eq!(asked.len(), 2);
        dialog.next = asked;
        answer(&mut dialog);
        assert!(dialog.take_answers().is_empty() && !dialog.is_waiting());
        let wish = wanted("a");
        assert_eq!(dialog.defer(&hooks, Wish::Subscribe(&wish), None), Ok(true));
    }
}
