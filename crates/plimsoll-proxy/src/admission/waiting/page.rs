//! The waiting page.

/// The built-in page; users may configure their own.
pub(super) const TEMPLATE: &str = include_str!("page.html");

/// Fills a template. Only numbers and built-in words are inserted.
pub(super) fn fill(template: &str, place: u32, wait_s: Option<u32>, retry_s: u32) -> String {
    template
        .replace("{place}", &place.to_string())
        .replace("{wait}", &wait(wait_s))
        .replace("{retry}", &retry_s.to_string())
}

fn wait(wait_s: Option<u32>) -> String {
    match wait_s {
        None => "not known yet".to_owned(),
        Some(0..=9) => "a few seconds".to_owned(),
        Some(seconds @ 10..=89) => format!("about {} seconds", seconds.div_ceil(10) * 10),
        Some(seconds) => format!("about {} minutes", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_and_its_styles_stay() {
        let text = fill("a{b} {place} {wait} {retry} {place}", 3, Some(100), 5);
        assert_eq!(text, "a{b} 3 about 2 minutes 5 3");
        for (seconds, expected) in [
            (None, "not known yet"),
            (Some(9), "a few seconds"),
            (Some(11), "about 20 seconds"),
        ] {
            assert_eq!(wait(seconds), expected);
        }
        let own = fill(TEMPLATE, 7, None, 4);
        assert!(own.contains("content=\"4\"") && own.contains(">7<"));
    }
}
