//! Tokens and stored identities: any text is one or is refused, and one is written as it was read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_peer::{Identity, Token};

fuzz_target!(|text: &str| {
    if let Ok(token) = Token::parse(text) {
        assert_eq!(token.to_text(), text.trim());
    }
    let _ = Identity::parse(text);
});
