//! Elements of any text: never more than it has signs that could begin one.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|page: &str| {
    let elements = plimsoll_browser::elements::count(page);
    assert!(elements <= page.matches('<').count() as u64);
});
