//! `tick __bench-server`: endpoints on loopback that answer after a fixed time, for `scripts/bench`.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::Context;
use axum::{Router, http::header, response::IntoResponse, routing::any};
use clap::Args;

use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct BenchServerArgs {
    /// The port is written here once it listens
    #[arg(long, value_name = "FILE")]
    port_file: PathBuf,
    #[arg(long, default_value_t = 50)]
    delay_ms: u64,
    #[arg(long, default_value = r#"{"ok":true}"#)]
    body: String,
}

pub fn run(args: &BenchServerArgs) -> anyhow::Result<Exit> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("start the runtime")?
        .block_on(serve(args))?;
    Ok(Exit::Ok)
}

async fn serve(args: &BenchServerArgs) -> anyhow::Result<()> {
    let delay = Duration::from_millis(args.delay_ms);
    let body = args.body.clone();
    let answer = move || {
        let body = body.clone();
        async move {
            tokio::time::sleep(delay).await;
            ([(header::CONTENT_TYPE, "application/json")], body).into_response()
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .context("listen on loopback")?;
    let port = listener.local_addr()?.port();
    let fresh = args.port_file.with_extension("new");
    fs::write(&fresh, port.to_string()).with_context(|| format!("write {}", fresh.display()))?;
    fs::rename(&fresh, &args.port_file)?;
    let router = Router::new().fallback(any(answer));
    axum::serve(listener, router).await.context("serve")
}
