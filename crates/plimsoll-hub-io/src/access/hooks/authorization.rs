//! Authorization by the application before a request is answered.

use plimsoll_hub::command_handler::Rights as _;
use plimsoll_net::clock;

use super::{
    ClientIdentity, HookKind, HookRequest, HookVerdict, Hooks, Links, application, decide_reading,
};
use crate::access::connection_quota::ConnectionLimits;
use crate::access::token::{ClientAccess, Grant, TokenGate};

/// A client to authorize.
#[derive(Debug)]
pub struct AdmissionRequest {
    /// Its identity.
    pub person: ClientIdentity,
    /// The request's `?token=…`.
    pub token: Option<String>,
    /// Connection quotas.
    pub bounds: ConnectionLimits,
    /// Rights granted by its signed token.
    pub grant: Option<Box<Grant>>,
    /// Channels that a reader of Server-Sent Events requests.
    pub channels: Vec<String>,
}

/// An authorized client.
#[derive(Debug)]
pub struct Admission {
    /// Rights granted by its token, or by the application.
    pub grant: Option<Box<Grant>>,
    /// Channels that the application allows it to read.
    pub settled: Vec<String>,
}

/// A rejected client.
#[derive(Debug)]
pub struct Denied {
    /// Status of the response.
    pub status: u16,
    /// Text of the response.
    pub why: String,
    /// Whole header lines.
    pub extra: &'static str,
}

impl Hooks {
    /// Whether the application must authorize before a request is answered.
    pub fn must_authorize(&self, channels: &[String]) -> bool {
        self.config.connect.is_some() || !channels.is_empty() && decide_reading(&self.config)
    }

    /// Identifies a client, and authorizes the channels of a reader of events: there is no later chance to reject them.
    ///
    /// # Errors
    /// The response for a client that is rejected.
    pub async fn admit(
        &self,
        links: &Links,
        gate: Option<&TokenGate>,
        visit: AdmissionRequest,
    ) -> Result<Admission, Denied> {
        let timeout = self.config.timeout.saturating_mul(2);
        let admitting = self.decide(links, gate, visit);
        let decided = tokio::time::timeout(timeout, admitting).await;
        decided.unwrap_or_else(|_| Err(down()))
    }

    async fn decide(
        &self,
        links: &Links,
        gate: Option<&TokenGate>,
        visit: AdmissionRequest,
    ) -> Result<Admission, Denied> {
        let AdmissionRequest {
            person,
            token,
            bounds,
            mut grant,
            channels,
        } = visit;
        if self.config.connect.is_some() {
            let asked = HookRequest {
                address: &person.address,
                token: token.as_deref(),
                ..HookRequest::default()
            };
            let verdict = self
                .query(links, HookKind::Connect, &person.passed, &asked)
                .await;
            let mut leave = self.leave(verdict)?;
            let counted = leave.count(&bounds, token.as_deref(), None);
            counted.map_err(|why| Denied {
                status: 429,
                ..denied(Some(why.to_owned()))
            })?;
            grant = Some(Box::new(leave));
        }
        let settled = self
            .decide_reading(links, gate, (&person, &mut grant), channels)
            .await?;
        Ok(Admission { grant, settled })
    }

    /// Requested channels that only the application can allow.
    async fn decide_reading(
        &self,
        links: &Links,
        gate: Option<&TokenGate>,
        (person, grant): (&ClientIdentity, &mut Option<Box<Grant>>),
        channels: Vec<String>,
    ) -> Result<Vec<String>, Denied> {
        let mut settled = Vec::new();
        for channel in channels {
            let access = ClientAccess {
                gate,
                grant: &mut *grant,
                is_known: false,
                now_s: clock::unix_s(),
                hooks: Some(&self.config),
                dialog: None,
                settled: &[],
                bounds: None,
            };
            if access.may_subscribe(&channel) {
                continue;
            }
            if self.config.subscribe.is_none() {
                return Err(denied(None));
            }
            let asked = HookRequest {
                address: &person.address,
                user: access.user(),
                channel: Some(&channel),
                ..HookRequest::default()
            };
            let request = self.query(links, HookKind::Subscribe, &person.passed, &asked);
            match request.await {
                HookVerdict::Yes(_) => {}
                HookVerdict::No(why) => return Err(denied(why)),
                HookVerdict::Down if self.config.allows_when_down => {}
                HookVerdict::Down => return Err(down()),
            }
            settled.push(channel);
        }
        Ok(settled)
    }

    fn leave(&self, verdict: HookVerdict) -> Result<Grant, Denied> {
        match verdict {
            HookVerdict::Yes(body) => {
                application::leave(&body, clock::unix_s()).map_err(|_| denied(None))
            }
            HookVerdict::No(why) => Err(denied(why)),
            // Unidentified, and there is no later hook.
            HookVerdict::Down if self.config.allows_when_down => Ok(Grant::of_everything()),
            HookVerdict::Down => Err(down()),
        }
    }
}

fn denied(why: Option<String>) -> Denied {
    Denied {
        status: 403,
        why: why.unwrap_or_else(|| "the application does not allow it".to_owned()),
        extra: "",
    }
}

fn down() -> Denied {
    Denied {
        status: 503,
        why: "the application that authorizes clients is unavailable; retry in one second"
            .to_owned(),
        extra: "Retry-After: 1\r\n",
    }
}
