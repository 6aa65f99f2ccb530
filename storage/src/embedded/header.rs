//! Check of the header of a redb file, for the only damage that redb cannot detect: a flip of the bit that
//! marks the newer of two commits. Both commits are valid, so opening the wrong one would silently undo the
//! last commit.
//!
//! Layout (redb's file format 3): a 64-byte header whose byte 9 holds flags (1: the second slot is the
//! newest; 2: not closed cleanly), then two slots of 128 bytes with the transaction number at byte 104 of
//! each.

const FLAGS: usize = 9;
const SECOND_IS_NEWEST: u8 = 1;
const UNCLEAN: u8 = 2;
const SLOTS: [usize; 2] = [64, 64 + 128];
const TRANSACTION: usize = 104;
/// Number of bytes of the header and the slots.
pub(crate) const LENGTH: usize = 64 + 2 * 128;

/// Marks `header` as the header of a file that was closed cleanly, so that redb reads a copy without
/// repairing it. No repair is needed: even after a crash the newest commit is complete, since commits have
/// two phases.
pub(crate) fn as_closed(header: &mut [u8; LENGTH]) {
    header[FLAGS] &= !UNCLEAN;
}

/// Returns the problem in the first bytes of a database file, if redb would not detect it.
///
/// After a crash the other slot may legitimately be newer: a commit is on disk a moment before it is marked
/// as the newest, and is not acknowledged yet. So only cleanly closed files can be checked.
pub(crate) fn problem(header: &[u8; LENGTH]) -> Option<String> {
    let flags = header[FLAGS];
    if flags & UNCLEAN != 0 {
        return None;
    }
    let newest = usize::from(flags & SECOND_IS_NEWEST);
    let (named, other) = (
        transaction(header, SLOTS[newest])?,
        transaction(header, SLOTS[1 - newest])?,
    );
    (other > named).then(|| format!("names commit {named} as the newest, but holds commit {other}"))
}

fn transaction(header: &[u8; LENGTH], slot: usize) -> Option<u64> {
    header[slot + TRANSACTION..]
        .first_chunk::<8>()
        .map(|bytes| u64::from_le_bytes(*bytes))
}
