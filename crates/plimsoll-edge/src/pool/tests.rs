use std::task::{Context, Waker};

use super::*;

fn server(name: &str, max_in_flight: u32) -> edge::Server {
    edge::Server {
        name: name.to_owned(),
        max_in_flight: Some(max_in_flight),
        ..edge::Server::at("127.0.0.1:1".parse().unwrap())
    }
}

fn pool(servers: Vec<edge::Server>, queue: u32) -> Arc<Pool> {
    let config = edge::Pool {
        queue: Some(queue),
        ..edge::Pool::new("app", servers)
    };
    Arc::new(Pool::new(&config, None, Clock::start()).unwrap())
}

fn asker() -> Asker {
    Asker {
        class: Class::CriticalPlus,
        key: 0,
        sticky: None,
        avoid: None,
        random: 7,
    }
}

#[track_caller]
fn granted(entry: Entry) -> Permit {
    match entry {
        Entry::Granted(permit) => permit,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn waits(entry: Entry) -> Arc<Ticket> {
    match entry {
        Entry::Wait(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_place_that_is_given_back_goes_to_the_next_in_line() {
    let pool = pool(vec![server("a", 2)], 2);
    let first = granted(pool.enter(&asker()));
    let second = granted(pool.enter(&asker()));
    assert_eq!((first.in_flight, second.in_flight), (1, 2));
    let (third, fourth) = (waits(pool.enter(&asker())), waits(pool.enter(&asker())));
    assert!(matches!(
        pool.enter(&asker()),
        Entry::Refused(Refused::Full)
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
    let first = granted(pool.enter(&asker()));
    let (gone, late, last) = (
        waits(pool.enter(&asker())),
        waits(pool.enter(&asker())),
        waits(pool.enter(&asker())),
    );
    pool.leave(&gone);
    assert_eq!(pool.waiting(), 2);
    drop(first);
    // Granted, and gone before it was looked at: the place goes on.
    pool.leave(&late);
    assert!(last.taken().is_some());
    assert_eq!(pool.servers[0].in_flight(), 1);
}

#[test]
fn lower_classes_leave_places_for_higher_ones() {
    let pool = pool(vec![server("a", 10)], 0);
    let sheddable = Asker {
        class: Class::Sheddable,
        ..asker()
    };
    let held: Vec<Permit> = (0..6).map(|_| granted(pool.enter(&sheddable))).collect();
    assert!(matches!(
        pool.enter(&sheddable),
        Entry::Refused(Refused::Full)
    ));
    let others: Vec<Permit> = (0..4).map(|_| granted(pool.enter(&asker()))).collect();
    assert!(matches!(pool.enter(&asker()), Entry::Refused(_)));
    drop((held, others));
}

#[test]
fn a_retry_goes_elsewhere_and_retries_are_few() {
    let pool = pool(vec![server("a", 100), server("b", 100)], 0);
    let avoid = pool.servers[0].id;
    let again = Asker {
        avoid: Some(avoid),
        ..asker()
    };
    for random in 0..20 {
        let asker = Asker { random, ..again };
        assert_ne!(pool.enter_again(&asker).unwrap().server.id, avoid);
    }
    let before = (0..1000).filter(|_| pool.may_retry()).count();
    (0..1000).for_each(|_| drop(pool.enter(&asker())));
    let after = (0..1000).filter(|_| pool.may_retry()).count();
    assert!((10..=13).contains(&before), "{before}");
    assert!((98..=102).contains(&after), "{after}");
}

#[test]
fn servers_that_fail_are_ejected_but_never_all() {
    let pool = pool(vec![server("a", 100), server("b", 100)], 0);
    let sample = limit::Sample {
        service: 1,
        total: 1,
        in_flight: 1,
        overload: false,
    };
    let permits: Vec<Permit> = (0..40)
        .map(|random| {
            granted(pool.enter(&Asker {
                random: mix(random),
                ..asker()
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
    let sample = limit::Sample {
        service: 1,
        total: 1,
        in_flight: 1,
        overload: false,
    };
    let permit = granted(pool.enter(&asker()));
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
        granted(before.enter(&asker())),
        granted(before.enter(&asker())),
    ];
    let (ticket, second, last) = (
        waits(before.enter(&asker())),
        waits(before.enter(&asker())),
        waits(before.enter(&asker())),
    );
    let config = edge::Pool {
        queue: Some(5),
        ..edge::Pool::new("app", vec![server("a", 3), server("c", 1)])
    };
    let after = Arc::new(Pool::new(&config, Some(&before), Clock::start()).unwrap());
    after.take_over();
    assert_eq!(after.servers[0].id, before.servers[0].id);
    assert_eq!(
        (after.servers[0].in_flight(), after.servers[0].limit()),
        (3, 3)
    );
    // Two more places with a, one with c: those who waited have them. What b gives back goes to nobody.
    let granted = [&ticket, &second, &last].map(|ticket| ticket.taken().unwrap().name.clone());
    assert_eq!(granted.iter().filter(|name| *name == "a").count(), 2);
    assert_eq!(granted.iter().filter(|name| *name == "c").count(), 1);
    let late = waits(before.enter(&asker()));
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

fn zoned(names: [(&str, &str); 3], max_in_flight: u32) -> Arc<Pool> {
    let servers = names.map(|(name, zone)| edge::Server {
        zone: Some(zone.to_owned()),
        ..server(name, max_in_flight)
    });
    let config = edge::Pool {
        zone: Some("west".to_owned()),
        queue: Some(1),
        ..edge::Pool::new("app", servers.into())
    };
    Arc::new(Pool::new(&config, None, Clock::start()).unwrap())
}

fn names_of(pool: &Arc<Pool>, count: usize) -> (Vec<Permit>, Vec<String>) {
    let random = |number: usize| Asker {
        random: mix(number as u64),
        ..asker()
    };
    let permits: Vec<Permit> = (0..count)
        .map(|at| granted(pool.enter(&random(at))))
        .collect();
    let mut names: Vec<String> = permits.iter().map(|one| one.server.name.clone()).collect();
    names.sort();
    (permits, names)
}

#[test]
fn the_near_come_first_and_the_far_when_the_near_are_full_or_out() {
    let pool = zoned([("a", "west"), ("b", "east"), ("c", "west")], 2);
    let (held, names) = names_of(&pool, 6);
    assert_eq!(names, ["a", "a", "b", "b", "c", "c"]);
    let far = held.iter().position(|one| one.server.name == "b");
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
    let config = edge::Pool {
        chooser: Chooser::Cookie("stay".to_owned()),
        ..pool.config.clone()
    };
    let pool = Arc::new(Pool::new(&config, None, Clock::start()).unwrap());
    let asker = Asker {
        sticky: Some(pool.servers[1].hash),
        ..asker()
    };
    assert_eq!(granted(pool.enter(&asker)).server.name, "b");
}

#[test]
fn a_drained_server_gets_nothing_new() {
    let pool = pool(vec![server("a", 2), server("b", 2)], 0);
    let mut config = pool.config.clone();
    config.servers[0].weight = 0;
    let drained = Arc::new(Pool::new(&config, Some(&pool), Clock::start()).unwrap());
    drained.take_over();
    let (held, names) = names_of(&drained, 2);
    assert_eq!(names, ["b", "b"]);
    assert!(matches!(drained.enter(&asker()), Entry::Refused(_)));
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
                for turn in 0..2000 {
                    let random = mix(thread << 32 | turn);
                    let permit = match pool.enter(&Asker { random, ..asker() }) {
                        Entry::Granted(permit) => permit,
                        Entry::Wait(ticket) => loop {
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
