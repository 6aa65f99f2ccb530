//! Numbers with names: the macros [`names!`](crate::names) and [`filters!`](crate::filters) declare the
//! meaning of the numbers in a [`Rejection`](crate::Rejection) in one place.
//!
//! A pipeline stores refusals as numbers. Readers convert each number to an enum and match all variants, so
//! that a new filter does not compile until every such match handles it.

/// Declares an enum whose variants have numbers, from 0 in their order, and names.
///
/// ```
/// berth_scheduling::names! {
///     /// Colours of a traffic light.
///     enum Colour {
///         Red = "red",
///         Green = "green",
///     }
/// }
///
/// assert_eq!(Colour::NAMES, ["red", "green"]);
/// assert_eq!(Colour::of(Colour::Green.number()).name(), "green");
/// ```
#[macro_export]
macro_rules! names {
    (
        $(#[$about:meta])*
        $vis:vis enum $Enum:ident {
            $($(#[$about_variant:meta])* $Variant:ident = $name:literal),+ $(,)?
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u16)]
        $vis enum $Enum {
            $($(#[$about_variant])* $Variant),+
        }

        impl $Enum {
            /// Every variant, by its number.
            $vis const ALL: [Self; [$($name),+].len()] = [$(Self::$Variant),+];

            /// Every name, by its number.
            $vis const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];

            /// Returns the number.
            $vis const fn number(self) -> u16 {
                self as u16
            }

            /// Returns the name.
            $vis const fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }

            /// Returns the variant that has this number.
            ///
            /// # Panics
            /// When no variant has this number. [`number`](Self::number) never returns such a number.
            $vis const fn of(number: u16) -> Self {
                Self::ALL[number as usize]
            }
        }
    };
}

/// Declares the filters of a system in pipeline order, each with the reasons of its refusals: the enums
/// `Plugin` and `Code`, both as [`names!`](crate::names) declares them. The name of a reason is its token
/// (docs/reference.md, "Reason tokens"); several reasons may share a token, if only their sentences differ.
///
/// ```
/// berth_scheduling::filters! {
///     /// Room for one more.
///     Capacity = "Capacity" {
///         Full = "Full",
///     }
/// }
///
/// let reason = Code::Full.with(3);
/// assert_eq!(Code::of_reason(reason), Code::Full);
/// assert_eq!(Code::Full.plugin(), Plugin::Capacity);
/// assert_eq!(Code::Full.to_string(), "Capacity/Full");
/// ```
#[macro_export]
macro_rules! filters {
    ($(
        $(#[$about:meta])*
        $Filter:ident = $name:literal {
            $($(#[$about_code:meta])* $Code:ident = $token:literal),* $(,)?
        }
    )+) => {
        $crate::names! {
            /// The filters, in pipeline order.
            pub(crate) enum Plugin {
                $($(#[$about])* $Filter = $name),+
            }
        }

        $crate::names! {
            /// The reasons of the filters.
            pub(crate) enum Code {
                $($($(#[$about_code])* $Code = $token,)*)+
            }
        }

        impl Plugin {
            /// Returns the filter of a rejection.
            pub(crate) const fn of_rejection(rejection: &$crate::Rejection) -> Self {
                Self::of(rejection.plugin)
            }

            /// Returns the tokens of this filter's reasons; several reasons may share one.
            pub(crate) const fn tokens(self) -> &'static [&'static str] {
                match self {
                    $(Self::$Filter => &[$($token),*],)+
                }
            }
        }

        impl Code {
            /// Returns the code of a reason.
            pub(crate) const fn of_reason(reason: $crate::Reason) -> Self {
                Self::of(reason.code)
            }

            /// Returns the filter that refuses for this reason.
            pub(crate) const fn plugin(self) -> Plugin {
                match self {
                    $($(Self::$Code => Plugin::$Filter,)*)+
                }
            }

            /// Returns the reason with a detail for its sentence.
            pub(crate) const fn with(self, detail: u32) -> $crate::Reason {
                $crate::Reason {
                    code: self.number(),
                    detail,
                }
            }

            /// Returns a refusal without any detail.
            pub(crate) const fn refuse(self) -> $crate::Verdict {
                $crate::Verdict::Reject(self.with(0))
            }

            /// Returns a pass, or a refusal without any detail.
            pub(crate) const fn unless(self, passes: bool) -> $crate::Verdict {
                if passes { $crate::Verdict::Pass } else { self.refuse() }
            }
        }

        impl ::std::fmt::Display for Code {
            /// Writes filter and token, as `Capacity/Full`.
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(formatter, "{}/{}", self.plugin().name(), self.name())
            }
        }
    };
}
