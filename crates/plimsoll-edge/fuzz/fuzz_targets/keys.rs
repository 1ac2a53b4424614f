//! Two requests that share a copy's key are forwarded alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_edge::properties::{Rule, Sender, one_key_is_one_request};

type Input<'a> = (bool, bool, u8, &'a [u8]);

fuzz_target!(|input: (Input<'_>, Input<'_>, (u8, bool, bool))| {
    let (one, other, (query, sorted, lenient)) = input;
    let sender = |(trusted, secure, address, _): Input<'_>| Sender {
        trusted,
        secure,
        address,
    };
    one_key_is_one_request(
        [one.3, other.3],
        [sender(one), sender(other)],
        Rule {
            query,
            sorted,
            lenient,
        },
    );
});
