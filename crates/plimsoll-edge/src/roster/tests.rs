use super::*;

fn server(url: &str) -> Server {
    Server::parse(url).unwrap()
}

fn named(url: &str, last: &[u8]) -> Server {
    let server = server(url);
    Server {
        addresses: addresses(server.port, last),
        ..server
    }
}

fn addresses(port: u16, last: &[u8]) -> Vec<SocketAddr> {
    last.iter()
        .map(|&last| SocketAddr::from(([192, 0, 2, last], port)))
        .collect()
}

fn roster() -> Roster {
    Roster::new(&[
        edge::Pool::new(
            "app",
            vec![
                server("http://192.0.2.1:3000"),
                named("http://app:80", &[7, 8]),
            ],
        ),
        edge::Pool::new("one", vec![server("http://192.0.2.2")]),
    ])
}

/// The servers of a pool and their weights.
fn seen(roster: &Roster, pool: &str) -> Vec<String> {
    let pools = roster.pools();
    let pool = pools.iter().find(|one| one.name == pool).unwrap();
    let show = |one: &Server| format!("{} {}", one.name, one.weight);
    pool.servers.iter().map(show).collect()
}

#[test]
fn each_address_of_a_name_is_a_server() {
    let mut roster = roster();
    assert_eq!(
        seen(&roster, "app"),
        [
            "192.0.2.1:3000 1",
            "app:80/192.0.2.7 1",
            "app:80/192.0.2.8 1"
        ]
    );
    let name = ("app".to_owned(), 80);
    assert_eq!(roster.names(), BTreeSet::from([name.clone()]));
    assert!(!roster.found(&name, addresses(80, &[7, 8])));
    assert!(!roster.found(&name, Vec::new()), "nowhere is no news");
    assert!(!roster.found(&("other".to_owned(), 80), addresses(80, &[1])));
    assert!(roster.found(&name, addresses(80, &[9])));
    assert_eq!(
        seen(&roster, "app"),
        ["192.0.2.1:3000 1", "app:80/192.0.2.9 1"]
    );
}

#[test]
fn servers_come_and_go_by_order() {
    let mut roster = roster();
    let add = |url: &str| Order::Add(Box::new(named(url, &[3])));
    roster.order("one", add("http://192.0.2.9")).unwrap();
    roster.order("one", add("http://new:81")).unwrap();
    assert_eq!(
        seen(&roster, "one"),
        ["192.0.2.2:80 1", "192.0.2.9:80 1", "new:81/192.0.2.3 1"]
    );
    assert!(roster.is_added("one", "new:81/192.0.2.3") && !roster.is_added("one", "192.0.2.2:80"));
    assert!(matches!(
        roster.order("one", add("http://new:81")),
        Err(Refusal::IsThere(..))
    ));
    roster
        .order("one", Order::Weight("new:81".to_owned(), 5))
        .unwrap();
    roster
        .order("one", Order::Weight("192.0.2.2:80".to_owned(), 0))
        .unwrap();
    roster
        .order("one", Order::Remove("192.0.2.9:80".to_owned()))
        .unwrap();
    assert_eq!(
        seen(&roster, "one"),
        ["192.0.2.2:80 0", "new:81/192.0.2.3 5"]
    );
    roster
        .order("one", Order::Remove("192.0.2.2:80".to_owned()))
        .unwrap();
    assert_eq!(seen(&roster, "one"), ["new:81/192.0.2.3 5"]);
    let last = roster.order("one", Order::Remove("new:81".to_owned()));
    assert!(matches!(last, Err(Refusal::Last(..))), "{last:?}");
    // A configured server that was removed can be added again.
    roster.order("one", add("http://192.0.2.2")).unwrap();
    assert_eq!(
        seen(&roster, "one"),
        ["192.0.2.2:80 1", "new:81/192.0.2.3 5"]
    );
    roster.order("one", Order::Reset).unwrap();
    assert_eq!(seen(&roster, "one"), ["192.0.2.2:80 1"]);
    assert_eq!((roster.told(), roster.names().len()), (0, 1));
}

#[test]
fn one_address_of_a_name_can_be_drained() {
    let mut roster = roster();
    roster
        .order("app", Order::Weight("app:80/192.0.2.8".to_owned(), 0))
        .unwrap();
    assert_eq!(
        seen(&roster, "app"),
        [
            "192.0.2.1:3000 1",
            "app:80/192.0.2.7 1",
            "app:80/192.0.2.8 0"
        ]
    );
    roster
        .order("app", Order::Weight("app:80".to_owned(), 3))
        .unwrap();
    assert_eq!(
        seen(&roster, "app"),
        [
            "192.0.2.1:3000 1",
            "app:80/192.0.2.7 3",
            "app:80/192.0.2.8 0"
        ]
    );
}

#[test]
fn what_was_told_outlives_a_new_configuration() {
    let mut roster = roster();
    roster
        .order("one", Order::Add(Box::new(server("http://192.0.2.9"))))
        .unwrap();
    roster
        .order("app", Order::Weight("192.0.2.1:3000".to_owned(), 0))
        .unwrap();
    roster.follow(&[edge::Pool::new("one", vec![server("http://192.0.2.4")])]);
    assert_eq!(seen(&roster, "one"), ["192.0.2.4:80 1", "192.0.2.9:80 1"]);
    assert_eq!(roster.told(), 1, "of a pool that is gone nothing stays");
    assert!(roster.names().is_empty());
}

#[test]
fn orders_that_mean_nothing_are_refused() {
    let mut roster = roster();
    let said = |refused: Result<String, Refusal>| refused.unwrap_err().to_string();
    let weight = |name: &str| Order::Weight(name.to_owned(), 2);
    assert!(said(roster.order("ap", weight("x"))).contains("there are: app, one"));
    let nobody = said(roster.order("app", weight("192.0.2.1")));
    assert!(
        nobody.contains("it has: 192.0.2.1:3000, app:80/192.0.2.7"),
        "{nobody}"
    );
    for number in 0..ADDED_MAX {
        let url = format!("http://10.0.{}.{}", number / 256, number % 256);
        roster
            .order("app", Order::Add(Box::new(server(&url))))
            .unwrap();
    }
    let more = roster.order("app", Order::Add(Box::new(server("http://10.9.9.9"))));
    assert!(said(more).contains("1000"));
}
