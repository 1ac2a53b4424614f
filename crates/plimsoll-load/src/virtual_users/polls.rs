//! Users who poll: where each is in it, and the messages in its answers.

use super::VirtualUsers;
use super::answers::answer;
use super::user_request::UserRequest;
use crate::polls::UserPoll;
use crate::scenario::program::CompiledPoll;

/// Messages that are read of one answer; further ones are ignored.
const MESSAGES_MAX: usize = 10_000;

impl VirtualUsers {
    /// A poll of the program.
    pub(crate) fn poll(&self, index: u32) -> &CompiledPoll {
        self.program.poll(index)
    }

    /// A user begins to poll.
    pub(crate) fn begin_poll(&mut self, id: u32, index: u32) {
        self.users[id as usize].poll = Some(Box::new(UserPoll::new(index)));
    }

    /// Takes what a user polls, if it does.
    pub(crate) fn take_poll(&mut self, id: u32) -> Option<Box<UserPoll>> {
        self.users.get_mut(id as usize)?.poll.take()
    }

    /// Puts it back.
    pub(crate) fn put_poll(&mut self, id: u32, poll: Box<UserPoll>) {
        if let Some(user) = self.users.get_mut(id as usize) {
            user.poll = Some(poll);
        }
    }

    /// Everything that users poll.
    pub(crate) fn polls_mut(&mut self) -> impl Iterator<Item = &mut UserPoll> {
        let users = self.users.iter_mut();
        users.filter_map(|(_, user)| user.poll.as_deref_mut())
    }

    /// Whether a user polls: its requests may fail, and are tried again.
    #[inline]
    pub(crate) fn is_polling(&self, id: u32) -> bool {
        let user = self.users.get(id as usize);
        user.is_some_and(|user| user.poll.is_some())
    }

    /// The name of the channel of a poll, whose answer is that of a call.
    pub(crate) fn poll_channel(
        &mut self,
        id: u32,
        index: u32,
        call: &UserRequest,
        now: u64,
    ) -> String {
        let name = match &self.program.poll(index).channel {
            None => call.path().to_vec(),
            Some(text) => {
                let user = &mut self.users[id as usize];
                text.filled(&mut user.values(&self.inputs, self.unix_ns + now).0)
            }
        };
        String::from_utf8_lossy(&name).into_owned()
    }

    /// The messages in the answer to a poll.
    pub(crate) fn poll_messages(&self, index: u32, call: &UserRequest) -> Vec<Vec<u8>> {
        let answer = answer(call, self.body_len_max);
        let Some(path) = &self.program.poll(index).messages else {
            let body = answer.body();
            return (!body.is_empty())
                .then(|| body.to_vec())
                .into_iter()
                .collect();
        };
        let Some(json) = answer.json() else {
            return Vec::new();
        };
        let found = path.query(json).into_iter().take(MESSAGES_MAX);
        found
            .filter_map(|message| serde_json::to_vec(message).ok())
            .collect()
    }
}
