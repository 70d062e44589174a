//! Growing storage that never moves what it holds, so that growing never doubles memory.

/// A piece of text in an [`Arena`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Text {
    chunk: u32,
    start: u32,
    len: u32,
}

/// Bytes of a chunk. A longer text gets a chunk of its own.
const CHUNK_BYTES: usize = 1 << 20;

/// Text, appended only.
#[derive(Default)]
pub(super) struct Arena {
    chunks: Vec<String>,
}

impl Arena {
    pub(super) fn push(&mut self, text: &str) -> Text {
        let fits = self
            .chunks
            .last()
            .is_some_and(|chunk| chunk.capacity() - chunk.len() >= text.len());
        if !fits {
            self.chunks
                .push(String::with_capacity(CHUNK_BYTES.max(text.len())));
        }
        let at = self.chunks.len() - 1;
        let chunk = &mut self.chunks[at];
        let start = chunk.len();
        chunk.push_str(text);
        Text {
            chunk: at as u32,
            start: start as u32,
            len: text.len() as u32,
        }
    }

    pub(super) fn get(&self, text: Text) -> &str {
        let start = text.start as usize;
        &self.chunks[text.chunk as usize][start..start + text.len as usize]
    }
}

/// Items of a chunk, as a power of two.
const CHUNK_BITS: u32 = 14;

/// A vector in chunks.
pub(super) struct Chunked<T> {
    chunks: Vec<Vec<T>>,
    len: usize,
}

impl<T> Default for Chunked<T> {
    fn default() -> Chunked<T> {
        Chunked {
            chunks: Vec::new(),
            len: 0,
        }
    }
}

impl<T> Chunked<T> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, item: T) {
        if self.len >> CHUNK_BITS == self.chunks.len() {
            self.chunks.push(Vec::with_capacity(1 << CHUNK_BITS));
        }
        self.chunks[self.len >> CHUNK_BITS].push(item);
        self.len += 1;
    }

    pub(super) fn get(&self, at: u32) -> &T {
        &self.chunks[(at >> CHUNK_BITS) as usize][(at & ((1 << CHUNK_BITS) - 1)) as usize]
    }

    pub(super) fn get_mut(&mut self, at: u32) -> &mut T {
        &mut self.chunks[(at >> CHUNK_BITS) as usize][(at & ((1 << CHUNK_BITS) - 1)) as usize]
    }
}
