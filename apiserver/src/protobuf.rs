//! Answers in Kubernetes' protobuf, built from the messages that a [`crate::decode::Codec`] encodes: the
//! envelope of an object, lists, and the frames of watches.

use bytes::Bytes;

/// Magic bytes at the start of every top-level object.
const MAGIC: &[u8] = b"k8s\0";

/// The last two fields of an envelope, contentEncoding and contentType: both empty.
pub(crate) const TAIL: &[u8] = &[0x1a, 0, 0x22, 0];

/// Field number of the items in the message of a list.
const ITEMS: u8 = 2;

/// Returns the length in bytes of a field, whose value has `length` bytes.
pub(crate) const fn field_len(length: usize) -> usize {
    let mut rest = length >> 7;
    let mut digits = 1;
    while rest > 0 {
        rest >>= 7;
        digits += 1;
    }
    1 + digits + length
}

/// Writes the head of the field `number` (below 16) with a value of `length` bytes.
fn head(number: u8, length: usize, out: &mut Vec<u8>) {
    out.push(number << 3 | 2);
    let mut rest = length;
    while rest > 0x7f {
        out.push(0x80 | low(rest));
        rest >>= 7;
    }
    out.push(low(rest));
}

/// Returns the lowest seven bits.
const fn low(number: usize) -> u8 {
    #[expect(clippy::cast_possible_truncation, reason = "seven bits are left")]
    let bits = (number & 0x7f) as u8;
    bits
}

fn field(number: u8, bytes: &[u8], out: &mut Vec<u8>) {
    head(number, bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// Writes the envelope of an object up to the message, which has `length` bytes. [`TAIL`] must follow the
/// message.
pub(crate) fn open(api_version: &str, kind: &str, length: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(MAGIC);
    head(1, field_len(api_version.len()) + field_len(kind.len()), out);
    field(1, api_version.as_bytes(), out);
    field(2, kind.as_bytes(), out);
    head(2, length, out);
}

/// Returns the envelope of an object with `message`.
pub(crate) fn envelope(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(32 + api_version.len() + kind.len() + message.len());
    open(api_version, kind, message.len(), &mut out);
    out.extend_from_slice(message);
    out.extend_from_slice(TAIL);
    out
}

/// Returns the beginning of a list of `kind`, up to the items, whose total length is `items` bytes.
pub(crate) fn list_head(api_version: &str, kind: &str, metadata: &[u8], items: usize) -> Vec<u8> {
    let mut out = Vec::new();
    open(api_version, kind, field_len(metadata.len()) + items, &mut out);
    field(1, metadata, &mut out);
    out
}

/// Writes an item of a list.
pub(crate) fn item(message: &[u8], out: &mut Vec<u8>) {
    field(ITEMS, message, out);
}

/// Writes the frame of a watch event: the length in four bytes, then the type and the envelope of the object.
pub(crate) fn frame(r#type: &str, object: &[u8], out: &mut Vec<u8>) {
    let raw = field_len(object.len());
    let length = field_len(r#type.len()) + field_len(raw);
    let length = u32::try_from(length).expect("no object has four gigabytes");
    out.extend_from_slice(&length.to_be_bytes());
    field(1, r#type.as_bytes(), out);
    head(2, raw, out);
    field(1, object, out);
}

/// Returns the metadata field of an object's `message`, with the head of the field. These bytes are also the
/// message of the PartialObjectMetadata of the object. The metadata are the first field of every kind.
pub(crate) fn metadata(message: &Bytes) -> Bytes {
    let (mut length, mut at) = (0_usize, 1);
    for shift in (0..usize::BITS).step_by(7) {
        let Some(byte) = message.get(at) else { break };
        at += 1;
        length |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    let end = at.saturating_add(length).min(message.len());
    match message.first() {
        Some(0x0a) => message.slice(..end),
        _ => Bytes::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_what_is_written() {
        for length in [0, 1, 127, 128, 16_383, 16_384, 70_000] {
            let mut out = Vec::new();
            field(2, &vec![7; length], &mut out);
            assert_eq!(out.len(), field_len(length));
            let mut message = Vec::new();
            field(1, &vec![7; length], &mut message);
            let alone = Bytes::from(message.clone());
            field(2, b"spec", &mut message);
            assert_eq!(metadata(&message.into()), alone, "{length}");
        }
        assert_eq!(metadata(&Bytes::new()), Bytes::new());
        assert_eq!(metadata(&Bytes::from_static(&[0x12, 1, 7])), Bytes::new());
    }

    #[test]
    fn a_frame_says_its_length_in_front() {
        let mut out = Vec::new();
        frame("ADDED", &envelope("v1", "X", b"m"), &mut out);
        let length = u32::from_be_bytes(out[..4].try_into().unwrap());
        assert_eq!(length as usize, out.len() - 4);
        let object = b"k8s\0\x0a\x07\x0a\x02v1\x12\x01X\x12\x01m\x1a\0\x22\0";
        assert!(out.ends_with(object), "{out:?}");
    }
}
