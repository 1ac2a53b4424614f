//! `plimsoll load-part`: one of the further processes of a load that needs more descriptors than one may have. Nobody
//! types it.

use std::io::BufReader;

use plimsoll_load::Further;

use crate::exit::Exit;
use crate::explain::Fault;

/// Its name among the commands.
pub(crate) const NAME: &str = "load-part";

/// This program, also where its file was replaced meanwhile.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Carries out what standard input says.
pub(crate) fn part() -> Result<Exit, Fault> {
    let orders = BufReader::new(std::io::stdin());
    plimsoll_load::carry_out_part(orders, std::io::stdout().lock())?;
    Ok(Exit::Met)
}

/// How such a process is started.
pub(crate) fn further() -> Further {
    Further {
        program: OWN_PROGRAM.into(),
        arguments: vec![NAME.into()],
    }
}
