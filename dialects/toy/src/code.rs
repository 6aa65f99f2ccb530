//! The filters in pipeline order, each with the reasons of its refusals.

berth_scheduling::filters! {
    /// The box has room for one more toy.
    Room = "Room" {
        Full = "Full",
    }
    /// The box has no lid on.
    Lid = "Lid" {
        Closed = "Closed",
    }
}
