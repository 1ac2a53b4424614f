//! For tests: origins with a known service law, that law in closed form, a queue simulator in virtual time, a plan to change.

pub mod browser;
pub mod cases;
pub mod compared_services;
pub mod corpus;
pub mod countries;
pub mod dns;
pub mod folder_watch;
pub mod frames;
pub mod kills;
pub mod logging_origin;
pub mod machine;
pub mod normal;
pub mod not_tried;
pub mod origin;
pub mod plan;
pub mod port;
pub mod program;
pub mod queue;
pub mod queueing;
pub mod stuck;
pub mod surfaces;
pub mod turns;
