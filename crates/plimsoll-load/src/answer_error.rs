//! What an unacceptable response means for its request.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::error::Http1Error;

/// The outcome; beyond a limit of heads it names the limit.
pub(crate) fn outcome(error: Http1Error) -> Outcome {
    match error {
        Http1Error::HeadTooLong(_) => Outcome::HeadTooLong,
        Http1Error::TooManyHeaders(_) => Outcome::TooManyHeaders,
        _ => Outcome::Protocol,
    }
}

/// The reason in words, with the setting that allows more.
pub(crate) fn reason(error: Http1Error) -> String {
    let setting = match error {
        Http1Error::HeadTooLong(_) => "max_head",
        Http1Error::TooManyHeaders(_) => "max_headers",
        Http1Error::BodyTooLong => "max_body",
        _ => return error.to_string(),
    };
    format!("{error}; `{setting}` of `transport` sets the limit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_named() {
        let error = Http1Error::TooManyHeaders(1000);
        assert_eq!(outcome(error), Outcome::TooManyHeaders);
        assert_eq!(
            reason(error),
            "the head has more than 1000 headers; `max_headers` of `transport` sets the limit"
        );
        assert_eq!(outcome(Http1Error::HeadTooLong(9)), Outcome::HeadTooLong);
        assert_eq!(outcome(Http1Error::BareLineFeed), Outcome::Protocol);
    }
}
