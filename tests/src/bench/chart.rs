//! Plots as SVG: horizontal bars in groups, on a logarithmic scale, so that ratios are distances.

use std::fmt::Write as _;

use super::middle::shown;

/// Left edge of the bars.
const LEFT: f64 = 190.0;
/// Length of the longest bar.
const WIDE: f64 = 560.0;
/// Height of a bar with its gap.
const BAR: f64 = 17.0;
/// Height of the title of each group.
const GROUP: f64 = 26.0;
/// Colours that colour-blind readers can distinguish.
const COLOURS: [&str; 7] = [
    "#999999", "#e69f00", "#f0c977", "#0072b2", "#56b4e9", "#009e73", "#cc79a7",
];

/// Groups of bars.
#[derive(Clone, Debug)]
pub struct Chart {
    title: String,
    note: String,
    groups: Vec<(String, Vec<Bar>)>,
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Name of the bar.
    pub name: String,
    /// Length of the bar; not drawn when 0 or less.
    pub value: f64,
    /// Colour, which is equal for one contestant in all groups.
    pub colour: usize,
}

impl Chart {
    /// A chart without bars; `note` is a line below the title.
    #[must_use]
    pub fn new(title: &str, note: &str) -> Self {
        Self {
            title: title.to_owned(),
            note: note.to_owned(),
            groups: Vec::new(),
        }
    }

    /// One more group; bars of 0 are left out.
    pub fn group(&mut self, name: &str, bars: Vec<Bar>) {
        let bars: Vec<Bar> = bars.into_iter().filter(|bar| bar.value > 0.0).collect();
        if !bars.is_empty() {
            self.groups.push((name.to_owned(), bars));
        }
    }

    /// The picture. Each group has a scale of its own, three decades long or as many as its values need.
    #[must_use]
    pub fn svg(&self) -> String {
        let bars: usize = self.groups.iter().map(|(_, bars)| bars.len()).sum();
        #[expect(clippy::cast_precision_loss, reason = "a handful of bars")]
        let height = 70.0 + GROUP * self.groups.len() as f64 + BAR * bars as f64;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{height}\" \
             viewBox=\"0 0 {0} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            LEFT + WIDE + 80.0
        );
        let mut text = |x: f64, y: f64, style: &str, words: &str| {
            writeln!(
                svg,
                "<text x=\"{x:.0}\" y=\"{y:.0}\" {style}>{}</text>",
                escaped(words)
            )
            .expect("a string takes text");
        };
        text(10.0, 22.0, "font-size=\"16\" font-weight=\"bold\"", &self.title);
        text(10.0, 40.0, "fill=\"#555\"", &self.note);
        let mut y = 50.0;
        let mut shapes = String::new();
        for (name, bars) in &self.groups {
            y += GROUP;
            text(10.0, y - 6.0, "font-weight=\"bold\"", name);
            let most = bars.iter().fold(f64::MIN, |most, bar| most.max(bar.value));
            let least = bars.iter().fold(f64::MAX, |least, bar| least.min(bar.value));
            let decades = (most / least).log10().ceil().max(2.0) + 0.3;
            for bar in bars {
                let length = WIDE * (1.0 + (bar.value / most).log10() / decades);
                writeln!(
                    shapes,
                    "<rect x=\"{LEFT}\" y=\"{:.0}\" width=\"{length:.1}\" height=\"{:.0}\" fill=\"{}\"/>",
                    y,
                    BAR - 4.0,
                    COLOURS[bar.colour % COLOURS.len()]
                )
                .expect("a string takes text");
                text(LEFT - 8.0, y + 11.0, "text-anchor=\"end\"", &bar.name);
                text(LEFT + length + 6.0, y + 11.0, "", &shown(bar.value));
                y += BAR;
            }
        }
        svg.push_str(&shapes);
        svg.push_str("</svg>\n");
        svg
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_bars_are_longer_and_nothing_is_drawn_of_nothing() {
        let mut chart = Chart::new("time & cost", "ms");
        let bar = |name: &str, value| Bar {
            name: name.to_owned(),
            value,
            colour: 0,
        };
        chart.group("get", vec![bar("a", 100.0), bar("b", 1.0), bar("c", 0.0)]);
        chart.group("none", vec![bar("a", 0.0)]);
        let svg = chart.svg();
        assert!(svg.contains("time &amp; cost") && !svg.contains(">none<") && !svg.contains(">c<"));
        let widths: Vec<f64> = svg
            .lines()
            .filter(|line| line.starts_with("<rect x="))
            .filter_map(|line| line.split("width=\"").nth(1)?.split('"').next()?.parse().ok())
            .collect();
        assert_eq!(widths.len(), 2);
        assert!(widths[0] > widths[1] * 2.0 && widths[1] > 0.0, "{widths:?}");
    }
}
