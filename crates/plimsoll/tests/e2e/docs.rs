//! The commands of the documentation, run as they are printed ([decision 0561](../../../../docs/decisions/0561-pages-are-run.md)).

mod given;
mod page;
mod room;

use std::path::{Path, PathBuf};

use page::{Block, blocks};

/// Blocks with commands that are not run, each with a reason on its page. Count one more only if its commands cannot run
/// here.
const NOT_RUN_COUNT: usize = 47;

/// Folders of generated pages, of decisions, and of data.
const OTHER_FOLDERS: [&str; 4] = ["benchmarks", "decisions", "examples", "reference"];

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// A test for each group of pages, which takes about as long as the others.
macro_rules! pages {
    ($($test:ident: $($page:literal),+;)+) => {
        const PAGES: &[&str] = &[$($($page),+),+];

        $(
            #[test]
            fn $test() {
                [$($page),+].into_iter().for_each(room::run);
            }
        )+
    };
}

pages! {
    first_steps_are_as_printed: "../README.md", "guides/first-run.md", "guides/ci.md", "limits.md";
    sentences_are_as_printed: "guides/sentences.md", "guides/checking.md";
    journeys_are_as_printed: "guides/journeys.md", "guides/watching-parts.md";
    imports_are_as_printed: "guides/import-scripts.md", "guides/import-openapi.md", "guides/from-recordings-and-logs.md";
    logs_are_as_printed: "guides/logs.md", "guides/availability.md";
    comparisons_are_as_printed: "guides/comparing.md", "guides/history.md", "guides/matrix.md";
    websockets_are_as_printed: "guides/websockets.md", "guides/links.md", "guides/agents.md", "guides/workers.md";
    worlds_are_as_printed: "guides/simulating.md", "guides/scaling.md";
    browsers_are_as_printed: "guides/browsers.md";
    live_pages_and_exports_are_as_printed: "guides/live.md", "guides/export.md";
    the_edge_is_as_printed: "guides/edge.md", "guides/edge-hub.md", "guides/edge-servers.md";
    k6_is_as_printed: "coming-from/k6.md", "guides/import-k6.md";
    jmeter_is_as_printed: "coming-from/jmeter.md", "guides/import-jmeter.md";
    locust_and_wrk_are_as_printed: "coming-from/locust.md", "coming-from/wrk.md";
    proxies_are_as_printed: "coming-from/nginx.md", "coming-from/haproxy.md";
    cache_and_hub_are_as_printed: "coming-from/varnish.md", "coming-from/centrifugo.md";
}

/// Every page with its blocks, by its path below `docs`; the first page of all is above.
fn all() -> Vec<(String, Vec<Block>)> {
    let mut folders = vec![PathBuf::new()];
    let readme = std::fs::read_to_string(docs().join("../README.md")).unwrap();
    let mut pages = vec![("../README.md".to_owned(), blocks(&readme))];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(docs().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = folder.join(&name);
            if entry.file_type().unwrap().is_dir() {
                if !OTHER_FOLDERS.contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|it| it == "md") {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                pages.push((path.to_str().unwrap().to_owned(), blocks(&text)));
            }
        }
    }
    pages.sort_by(|left, right| left.0.cmp(&right.0));
    pages
}

#[test]
fn every_command_is_run_or_its_page_has_the_reason() {
    let mut not_run = Vec::new();
    for (page, blocks) in all() {
        let mut has_commands = false;
        for block in blocks {
            let place = format!("docs/{page}:{}", block.line);
            assert_eq!(block.problem(), None, "{place}");
            match &block.reason {
                Some(reason) => {
                    assert!(reason.len() >= 10, "{place}: `{reason}` is no reason");
                    not_run.push(format!("{place}: {reason}"));
                }
                None => has_commands |= block.has_commands(),
            }
        }
        assert!(
            !has_commands || PAGES.contains(&page.as_str()),
            "docs/{page} has commands and is in no test: add it to `pages!` in {}",
            file!()
        );
    }
    assert_eq!(
        not_run.len(),
        NOT_RUN_COUNT,
        "blocks that are not run:\n{}",
        not_run.join("\n")
    );
}
