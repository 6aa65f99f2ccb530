//! Body of a document. A large body is stored only as gzip, which almost all clients accept.

use std::io::{self, Read, Write};

use axum::body::Body;
use bytes::buf::Reader;
use bytes::{Buf, Bytes};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use futures::stream;

/// Size from which bodies are compressed (kube-apiserver's value).
const WORTH_COMPRESSING: usize = 128 * 1024;
/// Number of bytes of a large body that are decompressed at a time, for a client that does not accept gzip.
const PIECE: usize = 64 * 1024;

/// Body of a document.
#[derive(Debug)]
pub(super) enum Content {
    /// A small body, uncompressed.
    Plain(Bytes),
    /// A large body, compressed.
    Gzip {
        /// The compressed bytes.
        gzip: Bytes,
        /// Length of the uncompressed body, in bytes.
        length: usize,
    },
}

impl Content {
    /// Stores `body`, compressed if it is large.
    pub(super) fn new(body: Bytes) -> Self {
        if body.len() < WORTH_COMPRESSING {
            return Self::Plain(body);
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        match encoder.write_all(&body).and_then(|()| encoder.finish()) {
            Ok(mut gzip) => {
                gzip.shrink_to_fit();
                let (gzip, length) = (gzip.into(), body.len());
                Self::Gzip { gzip, length }
            }
            // Writing to memory does not fail.
            Err(_) => Self::Plain(body),
        }
    }

    /// The compressed bytes of a large body; `None` for a small body.
    pub(super) const fn gzip(&self) -> Option<&Bytes> {
        match self {
            Self::Gzip { gzip, .. } => Some(gzip),
            Self::Plain(_) => None,
        }
    }

    /// Length of the uncompressed body, in bytes.
    pub(super) const fn len(&self) -> usize {
        match self {
            Self::Plain(body) => body.len(),
            Self::Gzip { length, .. } => *length,
        }
    }

    /// The uncompressed body. A large body is decompressed piece by piece on reading.
    pub(super) fn plain(&self) -> Body {
        match self {
            Self::Plain(body) => Body::from(body.clone()),
            Self::Gzip { gzip, .. } => {
                let decoder = GzDecoder::new(gzip.clone().reader());
                Body::from_stream(stream::iter(Pieces(decoder)))
            }
        }
    }
}

/// Remaining pieces of a body.
struct Pieces(GzDecoder<Reader<Bytes>>);

impl Iterator for Pieces {
    type Item = io::Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut piece = Vec::with_capacity(PIECE);
        let result = self.0.by_ref().take(PIECE as u64).read_to_end(&mut piece);
        match result {
            Ok(0) => None,
            Ok(_) => Some(Ok(piece.into())),
            Err(error) => Some(Err(error)),
        }
    }
}
