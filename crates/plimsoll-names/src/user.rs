//! Accounts of this machine.

use std::ffi::CString;
use std::io;

use nix::unistd::{Gid, Uid, User, initgroups, setgid, setgroups, setuid};

use crate::IS_STATIC;

/// The name of an account and its ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Name.
    pub name: String,
    /// User id.
    pub uid: u32,
    /// Id of its first group.
    pub gid: u32,
}

impl Account {
    /// Looks an account up; `None` if there is none of this name.
    ///
    /// # Errors
    /// When the accounts of this machine cannot be read.
    pub fn find(name: &str) -> io::Result<Option<Self>> {
        if IS_STATIC {
            return Ok(parse_account(
                &std::fs::read_to_string("/etc/passwd")?,
                name,
            ));
        }
        let found = User::from_name(name)?;
        Ok(found.map(|user| Self {
            name: user.name,
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
        }))
    }

    /// Gives this process the rights of the account, and no others. It must have one thread only.
    ///
    /// # Errors
    /// When this process may not.
    pub fn assume(&self) -> io::Result<()> {
        let gid = Gid::from_raw(self.gid);
        if IS_STATIC {
            // Without the file there are no further groups.
            let text = std::fs::read_to_string("/etc/group").unwrap_or_default();
            let groups = parse_groups(&text, self).into_iter().map(Gid::from_raw);
            setgroups(&groups.collect::<Vec<_>>())?;
        } else {
            initgroups(&CString::new(self.name.as_str())?, gid)?;
        }
        setgid(gid)?;
        Ok(setuid(Uid::from_raw(self.uid))?)
    }
}

/// The line of an account in `/etc/passwd`: `NAME:PASSWORD:UID:GID:…`.
fn parse_account(text: &str, name: &str) -> Option<Account> {
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next()? != name {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        let name = name.to_owned();
        Some(Account { name, uid, gid })
    })
}

/// All groups of an account by `/etc/group`: `NAME:PASSWORD:GID:MEMBER,MEMBER`.
fn parse_groups(text: &str, account: &Account) -> Vec<u32> {
    let further = text.lines().filter_map(|line| {
        let mut fields = line.split(':').skip(2);
        let gid = fields.next()?.parse().ok()?;
        let mut members = fields.next()?.split(',');
        (gid != account.gid && members.any(|member| member == account.name)).then_some(gid)
    });
    std::iter::once(account.gid).chain(further).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_as_the_c_library_reads_them() {
        let text = std::fs::read_to_string("/etc/passwd").unwrap();
        let names: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split(':').next())
            .collect();
        assert!(names.contains(&"root"), "{names:?}");
        for name in names {
            assert_eq!(parse_account(&text, name), Account::find(name).unwrap());
        }
        assert_eq!(parse_account(&text, "nobody-of-that-name"), None);
        assert_eq!(parse_account("x:y\nshort:x:1\nbad:x:many:1:", "bad"), None);
    }

    #[test]
    fn an_account_has_its_group_and_those_that_list_it() {
        let account = Account {
            name: "web".to_owned(),
            uid: 33,
            gid: 33,
        };
        let text = "root:x:0:\nweb:x:33:web\nssl:x:111:proxy,web\nwebmail:x:112:webmail\nbroken\n";
        assert_eq!(parse_groups(text, &account), [33, 111]);
    }
}
