use std::task::{Context, Waker};

use super::*;

fn server(name: &str, max_in_flight: u32) -> edge::ServerConfig {
    edge::ServerConfig {
        name: name.to_owned(),
        max_in_flight: Some(max_in_flight),
        ..edge::ServerConfig::at("127.0.0.1:1".parse().unwrap())
    }
}

fn pool(servers: Vec<edge::ServerConfig>, queue: u32) -> Arc<UpstreamPool> {
    let config = edge::PoolConfig {
        queue: Some(queue),
        ..edge::PoolConfig::new("app", servers)
    };
    Arc::new(UpstreamPool::new(&config, None, EdgeClock::start()).unwrap())
}

fn request() -> PoolRequest {
    PoolRequest {
        class: Class::CriticalPlus,
        key: 0,
        sticky: None,
        avoid: None,
        random: 7,
    }
}

#[track_caller]
fn granted(entry: PoolAdmission) -> Permit {
    match entry {
        PoolAdmission::Granted(permit) => permit,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn waits(entry: PoolAdmission) -> Arc<Ticket> {
    match entry {
        PoolAdmission::Wait(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_place_that_is_given_back_goes_to_the_next_in_line() {
    let pool = pool(vec![server("a", 2)], 2);
    let first = granted(pool.enter(&request()));
    let second = granted(pool.enter(&request()));
    assert_eq!((first.in_flight, second.in_flight), (1, 2));
    let (third, fourth) = (waits(pool.enter(&request())), waits(pool.enter(&request())));
    assert!(matches!(
        pool.enter(&request()),
        PoolAdmission::Refused(QueueRejection::Full)
    ));
    assert_eq!(pool.waiting(), 2);
    drop(first);
    let third = pool.permit(third.taken().expect("its turn has come"));
    assert!(fourth.taken().is_none());
    assert_eq!(pool.servers[0].in_flight(), 2);
    drop((second, third));
    let fourth = pool.permit(fourth.taken().expect("its turn has come"));
    assert_eq!(pool.servers[0].in_flight(), 1);
    drop(fourth);
    assert_eq!((pool.servers[0].in_flight(), pool.waiting()), (0, 0));
}

#[test]
fn who_leaves_keeps_no_place() {
    let pool = pool(vec![server("a", 1)], 5);
    let first = granted(pool.enter(&request()));
    let (gone, late, last) = (
        waits(pool.enter(&request())),
        waits(pool.enter(&request())),
        waits(pool.enter(&request())),
    );
    pool.leave(&gone);
    assert_eq!(pool.waiting(), 2);
    drop(first);
    // Granted, and gone before it was polled: the slot goes to the next.
    pool.leave(&late);
    assert!(last.taken().is_some());
    assert_eq!(pool.servers[0].in_flight(), 1);
}

#[test]
fn lower_classes_leave_places_for_higher_ones() {
    let pool = pool(vec![server("a", 10)], 0);
    let sheddable = PoolRequest {
        class: Class::Sheddable,
        ..request()
    };
    let held: Vec<Permit> = (0..6).map(|_| granted(pool.enter(&sheddable))).collect();
    assert!(matches!(
        pool.enter(&sheddable),
        PoolAdmission::Refused(QueueRejection::Full)
    ));
    let others: Vec<Permit> = (0..4).map(|_| granted(pool.enter(&request()))).collect();
    assert!(matches!(pool.enter(&request()), PoolAdmission::Refused(_)));
    drop((held, others));
}

#[test]
fn a_retry_goes_elsewhere_and_retries_are_few() {
    let pool = pool(vec![server("a", 100), server("b", 100)], 0);
    let avoid = pool.servers[0].id;
    let again = PoolRequest {
        avoid: Some(avoid),
        ..request()
    };
    for random in 0..20 {
        let retry = PoolRequest { random, ..again };
        assert_ne!(pool.enter_again(&retry).unwrap().server.id, avoid);
    }
    let before = (0..1000).filter(|_| pool.may_retry()).count();
    (0..1000).for_each(|_| drop(pool.enter(&request())));
    let after = (0..1000).filter(|_| pool.may_retry()).count();
    assert!((10..=13).contains(&before), "{before}");
    assert!((98..=102).contains(&after), "{after}");
}

#[test]
fn servers_that_fail_are_ejected_but_never_all() {
    let pool = pool(vec![server("a", 100), server("b", 100)], 0);
    let sample = limit::LimitSample {
        service: 1,
        total: 1,
        in_flight: 1,
        overload: false,
    };
    let permits: Vec<Permit> = (0..40)
        .map(|random| {
            granted(pool.enter(&PoolRequest {
                random: mix(random),
                ..request()
            }))
        })
        .collect();
    for permit in &permits {
        pool.answered(permit, pool.clock.now(), sample, false);
    }
    let now = pool.clock.now();
    let out = pool
        .servers
        .iter()
        .filter(|server| !server.is_in(now))
        .count();
    assert_eq!(out, 1);
}

#[test]
fn servers_that_fail_are_tried_now_and_then() {
    let pool = pool(vec![server("a", 100)], 0);
    let sample = limit::LimitSample {
        service: 1,
        total: 1,
        in_flight: 1,
        overload: false,
    };
    let permit = granted(pool.enter(&request()));
    let tries = |from_ms: u64| {
        let moments = (from_ms..from_ms + 1000).map(|ms| (100_000 + ms) * 1_000_000);
        moments.filter(|&now| pool.is_worth_a_try(now)).count()
    };
    assert_eq!(tries(0), 1000);
    pool.answered(&permit, 1, sample, false);
    let few = tries(1000);
    assert!((30..=32).contains(&few), "{few}");
    pool.answered(&permit, 2, sample, true);
    assert_eq!(tries(2000), 1000);
}

#[test]
fn a_new_configuration_keeps_servers_and_those_who_wait() {
    let before = pool(vec![server("a", 1), server("b", 1)], 5);
    let held = [
        granted(before.enter(&request())),
        granted(before.enter(&request())),
    ];
    let (ticket, second, last) = (
        waits(before.enter(&request())),
        waits(before.enter(&request())),
        waits(before.enter(&request())),
    );
    let config = edge::PoolConfig {
        queue: Some(5),
        ..edge::PoolConfig::new("app", vec![server("a", 3), server("c", 1)])
    };
    let after = Arc::new(UpstreamPool::new(&config, Some(&before), EdgeClock::start()).unwrap());
    after.take_over();
    assert_eq!(after.servers[0].id, before.servers[0].id);
    assert_eq!(
        (after.servers[0].in_flight(), after.servers[0].limit()),
        (3, 3)
    );
    // Two more slots at a, one at c: queued requests take them. What b releases goes to nobody.
    let granted = [&ticket, &second, &last].map(|ticket| ticket.taken().unwrap().name.clone());
    assert_eq!(granted.iter().filter(|name| *name == "a").count(), 2);
    assert_eq!(granted.iter().filter(|name| *name == "c").count(), 1);
    let late = waits(before.enter(&request()));
    let [first, second] = held;
    let (of_a, of_b) = if first.server.name == "a" {
        (first, second)
    } else {
        (second, first)
    };
    let cx = Context::from_waker(Waker::noop());
    drop(of_b);
    assert!(late.poll(&cx).is_pending());
    drop(of_a);
    assert!(matches!(late.poll(&cx), std::task::Poll::Ready(server) if server.name == "a"));
}

fn zoned(names: [(&str, &str); 3], max_in_flight: u32) -> Arc<UpstreamPool> {
    let servers = names.map(|(name, zone)| edge::ServerConfig {
        zone: Some(zone.to_owned()),
        ..server(name, max_in_flight)
    });
    let config = edge::PoolConfig {
        zone: Some("west".to_owned()),
        queue: Some(1),
        ..edge::PoolConfig::new("app", servers.into())
    };
    Arc::new(UpstreamPool::new(&config, None, EdgeClock::start()).unwrap())
}

fn names_of(pool: &Arc<UpstreamPool>, count: usize) -> (Vec<Permit>, Vec<String>) {
    let random = |number: usize| PoolRequest {
        random: mix(number as u64),
        ..request()
    };
    let permits: Vec<Permit> = (0..count)
        .map(|at| granted(pool.enter(&random(at))))
        .collect();
    let mut names: Vec<String> = permits
        .iter()
        .map(|permit| permit.server.name.clone())
        .collect();
    names.sort();
    (permits, names)
}

#[test]
fn the_near_come_first_and_the_far_when_the_near_are_full_or_out() {
    let pool = zoned([("a", "west"), ("b", "east"), ("c", "west")], 2);
    let (held, names) = names_of(&pool, 6);
    assert_eq!(names, ["a", "a", "b", "b", "c", "c"]);
    let far = held.iter().position(|permit| permit.server.name == "b");
    assert_eq!(far, Some(4), "the far are asked when the near are full");
    drop(held);
    for near in [0, 2] {
        pool.servers[near].eject(pool.clock.now(), &pool.config.eject);
    }
    let (held, names) = names_of(&pool, 2);
    assert_eq!(names, ["b", "b"]);
    drop(held);
    let (_, names) = names_of(&zoned([("a", "east"), ("b", "east"), ("c", "north")], 2), 6);
    assert_eq!(names, ["a", "a", "b", "b", "c", "c"]);
}

#[test]
fn a_client_stays_with_its_far_server() {
    let pool = zoned([("a", "west"), ("b", "east"), ("c", "west")], 2);
    let config = edge::PoolConfig {
        load_balancer: edge::BalancingPolicy::Cookie("stay".to_owned()),
        ..pool.config.clone()
    };
    let pool = Arc::new(UpstreamPool::new(&config, None, EdgeClock::start()).unwrap());
    let sticky_request = PoolRequest {
        sticky: Some(pool.servers[1].hash),
        ..request()
    };
    assert_eq!(granted(pool.enter(&sticky_request)).server.name, "b");
}

#[test]
fn a_drained_server_gets_nothing_new() {
    let pool = pool(vec![server("a", 2), server("b", 2)], 0);
    let mut config = pool.config.clone();
    config.servers[0].weight = 0;
    let drained = Arc::new(UpstreamPool::new(&config, Some(&pool), EdgeClock::start()).unwrap());
    drained.take_over();
    let (held, names) = names_of(&drained, 2);
    assert_eq!(names, ["b", "b"]);
    assert!(matches!(
        drained.enter(&request()),
        PoolAdmission::Refused(_)
    ));
    pool.take_over();
    let (_, names) = names_of(&pool, 2);
    assert_eq!(names, ["a", "a"]);
    drop(held);
}

#[test]
fn threads_neither_lose_nor_double_a_place() {
    let pool = pool(vec![server("a", 3), server("b", 2)], 64);
    let most = Arc::new(AtomicUsize::new(0));
    let inside = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (pool, most, inside) = (&pool, &most, &inside);
            scope.spawn(move || {
                for iteration in 0..2000 {
                    let random = mix(thread << 32 | iteration);
                    let permit = match pool.enter(&PoolRequest {
                        random,
                        ..request()
                    }) {
                        PoolAdmission::Granted(permit) => permit,
                        PoolAdmission::Wait(ticket) => loop {
                            if let Some(server) = ticket.taken() {
                                break pool.permit(server);
                            }
                            std::hint::spin_loop();
                        },
                        other => panic!("{other:?}"),
                    };
                    most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(permit);
                }
            });
        }
    });
    assert!(most.load(Ordering::SeqCst) <= 5);
    assert_eq!(pool.waiting(), 0);
    assert!(pool.servers.iter().all(|server| server.in_flight() == 0));
}
