//! Just enough DER to give an issued certificate several organizations, one per group: rcgen's names hold each kind of
//! attribute once.

use rcgen::SigningKey;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const BIT_STRING: u8 = 0x03;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;

/// `id-at-commonName`, 2.5.4.3.
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];
/// `id-at-organizationName`, 2.5.4.10.
const ORGANIZATION: [u8; 3] = [0x55, 0x04, 0x0a];

/// The place of the subject in a TBSCertificate of version 3: after version, serial number, algorithm, issuer, validity.
const SUBJECT: usize = 5;

/// A subject: the organizations, then the common name.
pub(crate) fn subject(common_name: &str, organizations: &[String]) -> Vec<u8> {
    let mut names = Vec::new();
    for organization in organizations {
        names.extend(attribute(&ORGANIZATION, organization));
    }
    names.extend(attribute(&COMMON_NAME, common_name));
    element(SEQUENCE, &names)
}

/// The certificate `issued` (version 3, of the CA with `key`) with its subject replaced, signed again.
///
/// # Errors
/// When `issued` is no certificate or signing fails.
pub(crate) fn with_subject(issued: &[u8], subject: &[u8], key: &impl SigningKey) -> Result<Vec<u8>, String> {
    let [certificate] = elements(issued)?[..] else {
        return Err("not one DER element".to_owned());
    };
    let [signed, algorithm, _signature] = elements(certificate.content)?[..] else {
        return Err("not the three parts of a certificate".to_owned());
    };
    let mut content = Vec::with_capacity(signed.content.len() + subject.len());
    for (index, field) in elements(signed.content)?.iter().enumerate() {
        content.extend_from_slice(if index == SUBJECT { subject } else { field.whole });
    }
    let signed = element(SEQUENCE, &content);
    // A bit string begins with the number of its unused bits.
    let mut signature = vec![0];
    signature.extend(key.sign(&signed).map_err(|problem| problem.to_string())?);
    Ok(element(
        SEQUENCE,
        &[&signed[..], algorithm.whole, &element(BIT_STRING, &signature)].concat(),
    ))
}

fn attribute(kind: &[u8], value: &str) -> Vec<u8> {
    let pair = [
        element(OBJECT_IDENTIFIER, kind),
        element(UTF8_STRING, value.as_bytes()),
    ]
    .concat();
    element(SET, &element(SEQUENCE, &pair))
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match u8::try_from(content.len()) {
        Ok(short) if short < 0x80 => bytes.push(short),
        _ => {
            let length = content.len().to_be_bytes();
            let significant = &length[length.iter().take_while(|&&byte| byte == 0).count()..];
            bytes.push(0x80 | significant.len().to_le_bytes()[0]);
            bytes.extend_from_slice(significant);
        }
    }
    bytes.extend_from_slice(content);
    bytes
}

#[derive(Clone, Copy)]
struct Element<'a> {
    whole: &'a [u8],
    content: &'a [u8],
}

/// The elements `bytes` consists of.
fn elements(mut bytes: &[u8]) -> Result<Vec<Element<'_>>, String> {
    let cut = || "DER that ends early".to_owned();
    let mut list = Vec::new();
    while !bytes.is_empty() {
        let first = usize::from(*bytes.get(1).ok_or_else(cut)?);
        let (header, length) = if first < 0x80 {
            (2, first)
        } else {
            let digits = bytes.get(2..2 + (first & 0x7f)).ok_or_else(cut)?;
            if digits.len() > size_of::<u32>() {
                return Err("DER with a length over 32 bits".to_owned());
            }
            (
                2 + digits.len(),
                digits
                    .iter()
                    .fold(0, |length, &digit| length << 8 | usize::from(digit)),
            )
        };
        let end = header + length;
        let content = bytes.get(header..end).ok_or_else(cut)?;
        list.push(Element {
            whole: &bytes[..end],
            content,
        });
        bytes = &bytes[end..];
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_read_back_what_was_written_at_every_length_form() {
        for length in [0, 1, 127, 128, 255, 256, 70_000] {
            let content = vec![7; length];
            let bytes = [element(UTF8_STRING, &content), element(SET, &[])].concat();
            let list = elements(&bytes).unwrap();
            assert_eq!(list.len(), 2);
            assert_eq!(list[0].content, content);
        }
    }

    #[test]
    fn der_that_is_cut_or_huge_is_an_error() {
        for bad in [
            &[0x30][..],
            &[0x30, 5, 1],
            &[0x30, 0x82, 1],
            &[0x30, 0x85, 1, 1, 1, 1, 1],
        ] {
            assert!(elements(bad).is_err(), "{bad:?}");
        }
    }
}
