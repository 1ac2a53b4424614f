//! The rules, by technology. A rule is defined in one place: its id, the limit that it names, what a finding of it says,
//! its conditions and texts, its remedy, what it explains away, the setting that may be raised, and what it is tried on.

pub(crate) mod apache;
pub(crate) mod caches;
pub(crate) mod connection_pools;
pub(crate) mod databases;
pub(crate) mod dotnet;
pub(crate) mod generator;
pub(crate) mod go;
pub(crate) mod haproxy;
pub(crate) mod host;
pub(crate) mod in_front;
pub(crate) mod jvm;
pub(crate) mod memcached;
pub(crate) mod meters;
pub(crate) mod mongo;
pub(crate) mod mysql;
pub(crate) mod nginx;
pub(crate) mod node;
pub(crate) mod pgbouncer;
pub(crate) mod php_fpm;
pub(crate) mod postgres;
pub(crate) mod puma;
pub(crate) mod python;
pub(crate) mod redis;
pub(crate) mod repeated_statements;
pub(crate) mod service;
pub(crate) mod thread_waits;
pub(crate) mod traces;
pub(crate) mod varnish;

#[cfg(test)]
pub(crate) mod tests;

use plimsoll_model::reading::SeriesTable;

use crate::diagnosis::gauges::Gauge;
use crate::diagnosis::rule::{Check, Rule};
use crate::diagnosis::rule_id::RuleId;

/// The rules of each technology.
const TABLES: &[&[Rule]] = &[
    generator::RULES,
    host::network::accept_queue::RULES,
    host::network::path::RULES,
    host::network::conntrack::RULES,
    host::network::packets::RULES,
    host::network::bandwidth::RULES,
    host::network::tcp::RULES,
    host::network::ports::RULES,
    host::network::tls::RULES,
    host::cpu::busy::RULES,
    host::cpu::quota::RULES,
    host::cpu::thread::RULES,
    host::cpu::steal::RULES,
    host::cpu::lock_contention::RULES,
    host::cpu::kernel_time::RULES,
    host::cpu::clock::RULES,
    host::memory::RULES,
    host::memory::leak::RULES,
    host::disk::RULES,
    host::process_limits::RULES,
    nginx::connections::RULES,
    nginx::upstream::RULES,
    nginx::configured_limits::RULES,
    haproxy::sessions::RULES,
    haproxy::failures::RULES,
    haproxy::threads::RULES,
    haproxy::balance::RULES,
    apache::RULES,
    varnish::RULES,
    node::RULES,
    jvm::RULES,
    connection_pools::RULES,
    traces::RULES,
    puma::RULES,
    python::RULES,
    php_fpm::RULES,
    go::RULES,
    dotnet::RULES,
    postgres::sessions::RULES,
    postgres::locks::RULES,
    postgres::storage::RULES,
    postgres::statements::RULES,
    pgbouncer::RULES,
    mysql::sessions::RULES,
    mysql::statements::RULES,
    mysql::innodb::RULES,
    redis::RULES,
    redis::commands::RULES,
    memcached::RULES,
    mongo::RULES,
    service::overload::RULES,
    caches::RULES,
    service::periodic::RULES,
    service::expensive_step::RULES,
    service::payload::RULES,
    service::content::RULES,
    meters::RULES,
    repeated_statements::RULES,
];

macro_rules! ids {
    ($($id:ident)*) => {
        [$(RuleId::$id),*]
    };
}

/// The order in which checks are evaluated. Of findings that score the same, the one that stands here first is named
/// first, and is the cause of what both explain. A rule stands here once for each of its checks.
const ORDER: [RuleId; 125] = ids! {
    G1 G2 G3 N1 N12 C1 C2 C3 M2 F1 X1 X2 H1 H2 H7 H10 K1 K2 K2 K4 K5 K6 K6 J1 R7 R1 R3 P1 P2 P3 P4 P5
    P6 P7 P8 P9 P10 P12 Q1 Q2 Q3 Q4 Q5 Q6 Q7 Q8 Q9 P11 A0 R2 NPlus1 J4 J3 J3 J5 R2 R5 R5 V1 K7 J2
    J6 J11 J8 R4 R6 X3 X7 NPlus1 J7 J9 J9 J10 X1 X3 X4 X5 X6 X8 H1 H2 H3 H4 H5 H6 H8 H9 N2 N3 N4 N5
    N6 N7 N8 N9 N10 N11 N13 C4 C5 C6 C7 M1 M3 M4 M5 D1 D2 D3 D4 F2 H11 K3 S1 S2 S3 S4 S5 S6 S7 S8 S9 S10
    S11 S12
};

/// The rules by id. A rule without a definition, or with two, is an error of the compiler.
static BY_ID: [&Rule; RuleId::ALL.len()] = by_id();
/// The checks in order. A check that `ORDER` leaves out, or names twice, is an error of the compiler.
static CHECKS: [(&Rule, &Check); ORDER.len()] = in_order();

/// Every resource of a run whose utilisation is known. Of those that would be full at the same load, the one that stands
/// here first is named.
pub(crate) fn gauges(readings: &SeriesTable) -> Vec<Gauge> {
    let kinds = [
        host::cpu::busy::gauges,
        redis::thread_gauges,
        node::gauges,
        host::disk::gauges,
        haproxy::threads::gauges,
        host::cpu::thread::gauges,
        host::process_limits::gauges,
        postgres::sessions::cpu_gauges,
        postgres::sessions::gauges,
        mysql::sessions::gauges,
        redis::client_gauges,
        memcached::gauges,
        haproxy::sessions::gauges,
        meters::gauges,
    ];
    kinds.iter().flat_map(|kind| kind(readings)).collect()
}

/// The definition of a rule.
pub(crate) fn definition(id: RuleId) -> &'static Rule {
    BY_ID[id as usize]
}

/// Every check, with its rule, in the order of evaluation.
pub(crate) fn checks() -> impl Iterator<Item = (&'static Rule, &'static Check)> {
    CHECKS.iter().copied()
}

const fn by_id() -> [&'static Rule; RuleId::ALL.len()] {
    let mut rules: [Option<&Rule>; RuleId::ALL.len()] = [None; RuleId::ALL.len()];
    let mut table = 0;
    while table < TABLES.len() {
        let mut row = 0;
        while row < TABLES[table].len() {
            let rule = &TABLES[table][row];
            let id = rule.id() as usize;
            assert!(rules[id].is_none(), "a rule has two definitions");
            rules[id] = Some(rule);
            row += 1;
        }
        table += 1;
    }
    let mut by_id = [&TABLES[0][0]; RuleId::ALL.len()];
    let mut id = 0;
    while id < by_id.len() {
        by_id[id] = rules[id].expect("each rule has a definition");
        id += 1;
    }
    by_id
}

const fn in_order() -> [(&'static Rule, &'static Check); ORDER.len()] {
    let rules = by_id();
    let mut used = [0; RuleId::ALL.len()];
    let mut checks = [(rules[0], &rules[0].checks()[0]); ORDER.len()];
    let mut at = 0;
    while at < ORDER.len() {
        let id = ORDER[at] as usize;
        checks[at] = (rules[id], &rules[id].checks()[used[id]]);
        used[id] += 1;
        at += 1;
    }
    let mut id = 0;
    while id < rules.len() {
        assert!(
            used[id] == rules[id].checks().len(),
            "a check has no place in the order"
        );
        id += 1;
    }
    checks
}
