//! Signed tokens (JSON Web Tokens, RFC 7519) with the rights of a hub client. Pure: the time is passed in.
//!
//! The key determines the algorithm; the token's own header must match and determines nothing.

use std::fmt;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use plimsoll_config::edge::{HubHooks, HubKey, HubTokens};
use plimsoll_hub::HubRefusal;
use plimsoll_hub::command_handler::{ClientRequest, Rights};
use plimsoll_hub::pattern::Pattern;
use plimsoll_hub::subscriptions::is_reserved;
use plimsoll_hub::topics::{Selector, bounded};
use ring::{hmac, signature};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::connection_quota::{ConnectionLimits, ConnectionSlot};
use super::dialog::Dialog;
use super::hooks::decide_reading;

/// Longest token, bytes.
const LEN_MAX: usize = 8192;
/// Maximum number of patterns of one kind in a token.
const PATTERNS_MAX: usize = 100;
/// Longest user name, bytes.
const USER_LEN_MAX: usize = 200;
/// Tolerated lead of the signer's clock, s.
const AHEAD_S: f64 = 30.0;

/// Verifies tokens.
pub struct TokenGate {
    key: VerificationKey,
    audience: Option<String>,
    public: Vec<Pattern>,
}

enum VerificationKey {
    Secret(hmac::Key),
    Rsa(Vec<u8>),
    P256(Vec<u8>),
}

/// Rights granted by a token, until it expires.
#[derive(Debug)]
pub struct Grant {
    subscribe: Vec<Pattern>,
    publish: Vec<Pattern>,
    /// Mercure claims: topics that may be read, and topics that may be published to.
    topics: Vec<Selector>,
    posts: Vec<Selector>,
    /// What a Mercure token attaches to subscriptions: JSON.
    payload: Option<Box<RawValue>>,
    /// The user.
    user: Option<Rc<str>>,
    /// Expiry, s since 1970.
    until_s: f64,
    /// Quota slots of the connection.
    places: Vec<ConnectionSlot>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    /// Critical extensions, none of which is supported.
    crit: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Claims {
    exp: Option<f64>,
    nbf: Option<f64>,
    aud: Option<Audience>,
    sub: Option<String>,
    #[serde(default)]
    subscribe: Vec<String>,
    #[serde(default)]
    publish: Vec<String>,
    #[serde(default)]
    mercure: Topics,
}

/// Mercure claims of a token.
#[derive(Default, Deserialize)]
struct Topics {
    #[serde(default)]
    subscribe: Vec<String>,
    #[serde(default)]
    publish: Vec<String>,
    payload: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    Single(String),
    Several(Vec<String>),
}

impl TokenGate {
    pub(crate) fn new(config: &HubTokens) -> Self {
        Self {
            key: match &config.key {
                HubKey::Secret(secret) => {
                    VerificationKey::Secret(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()))
                }
                HubKey::Rsa(der) => VerificationKey::Rsa(der.clone()),
                HubKey::P256(point) => VerificationKey::P256(point.clone()),
            },
            audience: config.audience.clone(),
            public: config
                .public
                .iter()
                .map(|pattern| Pattern::new(pattern))
                .collect(),
        }
    }

    /// Whether everybody may read a channel.
    pub(crate) fn is_public(&self, channel: &str) -> bool {
        self.public.iter().any(|pattern| pattern.matches(channel))
    }

    /// Verifies a token and returns its rights.
    ///
    /// # Errors
    /// A message, when it grants nothing.
    pub fn admit(&self, token: &str, now_s: f64) -> Result<Grant, &'static str> {
        const FORM: &str = "the token is not a signed JWT";
        if token.len() > LEN_MAX {
            return Err("the token is longer than 8192 bytes");
        }
        let (signing_input, signature) = token.rsplit_once('.').ok_or(FORM)?;
        let (header, claims) = signing_input.split_once('.').ok_or(FORM)?;
        let decode = |segment: &str| BASE64.decode(segment).map_err(|_| FORM);
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| FORM)?;
        if header.alg != self.key.algorithm() || header.crit.is_some() {
            return Err(self.key.other());
        }
        if !self
            .key
            .has_signed(signing_input.as_bytes(), &decode(signature)?)
        {
            return Err("the signature of the token is invalid");
        }
        let claims = serde_json::from_slice(&decode(claims)?);
        let claims: Claims = claims.map_err(|_| {
            "the token has invalid claims: exp must be in seconds, subscribe and publish must be lists of patterns"
        })?;
        self.grant(claims, now_s)
    }

    fn grant(&self, claims: Claims, now_s: f64) -> Result<Grant, &'static str> {
        let until_s = claims.exp.ok_or("the token has no expiry (exp)")?;
        if until_s <= now_s {
            return Err("the token has expired");
        }
        if claims.nbf.is_some_and(|begin| begin > now_s + AHEAD_S) {
            return Err("the token is not valid yet");
        }
        let is_meant = |wanted: &String| match &claims.aud {
            Some(Audience::Single(audience)) => audience == wanted,
            Some(Audience::Several(all)) => all.contains(wanted),
            None => false,
        };
        if self
            .audience
            .as_ref()
            .is_some_and(|wanted| !is_meant(wanted))
        {
            return Err("the token is for another audience");
        }
        let mut grant = Grant::new(
            claims.sub,
            &claims.subscribe,
            &claims.publish,
            until_s,
            now_s,
        )?;
        grant.add_topics(claims.mercure)?;
        Ok(grant)
    }
}

fn selectors(texts: &[String]) -> Vec<Selector> {
    texts.iter().map(|text| Selector::new(text)).collect()
}

impl VerificationKey {
    fn algorithm(&self) -> &'static str {
        match self {
            Self::Secret(_) => "HS256",
            Self::Rsa(_) => "RS256",
            Self::P256(_) => "ES256",
        }
    }

    fn other(&self) -> &'static str {
        match self {
            Self::Secret(_) => "the token is not signed as HS256",
            Self::Rsa(_) => "the token is not signed as RS256",
            Self::P256(_) => "the token is not signed as ES256",
        }
    }

    fn has_signed(&self, signing_input: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Secret(key) => hmac::verify(key, signing_input, signature).is_ok(),
            Self::Rsa(der) => {
                let scheme = &signature::RSA_PKCS1_2048_8192_SHA256;
                signature::UnparsedPublicKey::new(scheme, der)
                    .verify(signing_input, signature)
                    .is_ok()
            }
            Self::P256(point) => {
                let scheme = &signature::ECDSA_P256_SHA256_FIXED;
                signature::UnparsedPublicKey::new(scheme, point)
                    .verify(signing_input, signature)
                    .is_ok()
            }
        }
    }
}

impl fmt::Debug for TokenGate {
    // Never show a key.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.key.algorithm())
    }
}

impl Grant {
    /// Rights with an expiry.
    ///
    /// # Errors
    /// A message, when there are too many patterns or the expiry has passed.
    pub(crate) fn new(
        user: Option<String>,
        subscribe: &[String],
        publish: &[String],
        until_s: f64,
        now_s: f64,
    ) -> Result<Self, &'static str> {
        if until_s <= now_s {
            return Err("exp is in the past");
        }
        if user.as_ref().is_some_and(|user| user.len() > USER_LEN_MAX) {
            return Err("the user name is longer than 200 bytes");
        }
        if subscribe.len().max(publish.len()) > PATTERNS_MAX {
            return Err("more than 100 patterns of one kind");
        }
        let patterns = |texts: &[String]| texts.iter().map(|text| Pattern::new(text)).collect();
        Ok(Self {
            subscribe: patterns(subscribe),
            publish: patterns(publish),
            topics: Vec::new(),
            posts: Vec::new(),
            payload: None,
            user: user.map(Rc::from),
            until_s,
            places: Vec::new(),
        })
    }

    /// Adds Mercure claims.
    fn add_topics(&mut self, topics: Topics) -> Result<(), &'static str> {
        if topics.subscribe.len().max(topics.publish.len()) > PATTERNS_MAX {
            return Err("more than 100 patterns of one kind");
        }
        self.topics = selectors(&topics.subscribe);
        self.posts = selectors(&topics.publish);
        self.payload = topics.payload;
        Ok(())
    }

    /// Unlimited rights, without user and expiry.
    pub(crate) fn of_everything() -> Self {
        let all = || vec![Pattern::new("*")];
        Self {
            subscribe: all(),
            publish: all(),
            topics: Vec::new(),
            posts: Vec::new(),
            payload: None,
            user: None,
            until_s: f64::INFINITY,
            places: Vec::new(),
        }
    }

    /// Counts the connection; `before` are the slots that it already holds.
    ///
    /// # Errors
    /// A message, when a quota is exhausted.
    pub fn count(
        &mut self,
        bounds: &ConnectionLimits,
        token: Option<&str>,
        before: Option<&Self>,
    ) -> Result<(), &'static str> {
        let before = before.map_or(&[][..], |before| &before.places);
        self.places = bounds.enter(self.user.as_deref(), token, before)?;
        Ok(())
    }

    /// What is attached to the subscriptions of a Mercure reader: JSON.
    pub(crate) fn payload(&self) -> Option<Box<RawValue>> {
        self.payload.clone()
    }

    /// The user.
    pub fn user(&self) -> Option<Rc<str>> {
        self.user.clone()
    }

    /// Whether it allows publishing to a Mercure topic.
    pub(crate) fn may_post(&self, topic: &str) -> bool {
        self.posts.iter().any(|selector| selector.matches(topic))
    }

    /// Time to expiry, s; `None` when it has expired.
    pub(crate) fn left_s(&self, now_s: f64) -> Option<f64> {
        (self.until_s > now_s).then_some(self.until_s - now_s)
    }
}

/// Current rights of one client.
pub struct ClientAccess<'a> {
    /// `None`: everybody may read everything.
    pub gate: Option<&'a TokenGate>,
    /// Rights granted by its token.
    pub grant: &'a mut Option<Box<Grant>>,
    /// It is subscribed under its name, or none, so its identity is fixed.
    pub is_known: bool,
    /// Wall-clock time, s since 1970.
    pub now_s: f64,
    /// Decisions of the application.
    pub hooks: Option<&'a HubHooks>,
    /// Its hook requests.
    pub dialog: Option<&'a mut Dialog>,
    /// Channels that the application has allowed.
    pub settled: &'a [String],
    /// Connection quotas.
    pub bounds: Option<&'a ConnectionLimits>,
}

impl ClientAccess<'_> {
    fn is_settled(&self, channel: &str) -> bool {
        self.settled.iter().any(|settled| settled == channel)
    }

    /// Whether an unexpired token allows something.
    fn lets(&self, act: impl Fn(&Grant) -> bool) -> bool {
        let grant = self.grant.as_ref();
        let grant = grant.filter(|grant| grant.left_s(self.now_s).is_some());
        grant.is_some_and(|grant| act(grant))
    }
}

impl Rights for ClientAccess<'_> {
    fn may_subscribe(&self, channel: &str) -> bool {
        // A template may be read by clients that may read everything it matches.
        let name = bounded(channel);
        let is_public = match self.gate {
            Some(gate) => gate.is_public(&name),
            None => !self.hooks.is_some_and(decide_reading),
        };
        // Events about subscriptions are private, whatever is public.
        is_public && !is_reserved(channel)
            || self.is_settled(channel)
            || self.lets(|grant| {
                grant.subscribe.iter().any(|pattern| pattern.matches(&name))
                    || grant
                        .topics
                        .iter()
                        .any(|selector| selector.matches(channel))
            })
    }

    fn may_publish(&self, channel: &str) -> bool {
        let decides = |hooks: &HubHooks| hooks.connect.is_some() || hooks.publish.is_some();
        let is_public = self.gate.is_none() && !self.hooks.is_some_and(decides);
        let is_meant = |grant: &Grant| grant.publish.iter().any(|pattern| pattern.matches(channel));
        // Nobody else publishes what the hub says about subscriptions.
        !is_reserved(channel) && (is_public || self.is_settled(channel) || self.lets(is_meant))
    }

    fn defers_publications(&self) -> bool {
        self.dialog.is_some() && self.hooks.is_some_and(|hooks| hooks.publish.is_some())
    }

    fn defer(&mut self, request: ClientRequest<'_>, id: Option<&str>) -> Result<bool, HubRefusal> {
        match (&mut self.dialog, self.hooks) {
            (Some(dialog), Some(hooks)) => dialog.defer(hooks, request, id),
            _ if matches!(request, ClientRequest::Send(_)) => Err(HubRefusal::NoMessageHook),
            _ => Ok(false),
        }
    }

    fn withdraw(&mut self, channel: &str) {
        if let Some(dialog) = &mut self.dialog {
            dialog.withdraw(channel);
        }
    }

    fn user(&self) -> Option<&str> {
        self.grant.as_ref()?.user.as_deref()
    }

    fn present(&mut self, token: &str) -> Result<(), &'static str> {
        let gate = self.gate.ok_or("this hub does not use tokens")?;
        let mut grant = gate.admit(token, self.now_s)?;
        // Pending hook requests carry the earlier identity.
        let dialog = self.dialog.as_ref();
        let is_known = self.is_known || dialog.is_some_and(|dialog| dialog.is_waiting());
        if is_known && self.user() != grant.user.as_deref() {
            return Err("the token's sub differs from that of the existing subscriptions");
        }
        if let Some(bounds) = self.bounds {
            grant.count(bounds, Some(token), self.grant.as_deref())?;
        }
        *self.grant = Some(Box::new(grant));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
