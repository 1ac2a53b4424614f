//! Which bytes importers percent-encode, where several tools agree.

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC};

/// All but the unreserved characters of RFC 3986, 2.3: values of a query or a form.
pub(crate) const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// What no path may have as it is: characters outside of the grammar of RFC 3986.
pub(crate) const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');
