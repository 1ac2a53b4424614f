//! Users of journeys against a site with a login, forms and pages.

mod counting;
mod data;
mod ending;
mod expecting;
mod following;
mod loading;
mod logging_in;
mod speaking;
mod staying;
mod thinking;
pub(crate) mod written;
