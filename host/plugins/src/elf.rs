//! Reads a library's headers without running it.
//!
//! The loader of the system trusts them: mapping a file that is shorter than its segments ends
//! the process with SIGBUS (seen with glibc 2.36), and a file for another CPU is reported as
//! "no such file".

use object::{
    Endianness, Object, ObjectSegment, ObjectSymbol,
    elf::{DT_NEEDED, ET_DYN, FileHeader64, PT_LOAD},
    read::elf::{ElfFile64, FileHeader, ProgramHeader},
};

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = object::elf::EM_X86_64.0;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = object::elf::EM_AARCH64.0;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: u16 = 0;

/// Why a file cannot be loaded as a plugin.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadLibrary {
    #[error("it is not a shared library (no ELF header)")]
    NoHeader,
    #[error("it was built for another CPU (ELF machine {found}, this host needs {MACHINE})")]
    OtherCpu { found: u16 },
    #[error("it is not a shared library (ELF type {found})")]
    NotShared { found: u16 },
    #[error("it is truncated: {len} bytes, but {part} ends at {end}")]
    Truncated { len: u64, part: &'static str, end: u64 },
    #[error("it is damaged: its tables cannot be read")]
    Damaged,
    #[error("it is not an scv channel plugin (no {0} symbol)")]
    NoSymbol(&'static str),
}

const MAGIC: &[u8] = b"\x7fELF";
const CLASS_64_LITTLE_ENDIAN: &[u8] = &[2, 1];

/// Checks that mapping the file is safe and that it was built for this machine.
pub(crate) fn check(bytes: &[u8]) -> Result<(), BadLibrary> {
    if !bytes.starts_with(MAGIC) {
        return Err(BadLibrary::NoHeader);
    }
    let len = bytes.len() as u64;
    let header = FileHeader64::<Endianness>::parse(bytes).map_err(|_| header_error(bytes))?;
    let endian = header.endian().map_err(|_| BadLibrary::Damaged)?;
    let found = header.e_machine(endian).0;
    if found != MACHINE || endian != Endianness::Little {
        return Err(BadLibrary::OtherCpu { found });
    }
    if header.e_type(endian) != ET_DYN {
        let found = header.e_type(endian).0;
        return Err(BadLibrary::NotShared { found });
    }
    let table_end = |offset: u64, count: u16, size: u16| {
        offset.saturating_add(u64::from(count) * u64::from(size))
    };
    let whole = |part: &'static str, end: u64| {
        if end > len { Err(BadLibrary::Truncated { len, part, end }) } else { Ok(()) }
    };
    let (offset, count) = (header.e_phoff(endian), header.e_phnum(endian));
    whole("the segment table", table_end(offset, count, header.e_phentsize(endian)))?;
    let segments = header.program_headers(endian, bytes).map_err(|_| BadLibrary::Damaged)?;
    let ends = segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD).map(|segment| {
        let offset: u64 = segment.p_offset(endian);
        offset.saturating_add(segment.p_filesz(endian))
    });
    whole("a segment", ends.max().ok_or(BadLibrary::Damaged)?)?;
    let (offset, count) = (header.e_shoff(endian), header.e_shnum(endian));
    whole("the section table", table_end(offset, count, header.e_shentsize(endian)))
}

/// A file that begins like ELF but not like ours: too short for a header, or another class.
fn header_error(bytes: &[u8]) -> BadLibrary {
    match bytes.get(4..6) {
        Some(class) if class != CLASS_64_LITTLE_ENDIAN => {
            let machine =
                bytes.get(18..20).map_or(0, |field| u16::from(field[0]) | u16::from(field[1]) << 8);
            BadLibrary::OtherCpu { found: machine }
        }
        _ => BadLibrary::Truncated {
            len: bytes.len() as u64,
            part: "the header",
            end: size_of::<FileHeader64<Endianness>>() as u64,
        },
    }
}

/// Parts of the C library and of the compiler's, which every system with this host has.
const OF_THE_SYSTEM: [&str; 7] =
    ["ld-linux", "libc", "libdl", "libgcc_s", "libm", "libpthread", "librt"];

/// Libraries that are loaded with this one and that not every system has. [`check`] comes first.
pub(crate) fn foreign_libraries(bytes: &[u8]) -> Vec<String> {
    let table = ElfFile64::<Endianness>::parse(bytes).and_then(|file| file.elf_dynamic_table());
    // The system's loader judges what cannot be read here.
    let Ok(table) = table else {
        return Vec::new();
    };
    let needed = table.iter().filter(|entry| entry.tag == DT_NEEDED);
    let names = needed.filter_map(|entry| table.string(entry).ok());
    let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
    names.filter(|name| !OF_THE_SYSTEM.contains(&stem(name))).collect()
}

/// `libm` of `libm.so.6`, `ld-linux` of `ld-linux-x86-64.so.2`.
fn stem(library: &str) -> &str {
    let stem = library.split(".so").next().unwrap_or(library);
    if stem.starts_with("ld-linux-") { "ld-linux" } else { stem }
}

/// The bytes of an exported object, as they lie in the file. [`check`] comes first.
pub(crate) fn symbol<'a>(bytes: &'a [u8], name: &'static str) -> Result<&'a [u8], BadLibrary> {
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(|_| BadLibrary::Damaged)?;
    let symbol = file
        .dynamic_symbols()
        .find(|symbol| symbol.is_definition() && symbol.name_bytes() == Ok(name.as_bytes()))
        .ok_or(BadLibrary::NoSymbol(name))?;
    file.segments()
        .find_map(|segment| segment.data_range(symbol.address(), symbol.size()).ok()?)
        .ok_or(BadLibrary::Damaged)
}
