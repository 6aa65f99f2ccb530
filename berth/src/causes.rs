//! An error with its causes, on one line.

/// `error` and its causes, outermost first, joined by colons. Some libraries write their causes into their
/// own messages, so a cause is left out if the text before it ends with the cause already.
pub fn one_line(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::one_line;

    #[test]
    fn causes_are_told_once() {
        let missing = || std::io::Error::from_raw_os_error(2);
        let words = missing().to_string();
        for (error, expected) in [
            (anyhow!("alone"), "alone".to_owned()),
            (
                anyhow::Error::new(missing()).context("reading a"),
                format!("reading a: {words}"),
            ),
            (
                anyhow::Error::new(missing())
                    .context(format!("cannot read: {words}"))
                    .context("reading a"),
                format!("reading a: cannot read: {words}"),
            ),
        ] {
            assert_eq!(one_line(&error), expected);
        }
    }
}
