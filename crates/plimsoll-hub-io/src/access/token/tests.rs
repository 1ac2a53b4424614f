use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

use super::*;

/// RFC 7515, A.1: signed as HS256, expires at 1300819380.
const HS256: &str = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const HS256_KEY: &str =
    "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
/// RFC 7515, A.3: the same signed as ES256.
const ES256: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
const ES256_KEY: [&str; 2] = [
    "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
];
const BEFORE: f64 = 1_300_819_379.0;
const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn gate(key: VerificationKey) -> TokenGate {
    TokenGate {
        key,
        audience: None,
        public: vec![Pattern::new("news")],
    }
}

fn open_gate() -> TokenGate {
    gate(VerificationKey::Secret(hmac::Key::new(
        hmac::HMAC_SHA256,
        SECRET.as_bytes(),
    )))
}

fn signed(claims: &serde_json::Value) -> String {
    signed_as(&json!({ "alg": "HS256", "typ": "JWT" }), claims)
}

fn signed_as(header: &serde_json::Value, claims: &serde_json::Value) -> String {
    let encode = |value: &serde_json::Value| BASE64.encode(value.to_string());
    let signing_input = format!("{}.{}", encode(header), encode(claims));
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let tag = hmac::sign(&key, signing_input.as_bytes());
    format!("{signing_input}.{}", BASE64.encode(tag))
}

#[test]
fn what_the_standard_signs_is_signed() {
    let key = BASE64.decode(HS256_KEY).unwrap();
    let secret = gate(VerificationKey::Secret(hmac::Key::new(
        hmac::HMAC_SHA256,
        &key,
    )));
    let mut point = vec![4];
    for coordinate in ES256_KEY {
        point.extend(BASE64.decode(coordinate).unwrap());
    }
    let curve = gate(VerificationKey::P256(point));
    for (gate, token, foreign) in [(&secret, HS256, ES256), (&curve, ES256, HS256)] {
        assert!(gate.admit(token, BEFORE).is_ok(), "{gate:?}");
        assert_eq!(
            gate.admit(token, BEFORE + 1.0).unwrap_err(),
            "the token has expired"
        );
        let other = gate.admit(foreign, BEFORE).unwrap_err();
        assert!(other.contains("not signed as"), "{other}");
        let mut changed = token.to_owned();
        changed.replace_range(60..61, if &token[60..61] == "M" { "N" } else { "M" });
        assert_eq!(
            gate.admit(&changed, BEFORE).unwrap_err(),
            "the signature of the token is invalid"
        );
    }
}

#[test]
fn a_new_key_signs_too() {
    let random = SystemRandom::new();
    let scheme = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(scheme, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(scheme, pkcs8.as_ref(), &random).unwrap();
    let signing_input = format!(
        "{}.{}",
        BASE64.encode(r#"{"alg":"ES256"}"#),
        BASE64.encode(r#"{"exp":100}"#)
    );
    let signature = pair.sign(&random, signing_input.as_bytes()).unwrap();
    let token = format!("{signing_input}.{}", BASE64.encode(signature));
    let gate = gate(VerificationKey::P256(pair.public_key().as_ref().to_vec()));
    assert!(gate.admit(&token, 99.0).is_ok());
}

#[test]
fn a_token_lets_its_bearer_do_what_it_says() {
    let gate = open_gate();
    let mut grant = None;
    let mut access = ClientAccess {
        gate: Some(&gate),
        grant: &mut grant,
        is_known: false,
        now_s: 1000.0,
        hooks: None,
        dialog: None,
        settled: &[],
        bounds: None,
    };
    assert!(access.may_subscribe("news") && !access.may_subscribe("game-1"));
    let claims = json!({ "exp": 1010.5, "subscribe": ["game-*"], "publish": ["chat"] });
    access.present(&signed(&claims)).unwrap();
    for (channel, may_subscribe, may_publish) in [
        ("news", true, false),
        ("game-1", true, false),
        ("chat", false, true),
    ] {
        assert_eq!(access.may_subscribe(channel), may_subscribe, "{channel}");
        assert_eq!(access.may_publish(channel), may_publish, "{channel}");
    }
    // An invalid token changes nothing.
    assert!(access.present("x").is_err() && access.may_subscribe("game-1"));
    // The identity is fixed while the client is subscribed.
    access.is_known = true;
    let other = json!({ "exp": 2000, "sub": "eve" });
    assert!(
        access
            .present(&signed(&other))
            .unwrap_err()
            .contains("sub differs")
    );
    access.is_known = false;
    access.present(&signed(&other)).unwrap();
    assert_eq!(access.user(), Some("eve"));
    access.is_known = true;
    access
        .present(&signed(&json!({ "exp": 2001, "sub": "eve" })))
        .unwrap();
    access.is_known = false;
    access.present(&signed(&claims)).unwrap();
    access.now_s = 1010.5;
    assert!(!access.may_subscribe("game-1") && !access.may_publish("chat"));
    assert!(access.may_subscribe("news"));
    let mut none = None;
    let mut open = ClientAccess {
        gate: None,
        grant: &mut none,
        is_known: false,
        now_s: 0.0,
        hooks: None,
        dialog: None,
        settled: &[],
        bounds: None,
    };
    assert!(open.may_subscribe("a") && open.may_publish("a"));
    assert_eq!(open.present("x"), Err("this hub does not use tokens"));
}

#[test]
fn what_lets_nobody_do_anything_says_why() {
    let mut gate = open_gate();
    gate.audience = Some("live".to_owned());
    let good = json!({ "exp": 11, "aud": ["other", "live"], "nbf": 40, "more": {} });
    assert!(gate.admit(&signed(&good), 10.0).is_ok());
    let with = |key: &str, value: serde_json::Value| {
        let mut claims = good.clone();
        claims[key] = value;
        signed(&claims)
    };
    let many: Vec<String> = (0..101).map(|number| number.to_string()).collect();
    let header = |header: serde_json::Value| signed_as(&header, &good);
    for (token, why) in [
        (String::new(), "not a signed JWT"),
        ("a.b".to_owned(), "not a signed JWT"),
        ("a.b.c".to_owned(), "not a signed JWT"),
        ("x".repeat(9000), "longer than 8192"),
        (with("exp", json!(10)), "has expired"),
        (with("exp", json!(null)), "no expiry"),
        (with("exp", json!("soon")), "exp must be in seconds"),
        (with("nbf", json!(41)), "not valid yet"),
        (with("aud", json!("other")), "another audience"),
        (with("aud", json!(null)), "another audience"),
        (with("subscribe", json!("game-1")), "invalid claims"),
        (with("publish", json!(many)), "more than 100"),
        (header(json!({ "alg": "none" })), "not signed as HS256"),
        (header(json!({ "alg": "RS256" })), "not signed as HS256"),
        (
            header(json!({ "alg": "HS256", "crit": ["b64"] })),
            "not signed as HS256",
        ),
    ] {
        let error = gate.admit(&token, 10.0).unwrap_err();
        assert!(error.contains(why), "{token}: {error}");
    }
}
