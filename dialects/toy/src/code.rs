//! The filters in pipeline order, and the reasons each refuses for.

berth_scheduling::filters! {
    /// There is room for one more.
    Room = "Room" {
        Full = "Full",
    }
    /// No lid is on it.
    Lid = "Lid" {
        Closed = "Closed",
    }
}
