//! Times and addresses as configurations write them.

use proptest::prelude::*;

use super::*;

#[test]
fn times_have_units() {
    let all = ["60", "1m30s", "1500ms", "2d", "", "s", "1x", "auto"];
    let read = all.map(|text| seconds(text, 1.0));
    let right = [Some(60.0), Some(90.0), Some(1.5), Some(172_800.0)];
    assert_eq!(read[..4], right);
    assert_eq!(read[4..], [None; 4]);
    assert_eq!(seconds("5000", 1e-3), Some(5.0));
}

#[test]
fn addresses_are_the_same_however_they_are_written() {
    for (to, listen) in [
        ("127.0.0.1:9000", "127.0.0.1:9000"),
        ("localhost:80", "*:80"),
        ("127.0.0.1:80", "80"),
        ("127.0.0.1", "[::]:80"),
        ("/run/a.sock", "unix:/run/a.sock"),
        ("/var/run/pg/.s.PGSQL.5432", "/run/pg/.s.PGSQL.5432"),
    ] {
        assert!(is_at(to, listen), "{to} {listen}");
    }
    for (to, listen) in [
        ("127.0.0.1:9000", "127.0.0.2:9000"),
        ("10.1.2.3:80", "*:80"),
        ("/run/a.sock", "80"),
        ("127.0.0.1:9000", "9001"),
    ] {
        assert!(!is_at(to, listen), "{to} {listen}");
    }
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in "[a-z:$ \n/0-9]*") {
        let _ = (seconds(&text, 1.0), is_at(&text, &text));
    }
}
