//! A headless Chromium that loads pages.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Paths where a Chromium may be found.
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// Its path.
///
/// # Panics
/// When there is none: the test cannot run without it.
fn chromium() -> PathBuf {
    let folders = [
        "/usr/bin",
        "/usr/local/bin",
        "/snap/bin",
        "/opt/google/chrome",
    ];
    let candidates = folders
        .iter()
        .flat_map(|folder| NAMES.map(|name| Path::new(folder).join(name)));
    candidates
        .into_iter()
        .find(|path| path.exists())
        .expect("no Chromium found to look at the page with: install the package `chromium` (or `google-chrome`)")
}

/// A Chromium with a fresh profile and without requests of its own. It writes console errors to stderr, and the
/// document to stdout; `profile` is an empty folder. The caller adds the URL.
///
/// # Panics
/// When there is none.
pub fn command(profile: &Path) -> Command {
    let mut command = Command::new(chromium());
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-extensions",
            "--no-default-browser-check",
            "--disable-dev-shm-usage",
            "--enable-logging=stderr",
            "--v=0",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.display()));
    command
}

/// What the browser looks for: text beyond the right edge, labels of a chart over each other, columns of a letter a line.
const LAYOUT_SCRIPT: &str = "
const frame = document.getElementById('page');
frame.onload = () => {
  const page = frame.contentDocument, faults = [];
  page.querySelectorAll('details').forEach((it) => { it.open = true; });
  const width = page.documentElement.clientWidth;
  if (page.documentElement.scrollWidth > width) faults.push('the page is ' + page.documentElement.scrollWidth + ' wide');
  for (const it of page.querySelectorAll('body *')) {
    if (it.closest('.scroll, svg, .skip')) continue;
    if (it.getBoundingClientRect().right > width + 1) faults.push('beyond the edge: ' + it.textContent.trim().slice(0, 60));
  }
  for (const it of page.querySelectorAll('td, th')) {
    const text = it.textContent.trim();
    if (text.length > 12 && it.clientWidth < 60) faults.push('a narrow column: ' + text.slice(0, 60));
  }
  for (const chart of page.querySelectorAll('svg.chart')) {
    const labels = [...chart.querySelectorAll('text')].map((it) => [it.textContent, it.getBoundingClientRect()]);
    for (const [index, [text, a]] of labels.entries()) {
      if (a.width > 0 && (a.left < 0 || a.right > width + 1)) faults.push('a label beyond the edge: ' + text);
      for (const [other, b] of labels.slice(index + 1)) {
        const over = a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
        if (a.width > 0 && b.width > 0 && over) faults.push('labels over each other: ' + text + ', ' + other);
      }
    }
  }
  document.getElementById('faults').textContent = 'looked at ' + width + '\\n' + faults.join('\\n');
};";

/// What is wrong with the layout of a page that is `width` pixels wide: text beyond the edge, labels over each other, columns
/// that hold a letter a line. Folded parts are opened. Windows are never narrower than 500 pixels, so the page is in a frame.
///
/// # Panics
/// When there is no browser, or it does not open the page.
pub fn layout_faults(page: &str, width: u32) -> Vec<String> {
    let inner = page.replace('&', "&amp;").replace('"', "&quot;");
    let outer = format!(
        "<!doctype html><meta charset=utf-8><pre id=faults></pre>\
         <iframe id=page width={width} height=2000 style='border:0'></iframe>\
         <template id=source data-page=\"{inner}\"></template><script>{LAYOUT_SCRIPT}\
         frame.srcdoc = document.getElementById('source').dataset.page;</script>"
    );
    let folder = tempfile::tempdir().expect("a folder for the page");
    let file = folder.path().join("page.html");
    std::fs::write(&file, outer).expect("a file for the page");
    let output = command(&folder.path().join("profile"))
        .arg(format!("--window-size={},2400", width.max(500) + 40))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("the browser starts");
    let document = String::from_utf8_lossy(&output.stdout);
    let found = document
        .split_once("<pre id=\"faults\">looked at ")
        .and_then(|(_, rest)| rest.split_once("</pre>"))
        .map(|(found, _)| found.to_owned());
    let found = found.unwrap_or_else(|| {
        panic!(
            "the page did not load: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    found.lines().skip(1).map(str::to_owned).collect()
}

/// The console errors of a page.
pub fn complaints(stderr: &str) -> Vec<String> {
    let lines = stderr.lines().filter(|line| line.contains("CONSOLE"));
    lines.map(str::to_owned).collect()
}
