//! Settings of MariaDB and MySQL, by `SET GLOBAL`.

use std::path::PathBuf;

use plimsoll_model::component::Tunable;

use super::MysqlCollector;
use crate::collectors::own_name;
use crate::collectors::tunables::{TunableAccess, TunableClient, TunableError, whole_number};
use crate::files::Files;

/// How its settings are changed.
pub(super) const ACCESS: TunableAccess = TunableAccess {
    value,
    set,
    manual_command,
    format_value: whole_number,
    has_default: false,
};

/// The current value.
fn value(client: &mut TunableClient<'_>) -> Result<Option<String>, TunableError> {
    let statement = format!("SELECT @@GLOBAL.{}", client.tunable.setting);
    Ok(Some(carry_out(client, &statement)?.trim().to_owned()))
}

/// Changes it.
fn set(client: &mut TunableClient<'_>, value: &str) -> Result<(), TunableError> {
    let statement = format!("SET GLOBAL {} = {value}", client.tunable.setting);
    carry_out(client, &statement)?;
    Ok(())
}

/// The manual command that sets it.
fn manual_command(tunable: &Tunable, value: &str) -> String {
    let (name, place) = (&tunable.setting, &tunable.place);
    format!("`SET GLOBAL {name} = {value}` in MariaDB at {place}")
}

fn carry_out(client: &mut TunableClient<'_>, statement: &str) -> Result<String, TunableError> {
    let own_name = own_name(&mut Files::new(PathBuf::from("/")));
    let mut mysql = MysqlCollector::new(client.login.cloned(), own_name);
    Ok(mysql.carry_out(&mut client.link, statement)?)
}
