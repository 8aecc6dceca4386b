//! Which glibc a file needs, read from its version table.

use std::fmt;

use anyhow::{Context, Result, bail};
use object::{Endianness, read::elf::ElfFile64};

/// A version of glibc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Glibc(u32, u32);

impl Glibc {
    /// What Debian 12, Ubuntu 22.04 and RHEL 9 have, or newer.
    pub(super) const FLOOR: Self = Self(2, 34);

    /// `GLIBC_2.34`, also with a third number; nothing for a name of another form.
    fn read(name: &str) -> Option<Self> {
        let mut numbers = name.strip_prefix("GLIBC_")?.split('.');
        let major = numbers.next()?.parse().ok()?;
        let minor = numbers.next()?.parse().ok()?;
        Some(Self(major, minor))
    }
}

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The newest version that a symbol of this ELF file asks for.
pub(super) fn glibc(file: &[u8]) -> Result<Glibc> {
    let elf = ElfFile64::<Endianness>::parse(file).context("no 64-bit ELF file")?;
    let endian = elf.endian();
    let sections = elf.elf_section_table();
    let Some((mut entries, link)) = sections.gnu_verneed(endian, file)? else {
        bail!("it has no version table");
    };
    let strings = sections.strings(endian, file, link)?;
    let mut newest = None;
    while let Some((_, mut versions)) = entries.next()? {
        while let Some(version) = versions.next()? {
            let name = String::from_utf8_lossy(version.name(endian, strings)?).into_owned();
            if let Some(private) = name.strip_prefix("GLIBC_ABI_") {
                bail!("it needs the glibc feature {private}, which the floor does not have");
            }
            newest = newest.max(Glibc::read(&name));
        }
    }
    newest.context("it names no version of glibc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert!(Glibc::read("GLIBC_2.9") < Glibc::read("GLIBC_2.34"));
        assert_eq!(Glibc::read("GLIBC_2.2.5"), Some(Glibc(2, 2)));
        assert_eq!(Glibc::read("GCC_3.0"), None);
    }

    #[test]
    fn this_program_needs_some_glibc() {
        let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(glibc(&file).unwrap() >= Glibc(2, 2));
    }
}
