//! Two requests that share a cache key are forwarded alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_proxy::properties::{CacheRule, Sender, equal_keys_mean_equal_requests};

type SenderInput<'a> = (bool, bool, u8, &'a [u8]);

fuzz_target!(|input: (SenderInput<'_>, SenderInput<'_>, (u8, bool, bool))| {
    let (first, second, (query, sorted, lenient)) = input;
    let sender = |(trusted, secure, address, _): SenderInput<'_>| Sender {
        trusted,
        secure,
        address,
    };
    equal_keys_mean_equal_requests(
        [first.3, second.3],
        [sender(first), sender(second)],
        CacheRule {
            query,
            sorted,
            lenient,
        },
    );
});
