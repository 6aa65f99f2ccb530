//! Wire format of protobuf: fields with numbers. The reader checks every length.

use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};

/// Value of one field on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) enum WireValue<'a> {
    /// An integer of variable length.
    Varint(u64),
    /// Bytes with their length: a string, bytes or a nested message.
    Bytes(&'a [u8]),
    /// A number of fixed length, which no field of the table has.
    Fixed,
}

impl<'a> WireValue<'a> {
    /// Whether the value is the number zero, or no bytes.
    pub(super) fn is_zero(self) -> bool {
        matches!(self, Self::Varint(0) | Self::Bytes([]))
    }

    pub(super) fn bytes(self) -> Result<&'a [u8], String> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Varint(_) | Self::Fixed => Err("expected bytes, found a number".to_owned()),
        }
    }

    pub(super) fn text(self) -> Result<&'a str, String> {
        std::str::from_utf8(self.bytes()?).map_err(|problem| problem.to_string())
    }

    /// Returns the integer; negative ones are in two's complement.
    pub(super) fn number(self) -> Result<i64, String> {
        match self {
            Self::Varint(number) => Ok(number.cast_signed()),
            Self::Bytes(_) | Self::Fixed => {
                Err("expected an integer of variable length, found another wire type".to_owned())
            }
        }
    }
}

/// Reader of the fields of a message, one after the other.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the number and the value of the next field; `None` at the end.
    ///
    /// # Errors
    /// When the bytes are not a message.
    pub(super) fn next(&mut self) -> Result<Option<(u32, WireValue<'a>)>, String> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (number, form) = decode_key(&mut self.rest).map_err(|problem| problem.to_string())?;
        let value = match form {
            WireType::Varint => WireValue::Varint(self.varint()?),
            WireType::LengthDelimited => {
                let length = self.varint()?;
                WireValue::Bytes(self.take(length)?)
            }
            WireType::ThirtyTwoBit => self.take(4).map(|_| WireValue::Fixed)?,
            WireType::SixtyFourBit => self.take(8).map(|_| WireValue::Fixed)?,
            WireType::StartGroup | WireType::EndGroup => {
                return Err("protobuf groups are not supported".to_owned());
            }
        };
        Ok(Some((number, value)))
    }

    fn varint(&mut self) -> Result<u64, String> {
        decode_varint(&mut self.rest).map_err(|problem| problem.to_string())
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], String> {
        let payload = usize::try_from(length)
            .ok()
            .and_then(|length| self.rest.split_at_checked(length));
        let (payload, rest) = payload.ok_or("unexpected end of the message")?;
        self.rest = rest;
        Ok(payload)
    }
}

/// Writes bytes as the field `number`.
pub(super) fn bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Writes a number as the field `number`.
pub(super) fn number(number: u32, value: i64, out: &mut Vec<u8>) {
    encode_key(number, WireType::Varint, out);
    encode_varint(value.cast_unsigned(), out);
}
