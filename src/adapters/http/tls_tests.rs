//! TLS against a server on loopback, with an authority that only these tests trust.

use std::{io::Write, net::TcpListener, time::Duration};

use url::Url;

use super::{
    testing::{CA, EXPIRED, GOOD, OTHER, serve_tls as serve},
    *,
};

fn fetch(url: &Url, roots: &[&'static [u8]]) -> Result<Response, HttpError> {
    let http = Http::trusting(Redactor::default(), roots);
    let mut request = Request::get(url);
    request.deadline = Duration::from_secs(10);
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(http.send(request))
}

#[test]
fn a_good_certificate_is_accepted_and_its_end_is_known() {
    let response = fetch(&serve(GOOD), &[CA]).unwrap();
    assert_eq!(&response.body[..], b"{}");
    assert_eq!(response.not_after.unwrap().to_rfc3339(), "2120-01-01T00:00:00+00:00");
    assert_eq!(response.not_before.unwrap().to_rfc3339(), "2020-01-01T00:00:00+00:00");
}

#[test]
fn a_bad_certificate_is_refused_by_its_own_word() {
    let refused = |certificate, roots: &[&'static [u8]]| fetch(&serve(certificate), roots).unwrap_err().failure;
    assert_eq!(refused(GOOD, &[]), HttpFailure::Tls(TlsFault::UnknownIssuer));
    assert_eq!(refused(EXPIRED, &[CA]), HttpFailure::Tls(TlsFault::Expired));
    assert_eq!(refused(OTHER, &[CA]), HttpFailure::Tls(TlsFault::WrongName));
}

#[test]
fn a_port_without_tls_is_a_failed_handshake() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = Url::parse(&format!("https://{}/", listener.local_addr().unwrap())).unwrap();
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let error = fetch(&url, &[CA]).unwrap_err();
    assert_eq!(error.failure, HttpFailure::Tls(TlsFault::Handshake), "{error}");
}
