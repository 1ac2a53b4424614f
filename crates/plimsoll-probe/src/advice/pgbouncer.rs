//! pgbouncer: the clients that it accepts, and the sessions that they hold.

use plimsoll_model::component::ComponentKind;
use plimsoll_model::reading::Readings;

use super::chains::holders;
use super::component_readings::{ComponentReadings, places_of, written};
use super::components::busy;
use super::{Advice, Demand};

/// Clients of pgbouncer: the workers before it, one for each request in progress.
pub(super) fn clients(component: &ComponentReadings<'_>, demand: &Demand) -> Option<Advice> {
    let found = component.setting("max_client_conn", "")?;
    let advice = busy(component, "max_client_conn of pgbouncer", found, demand);
    Some(advice.because(format!(
        "{} users have {:.0} requests in progress at once ({}), and each may hold a connection to pgbouncer; beyond \
         the limit it refuses them",
        demand.users,
        demand.workers(),
        demand.source
    )))
}

/// The pool of a pgbouncer in session mode: a client keeps its session for as long as it is connected.
pub(super) fn sessions_of_clients(
    component: &ComponentReadings<'_>,
    demand: &Demand,
) -> Option<Advice> {
    let (_, mode) = component
        .word("pool_mode")
        .filter(|found| found.0 == "session")?;
    let found = component.setting("default_pool_size", "")?;
    let name = "default_pool_size of pgbouncer in session mode";
    let advice = busy(component, name, found, demand);
    Some(advice.because(format!(
        "`pool_mode` is session{}: a client keeps a session of PostgreSQL until it disconnects, and {} users have {:.0} \
         requests in progress at once ({}); further clients wait. With `pool_mode = transaction` a session is free again after \
         each transaction, which suits programs without session features (`LISTEN`, advisory locks, temporary tables, `SET`)",
        if mode.is_empty() {
            ", its default".to_owned()
        } else {
            written(mode)
        },
        demand.users,
        demand.workers(),
        demand.source
    )))
}

/// Workers that may each hold a connection to pgbouncer, against those that it accepts.
pub(super) fn workers(readings: &Readings) -> Option<Advice> {
    let places = places_of(readings, ComponentKind::Pgbouncer);
    let [at] = places[..] else {
        return None;
    };
    let component = ComponentReadings { at, readings };
    let (limit, file) = component.setting("max_client_conn", "")?;
    let holders = holders(readings);
    let wanted: f64 = holders.iter().map(|holder| holder.0).sum();
    let who: Vec<&str> = holders.iter().map(|holder| holder.1.as_str()).collect();
    (wanted > 0.0).then(|| {
        Advice::new(
            format!("connections that workers may hold to pgbouncer ({at})"),
            format!("{wanted:.0} of {limit:.0}{}", written(file)),
            format!("a max_client_conn of {wanted:.0} or more"),
            wanted <= limit,
        )
        .because(format!(
            "{}: if each holds a connection, {wanted:.0} are needed; beyond max_client_conn pgbouncer refuses them, and the \
             requests fail",
            who.join(", ")
        ))
    })
}
