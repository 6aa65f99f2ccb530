//! The 32-bit FNV-1a hash, which is the same in every process and version.

/// Returns the hash of `text`.
pub(crate) fn hash(text: &str) -> u32 {
    const BASIS: u32 = 2_166_136_261;
    const PRIME: u32 = 16_777_619;
    text.bytes()
        .fold(BASIS, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_specification() {
        let hashes = ["", "a", "foobar"].map(hash);
        assert_eq!(hashes, [0x811c_9dc5, 0xe40c_292c, 0xbf9c_f968]);
    }
}
