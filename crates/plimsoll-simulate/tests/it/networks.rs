//! Networks of queues, whose means are those of independent queues (Jackson 1957; Kelly 1975 for requests with routes).

use plimsoll_simulate::Forecast;

use crate::support::{near, precise, response, world};

/// Mean response of M/M/1, ms.
fn alone_ms(service_ms: f64, rho: f64) -> f64 {
    service_ms / (1.0 - rho)
}

#[test]
fn a_tree_of_queues_is_jacksons() {
    for rho in [0.3, 0.6, 0.9] {
        // The web is taken at ρ, the store by three quarters of it and the search by half.
        let rate = rho / 0.008;
        let text = format!(
            "tiers:\n  web: {{ service: exponential 8ms, calls: [{{ to: db, share: 50%, blocking: false }}, \
             {{ to: search, share: 25%, blocking: false }}] }}\n  \
             db: {{ service: exponential 12ms }}\n  search: {{ service: exponential 16ms }}\nload: {{ rate: {rate}/s }}\n"
        );
        let simulated = precise(&text, 11);
        let (db, search) = (alone_ms(12.0, 0.75 * rho), alone_ms(16.0, 0.5 * rho));
        near(response(&simulated, 1).mean, db, 0.01, "store");
        near(response(&simulated, 2).mean, search, 0.01, "search");
        let all = alone_ms(8.0, rho) + 0.5 * db + 0.25 * search;
        near(response(&simulated, 0).mean, all, 0.01, "whole response");
        let wait = simulated.tiers[0].wait_ms.unwrap().mean;
        // Most do not wait at 0.3, so this mean is known less well.
        near(wait, alone_ms(8.0, rho) - 8.0, 0.04, "wait for the web");
    }
}

#[test]
fn requests_that_come_back_are_kellys() {
    // Each request visits the store three times, one after the other: the store sees no Poisson arrivals, and yet the law holds.
    for rho in [0.3, 0.6, 0.9] {
        let rate = rho / 0.012;
        let text = format!(
            "tiers:\n  web: {{ service: exponential 2ms, servers: 4, calls: [{{ to: db, times: 3, blocking: false }}] }}\n  \
             db: {{ service: exponential 4ms }}\nload: {{ rate: {rate}/s }}\n"
        );
        let simulated = precise(&text, 12);
        near(
            simulated.tiers[1].busy,
            rho,
            0.01,
            "busy share of the store",
        );
        near(
            response(&simulated, 1).mean,
            alone_ms(4.0, rho),
            0.01,
            "store",
        );
    }
}

#[test]
fn a_way_takes_its_time_and_no_server() {
    let text = "tiers:\n  web: { service: exponential 2ms, calls: [{ to: db, times: 2, blocking: false }] }\n  \
                db: { service: exponential 4ms }\nload: { rate: 75/s }\n\
                links: [{ between: [web, db], round_trip: exponential 30ms }]\n";
    let simulated = precise(text, 13);
    let (web, db) = (alone_ms(2.0, 0.15), alone_ms(4.0, 0.6));
    near(response(&simulated, 1).mean, db, 0.01, "store");
    near(
        response(&simulated, 0).mean,
        web + 2.0 * (30.0 + db),
        0.01,
        "two calls",
    );
    near(simulated.tiers[0].busy, 0.15, 0.02, "busy share of the web");
}

#[test]
fn parallel_calls_take_as_long_as_the_longest() {
    // With servers enough, the longest of three exponential services takes 1 + 1/2 + 1/3 means, and in sequence 3.
    let text = |parallel: bool| {
        format!(
            "tiers:\n  web: {{ service: 1ms, servers: 100, calls: [{{ to: db, times: 3, parallel: {parallel} }}] }}\n  \
             db: {{ service: exponential 10ms, servers: 1000 }}\nload: {{ rate: 100/s }}\n"
        )
    };
    let together = response(&precise(&text(true), 14), 0).mean;
    near(
        together,
        1.0 + 10.0 * (1.0 + 0.5 + 1.0 / 3.0),
        0.01,
        "together",
    );
    let after_another = response(&precise(&text(false), 14), 0).mean;
    near(after_another, 31.0, 0.01, "one after the other");
}

#[test]
fn blocking_calls_keep_the_server() {
    // The server is kept over service and call, 5 ms each: M/G/1 whose service is the sum, here 2 phases of Erlang.
    let text = "tiers:\n  web: { service: exponential 5ms, calls: db }\n  db: { service: exponential 5ms, servers: 8 }\n\
                load: { rate: 60/s }\n";
    let simulated = precise(text, 15);
    let rho = 0.6;
    let wait = rho / (1.0 - rho) * (1.0 + 0.5) / 2.0;
    near(
        response(&simulated, 0).mean,
        10.0 * (1.0 + wait),
        0.01,
        "M/E2/1",
    );
    near(simulated.tiers[0].busy, rho, 0.01, "taken");
    near(simulated.tiers[0].serving, rho / 2.0, 0.01, "in service");
    let forecast = Forecast::of(&world(text)).unwrap();
    near(forecast.rate_max, 100.0, 1e-9, "capacity");
}

#[test]
fn threads_free_the_server() {
    // With threads enough a blocking call keeps no server: the queue is M/M/1 again.
    let text = "tiers:\n  web: { service: exponential 5ms, threads: 100, calls: db }\n  \
                db: { service: exponential 5ms, servers: 100 }\nload: { rate: 120/s }\n";
    let simulated = precise(text, 16);
    near(
        response(&simulated, 0).mean,
        alone_ms(5.0, 0.6) + 5.0,
        0.01,
        "M/M/1 and the call",
    );
    // Two threads are the servers of a queue whose service is both times; the server itself is never waited for by more than one.
    let few = Forecast::of(&world(&text.replace("threads: 100", "threads: 2"))).unwrap();
    near(
        few.tiers[0].capacity,
        200.0,
        1e-9,
        "capacity of two threads of 10 ms",
    );
}
