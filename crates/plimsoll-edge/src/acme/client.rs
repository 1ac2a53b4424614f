//! Requests to the certificate authority, as the edge sends all of its own: one per connection, bounded in time and length.
//! The ready-made client of the library finds hosts by the C library, which a static binary does not have.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Request, Response};
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use plimsoll_config::edge::{Authorities, ServerTls};
use plimsoll_net::outbound;
use plimsoll_net::upstream::trust;
use tokio_rustls::TlsConnector;

/// Time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Longest response: a chain of certificates has a few KiB.
const ANSWER_LEN_MAX: usize = 1024 * 1024;

pub(super) struct AuthorityClient {
    connector: TlsConnector,
}

impl AuthorityClient {
    /// A client that trusts the authorities of a file, or those of this host.
    pub(super) fn new(ca: Option<&Path>) -> Result<Self, String> {
        let Some(path) = ca else {
            return Ok(Self {
                connector: outbound::connector(),
            });
        };
        let name = path.display().to_string();
        let pem = std::fs::read(path).map_err(|error| format!("cannot read {name}: {error}"))?;
        let tls = ServerTls {
            authorities: Some(Authorities { name, pem }),
            ..ServerTls::default()
        };
        let config = trust::bare(&tls).map_err(|error| error.to_string())?;
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
        })
    }
}

impl HttpClient for AuthorityClient {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let connector = self.connector.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body
                .collect()
                .await
                .map(http_body_util::Collected::to_bytes);
            let body = body.map_err(|error| Error::Other(error.into()))?;
            let request = Request::from_parts(head, Full::new(body));
            let answer = outbound::send(request, &connector, ANSWER_LEN_MAX, TIMEOUT).await;
            let answer = answer.map_err(|message| Error::Other(message.into()))?;
            let (mut parts, ()) = Response::new(()).into_parts();
            parts.status = answer.status;
            parts.headers = answer.headers;
            Ok(BytesResponse {
                parts,
                body: Box::new(answer.body),
            })
        })
    }
}
