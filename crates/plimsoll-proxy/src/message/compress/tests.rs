use plimsoll_wire::head::parse_with;

use super::*;

#[track_caller]
fn takes(lines: &[&str], coding: Option<CompressCoding>) {
    let headers: Vec<Header<'_>> = lines
        .iter()
        .map(|line| Header {
            name: "Accept-Encoding",
            value: line.as_bytes(),
        })
        .collect();
    let ours = [
        CompressCoding::Zstd,
        CompressCoding::Brotli,
        CompressCoding::Gzip,
    ];
    assert_eq!(accepted(&headers, &ours), coding, "{lines:?}");
}

#[test]
fn the_coding_a_client_likes_best_is_taken() {
    takes(&[], None);
    takes(&[""], None);
    takes(&["gzip"], Some(CompressCoding::Gzip));
    takes(&["X-GZIP"], Some(CompressCoding::Gzip));
    takes(&["gzip, deflate, br, zstd"], Some(CompressCoding::Zstd));
    takes(&["gzip, deflate, br"], Some(CompressCoding::Brotli));
    takes(&["gzip", "br"], Some(CompressCoding::Brotli));
    takes(&["br;q=0.5, gzip;q=0.8"], Some(CompressCoding::Gzip));
    takes(&["br;q=0, gzip;q=0.001"], Some(CompressCoding::Gzip));
    takes(&["br;q=0, gzip;q=0.000"], None);
    takes(&["gzip;q=0.5, identity"], None);
    takes(&["gzip;q=0.5, identity;q=0.5"], Some(CompressCoding::Gzip));
    takes(&["*"], Some(CompressCoding::Zstd));
    takes(&["*;q=0.5, zstd;q=0"], Some(CompressCoding::Brotli));
    takes(&["identity;q=1, *;q=0"], None);
    takes(&["deflate"], None);
    takes(&["gzip;q=2"], None);
    takes(&["gzip;q=0.1234"], None);
    takes(&["gzip ; q=1.000"], Some(CompressCoding::Gzip));
}

#[track_caller]
fn check(head: &str, expected: bool) {
    let compress = Compress {
        types: vec!["text/*".to_owned(), "application/json".to_owned()],
        ..Compress::default()
    };
    let answer = format!("HTTP/1.1 {head}\r\n\r\n");
    let worth = parse_with(answer.as_bytes(), |head, headers| {
        is_worth_it(head, headers, &compress)
    });
    assert_eq!(worth.unwrap(), expected, "{head}");
}

#[test]
fn only_what_gains_is_compressed() {
    let html = "Content-Type: text/html; charset=utf-8\r\nContent-Length: 5000";
    check(&format!("200 OK\r\n{html}"), true);
    check(&format!("404 No\r\n{html}"), true);
    check(
        "200 OK\r\nContent-Type: Application/JSON\r\nTransfer-Encoding: chunked",
        true,
    );
    check(
        "200 OK\r\nContent-Type: text/html\r\nContent-Length: 1023",
        false,
    );
    check(
        "200 OK\r\nContent-Type: image/png\r\nContent-Length: 5000",
        false,
    );
    check("200 OK\r\nContent-Length: 5000", false);
    check("200 OK\r\nContent-Type: text/event-stream", false);
    check(
        &format!("200 OK\r\n{html}\r\nContent-Encoding: gzip"),
        false,
    );
    check(
        &format!("200 OK\r\n{html}\r\nContent-Encoding: identity"),
        true,
    );
    check(
        &format!("200 OK\r\n{html}\r\nCache-Control: max-age=3, No-Transform"),
        false,
    );
    check(
        &format!("206 Part\r\n{html}\r\nContent-Range: bytes 0-1/2"),
        false,
    );
    check(&format!("304 Not\r\n{html}"), false);
    check("204 No\r\nContent-Type: text/html", false);
}

#[test]
fn what_goes_in_comes_out_promptly_and_whole() {
    let text: Vec<u8> = (0..200_000_u32)
        .flat_map(|number| number.to_string().into_bytes())
        .collect();
    for coding in [
        CompressCoding::Zstd,
        CompressCoding::Brotli,
        CompressCoding::Gzip,
    ] {
        for level in [1, 4, 9] {
            for len in [None, Some(text.len() as u64)] {
                let mut coder = Coder::new(coding, level, len).unwrap();
                let mut packed = Vec::new();
                for piece in text.chunks(50_000) {
                    coder.feed(piece).unwrap();
                    assert!(coder.is_behind());
                    coder.flush().unwrap();
                    assert!(!coder.is_behind() && !coder.out().is_empty());
                    packed.append(coder.out());
                }
                packed.extend(coder.finish().unwrap());
                assert!(packed.len() < text.len() / 2);
                let len = text.len() as u64;
                let name = name(coding).as_bytes();
                assert!(decompress(name, &packed, len).as_deref() == Some(&text[..]));
                assert_eq!(
                    decompress(name, &packed, len - 1),
                    None,
                    "a bomb has a bound"
                );
            }
        }
    }
    assert_eq!(decompress(b"gzip", b"no gzip", 10), None);
    assert_eq!(decompress(b"rot13", b"abc", 10), None);
}

#[test]
fn a_budget_bounds_time_and_number() {
    let budget = CompressionBudget::default();
    let second = BUDGET_NS;
    assert!(budget.allows(10 * second, 0.5));
    budget.spend(second / 2);
    assert!(!budget.allows(10 * second + 1, 0.5));
    assert!(budget.allows(11 * second, 0.5), "a second later it is new");
    (0..CODERS_MAX).for_each(|_| budget.enter());
    assert!(!budget.allows(11 * second, 0.5));
    budget.leave();
    assert!(budget.allows(11 * second, 0.5));
}
