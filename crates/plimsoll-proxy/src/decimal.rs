//! Numbers as decimal digits, appended without an allocation.

/// Appends a number.
pub(crate) fn append(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut left = number;
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(left % 10).unwrap_or(0);
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
