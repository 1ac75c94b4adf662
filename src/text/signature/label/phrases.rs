//! What texts of each kind say, in small letters, separated by `;`. A phrase is looked for anywhere in a template.

/// The phrases of a list.
pub(super) fn split(list: &str) -> impl Iterator<Item = &str> {
    list.split(';').map(str::trim).filter(|phrase| !phrase.is_empty())
}

/// Says that it will pass, whatever else is said.
pub(super) const PASSING: &str = "temporary failure; try again later; please retry; eai_again; misconf redis; \
    is starting up; is shutting down; in recovery mode; loading the dataset; gone away; temporarily unavailable; \
    currently unavailable; retry your request; rate limit; ratelimit; rate_limit; \
    rate exceeded; throttl; too many requests; toomanyrequests; lost communication; received a shutdown signal; server misbehaving";

/// Nothing to mend: the other side went away, scanners, stale pages after a release, announcements, users' own mistakes.
pub(super) const NOISE: &str = "responseaborted; premature_close; premature close; closed early; client disconnected; \
    client has disconnected; client closed; closed by client; clientabort; prematurely closed; request aborted; \
    request was aborted; error: aborted; aborterror; user aborted; write epipe; broken pipe; context canceled; \
    context cancelled; operation was canceled; err_aborted; abort handler; superseded; higher priority waiting; has been canceled; \
    could not receive data from client; eof on client connection; \
    wp-login; wp-admin; wp-includes; wp-content; xmlrpc.php; /.env; /.git/; phpmyadmin; cgi-bin; no route matches; \
    routingerror; failed to decode param; decode_failed; page mismatch; disallowedhost; invalid http_host; \
    bad request version; invalid http request; tls handshake error; sent to https port; chunkloaderror; loading chunk; loading css chunk; \
    failed to find server action; dynamically imported module; module script failed; unable to preload css; \
    next_redirect; next_not_found; next_http_error_fallback; stripecarderror; card_declined; card was declined; \
    card has insufficient; card has expired; expired_card; incorrect_cvc; deprecationwarning; deprecated feature; \
    is deprecated; has been deprecated; was deprecated; experimentalwarning; futurewarning; maxlistenersexceeded; \
    npm warn; resizeobserver loop; typeerror: load failed; typeerror: failed to fetch; chrome-extension:; \
    moz-extension:; entity.too.large; entity.parse.failed; deserialize the json body; isn't a valid image; \
    too large body; payload too large; body exceeded; user unknown; recipient address rejected; mailbox unavailable; \
    unable to reserve cache; failed to restore cache; failed to save cache";

/// A test that ran too long says nothing about the network.
pub(super) const SLOW_TESTS: &str = "test timeout of; test timed out; long-running test; timeout of <time> for a test; \
    waiting for expect; waiting for locator; locator.click: timeout; timed out waiting for element; testtimeout";

/// Settings: what is missing, misspelt, of the wrong version or in the wrong place.
pub(super) const CONFIG: &str = "environment variable; missing env; env var; is not set; not been set; must be set; \
    is not configured; not configured; is not specified; could not resolve placeholder; secretoptionerror; \
    secret_key_base; missing required; required and not supplied; please define a; please set; improperlyconfigured; \
    configuration error; invalid configuration; misconfigur; unknown directive; unsupported argument; unknown flag; \
    unrecognized arguments; connectionstring; failed to configure; failed to load config; \
    could not load config; specifications of the schema; invalid workflow; .github/workflows/; unable to resolve action; no pg_hba; \
    enotfound; no such host; name or service not known; nodename nor servname; could not translate host name; \
    could not resolve host; unknownhost; failed to lookup address; eaddrinuse; address already in use; \
    port is already allocated; listen eacces; bind: permission denied; role \"; fatal: database \"; unknown database; \
    does not exist: database; no password supplied; password must be a string; unsupported protocol; invalid url; \
    err_invalid_url; invalid connection string; must start with the protocol; invalid scheme; relative url without a base; \
    self-signed certificate; self signed certificate; unable to verify the first certificate; \
    local issuer certificate; ssl is not enabled; does not support ssl; frozen-lockfile; frozen lockfile; lockfile; \
    lock file; eresolve; missing script; unsupported engine; ebadengine; ebadplatform; eusage; are in sync; \
    not in sync; engine \"; requires node; requires python; requires rustc; requires a different python; \
    no matching version; etarget; code e404; no matching distribution; version that satisfies; resolutionimpossible; \
    no matching package named; failed to select a version; checksum mismatch; missing go.sum; go.mod requires; \
    updates to go.mod; could not determine how to build; unable to generate a build plan; manifest unknown; manifest for; \
    docker.io/; pull access denied; repository does not exist; no start command; could not find a production build; \
    dockerfile; failed to calculate checksum; failed to solve: failed to read; executable; command not found; \
    exec format error; unknown project; project not found; no test files found; no tests found; maximum size limit; \
    invalid runtime; invalid vercel.json; jest encountered an unexpected token; nosuchbucket; bucket does not exist; \
    model_not_found; missing trie node; -32601; invalid project id; plan and billing; locate credentials; could not load credentials; \
    credentialsprovider; missing credentials; no credentials; failed to pull image; imagepullbackoff; \
    invalidimagename; insufficient funds for; unsupported chain; chain id mismatch; cannot load such file; \
    no module named 'psycopg; no suitable driver; could not find driver; unknown authentication plugin";

/// Credentials and rights.
pub(super) const AUTH: &str = "authentication failed; authenticationerror; authentication error; \
    authenticationexception; authenticationfailed; not authenticated; unauthenticated; unauthorized; forbidden; \
    login failed; invalid login; password not accepted; invalid credentials; invalid_credentials; bad credentials; \
    invalid username; invalid password; wrong password; api key expired; expired api key; invalid api key; \
    incorrect api key; invalid_api_key; api key not valid; invalid x-api-key; invalid token; invalid_token; \
    token expired; tokenexpired; token has expired; token is expired; expiredtoken; expired token; jwt expired; \
    invalid jwt; jwt malformed; jsonwebtokenerror; jwt_session_error; signature has expired; \
    signature verification failed; signaturedoesnotmatch; invalid_grant; invalid_client; insufficient_scope; \
    insufficient permission; insufficient privilege; must be owner of; permission denied for; permission_denied; \
    permissiondenied; does not have permission; have access to; access denied; accessdenied; access_denied; \
    access is denied; requested access to the resource; not authorized; resource not accessible; eacces; eperm; \
    wrongpass; noauth; noperm; e401; e403; eneedauth; could not read username; could not read password; publickey; \
    requires authentication; authentication required; certificate signed by unknown authority; \
    access key; secret key; not a valid key; invalid authentication; bad token";

/// An error of the network is none of the code that met it.
pub(super) const NETWORK: &str = "econnrefused; econnreset; econnaborted; etimedout; ehostunreach; enetunreach; \
    und_err; net::err_; connecttimeout; connect timeout; cert_has_expired; certificate has expired; certificateexpired; \
    peer certificate; name resolution; fetch failed; socket hang up; connection refused; connection reset; \
    connection timed out; connection timeout; no route to host; network is unreachable; i/o timeout; \
    tls handshake timeout; dial tcp; trying to connect; serverselection; server selection; remotedisconnected; \
    remoteprotocolerror; incomplete read; connection not available; connection is not available; pool timed out; \
    queuepool limit; from the connection pool; closed the connection; connection terminated; terminating connection; \
    connection has been closed; connection closed; lost connection; could not connect; can't reach database; \
    quota exceeded; \
    no space left; enospc; out of memory; outofmemory; oomkilled; oom command; heap limit; allowed memory size; \
    cannot allocate memory; enomem; sigkill; too many open files; emfile; too many clients; too many connections; \
    remaining connection slots; max number of clients; insufficient memory; insufficient cpu; disk usage exceeded; \
    disk quota; bad gateway; service unavailable; gateway timeout; gateway time-out; overloaded; hosted runner; \
    readtimeout; read timed out; readonly you; read only replica; backendgone; worker timeout; execution timeout; \
    statement timeout; lock timeout; deadline exceeded; deadlock detected; deadlock found; max retries; \
    maximum retries; retries exceeded; retries exhausted; retry limit; volume is full; disk is full; disk full; lags behind; \
    not in sync with; sigterm; evicted";

/// The code, the schema, a migration or a test.
pub(super) const BUG: &str = "all goroutines are asleep; typeerror; referenceerror; rangeerror; nameerror; keyerror; \
    valueerror; attributeerror; indexerror; lookuperror; unboundlocal; nomethoderror; matcherror; functionclause; \
    undefinedfunction; nullpointer; nullreference; classcast; illegalstate; illegalargument; outofbounds; \
    out_of_range; numberformat; concurrentmodification; uninitialized; validationerror; zoderror; panic; \
    nil pointer; nil map; segmentation; sigsegv; unwrap(); stack size exceeded; divide by zero; division by zero; \
    undefined method; undefined array key; undefined index; undefined variable; undefined property; \
    is undefined; of undefined; of null; is null; is not a function; is not defined; is not iterable; \
    cannot read propert; cannot destructure; unexpectedly found nil; not implemented; unreachable code; violates; \
    assert; expect(; expected; to equal; failing row; duplicate key; duplicate entry; duplicate column; \
    does not exist; already exists; unknown column; no such column; no such table; syntax error; syntaxerror; \
    parse error; parseerror; unexpected token; cannot find module; module not found; cannot find name; \
    cannot import name; has no attribute; index out of range; minified react error; hydrat; prerender; error ts; \
    error[; error cs; could not compile; failed to compile; fatal error: concurrent; mismatched types; \
    invalid input syntax; invalid literal; data too long; value too long; not-null; non-nullable; \
    cannot query field; missing columns; execution reverted; call_exception; --- fail; never used; \
    rules-of-hooks; headers after they are sent; write after end; unhandledpromiserejection; invariant";

/// Too much of something, or something beside the code, where no error of the code was named.
pub(super) const CAPACITY: &str = "timed out; timeout; time-out; unavailable; overload; oom; \
    shutting down; readonly; read-only; insufficient; exhausted; quota; limit exceeded; exceeded your; certificate; \
    deadlock; storage; header not found; internal error; internal server error; stack overflow; overflowed its stack; \
    network; server has closed; unreachable; disconnected; upstream";

pub(super) const NOISE_HINTS: &str = "warning:; warning in; [warn; reserve cache; cache service; deprecat";

pub(super) const AUTH_HINTS: &str = "credential; permission denied; password; api key; access token; security token; not allowed to; missing access; denied:; \
    token is invalid; blocked by; authoriz; \
    authenticat; oauth";

pub(super) const CONFIG_HINTS: &str = "configuration; config; unknown option; invalid option; unsupported; \
    not supported; incompatible; not installed; not found in path";

pub(super) const INFRASTRUCTURE_HINTS: &str = "connection; socket; runner; memory; disk; restart; crash; killed; \
    terminated; node are available; probe failed; missed its window; rejected";
