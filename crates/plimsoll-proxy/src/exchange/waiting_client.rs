//! A client of an exchange that has waited in a waiting room.

/// What the waiting room must know when a server answers, and what the client is told then.
#[derive(Debug, Default)]
pub(super) struct WaitingClient {
    /// Its place, if its turn has come; and whether the client used TLS.
    number: Option<(u64, bool)>,
    /// A cookie that admits it past the waiting room.
    pass: Option<String>,
}

impl WaitingClient {
    pub(super) fn new(number: Option<(u64, bool)>, pass: Option<String>) -> Self {
        Self { number, pass }
    }

    pub(super) fn number(&self) -> Option<u64> {
        self.number.map(|(number, _)| number)
    }

    /// Takes its place, and whether it used TLS.
    #[inline]
    pub(super) fn take_number(&mut self) -> Option<(u64, bool)> {
        self.number.take()
    }

    /// It is admitted with this cookie.
    pub(super) fn admit(&mut self, pass: String) {
        self.pass = Some(pass);
    }

    #[inline]
    pub(super) fn pass(&self) -> Option<&str> {
        self.pass.as_deref()
    }

    pub(super) fn take_pass(&mut self) -> Option<String> {
        self.pass.take()
    }
}
