//! Requests to receivers: one connection, a time limit, no redirects, no proxy.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ureq::Agent;
use ureq::http::HeaderMap;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::transport::DefaultConnector;
use url::Url;

use crate::request::ExportHeader;
use crate::resolver::HostResolver;
use crate::send_error::SendError;

/// Time limit of a request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Longest answer that is read, bytes; and how much of it a message quotes, characters.
const ANSWER_MAX: u64 = 64 << 10;
const QUOTED_MAX: usize = 200;

/// A receiver.
#[derive(Debug)]
pub(crate) struct Receiver {
    agent: Agent,
    /// Without user and password.
    url: Url,
    headers: Vec<(String, String)>,
}

/// An answer of the receiver.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    text: String,
}

impl Receiver {
    /// The receiver at `url`, with the headers that are for requests of `kind`.
    pub(crate) fn new(url: &Url, kind: &str, headers: &[ExportHeader]) -> Self {
        let mut plain = url.clone();
        let mine = headers.iter().filter(|header| header.kind == kind);
        let mut headers: Vec<(String, String)> = mine
            .map(|header| (header.name.clone(), header.value.clone()))
            .collect();
        headers.extend(login(url).map(|value| ("Authorization".to_owned(), value)));
        // Both exist for http and https; an error leaves the URL as it is.
        let _ = plain.set_username("");
        let _ = plain.set_password(None);
        Self {
            agent: agent(url.scheme() == "https"),
            url: plain,
            headers,
        }
    }

    /// Sends a body. An answer with any status is no error here.
    pub(crate) fn post(&self, headers: &[(&str, &str)], body: &[u8]) -> Result<Answer, SendError> {
        let mut request = self.agent.post(self.url.as_str());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut response = request
            .send(body)
            .map_err(|error| SendError::passing(error.to_string()))?;
        let text = response
            .body_mut()
            .with_config()
            .limit(ANSWER_MAX)
            .lossy_utf8(true)
            .read_to_string();
        Ok(Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            // What it answers matters for messages only.
            text: text.unwrap_or_default(),
        })
    }
}

impl Answer {
    /// An error unless the receiver accepted the body.
    pub(crate) fn accepted(self) -> Result<(), SendError> {
        if (200..300).contains(&self.status) {
            return Ok(());
        }
        let line: String = self.text.trim().chars().take(QUOTED_MAX).collect();
        let line = line.replace(|c: char| c.is_control(), " ");
        let message = if line.is_empty() {
            format!("status {}", self.status)
        } else {
            format!("status {}: {line}", self.status)
        };
        Err(SendError {
            message,
            may_repeat: matches!(self.status, 408 | 429 | 500 | 502..=504),
        })
    }
}

/// Basic authentication from the URL's user and password.
fn login(url: &Url) -> Option<String> {
    let password = url.password().unwrap_or_default();
    if url.username().is_empty() && password.is_empty() {
        return None;
    }
    let plain = |text: &str| {
        let form = url::form_urlencoded::parse(text.replace('+', "%2B").as_bytes())
            .next()
            .map(|(name, _)| name.into_owned());
        form.unwrap_or_default()
    };
    let pair = format!("{}:{}", plain(url.username()), plain(password));
    Some(format!("Basic {}", STANDARD.encode(pair)))
}

fn agent(tls: bool) -> Agent {
    let mut config = Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .user_agent(concat!("plimsoll/", env!("CARGO_PKG_VERSION")));
    if tls {
        let roots = rustls_native_certs::load_native_certs().certs;
        let roots = roots
            .iter()
            .map(|root| Certificate::from_der(root).to_owned());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        config = config.tls_config(
            TlsConfig::builder()
                .root_certs(RootCerts::Specific(Arc::new(roots.collect())))
                .unversioned_rustls_crypto_provider(provider)
                .build(),
        );
    }
    Agent::with_parts(config.build(), DefaultConnector::default(), HostResolver)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_that_of_the_url() {
        let login = |text: &str| login(&Url::parse(text).unwrap());
        assert_eq!(login("http://db/"), None);
        let expected = format!("Basic {}", STANDARD.encode("me:a b+c=&"));
        assert_eq!(login("http://me:a%20b+c%3D%26@db/"), Some(expected));
    }
}
