//! DER encoding that rcgen lacks: subjects with several organizations, one for each group (rcgen allows one
//! attribute of each type), and keys of elliptic curves in SEC 1 form.

use rcgen::SigningKey;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
/// Tag of the curve in an ECPrivateKey.
const PARAMETERS: u8 = 0xa0;

/// Object identifier `id-ecPublicKey`, 1.2.840.10045.2.1.
const EC_PUBLIC_KEY: [u8; 7] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];

/// Object identifier `id-at-commonName`, 2.5.4.3.
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];
/// Object identifier `id-at-organizationName`, 2.5.4.10.
const ORGANIZATION: [u8; 3] = [0x55, 0x04, 0x0a];

/// Index of the subject in a TBSCertificate of version 3: after version, serial number, algorithm, issuer,
/// validity.
const SUBJECT: usize = 5;

/// Encodes a subject: the organizations, then the common name.
pub(crate) fn subject(common_name: &str, organizations: &[String]) -> Vec<u8> {
    let mut names = Vec::new();
    for organization in organizations {
        names.extend(attribute(&ORGANIZATION, organization));
    }
    names.extend(attribute(&COMMON_NAME, common_name));
    element(SEQUENCE, &names)
}

/// Replaces the subject of the certificate `original` (version 3, of the CA with `key`), and signs it again.
///
/// # Errors
/// When `original` is not a certificate, or signing fails.
pub(crate) fn with_subject(
    original: &[u8],
    subject: &[u8],
    key: &impl SigningKey,
) -> Result<Vec<u8>, String> {
    let [certificate] = elements(original)?[..] else {
        return Err("not one DER element".to_owned());
    };
    let [tbs, algorithm, _signature] = elements(certificate.content)?[..] else {
        return Err("not the three parts of a certificate".to_owned());
    };
    let mut content = Vec::with_capacity(tbs.content.len() + subject.len());
    for (index, field) in elements(tbs.content)?.iter().enumerate() {
        content.extend_from_slice(if index == SUBJECT { subject } else { field.whole });
    }
    let tbs = element(SEQUENCE, &content);
    // A bit string begins with the number of its unused bits.
    let mut signature = vec![0];
    signature.extend(key.sign(&tbs).map_err(|problem| problem.to_string())?);
    Ok(element(
        SEQUENCE,
        &[&tbs[..], algorithm.whole, &element(BIT_STRING, &signature)].concat(),
    ))
}

/// Extracts the ECPrivateKey (RFC 5915) from a PKCS #8 key, and adds the name of the curve. More programs can
/// parse this form. `None` if the key is not of an elliptic curve.
///
/// # Errors
/// When `key` is not PKCS #8.
pub(crate) fn sec1_of(key: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let [info] = elements(key)?[..] else {
        return Err("not one DER element".to_owned());
    };
    let [_version, algorithm, key, ..] = elements(info.content)?[..] else {
        return Err("not the parts of a PKCS #8 key".to_owned());
    };
    // The tags are checked, since the second element of an ECPrivateKey is the private number, whose random
    // bytes may look like elements.
    if algorithm.whole[0] != SEQUENCE || key.whole[0] != OCTET_STRING {
        return Err("not the parts of a PKCS #8 key".to_owned());
    }
    let [kind, curve] = elements(algorithm.content)?[..] else {
        return Ok(None);
    };
    if kind.content != EC_PUBLIC_KEY {
        return Ok(None);
    }
    let [inner] = elements(key.content)?[..] else {
        return Err("not one ECPrivateKey".to_owned());
    };
    let mut parts = elements(inner.content)?.into_iter();
    let mut content = Vec::with_capacity(inner.content.len() + curve.whole.len() + 2);
    for part in parts.by_ref().take(2) {
        content.extend_from_slice(part.whole);
    }
    content.extend(element(PARAMETERS, curve.whole));
    for part in parts.filter(|part| part.whole[0] != PARAMETERS) {
        content.extend_from_slice(part.whole);
    }
    Ok(Some(element(SEQUENCE, &content)))
}

/// Converts an ECPrivateKey that names its curve to a PKCS #8 key.
///
/// # Errors
/// When `key` is not an ECPrivateKey, or does not name its curve.
pub(crate) fn pkcs8_of(key: &[u8]) -> Result<Vec<u8>, String> {
    let [inner] = elements(key)?[..] else {
        return Err("not one DER element".to_owned());
    };
    let parts = elements(inner.content)?;
    let is_octet_string = |part: &Element| part.whole[0] == OCTET_STRING;
    if !parts.get(1).is_some_and(is_octet_string) {
        return Err("not the parts of an EC private key".to_owned());
    }
    let curve = parts.iter().find(|part| part.whole[0] == PARAMETERS);
    let curve = curve.ok_or("an EC private key that names no curve")?;
    let kind = element(OBJECT_IDENTIFIER, &EC_PUBLIC_KEY);
    let algorithm = element(SEQUENCE, &[&kind[..], curve.content].concat());
    // The parameters are left out, since strict parsers reject a key that names its curve twice.
    let without_parameters = parts.iter().filter(|part| part.whole[0] != PARAMETERS);
    let without_parameters: Vec<u8> = without_parameters.flat_map(|part| part.whole).copied().collect();
    let key = element(OCTET_STRING, &element(SEQUENCE, &without_parameters));
    let version = element(INTEGER, &[0]);
    Ok(element(SEQUENCE, &[version, algorithm, key].concat()))
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

/// A DER element: all bytes, and the content without the header.
#[derive(Clone, Copy)]
struct Element<'a> {
    whole: &'a [u8],
    content: &'a [u8],
}

/// Splits `bytes` into DER elements.
fn elements(mut bytes: &[u8]) -> Result<Vec<Element<'_>>, String> {
    let truncated = || "DER that ends early".to_owned();
    let mut list = Vec::new();
    while !bytes.is_empty() {
        let first = usize::from(*bytes.get(1).ok_or_else(truncated)?);
        let (header, length) = if first < 0x80 {
            (2, first)
        } else {
            let digits = bytes.get(2..2 + (first & 0x7f)).ok_or_else(truncated)?;
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
        let content = bytes.get(header..end).ok_or_else(truncated)?;
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
    fn a_key_of_a_curve_goes_to_sec_1_and_back() {
        let key = rcgen::KeyPair::generate().unwrap();
        let pkcs8 = key.serialize_der();
        let sec1 = sec1_of(&pkcs8).unwrap().expect("P-256 is a curve");
        let parts = elements(elements(&sec1).unwrap()[0].content).unwrap();
        let tags: Vec<u8> = parts.iter().map(|part| part.whole[0]).collect();
        assert_eq!(
            tags,
            [INTEGER, OCTET_STRING, PARAMETERS, 0xa1],
            "the curve and the public key are named"
        );
        assert_eq!(pkcs8_of(&sec1).unwrap(), pkcs8);
        assert!(pkcs8_of(&pkcs8).is_err() && sec1_of(&sec1).is_err());
    }

    #[test]
    fn a_private_number_that_looks_like_elements_is_not_a_pkcs_8_key() {
        let number = [OBJECT_IDENTIFIER, 14]
            .into_iter()
            .chain([1; 14])
            .chain([INTEGER, 14])
            .chain([1; 14])
            .collect::<Vec<u8>>();
        let curve = element(PARAMETERS, &element(OBJECT_IDENTIFIER, &[1]));
        let parts = [element(INTEGER, &[1]), element(OCTET_STRING, &number), curve];
        let sec1 = element(SEQUENCE, &parts.concat());
        assert!(sec1_of(&sec1).is_err());
        assert!(pkcs8_of(&sec1).is_ok());
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
