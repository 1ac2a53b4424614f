use super::*;

fn server(url: &str) -> ServerConfig {
    ServerConfig::parse(url).unwrap()
}

fn named(url: &str, last: &[u8]) -> ServerConfig {
    let server = server(url);
    ServerConfig {
        addresses: addresses(server.port, last),
        ..server
    }
}

fn addresses(port: u16, last: &[u8]) -> Vec<SocketAddr> {
    last.iter()
        .map(|&last| SocketAddr::from(([192, 0, 2, last], port)))
        .collect()
}

fn registry() -> UpstreamRegistry {
    UpstreamRegistry::new(&[
        edge::PoolConfig::new(
            "app",
            vec![
                server("http://192.0.2.1:3000"),
                named("http://app:80", &[7, 8]),
            ],
        ),
        edge::PoolConfig::new("one", vec![server("http://192.0.2.2")]),
    ])
}

/// The servers of a pool and their weights.
fn servers(registry: &UpstreamRegistry, pool: &str) -> Vec<String> {
    let pools = registry.pools();
    let pool = pools
        .iter()
        .find(|candidate| candidate.name == pool)
        .unwrap();
    let show = |server: &ServerConfig| format!("{} {}", server.name, server.weight);
    pool.servers.iter().map(show).collect()
}

#[test]
fn each_address_of_a_name_is_a_server() {
    let mut registry = registry();
    assert_eq!(
        servers(&registry, "app"),
        [
            "192.0.2.1:3000 1",
            "app:80/192.0.2.7 1",
            "app:80/192.0.2.8 1"
        ]
    );
    let name = ("app".to_owned(), 80);
    assert_eq!(registry.names(), BTreeSet::from([name.clone()]));
    assert!(!registry.found(&name, addresses(80, &[7, 8])));
    assert!(!registry.found(&name, Vec::new()), "nowhere is no news");
    assert!(!registry.found(&("other".to_owned(), 80), addresses(80, &[1])));
    assert!(registry.found(&name, addresses(80, &[9])));
    assert_eq!(
        servers(&registry, "app"),
        ["192.0.2.1:3000 1", "app:80/192.0.2.9 1"]
    );
}

#[test]
fn servers_come_and_go_by_order() {
    let mut registry = registry();
    let add = |url: &str| ServerOrder::Add(Box::new(named(url, &[3])));
    registry.order("one", add("http://192.0.2.9")).unwrap();
    registry.order("one", add("http://new:81")).unwrap();
    assert_eq!(
        servers(&registry, "one"),
        ["192.0.2.2:80 1", "192.0.2.9:80 1", "new:81/192.0.2.3 1"]
    );
    assert!(
        registry.is_added("one", "new:81/192.0.2.3") && !registry.is_added("one", "192.0.2.2:80")
    );
    assert!(matches!(
        registry.order("one", add("http://new:81")),
        Err(ServerOrderError::IsThere(..))
    ));
    registry
        .order("one", ServerOrder::Weight("new:81".to_owned(), 5))
        .unwrap();
    registry
        .order("one", ServerOrder::Weight("192.0.2.2:80".to_owned(), 0))
        .unwrap();
    registry
        .order("one", ServerOrder::Remove("192.0.2.9:80".to_owned()))
        .unwrap();
    assert_eq!(
        servers(&registry, "one"),
        ["192.0.2.2:80 0", "new:81/192.0.2.3 5"]
    );
    registry
        .order("one", ServerOrder::Remove("192.0.2.2:80".to_owned()))
        .unwrap();
    assert_eq!(servers(&registry, "one"), ["new:81/192.0.2.3 5"]);
    let last = registry.order("one", ServerOrder::Remove("new:81".to_owned()));
    assert!(matches!(last, Err(ServerOrderError::Last(..))), "{last:?}");
    // A configured server that was removed can be added again.
    registry.order("one", add("http://192.0.2.2")).unwrap();
    assert_eq!(
        servers(&registry, "one"),
        ["192.0.2.2:80 1", "new:81/192.0.2.3 5"]
    );
    registry.order("one", ServerOrder::Reset).unwrap();
    assert_eq!(servers(&registry, "one"), ["192.0.2.2:80 1"]);
    assert_eq!((registry.override_count(), registry.names().len()), (0, 1));
}

#[test]
fn one_address_of_a_name_can_be_drained() {
    let mut registry = registry();
    registry
        .order("app", ServerOrder::Weight("app:80/192.0.2.8".to_owned(), 0))
        .unwrap();
    assert_eq!(
        servers(&registry, "app"),
        [
            "192.0.2.1:3000 1",
            "app:80/192.0.2.7 1",
            "app:80/192.0.2.8 0"
        ]
    );
    registry
        .order("app", ServerOrder::Weight("app:80".to_owned(), 3))
        .unwrap();
    assert_eq!(
        servers(&registry, "app"),
        [
            "192.0.2.1:3000 1",
            "app:80/192.0.2.7 3",
            "app:80/192.0.2.8 0"
        ]
    );
}

#[test]
fn what_was_told_outlives_a_new_configuration() {
    let mut registry = registry();
    registry
        .order(
            "one",
            ServerOrder::Add(Box::new(server("http://192.0.2.9"))),
        )
        .unwrap();
    registry
        .order("app", ServerOrder::Weight("192.0.2.1:3000".to_owned(), 0))
        .unwrap();
    registry.follow(&[edge::PoolConfig::new(
        "one",
        vec![server("http://192.0.2.4")],
    )]);
    assert_eq!(
        servers(&registry, "one"),
        ["192.0.2.4:80 1", "192.0.2.9:80 1"]
    );
    assert_eq!(
        registry.override_count(),
        1,
        "of a pool that is gone nothing stays"
    );
    assert!(registry.names().is_empty());
}

#[test]
fn orders_that_mean_nothing_are_refused() {
    let mut registry = registry();
    let error_text = |refused: Result<String, ServerOrderError>| refused.unwrap_err().to_string();
    let weight = |name: &str| ServerOrder::Weight(name.to_owned(), 2);
    assert!(error_text(registry.order("ap", weight("x"))).contains("valid: app, one"));
    let nobody = error_text(registry.order("app", weight("192.0.2.1")));
    assert!(
        nobody.contains("valid: 192.0.2.1:3000, app:80/192.0.2.7"),
        "{nobody}"
    );
    for number in 0..ADDED_MAX {
        let url = format!("http://10.0.{}.{}", number / 256, number % 256);
        registry
            .order("app", ServerOrder::Add(Box::new(server(&url))))
            .unwrap();
    }
    let more = registry.order("app", ServerOrder::Add(Box::new(server("http://10.9.9.9"))));
    assert!(error_text(more).contains("1000"));
}
