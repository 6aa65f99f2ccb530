//! Encoding of objects and totals, with checksums that detect damage.
//!
//! redb checks no pages in normal operation. So every record has a CRC32 of key, revision and value, and the
//! record of totals has the number of records and the XOR of all their CRCs. A damaged record does not match
//! its own CRC; lost and duplicate records do not match the totals.

use berth_apimachinery::{GroupResource, Key, Revision};
use bytes::Bytes;

/// Number of bytes before an object's JSON: CRC32 and revision, little endian.
const HEAD: usize = 12;
/// Version of the layout; other versions are refused.
const VERSION: u32 = 1;
/// Number of bytes of the totals: version, revision, count, XOR of CRCs, own CRC32.
pub(crate) const TOTALS_LENGTH: usize = 28;

/// Totals of the whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Totals {
    /// The last assigned revision.
    pub(crate) revision: Revision,
    /// Number of records.
    pub(crate) count: u64,
    /// XOR of the CRCs of all records.
    pub(crate) crcs: u32,
}

/// Encoded key and value of a record.
pub(crate) type RawRecord = (Vec<u8>, Bytes);

/// A decoded record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    /// Stored CRC32 of the record.
    pub(crate) crc: u32,
    /// Revision at which the object was written.
    pub(crate) revision: Revision,
    /// The object's canonical JSON, perhaps encrypted.
    pub(crate) json: &'a [u8],
}

/// Encodes the database key of `key`: group, resource, namespace and name, separated by zero bytes. So the
/// order of records is the order of lists.
pub(crate) fn encode_key(key: &Key) -> Vec<u8> {
    let parts = [
        key.resource.group,
        key.resource.resource,
        &key.namespace,
        &key.name,
    ];
    parts.map(str::as_bytes).join(&0)
}

/// Decodes a database key into group, resource, namespace and name; `None` if it is not the key of an object.
pub(crate) fn decode_key(bytes: &[u8]) -> Option<(&str, &str, &str, &str)> {
    let mut parts = std::str::from_utf8(bytes).ok()?.splitn(4, '\0');
    Some((parts.next()?, parts.next()?, parts.next()?, parts.next()?))
}

/// Formats a database key for messages, also a damaged one.
pub(crate) fn show_key(bytes: &[u8]) -> String {
    match decode_key(bytes) {
        Some((group, resource, namespace, name)) => {
            format!(
                "record {}",
                Key::new(GroupResource::intern(group, resource), namespace, name)
            )
        }
        None => format!("record {}", bytes.escape_ascii()),
    }
}

/// Computes the CRC32 over all content of a record.
fn checksum(key: &[u8], revision: Revision, json: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(key.len() as u64).to_le_bytes());
    hasher.update(key);
    hasher.update(&revision.0.to_le_bytes());
    hasher.update(json);
    hasher.finalize()
}

/// Replaces the content of `buffer` by the record of `json` at `key`; returns the CRC.
pub(crate) fn encode(buffer: &mut Vec<u8>, key: &[u8], revision: Revision, json: &[u8]) -> u32 {
    let crc = checksum(key, revision, json);
    buffer.clear();
    buffer.extend_from_slice(&crc.to_le_bytes());
    buffer.extend_from_slice(&revision.0.to_le_bytes());
    buffer.extend_from_slice(json);
    crc
}

/// Decodes a record without checking it; `None` when it is too short.
pub(crate) fn decode(bytes: &[u8]) -> Option<Record<'_>> {
    let (head, json) = bytes.split_at_checked(HEAD)?;
    let (crc, revision) = head.split_first_chunk::<4>()?;
    let revision = Revision(u64::from_le_bytes(revision.try_into().ok()?));
    Some(Record {
        crc: u32::from_le_bytes(*crc),
        revision,
        json,
    })
}

impl Record<'_> {
    /// Whether the record at `key` is undamaged.
    pub(crate) fn is_intact(&self, key: &[u8]) -> bool {
        checksum(key, self.revision, self.json) == self.crc
    }
}

impl Totals {
    /// Encodes the totals.
    pub(crate) fn encode(self) -> [u8; TOTALS_LENGTH] {
        let mut bytes = [0; TOTALS_LENGTH];
        bytes[..4].copy_from_slice(&VERSION.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.revision.0.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.count.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.crcs.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..24]);
        bytes[24..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Decodes totals.
    ///
    /// # Errors
    /// The problem of the bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let fixed: &[u8; TOTALS_LENGTH] = bytes
            .try_into()
            .map_err(|_| format!("is {} bytes long, not {TOTALS_LENGTH}", bytes.len()))?;
        let word = |at: usize| u32::from_le_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        if crc32fast::hash(&fixed[..24]) != word(24) {
            return Err("its checksum does not match".to_owned());
        }
        if word(0) != VERSION {
            return Err(format!(
                "has layout {}, and this program reads only layout {VERSION}",
                word(0)
            ));
        }
        Ok(Self {
            revision: Revision(long(4)),
            count: long(12),
            crcs: word(20),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEDS: GroupResource = GroupResource::new("core.gardener.cloud", "seeds");

    #[test]
    fn a_record_notices_every_single_bit_flip_in_key_or_value() {
        let key = encode_key(&Key::new(SEEDS, "", "eu-1"));
        let mut bytes = Vec::new();
        encode(&mut bytes, &key, Revision(7), b"{\"a\":1}");
        assert!(decode(&bytes).unwrap().is_intact(&key));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!decode(&flipped).unwrap().is_intact(&key), "bit {bit}");
        }
        let mut other = key.clone();
        other[3] ^= 1;
        assert!(!decode(&bytes).unwrap().is_intact(&other));
        assert!(decode(&bytes[..11]).is_none());
    }

    #[test]
    fn keys_come_back_and_sort_by_namespace_then_name() {
        let key = Key::new(SEEDS, "ns", "a");
        assert_eq!(
            decode_key(&encode_key(&key)),
            Some(("core.gardener.cloud", "seeds", "ns", "a"))
        );
        assert_eq!(
            show_key(&encode_key(&key)),
            "record seeds.core.gardener.cloud/ns/a"
        );
        assert!(encode_key(&Key::new(SEEDS, "ns", "z")) < encode_key(&Key::new(SEEDS, "ns-b", "a")));
        assert!(decode_key(b"nonsense").is_none());
    }

    #[test]
    fn totals_come_back_or_say_what_is_wrong() {
        let totals = Totals {
            revision: Revision(u64::MAX - 1),
            count: 3,
            crcs: 0xdead_beef,
        };
        let bytes = totals.encode();
        assert_eq!(Totals::decode(&bytes), Ok(totals));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Totals::decode(&flipped).is_err(), "bit {bit}");
        }
        assert_eq!(
            Totals::decode(&bytes[1..]),
            Err("is 27 bytes long, not 28".to_owned())
        );
    }
}
