//! No spelling of a path gets past a route with access rules: tested against models of how servers read paths, which
//! share nothing with the edge's own readings.

use std::sync::{Arc, LazyLock};

use plimsoll_config::edge::{
    IpFilterConfig, Network, PathMatch, PathParameters, RouteConfig as Config, RouteMatch,
};
use plimsoll_wire::request_head::header_buffer;

use super::servers::models;
use super::{request_to, whole};
use crate::admission::route::Routes;
use crate::admission::route::shared::RouteShared;

/// Routes, which of them guard something, and what is guarded.
struct GuardedRoutes {
    routes: Routes,
    guards: Vec<bool>,
    /// Servers with case-sensitive paths.
    caseless: bool,
    is_guarded: fn(&str) -> bool,
}

static TABLES: LazyLock<Vec<GuardedRoutes>> = LazyLock::new(|| {
    let guard = |path: PathMatch| Config {
        access: Some(IpFilterConfig {
            deny: Network::all().to_vec(),
            ..IpFilterConfig::default()
        }),
        ..open(path)
    };
    let caseless = |route: Config| Config {
        case_ignored: true,
        ..route
    };
    let kept = |route: Config| Config {
        path_parameters: Some(PathParameters::Kept),
        ..route
    };
    let below = |path: &str| PathMatch::Prefix(path.to_owned());
    let expression = PathMatch::Regex("^/(intern|admin)(/|$)".to_owned());
    vec![
        table(
            &[
                guard(below("/admin/")),
                kept(open(below("/pub/"))),
                open(PathMatch::Any),
            ],
            |area| area == "admin",
        ),
        table(
            &[
                open(below("/x/")),
                kept(guard(expression)),
                kept(open(PathMatch::Any)),
            ],
            |area| area == "admin" || area == "intern",
        ),
        table(&[open(below("/pub/")), guard(PathMatch::Any)], |area| {
            area != "pub"
        }),
        table(
            &[kept(open(below("/pub/"))), kept(guard(PathMatch::Any))],
            |area| area != "pub",
        ),
        table(
            &[
                caseless(guard(below("/Administration/"))),
                open(PathMatch::Any),
            ],
            is_administration,
        ),
        table(
            &[caseless(open(below("/pub/"))), guard(PathMatch::Any)],
            |area| !area.eq_ignore_ascii_case("pub"),
        ),
    ]
});

fn open(path: PathMatch) -> Config {
    Config {
        matches: RouteMatch {
            path,
            ..RouteMatch::default()
        },
        ..Config::everything(0)
    }
}

fn table(configs: &[Config], is_guarded: fn(&str) -> bool) -> GuardedRoutes {
    let shared = configs
        .iter()
        .map(|config| RouteShared::new(config, &[], 1).map(Arc::new));
    let shared: Vec<_> = shared
        .map(|route| route.expect("the route is valid"))
        .collect();
    GuardedRoutes {
        routes: Routes::new(configs, &shared, &[]).expect("the routes are valid"),
        guards: configs
            .iter()
            .map(|config| config.access.is_some())
            .collect(),
        caseless: configs.iter().any(|config| config.case_ignored),
        is_guarded,
    }
}

/// Its name in any case, or one of the short names that Windows may have given it.
fn is_administration(area: &str) -> bool {
    let area = area.to_lowercase();
    let (stem, ending) = area.split_once('.').unwrap_or((&area, ""));
    let (start, number) = stem.split_once('~').unwrap_or((stem, "none"));
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    let is_short = is_number && stem.len() <= 8 && ending.len() <= 3;
    area == "administration"
        || is_short && "administration".starts_with(&start[..start.len().min(2)])
}

/// A request on an open route is not read by any server as something that another route guards.
///
/// # Panics
/// When it is.
pub fn no_spelling_gets_past_a_guard(target: &str) {
    let bytes = request_to(target);
    let mut room = header_buffer();
    let Some(head) = whole(&bytes, &mut room) else {
        return;
    };
    let path = head.target.split('?').next().unwrap_or_default();
    for table in TABLES.iter() {
        let Ok(Some(index)) = table.routes.find(&head, 0.0) else {
            continue;
        };
        if table.guards[index] {
            continue;
        }
        for (server, model) in models(table.caseless) {
            for segments in model(path.as_bytes()) {
                let area = String::from_utf8_lossy(segments.first().map_or(&[], Vec::as_slice));
                assert!(
                    !(table.is_guarded)(&area),
                    "{server} reads {target} in {area:?}"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Building blocks of paths that are meant to be misread.
    const PIECES: [&str; 66] = [
        "/",
        "/",
        "/",
        "/",
        "//",
        "admin",
        "admin/",
        "/admin/",
        "pub",
        "pub/",
        "/pub/",
        "x",
        "x/",
        "intern",
        "ADMIN",
        "Pub",
        "Administration",
        "ADMINISTRATION/",
        "ADMINI~1",
        "ad12~1",
        "a",
        "dmin",
        "%61",
        "%41",
        "%2561",
        "%70",
        ".",
        "..",
        "/..",
        "/../",
        "%2e",
        "%2E%2e",
        "%252e",
        "%2f",
        "%2F",
        "%5c",
        "%252f",
        "%255c",
        ";",
        ";a=b",
        ";/",
        "%3b",
        "%253b",
        "%c0%af",
        "%c0%ae",
        "%c1%a1",
        "%c1%21",
        "%e0%80%af",
        "%f0%80%80%af",
        "%ef%bd%81",
        "%ef%bc%8f",
        "%ef%bc%8e",
        "%ef%bc%9b",
        "%u0061",
        "%25u0061",
        "%25u002f",
        "%00",
        "%09",
        "%ff",
        "%20",
        "%3a",
        "::$DATA",
        "%3f",
        "%23",
        "?",
        "%",
    ];

    fn target() -> impl Strategy<Value = String> {
        let pieces = prop::collection::vec(prop::sample::select(&PIECES[..]), 0..9);
        pieces.prop_map(|pieces| format!("/{}", pieces.concat()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn no_spelling_of_many_gets_past_a_guard(target in target()) {
            no_spelling_gets_past_a_guard(&target);
        }
    }

    /// Whether some server reads a path as inside an area.
    fn may_be_read(path: &str, area: &str) -> bool {
        models(true).any(|(_, model)| {
            let mut readings = model(path.as_bytes()).into_iter();
            readings.any(|segments| {
                let first = segments.first().map_or(&[][..], Vec::as_slice);
                first.eq_ignore_ascii_case(area.as_bytes())
            })
        })
    }

    #[test]
    fn the_models_read_what_attackers_write() {
        for path in [
            "/admin;a/x",
            "/pub/..;/admin/x",
            "/pub/%2e%2e;/admin/x",
            "/;a/admin/x",
            "/admin%3ba/x",
            "/admin%253b/x",
            "//admin/x",
            "/pub/..%2fadmin",
            "/pub%5c..%5cadmin/",
            "/%2561dmin/x",
            "/pub/%252e%252e/admin",
            "/%u0061dmin/",
            "/%25u0061dmin/",
            "/%c1%a1dmin/x",
            "/pub/%c0%ae%c0%ae%c0%afadmin",
            "/pub%e0%80%af..%e0%80%afadmin",
            "/admin%09/",
            "/%ff%61dmin/x",
            "/%ef%bd%81dmin/x",
            "/%ef%bc%8fadmin",
            "//pub/admin/x",
            "/admin%3fx",
            "/admin%23x",
            "/ADMIN/x",
            "/admin./x",
            "/admin%20/x",
            "/admin::$DATA/x",
            "/;a=%2fadmin/x",
            "/;a=%252fadmin/x",
        ] {
            assert!(may_be_read(path, "admin"), "{path}");
            no_spelling_gets_past_a_guard(path);
        }
        for path in [
            "/",
            "/pub/admin",
            "/administrator",
            "/x;admin",
            "/pub/..well",
            "/%61",
        ] {
            assert!(!may_be_read(path, "admin"), "{path}");
        }
        assert!(
            ["ADMINI~1", "ADMIN~12", "AD3F~1", "administration"]
                .into_iter()
                .all(is_administration)
        );
        assert!(
            !["admin", "ADMINI~X", "public~1", "x"]
                .into_iter()
                .any(is_administration)
        );
    }
}
