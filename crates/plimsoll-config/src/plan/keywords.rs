//! Keys of steps, and the list of all tables, from which the reader, the JSON Schema and the reference page are made.
//!
//! Keys with one value each are in the tables of settings of their module.

mod requests;
mod sockets;
mod steps;

use super::PLAN;
use super::data::DATA;
use super::journeys::JOURNEY;
use super::load::find::FIND;
use super::load::{LOAD, PHASE};
use super::process::PROCESS;
use super::thresholds::ABORT;
use super::transport::TRANSPORT;
use crate::document::Shape::{Either, MapOf, Objective, Of, OneOrMore, Template, Text};
use crate::document::{KeywordTable, Shape};
pub(crate) use requests::{BODY_FILE, CAPTURE, EXPECT, GRAPHQL, MATCH, MULTIPART_PART};
pub(crate) use sockets::{AWAIT, BEAT, MESSAGE, RECONNECT, SUBSCRIBE};
pub(crate) use steps::{CHOICE, METHODS, RESOURCE, STEP, THINK};

pub(crate) const HEADERS: Shape = MapOf(&Template);
pub(crate) const OBJECTIVE: Shape = OneOrMore(&Objective);
pub(crate) const THRESHOLDS: Shape = Either(&[OBJECTIVE, MapOf(&OBJECTIVE)]);
pub(crate) const PROCESS_SHAPE: Shape = Either(&[OneOrMore(&Text), Of(&PROCESS)]);

/// All tables, in the order of the reference.
pub(crate) static TABLES: [&KeywordTable; 24] = [
    &PLAN,
    &JOURNEY,
    &PROCESS,
    &STEP,
    &THINK,
    &CHOICE,
    &RESOURCE,
    &EXPECT,
    &MATCH,
    &CAPTURE,
    &BODY_FILE,
    &MULTIPART_PART,
    &GRAPHQL,
    &MESSAGE,
    &AWAIT,
    &SUBSCRIBE,
    &RECONNECT,
    &BEAT,
    &DATA,
    &LOAD,
    &PHASE,
    &FIND,
    &ABORT,
    &TRANSPORT,
];
