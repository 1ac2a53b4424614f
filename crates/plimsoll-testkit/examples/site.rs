//! The site with people in mind, as a process of its own: prints its URL, and ends with its standard input.

use std::io::{self, Read as _, Write as _};

fn main() -> io::Result<()> {
    let site = plimsoll_testkit::origin::site::start()?;
    writeln!(io::stdout(), "http://{}", site.address())?;
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}
