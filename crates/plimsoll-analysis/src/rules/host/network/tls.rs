//! TLS handshakes.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::window::Window;

use crate::diagnosis::bounds::CPU_SHORT;
use crate::diagnosis::measure::sustained;
use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::N13;
use crate::diagnosis::stretch::{View, bounded};

/// Handshakes per answer from which connections are not kept, and per second.
const HANDSHAKES_MAX: f64 = 0.5;
const HANDSHAKES_MIN: f64 = 1.0;
/// What makes handshakes fewer and cheaper.
const FEWER_HANDSHAKES: &str = "keep connections alive longer (`keepalive_timeout` in nginx, `timeout \
    http-keep-alive` in HAProxy), resume sessions (`ssl_session_cache shared:TLS:10m`), and use an ECDSA certificate \
    instead of RSA";

pub(crate) const RULES: &[Rule] = &[Rule::new(
    N13,
    "TLS handshakes",
    &[Check {
        strength: Strength::Utilisation,
        tier: Tier::Network,
        symptom: Symptom::Signs(tls),
        words: tls_words,
        remedy: FEWER_HANDSHAKES,
        explains: &[],
    }],
)
.tried_on_series()
.with_role(Role::Addition)];

/// TLS handshakes of the generator for each answer, and per second. Of several machines, that of the target has their cost.
fn handshakes(view: &View<'_>) -> Option<(f64, f64)> {
    if view.machine().is_some() && !view.target_is_local() {
        return None;
    }
    let answers = view.sum(Window::completed)?;
    let handshakes = view.sum(|window| window.handshakes)? as f64;
    let seconds = view.windows().len().max(1) as f64;
    Some((handshakes / (answers as f64).max(1.0), handshakes / seconds))
}

/// A clause and a remedy for a CPU that may be busy with handshakes, where there is at least one per two answers.
pub(crate) fn handshakes_clause(view: &View<'_>) -> Option<(String, &'static str)> {
    let (each, per_second) = handshakes(view)?;
    (each > HANDSHAKES_MAX && per_second >= HANDSHAKES_MIN).then(|| {
        let clause =
            format!("; there were {per_second:.0} TLS handshakes a second, {each:.1} per answer");
        (clause, FEWER_HANDSHAKES)
    })
}

/// N13: a handshake for every other answer, and no CPU left. The CPU share of cryptography is not measured, so the
/// certainty is never high.
fn tls(view: &View<'_>) -> Vec<Sign> {
    let Some((each, per_second)) = handshakes(view) else {
        return Vec::new();
    };
    let short = view.share_of_seconds(|row| Some(row.get(metric::CPU_BUSY)? >= CPU_SHORT));
    let is_short = sustained("", short).is_some_and(|sign| sign.present);
    vec![Sign::lone(
        each,
        each > HANDSHAKES_MAX && per_second >= HANDSHAKES_MIN && is_short,
    )]
}

fn tls_words(case: &RuleMatch<'_>) -> Words {
    let (each, per_second) = handshakes(case.failing()).unwrap_or_default();
    let evidence = case
        .over
        .evidence(("handshakes", "TLS handshakes per answer", "1"), |view| {
            Some(handshakes(view)?.0)
        });
    Words::new(
        "TLS handshakes",
        format!(
            "there were {per_second:.0} TLS handshakes a second, {each:.1} per answer, while the CPUs were {:.0} % busy",
            case.failing().mean(metric::CPU_BUSY).unwrap_or(0.0) * 100.0
        ),
    )
    .with(bounded(evidence, Some(HANDSHAKES_MAX)))
    .with(case.line(metric::CPU_BUSY, "share of all CPUs that was busy"))
    .doubtful_if(true)
}
