//! Filters and their reasons, declared once.

berth_scheduling::filters! {
    Size = "Size" {
        TooSmall = "WrongSize",
        TooLarge = "WrongSize",
    }
    Weight = "Weight" {}
    Colour = "Colour" {
        Faded = "Faded",
    }
}

#[test]
fn filters_and_reasons_are_numbered_in_the_order_they_stand_in() {
    assert_eq!(Plugin::NAMES, ["Size", "Weight", "Colour"]);
    assert_eq!(Code::NAMES, ["WrongSize", "WrongSize", "Faded"]);
    for (number, plugin) in (0..).zip(Plugin::ALL) {
        assert_eq!((plugin.number(), Plugin::of(number)), (number, plugin));
    }
    for (number, code) in (0..).zip(Code::ALL) {
        assert_eq!((code.number(), Code::of(number)), (number, code));
    }
}

#[test]
fn each_reason_is_of_the_filter_it_is_declared_in() {
    assert_eq!(
        Code::ALL.map(Code::plugin),
        [Plugin::Size, Plugin::Size, Plugin::Colour]
    );
    assert_eq!(Plugin::Size.tokens(), ["WrongSize", "WrongSize"]);
    assert!(Plugin::Weight.tokens().is_empty());
    assert_eq!(Code::TooLarge.to_string(), "Size/WrongSize");
}

#[test]
fn a_reason_keeps_its_detail() {
    let reason = Code::Faded.with(7);
    assert_eq!((Code::of_reason(reason), reason.detail), (Code::Faded, 7));
    assert_eq!(Code::Faded.unless(true), berth_scheduling::Verdict::Pass);
    assert_eq!(Code::Faded.unless(false), Code::Faded.refuse());
}
