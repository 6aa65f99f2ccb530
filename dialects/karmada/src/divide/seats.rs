//! Webster's method (Sainte-Laguë), which distributes seats to parties in proportion to their weights. Here,
//! the parties are clusters and the seats are replicas.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use berth_scheduling::Ix;

use crate::fnv;

/// A cluster with the seats that it has so far.
#[derive(Clone, Copy, Debug)]
struct Party {
    /// The index of the party in the arguments of [`seats`].
    index: usize,
    candidate: Ix,
    weight: i64,
    seats: i64,
    /// Whether the cluster with the later name wins a tie.
    is_descending: bool,
}

impl Party {
    /// The quotient that decides which party gets the next seat, as a 64-bit float.
    #[expect(
        clippy::cast_precision_loss,
        reason = "Karmada compares floats, so near ties have the same result as in Karmada"
    )]
    fn quotient(&self) -> f64 {
        self.weight as f64 / (2 * self.seats + 1) as f64
    }
}

impl Ord for Party {
    fn cmp(&self, other: &Self) -> Ordering {
        let names = self.candidate.cmp(&other.candidate);
        let names = if self.is_descending {
            names
        } else {
            names.reverse()
        };
        self.quotient()
            .total_cmp(&other.quotient())
            .then_with(|| other.seats.cmp(&self.seats))
            .then(names)
    }
}

impl PartialOrd for Party {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Party {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Party {}

/// Divides `amount` seats among `parties`, each with a candidate and its weight, which is not negative.
/// Returns the seats of each party, in the order of `parties`. Each seat goes to the party with the largest
/// quotient weight / (2 × seats + 1). The party with fewer seats wins a tie, then the lower candidate, or the
/// higher candidate if `is_descending`. If all weights are 0, no party gets a seat.
///
/// The cost grows with the number of parties, not with the amount: most seats are assigned at once.
#[must_use]
pub(crate) fn seats(amount: i64, parties: &[(Ix, i64)], is_descending: bool) -> Vec<i64> {
    let mut result = vec![0; parties.len()];
    let total: i128 = parties.iter().map(|(_, weight)| i128::from(*weight)).sum();
    if total <= 0 || amount <= 0 {
        return result;
    }
    // A divisor that assigns fewer than `amount` seats assigns no party more seats than it gets in the end.
    let party_count = i128::try_from(parties.len()).unwrap_or(i128::MAX);
    let safe_amount = (i128::from(amount) - party_count).max(0);
    let mut remaining = amount;
    for (seats, (_, weight)) in result.iter_mut().zip(parties) {
        let share = (i128::from(*weight) * safe_amount / total - 1).max(0);
        *seats = i64::try_from(share).unwrap_or(0);
        remaining -= *seats;
    }
    let mut heap: BinaryHeap<Party> = (0..)
        .zip(parties)
        .zip(&result)
        .map(|((index, &(candidate, weight)), seats)| Party {
            index,
            candidate,
            weight,
            seats: *seats,
            is_descending,
        })
        .collect();
    for _ in 0..remaining {
        let Some(mut next) = heap.pop() else {
            break;
        };
        next.seats += 1;
        result[next.index] = next.seats;
        heap.push(next);
    }
    result
}

/// Whether the cluster with the later name wins a tie: the 32-bit FNV-1a hash of the template's `uid` is odd.
/// Without a uid, the earlier name wins.
#[must_use]
pub(crate) fn is_descending(uid: &str) -> bool {
    !uid.is_empty() && fnv::hash(uid) & 1 == 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Assigns one seat after the other.
    fn one_by_one(amount: i64, parties: &[(Ix, i64)], is_descending: bool) -> Vec<i64> {
        let mut result = vec![0; parties.len()];
        for _ in 0..amount {
            let best = (0..parties.len()).max_by_key(|&index| Party {
                index,
                candidate: parties[index].0,
                weight: parties[index].1,
                seats: result[index],
                is_descending,
            });
            result[best.expect("there are parties")] += 1;
        }
        result
    }

    proptest! {
        #[test]
        fn seats_assigned_at_once_equal_seats_assigned_one_by_one(
            weights in proptest::collection::vec(0_i64..50, 1..9),
            amount in 0_i64..400,
            is_descending in any::<bool>(),
        ) {
            let parties: Vec<(Ix, i64)> = (0..).zip(weights).collect();
            prop_assume!(parties.iter().any(|(_, weight)| *weight > 0));
            prop_assert_eq!(
                seats(amount, &parties, is_descending),
                one_by_one(amount, &parties, is_descending)
            );
        }
    }

    #[test]
    fn two_thousand_million_replicas_are_divided_at_once() {
        let result = seats(i64::from(i32::MAX), &[(0, 1), (1, 2)], false);
        assert_eq!(result, [715_827_882, 1_431_655_765]);
    }

    #[test]
    fn the_uid_decides_ties_between_names() {
        assert_eq!(
            [is_descending(""), is_descending("1"), is_descending("2")],
            [false, false, true]
        );
        let parties = [(0, 1), (1, 1), (2, 1)];
        assert_eq!(seats(7, &parties, false), [3, 2, 2]);
        assert_eq!(seats(7, &parties, true), [2, 2, 3]);
    }

    #[test]
    fn without_weights_no_party_gets_a_seat() {
        assert_eq!(seats(5, &[(0, 0), (1, 0)], false), [0, 0]);
        assert_eq!(seats(5, &[], false), [0_i64; 0]);
    }
}
