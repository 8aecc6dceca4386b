//! Records: a payload behind a header that tells a torn end from damage.
//!
//! The header has 16 bytes, little-endian: length of the payload, sequence number in the file,
//! CRC-32 of those two, CRC-32 of the payload. Because the length has a checksum of its own, a
//! payload that is short or wrong is known to be the file's last one, or not to be.

use crate::limits::{MAX_RECORD_BYTES, RECORD_HEADER_BYTES};

/// What a file of records holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scan<'a> {
    /// The payloads of the whole records, in order.
    pub(super) payloads: Vec<&'a [u8]>,
    /// Where they end; what follows, if anything, is a commit that was cut off.
    pub(super) good_len: usize,
}

/// Appends a record to `out`.
pub(super) fn encode(sequence: u32, payload: &[u8], out: &mut Vec<u8>) {
    let length = u32::try_from(payload.len()).expect("records are far below 4 GiB");
    let mut head = [0; 8];
    head[..4].copy_from_slice(&length.to_le_bytes());
    head[4..].copy_from_slice(&sequence.to_le_bytes());
    out.extend_from_slice(&head);
    out.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
    out.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
    out.extend_from_slice(payload);
}

/// Reads a file of records, up to a commit that was cut off.
///
/// # Errors
/// What is wrong, when it is anything but a commit that was cut off.
pub(super) fn scan(bytes: &[u8]) -> Result<Scan<'_>, &'static str> {
    let mut scan = Scan { payloads: Vec::new(), good_len: 0 };
    loop {
        let rest = &bytes[scan.good_len..];
        let is_torn = rest.len() < RECORD_HEADER_BYTES || rest.iter().all(|byte| *byte == 0);
        if is_torn {
            return Ok(scan);
        }
        let length = payload_length(rest, scan.payloads.len())?;
        let end = RECORD_HEADER_BYTES + length;
        let Some(payload) = rest.get(RECORD_HEADER_BYTES..end) else {
            return Ok(scan);
        };
        if crc32fast::hash(payload) != field(rest, 3) {
            return if rest.len() == end { Ok(scan) } else { Err("a record's checksum is wrong") };
        }
        scan.payloads.push(payload);
        scan.good_len += end;
    }
}

fn payload_length(header: &[u8], index: usize) -> Result<usize, &'static str> {
    if crc32fast::hash(&header[..8]) != field(header, 2) {
        return Err("a record's header is wrong");
    }
    if field(header, 1) as usize != index {
        return Err("a record is out of order");
    }
    let length = field(header, 0) as usize;
    if length > MAX_RECORD_BYTES {
        return Err("a record is too large");
    }
    Ok(length)
}

/// The header's n-th field; the header is known to be whole.
fn field(header: &[u8], n: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&header[4 * n..4 * n + 4]);
    u32::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(payloads: &[&[u8]]) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = Vec::new();
        let mut ends = vec![0];
        for (sequence, payload) in payloads.iter().enumerate() {
            encode(sequence.try_into().unwrap(), payload, &mut bytes);
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    const PAYLOADS: [&[u8]; 3] = [b"one", b"", b"\0\0three\0"];

    #[test]
    fn a_whole_file_reads_back() {
        let (bytes, _) = file(&PAYLOADS);
        let scan = scan(&bytes).unwrap();
        assert_eq!(scan.payloads, PAYLOADS);
        assert_eq!(scan.good_len, bytes.len());
    }

    #[test]
    fn cut_anywhere_it_holds_the_whole_records_before_the_cut() {
        let (bytes, ends) = file(&PAYLOADS);
        for cut in 0..=bytes.len() {
            let whole = ends.iter().filter(|end| **end <= cut).count() - 1;
            let scan = scan(&bytes[..cut]).unwrap();
            assert_eq!(scan.payloads, PAYLOADS[..whole], "cut at {cut}");
            assert_eq!(scan.good_len, ends[whole], "cut at {cut}");
        }
    }

    #[test]
    fn a_tail_of_zeros_is_torn() {
        let (mut bytes, _) = file(&PAYLOADS);
        let whole = bytes.len();
        bytes.resize(whole + 4096, 0);
        assert_eq!(scan(&bytes).unwrap().good_len, whole);
    }

    #[test]
    fn every_flip_before_the_last_record_is_damage() {
        let (bytes, ends) = file(&PAYLOADS);
        for at in 0..ends[2] {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                assert!(scan(&flipped).is_err(), "byte {at} bit {bit}");
            }
        }
    }

    #[test]
    fn a_flip_in_the_last_payload_is_torn_and_in_its_header_damage() {
        let (bytes, ends) = file(&PAYLOADS);
        for at in ends[2]..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            let is_header = at < ends[2] + 12;
            let scan = scan(&flipped);
            assert_eq!(scan.is_err(), is_header, "byte {at}");
            assert!(scan.is_err() || scan.unwrap().payloads.len() == 2);
        }
    }

    #[test]
    fn a_record_of_another_place_is_damage() {
        let mut bytes = Vec::new();
        encode(1, b"late", &mut bytes);
        assert!(scan(&bytes).is_err());
    }
}
