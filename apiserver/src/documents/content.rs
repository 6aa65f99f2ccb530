//! The body of a document: a large one is kept as gzip only, which is how nearly every client asks for it.

use std::io::{Read, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// Bodies below this size are not worth compressing (the figure of kube-apiserver).
const WORTH_COMPRESSING: usize = 128 * 1024;

/// A body.
#[derive(Debug)]
pub(super) enum Content {
    /// A small one, as it is.
    Plain(Bytes),
    /// A large one, compressed.
    Zipped {
        /// The gzip.
        gzip: Bytes,
        /// The bytes it was made of.
        length: usize,
    },
}

impl Content {
    /// Keeps `body`.
    pub(super) fn new(body: Bytes) -> Self {
        if body.len() < WORTH_COMPRESSING {
            return Self::Plain(body);
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        match encoder.write_all(&body).and_then(|()| encoder.finish()) {
            Ok(mut gzip) => {
                gzip.shrink_to_fit();
                let (gzip, length) = (gzip.into(), body.len());
                Self::Zipped { gzip, length }
            }
            // Writing to memory does not fail.
            Err(_) => Self::Plain(body),
        }
    }

    /// The gzip, of a large body.
    pub(super) const fn gzip(&self) -> Option<&Bytes> {
        match self {
            Self::Zipped { gzip, .. } => Some(gzip),
            Self::Plain(_) => None,
        }
    }

    /// The body as it was.
    ///
    /// # Errors
    /// When memory does not hold what was compressed.
    pub(super) fn plain(&self) -> std::io::Result<Bytes> {
        match self {
            Self::Plain(body) => Ok(body.clone()),
            Self::Zipped { gzip, length } => {
                let mut body = Vec::with_capacity(*length);
                GzDecoder::new(&gzip[..]).read_to_end(&mut body)?;
                Ok(body.into())
            }
        }
    }
}
