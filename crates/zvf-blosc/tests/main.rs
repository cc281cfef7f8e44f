//! Tests of whole chunks.
