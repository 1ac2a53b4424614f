//! Limits and buffers that nginx is configured with, from its log.

use plimsoll_model::finding::{Strength, Tier};

use crate::diagnosis::log_failures;
use crate::diagnosis::rule::{Check, Role, Rule, Symptom};
use crate::diagnosis::rule_id::RuleId::{D1, X6, X8};

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        X6,
        "limiter that nginx is told to keep",
        &[
            Check {
                strength: Strength::Explicit,
                tier: Tier::Proxy,
                symptom: Symptom::Signs(|view| log_failures::failures(view, &["limited"])),
                words: |case| {
                    log_failures::words(
                        case,
                        "a limit configured in nginx",
                        "nginx delayed or rejected requests because of `limit_req` or `limit_conn`",
                    )
                },
                remedy: "if that is not intended, raise `rate` and `burst` of its `limit_req`, or \
                 `limit_conn`",
                explains: &[],
            },
        ],
    ),
    Rule::new(
        X8,
        "proxy buffer spill to disk",
        &[
            Check {
                strength: Strength::Decomposition,
                tier: Tier::Proxy,
                symptom: Symptom::Signs(|view| log_failures::failures(view, &["buffered"])),
                words: |case| {
                    log_failures::words(
                        case,
                        "buffers of nginx",
                        "nginx wrote an answer or a request to a temporary file, because its buffers were too small",
                    )
                },
                remedy: "raise `proxy_buffers` (or `fastcgi_buffers`, `client_body_buffer_size`), \
                 or turn buffering off (`proxy_buffering off`)",
                explains: &[&[D1]],
            },
        ],
    )
    .with_role(Role::Addition),
];
