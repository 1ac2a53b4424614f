//! One order: from the account to the certificate.

use std::time::Duration;

use instant_acme::{
    Account, AccountBuilder, AuthorizationStatus, ChallengeType, Error, Identifier, NewAccount,
    NewOrder, Order, OrderStatus, RetryPolicy,
};
use plimsoll_config::edge::{Acme, AcmeCertificate};
use plimsoll_proxy::tls::challenges::Challenges;

use super::client::AuthorityClient;
use super::storage;

/// Time limit for polling the authority.
const PATIENCE: Duration = Duration::from_mins(2);

/// Obtains a certificate and writes its files.
pub(super) async fn obtain(
    acme: &Acme,
    certificate: &AcmeCertificate,
    challenges: &Challenges,
) -> Result<(), String> {
    let account = account(acme).await?;
    let names = certificate.names.iter().cloned().map(Identifier::Dns);
    let names: Vec<Identifier> = names.collect();
    let order = account.new_order(&NewOrder::new(&names)).await;
    let mut order = order.map_err(|error| in_words(&error))?;
    prove(&mut order, challenges).await?;
    let policy = RetryPolicy::new().timeout(PATIENCE);
    match order.poll_ready(&policy).await {
        Ok(OrderStatus::Ready) => {}
        Ok(_) | Err(Error::Api(_)) => return Err(why_not(&mut order).await),
        Err(error) => return Err(in_words(&error)),
    }
    let key = order.finalize().await.map_err(|error| in_words(&error))?;
    let chain = order.poll_certificate(&policy).await;
    let chain = chain.map_err(|error| in_words(&error))?;
    // Key first: a reader in between finds a pair that does not match, and keeps its current one.
    storage::put(&certificate.files.key, key.as_bytes())?;
    storage::put(&certificate.files.cert, chain.as_bytes())
}

/// The stored account, or a new one, which is then stored.
async fn account(acme: &Acme) -> Result<Account, String> {
    if let Some(credentials) = storage::account(acme)? {
        let account = builder(acme)?.from_credentials(credentials).await;
        return account.map_err(|error| in_words(&error));
    }
    let contact = acme.email.as_ref().map(|email| format!("mailto:{email}"));
    let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
    let new = NewAccount {
        contact: &contact,
        terms_of_service_agreed: true,
        only_return_existing: false,
    };
    let created = builder(acme)?
        .create(&new, acme.directory.clone(), None)
        .await;
    let (account, credentials) = created.map_err(|error| in_words(&error))?;
    storage::keep_account(acme, &credentials)?;
    Ok(account)
}

fn builder(acme: &Acme) -> Result<AccountBuilder, String> {
    let client = AuthorityClient::new(acme.ca.as_deref())?;
    Ok(Account::builder_with_http(Box::new(client)))
}

/// Completes the challenges of all names.
async fn prove(order: &mut Order, challenges: &Challenges) -> Result<(), String> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization.map_err(|error| in_words(&error))?;
        match authorization.status {
            AuthorizationStatus::Valid => continue,
            AuthorizationStatus::Pending => {}
            other => {
                return Err(format!(
                    "unexpected authorization status {other:?}; expected Pending or Valid"
                ));
            }
        }
        let challenge = authorization.challenge(ChallengeType::TlsAlpn01);
        let Some(mut challenge) = challenge else {
            return Err("the authority does not offer tls-alpn-01".to_owned());
        };
        let name = challenge.identifier().to_string();
        let proof = challenge.key_authorization();
        challenges.answer(&name, proof.digest().as_ref())?;
        challenge
            .set_ready()
            .await
            .map_err(|error| in_words(&error))?;
    }
    Ok(())
}

/// The authority's reasons for rejected names.
async fn why_not(order: &mut Order) -> String {
    let mut all = Vec::new();
    if let Some(problem) = &order.state().error {
        all.push(problem.to_string());
    }
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        if authorization.refresh().await.is_err() {
            continue;
        }
        for challenge in &authorization.challenges {
            if let Some(problem) = &challenge.error {
                all.push(format!("{}: {problem}", authorization.identifier()));
            }
        }
    }
    if all.is_empty() {
        return "the authority rejected the challenge without a reason".to_owned();
    }
    all.join("; ")
}

/// An error with its causes in one line.
fn in_words(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
