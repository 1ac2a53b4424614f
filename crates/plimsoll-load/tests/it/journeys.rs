//! Users of journeys against a site with a login, forms and pages.

mod counting;
mod data;
mod ending;
mod expecting;
mod loading;
mod logging_in;
mod patience;
mod polling;
mod redirects;
pub(crate) mod scenario_builder;
mod scripts;
mod staying;
mod thinking;
