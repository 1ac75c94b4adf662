//! Alerts of a real Prometheus and a real Alertmanager, as Debian ships them: what fires is seen, what is silenced or
//! inhibited is not, and what is over is gone.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tick::adapters::clock::instant;

use crate::support::{free_port, lacks, path_variable, program, test_deps, tick};

/// A server that is ended when this is dropped.
struct Server(Child);

impl Server {
    #[expect(clippy::disallowed_methods, reason = "a server that the product does not start")]
    fn start(program: &Path, args: &[String], dir: &Path) -> Self {
        let child = std::process::Command::new(program)
            .args(args)
            .current_dir(dir)
            .env_clear()
            .env("PATH", path_variable())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ignored = self.0.kill();
        let _ignored = self.0.wait();
    }
}

/// A program of a package that `scripts/debian-parts` unpacked, or of this machine.
fn debian(name: &str) -> Option<PathBuf> {
    let unpacked = test_deps().join("debian/usr/bin").join(name);
    unpacked.is_file().then_some(unpacked).or_else(|| program(name))
}

/// A shop whose queue is as long as the number says, with its metrics.
fn shop() -> (u16, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let queue = Arc::new(AtomicU64::new(3));
    let shown = Arc::clone(&queue);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let _ignored = stream.read(&mut request);
            let waiting = shown.load(Ordering::SeqCst);
            let body = format!("# TYPE shop_queue gauge\nshop_queue {waiting}\n");
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4\r\nconnection: close\r\n";
            let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
            let _ignored = stream.write_all(answer.as_bytes());
        }
    });
    (port, queue)
}

const RULES: &str = r#"groups:
  - name: shop
    interval: 200ms
    rules:
      - alert: QueueTooLong
        expr: shop_queue > 10
        labels: { severity: critical }
        annotations: { summary: "{{ $value }} orders wait" }
      - alert: PagesSlow
        expr: shop_queue > 10
        labels: { severity: warning }
      - alert: QueueKnown
        expr: shop_queue > 10
        labels: { severity: warning }
"#;

const ALERTMANAGER: &str = r#"route: { receiver: nobody, group_wait: 1s }
receivers: [{ name: nobody }]
inhibit_rules:
  - source_matchers: ['alertname="QueueTooLong"']
    target_matchers: ['alertname="PagesSlow"']
    equal: [job]
"#;

/// Where Debian's Alertmanager reads its templates. It has no switch for another place, so one that was only unpacked is shown
/// its own.
const SHARE: &str = "/usr/share/prometheus";

/// Both servers, with their data below `dir`; gives the port of the Alertmanager.
fn monitoring(dir: &Path, shop: u16) -> Option<(Server, Server, u16)> {
    let (prometheus, alertmanager) = (debian("prometheus")?, debian("prometheus-alertmanager")?);
    let (at, alerts) = (free_port(), free_port());
    let scrape = format!(
        "global: {{ scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms }}\n\
         rule_files: [rules.yml]\n\
         alerting: {{ alertmanagers: [{{ static_configs: [{{ targets: ['127.0.0.1:{alerts}'] }}] }}] }}\n\
         scrape_configs: [{{ job_name: shop, static_configs: [{{ targets: ['127.0.0.1:{shop}'] }}] }}]\n"
    );
    for (name, text) in [
        ("prometheus.yml", scrape.as_str()),
        ("rules.yml", RULES),
        ("alertmanager.yml", ALERTMANAGER),
    ] {
        fs::write(dir.join(name), text).unwrap();
    }
    let shown = |path: &str| dir.join(path).display().to_string();
    let manager = [
        format!("--config.file={}", shown("alertmanager.yml")),
        format!("--storage.path={}", shown("alerts")),
        format!("--web.listen-address=127.0.0.1:{alerts}"),
        "--cluster.listen-address=".to_owned(),
    ];
    let watcher = [
        format!("--config.file={}", shown("prometheus.yml")),
        format!("--storage.tsdb.path={}", shown("series")),
        format!("--web.listen-address=127.0.0.1:{at}"),
    ];
    let alertmanager = match program("bwrap") {
        Some(bwrap) if !Path::new(SHARE).join("alertmanager").is_dir() => {
            let share = test_deps().join("debian").join("usr/share/prometheus");
            let mut args: Vec<String> = [
                "--die-with-parent",
                "--dev-bind",
                "/",
                "/",
                "--tmpfs",
                "/usr/share",
                "--ro-bind",
            ]
            .map(str::to_owned)
            .into();
            args.extend([share.display().to_string(), SHARE.to_owned()]);
            args.push(alertmanager.display().to_string());
            args.extend(manager);
            Server::start(&bwrap, &args, dir)
        }
        _ => Server::start(&alertmanager, &manager, dir),
    };
    Some((alertmanager, Server::start(&prometheus, &watcher, dir), alerts))
}

/// Looks until the alerts that tick sees are these. Each look is a run of the program, so nothing here waits by itself.
fn until(home: &Path, wanted: &[&str]) -> Value {
    let deadline = instant() + Duration::from_mins(1);
    loop {
        let done = tick(home)
            .args(["--home", home.to_str().unwrap(), "collect", "--only", "alertmanager"])
            .output()
            .unwrap();
        let snapshot: Value = serde_json::from_slice(&done.stdout).unwrap();
        let titles: Vec<&str> = snapshot["signals"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|signal| signal["title"].as_str()?.split(" on ").next())
            .collect();
        if titles == wanted && snapshot["collectors"][0]["outcome"] == "ok" {
            return snapshot;
        }
        assert!(instant() < deadline, "{wanted:?} did not come: {snapshot:#}");
    }
}

fn silence(port: u16, alert: &str) {
    let body = json!({
        "matchers": [{"name": "alertname", "value": alert, "isRegex": false, "isEqual": true}],
        "startsAt": "2020-01-01T00:00:00Z", "endsAt": "2099-01-01T00:00:00Z",
        "createdBy": "a person", "comment": "we know",
    })
    .to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = "POST /api/v2/silences HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\n";
    write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn an_alert_fires_is_seen_and_is_gone_when_it_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let (shop, queue) = shop();
    let Some((_alertmanager, _prometheus, port)) = monitoring(dir.path(), shop) else {
        lacks("prometheus or prometheus-alertmanager");
        return;
    };
    let home = dir.path().join("home");
    fs::create_dir(&home).unwrap();
    let values = json!({"values": {"url": format!("http://127.0.0.1:{port}")}});
    let config = json!({"mode": "observe", "retry": {"attempts": 1}, "repos": {"shop": {"collectors": {"alertmanager": values}}}});
    fs::write(home.join("config.json"), config.to_string()).unwrap();
    until(&home, &[]);
    silence(port, "QueueKnown");

    queue.store(17, Ordering::SeqCst);
    let snapshot = until(&home, &["QueueTooLong"]);
    let signal = &snapshot["signals"][0];
    assert_eq!(
        (&signal["kind"], &signal["severity"]),
        (&json!("alert"), &json!("critical"))
    );
    assert_eq!(signal["message"], "17 orders wait");

    queue.store(2, Ordering::SeqCst);
    until(&home, &[]);
}
