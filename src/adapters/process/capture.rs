//! Output of a child, read while it runs and kept up to a cap.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    sync::Notify,
    task::JoinHandle,
};

/// A child may write this much beyond its cap before it is ended for it.
pub(super) const FLOOD: usize = 64 << 20;

/// One stream of a child. The reader may be given up; what came until then stays.
pub(super) struct Capture {
    shared: Arc<Mutex<Kept>>,
    reader: JoinHandle<()>,
}

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    total: usize,
}

impl Capture {
    pub(super) fn start(mut stream: impl AsyncRead + Unpin + Send + 'static, cap: usize, flood: Arc<Notify>) -> Self {
        let shared = Arc::new(Mutex::new(Kept::default()));
        let kept = Arc::clone(&shared);
        let reader = tokio::spawn(async move {
            let mut buffer = vec![0; 64 << 10];
            // A broken pipe ends the stream like its end does.
            while let Ok(n @ 1..) = stream.read(&mut buffer).await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let room = cap.saturating_sub(kept.bytes.len()).min(n);
                kept.bytes.extend_from_slice(&buffer[..room]);
                kept.total = kept.total.saturating_add(n);
                if kept.total > cap.saturating_add(FLOOD) {
                    flood.notify_one();
                }
            }
        });
        Self { shared, reader }
    }

    /// Waits for the end of the stream.
    pub(super) async fn end(&mut self) {
        // The reader neither panics nor is aborted before this.
        let _ended = (&mut self.reader).await;
    }

    /// What was kept, and whether that is not all.
    pub(super) fn take(self) -> (Vec<u8>, bool) {
        self.reader.abort();
        let mut kept = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let truncated = kept.total > kept.bytes.len();
        (std::mem::take(&mut kept.bytes), truncated)
    }
}
