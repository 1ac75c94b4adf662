//! What texts of each kind say, in small letters, separated by `;`. A phrase is looked for anywhere in a template.

/// The phrases of a list.
pub(super) fn split(list: &str) -> impl Iterator<Item = &str> {
    list.split(';').map(str::trim).filter(|phrase| !phrase.is_empty())
}

/// Says that it will pass, whatever else is said.
pub(super) const PASSING: &str = "operation is in progress; operation in progress; resolve host: github.com; resolve host: api.github.com; \
    resolving 'deb.debian.org; resolving 'archive.ubuntu.com; enotfound registry.npmjs.org; enotfound github.com; lookup proxy.golang.org; \
    lookup github.com; lookup registry-1.docker.io; pool is full; mempool is full; busy running a script; clusterdown; cluster is down; masterdown; tryagain; \
    try again in; control plane request failed; scheduled maintenance; under maintenance; server had an error; \
    is overloaded; overloaded_error; capacity constraints; please wait a few; \
    too_many_requests; temporary failure; try again later; please retry; eai_again; misconf redis; \
    is starting up; is shutting down; in recovery mode; loading the dataset; gone away; temporarily unavailable; \
    currently unavailable; retry your request; rate limit; ratelimit; rate_limit; \
    rate exceeded; throttl; too many requests; toomanyrequests; lost communication; received a shutdown signal; server misbehaving; \
    state lock; acquiring the lock; lock wait timeout; try restarting transaction; leader not available; \
    leader election; leader changed; is restarting; being restarted; is recovering; resource temporarily; \
    server is busy; too busy; slow down; slowdown; requestlimitexceeded; too many connections";

/// Nothing to mend: the other side went away, scanners, stale pages after a release, announcements, users' own mistakes.
pub(super) const NOISE: &str = "client unexpected; user rejected; user denied; invalid user <user>; stream closed; incomplete response; script error.; non-error promise rejection; \
    extension context invalidated; webkit.messagehandlers; err_blocked_by_client; the operation is insecure; \
    --trace-warnings; cache not found; no cache found; cache already exists; set-output; save-state; \
    node12 actions; node16 actions; incomplete startup packet; could not send data to client; \
    invalid request line; malformed http request; hpe_; zgrab; masscan; sqlmap; /actuator; your card was; \
    your card's; incorrect_number; payment_intent_authentication; canceled by the user; cancelled by the user; \
    client went away; client gone; peer went away; unsubscribed; complained; no such user here; npm notice; \
    experimental feature; \
    user request; older or newer deployment; length of startup packet; while ssl handshaking; ssl_do_handshake() failed; \
    reading a body from connection; before message length reached; security attack; get /wp-; post /wp-; eval-stdin; /phpunit; /.aws; /.ssh; /boaform; /hnap1; /solr/admin; /owa/; /autodiscover; /etc/passwd; ../../; \
    responseaborted; premature_close; premature close; closed early; client disconnected; \
    client has disconnected; client closed; closed by client; clientabort; client prematurely closed; request aborted; \
    request was aborted; error: aborted; aborterror; user aborted; write epipe; broken pipe; context canceled; \
    context cancelled; operation was canceled; err_aborted; abort handler; superseded; higher priority waiting; has been canceled; \
    could not receive data from client; eof on client connection; \
    wp-login; wp-admin; xmlrpc.php; /.env; /.git/; phpmyadmin; cgi-bin; no route matches; \
    routingerror; failed to decode param; decode_failed; page mismatch; disallowedhost; invalid http_host; \
    bad request version; invalid http request; tls handshake error; sent to https port; chunkloaderror; loading chunk; loading css chunk; \
    failed to find server action; dynamically imported module; module script failed; unable to preload css; \
    next_redirect; next_not_found; next_http_error_fallback; stripecarderror; card_declined; card was declined; \
    card has insufficient; card has expired; expired_card; incorrect_cvc; deprecationwarning; deprecated feature; \
    is deprecated; has been deprecated; was deprecated; experimentalwarning; futurewarning; maxlistenersexceeded; \
    npm warn; resizeobserver loop; typeerror: load failed; typeerror: failed to fetch; chrome-extension:; \
    moz-extension:; entity.too.large; entity.parse.failed; deserialize the json body; isn't a valid image; \
    too large body; payload too large; body exceeded; user unknown; recipient address rejected; mailbox unavailable; \
    unable to reserve cache; failed to restore cache; failed to save cache; \
    connection reset by client; client aborted; client intended to send; downstream remote disconnect; \
    broken_pipe; clientabortexception; client sent an invalid; invalid host header; \
    actioncontroller::badrequest; invalid %-encoding; suspicious request; unknown http method; \
    method not allowed; robots.txt; favicon.ico; deprecation warning; will be removed in; end of life; \
    obsolete; do_not_honor; unsubscribed recipient; invalid email address; user cancelled; \
    user canceled; cancelled by user; canceled by user; was interrupted by the user";

/// The code is wrong, whatever code stands beside it; and a test that ran too long says nothing about the network.
pub(super) const SURE_BUGS: &str = "infinite loop; error ts; error[e; error cs; during render; inside a function cached; failed to execute '; : undefined: ; ensure \"done()\"; exceeded timeout of; timed out retrying after; \
    test timeout of; test timed out; long-running test; timeout of <time> for a test; \
    waiting for expect; waiting for locator; locator.click: timeout; timed out waiting for element; testtimeout";

/// Settings: what is missing, misspelt, of the wrong version or in the wrong place.
pub(super) const CONFIG: &str = "invalid environment variables; environment variables are missing; no connection string; \
    connection string is; api key is missing; missing api key; no api key; api key must be; apikey must be; \
    project not found; unknown project; not linked to a project; could not find a production build; \
    no start command; could not determine how to build; failed to read dockerfile; version mismatch; glibc_; \
    exec format error; cannot execute binary file; not found in $path; invalid next.config; \
    unrecognized key(s); invalid options object; no open ports; port already in use; \
    access-control-allow-origin; cors policy; host not found in upstream; the start command `; unknown compiler option; content security policy; error from server (notfound); is not verified; not been verified; not found in the local cache; searched in the following; mixed content; redirect_uri; callback url; \
    domain is not verified; domain not verified; sender identity; invalid dsn; unknown shorthand flag; \
    unknown argument '; unknown argument: ; unknown argument -; unrecognized named-value; invalid yaml; yaml.scanner; cannot start any token; \
    toml parse error; yaml: line; unclosed table; failed to parse manifest; failed to load manifest; \
    no matching package; no matching distribution; resolutionimpossible; could not resolve dependency; \
    unable to resolve dependency; would have been modified; no matching version found; etarget; \
    unsupported url type; this project is configured to use; expected version; unknown revision; \
    unknown runtime; invalid runtime; certificate chain; signed by unknown authority; unable to get issuer; invalid certificate authority; \
    getpwnam; no such user in; no such profile; profile not found; config profile; \
    could not be found in the application configuration; price id; live mode key; test mode key; wrong chain; \
    extension control file; unknown locale; invalid time zone; unknown time zone; no such network; \
    network not found; no such volume; undefined volume; invalid compose; service refers to undefined; \
    invalid mount; invalid host; invalid port; port out of range; unknown dialect; no pg_hba.conf; \
    must be on the same; license key; \
    root directory; output directory; project settings; node.js version; host must be trusted; untrustedhost; \
    peer dep; unsupported environment; unsupported_engine; is incompatible with; : secret \"; : configmap \"; error initializing config; no such field; sender address rejected; queue does not exist; \
    queuedoesnotexist; does not host this; failed at step exec; \"message\":\"model:; model_not_found; credit balance; \
    source metadata; manifest unknown; does not match `origin`; too big header; no such file or directory: exec; is not registered with the listener; ora-12514; ora-12505; \
    environment variable; missing env; env var; is not set; not been set; must be set; \
    is not configured; not configured; is not specified; could not resolve placeholder; secretoptionerror; \
    secret_key_base; missing required; required and not supplied; please define a; please set; improperlyconfigured; \
    configuration error; invalid configuration; misconfigur; unsupported argument; unknown flag; unrecognized flag; \
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
    dockerfile does not; dockerfile `; failed to read dockerfile; failed to calculate checksum; failed to solve: failed to read; executable; command not found; \
    exec format error; unknown project; project not found; no test files found; no tests found; maximum size limit; \
    invalid runtime; invalid vercel.json; jest encountered an unexpected token; nosuchbucket; bucket does not exist; \
    model_not_found; missing trie node; -32601; invalid project id; plan and billing; locate credentials; could not load credentials; \
    credentialsprovider; missing credentials; no credentials; failed to pull image; imagepullbackoff; \
    invalidimagename; insufficient funds for; unsupported chain; chain id mismatch; cannot load such file; \
    no module named 'psycopg; no suitable driver; could not find driver; unknown authentication plugin; \
    could not find artifact; could not resolve dependencies; could not resolve all; \
    installable set of packages; your php version; your ruby version; that requirement; subject alternative; \
    hostname mismatch; certificate is valid for; not valid for the name; hostname/ip does not match; altname; \
    pkix path; unable to find valid certification path; wrong version number; record_too_long; \
    unable to find image; no matching manifest; invalid reference format; failed to pull; errimagepull; \
    unknown provider; missing required argument; no value for required variable; no value for required; \
    unrecognized option; unrecognised option; unrecognized configuration; unrecognized argument; \
    unsupportedclassversion; more recent version of the java; wrong class file version; unsupported class file; \
    java_home; sdk location; no toolchain; could not find gem; gemnotfound; compatible versions for gem; \
    version solving failed; dependency conflict; conflicting dependencies; could not find a version; \
    no such keyspace; index_not_found; no such index; unknown topic; unknowntopic; no such container; \
    executable file not found; is not recognized as; createcontainerconfigerror; couldn't find key; \
    no matches for kind; ensure crds; failed to parse kubeconfig; no configuration has been provided; \
    no configuration file; mapping values are not allowed; nxdomain; no address associated; invalid dsn; \
    malformed dsn; port is already; was already in use; already in use; duplicate mount; failed to bind; \
    nosuchkey: the specified; no such bucket; unknown region; could not find region; missing region; noregion; \
    keystore; truststore; unable to load certificate; no start line; bad decrypt; invalid license; \
    license has expired; licence; property placeholder; could not bind properties; failed to bind properties; \
    undefined environment; fetch_env; key not found in env; env key; .env file; config file; settings file; \
    settings module; missing key in; import map; unresolvable host; unknown service; no such service; \
    no such task; could not find method; plugin with id; plugin not found; unknown plugin; unknown command; \
    unknown subcommand; no such option; unexpected argument; no rule to make target; could not find package; \
    package configuration file; could not be found in the list; repository not found; unknown repository; \
    remote branch; couldn't find remote ref; did not match any file; pathspec; ora-12154; \
    tns:could not resolve";

/// Credentials and rights.
pub(super) const AUTH: &str = "許可がありません; 权限不够; 权限被拒绝; keine berechtigung; zugriff verweigert; permission non accordée; \
    permiso denegado; permissão negada; permesso negato; отказано в доступе; authentifizierung; authentification; \
    autenticación; autenticação; autenticazione; notcapable; run again with the --allow; conversation failed; could not identify password; \
    row-level security; row level security; session expired; session has expired; session not found; \
    invalid session; invalid refresh token; refresh_token_not_found; email not confirmed; invalid csrf; \
    csrf token; state mismatch; missing authorization; no authorization; authorization header; assumerole; \
    could not load credentials; credentials could not be loaded; security token included; must have admin; \
    requires admin; protected branch; gh006; refusing to allow; not logged in; please log in; \
    must be logged in; must be superuser; peer authentication; authentifizierung; authentification; \
    autenticaci; mot de passe; passwort; contrase; keine berechtigung; permiso denegado; permission non; \
    zugriff verweigert; signature expired; request has expired; key is disabled; user is not allowed; \
    operation not permitted; not permitted to; not permitted for; not permitted by; not permitted on; privilege; unable to locate credentials; no credentials; credentials not found; \
    expired_token; revoked; forbidden by; authorization required; two-factor; totp; \
    authentication failed; authenticationerror; authentication error; \
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
    requires authentication; authentication required;     access key; secret key; not a valid key; invalid authentication; bad token; \
    no permission; missing permission; lacks permission; lacks the; is not authorized; authorization failed; \
    authorizationexception; authorization exception; not allowed to perform; user is disabled; account locked; \
    account is locked; account is disabled; kerberos; gssapi; gss initiate; krb5; data 52e; invalid credential; \
    sasl; token revoked; has been revoked; token was revoked; login required; access forbidden; denied access; \
    is forbidden:; invalidclienttokenid; unrecognizedclient; authfailure; username and password; \
    username or password; user name or password; host key verification; unprotected private key; \
    invalid signature; signature does not match; signature mismatch; credentials were rejected; \
    credentials are invalid; credentials have expired; expired credentials; wrong credentials; ora-01017; \
    logon denied; cannot be authenticated; no basic auth; authentication is required; security_exception; \
    missing authentication; unable to authenticate; failed to authenticate; could not authenticate; \
    forbiddenexception; unauthorizedexception; accessdeniedexception; consent_required; interaction_required; \
    mfa required; api token; invalid_scope; unauthorized_client; permission_error; permissionerror; \
    insufficient authentication; access token has; id token; refresh token";

/// An error of the network is none of the code that met it.
pub(super) const NETWORK: &str = "request: eof; read: eof; conn closed; could not serialize; 接続を拒否; 连接被拒绝; 拒绝连接; в соединении отказано; conexão recusada; connessione rifiutata; \
    空き領域がありません; 设备上没有空间; не осталось места; não há espaço; spazio esaurito; \": eof; block not found; operating system error; unable to lock; upstream prematurely; ext4-fs error; i/o error; no server available; dropping packet; handshake failure; blockhash not found; \
    provisioning resources; deprovision; createartifact; failed to upload artifact; out of disk; \
    device or resource busy; max clients reached; maxclients; pool exhausted; pool is exhausted; \
    pool is draining; request timed out; headers timeout; body timeout; other side closed; socket closed; \
    function_invocation_timeout; task timed out; giving up; gave up; nodenotready; failedscheduling; \
    failed to create pod sandbox; client.timeout exceeded; awaiting headers; stream error; bad record mac; \
    ssl syscall error; bad connection; disk i/o error; could not extend file; conflict with recovery; \
    noreplicas; response from upstream; upstream timed out; unable to connect to; cannot connect to; \
    can't connect to; failed to dial; dial error; error while dialing; network socket disconnected;\
    unexpected server response: 5; degraded; aof file; bgsave; was lost; \
    connection to broker; verbindung; connexion; conexi; aucun espace; kein speicherplatz; kein platz; \
    no queda espacio; espacio insuficiente; ran out of; not enough memory; not enough space; not enough disk; \
    resource exhausted; too many pending; quota has been exceeded; exceeded its quota; spot instance; \
    instance terminated; host is unreachable; stale connection; replica is; replication lag; leadership; \
    no leader; quorum; split brain; node is down; hung task; soft lockup; watchdog; thermal; \
    remounting filesystem read-only; medium error; bad sector; \
    exceeded maximum duration; failed to connect to; couldn't connect to; could not connect to; integrity checksum; eintegrity; \
    signal: killed; has been closed; channelclosed; channel is closing; remote call on; error dispatching request; reading from remote server; connection to backend; responses were required; \
    econnrefused; econnreset; econnaborted; etimedout; ehostunreach; enetunreach; \
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
    not in sync with; sigterm; evicted; \
    node may not be available; brokers are down; broker transport; not enough replicas; no nodes available; \
    nonodeavailable; master_not_discovered; cluster_block; flood stage; disk watermark; watermark; \
    circuit_breaking; circuitbreaker; circuit breaker; rejected execution; rejectedexecution; queue capacity; \
    consumer timeout; connection_closed; connection_forced; missed heartbeat; heartbeat timeout; \
    heartbeats from client; could not be established; connection lost; connection aborted; connection error; \
    network error; host is down; host unreachable; no healthy upstream; upstream connect error; \
    low on resource; node not ready; preempt; insufficient capacity; insufficientinstance; \
    write failed: no space; input/output error; oom-killer; killed process; java heap space; gc overhead; \
    metaspace; unable to create new native; layer4; layer7; is down, reason; no server is available; goaway; \
    stream reset; rst_stream; transport is closing; etcdserver; replica set; no primary; notprimary; \
    not primary; stepped down; notwritableprimary; stale nfs; stale file handle; could not transfer artifact; \
    failed to download; failed to fetch http; unable to fetch some; hash sum mismatch; agent went offline; \
    agent is offline; agent disconnected; connection attempt failed; no connection could be made; \
    existing connection was forcibly; forcibly closed; transport-level error; ora-12541; ora-03113; \
    communications link failure; communication link failure; server closed the connection; server has closed; \
    unexpected eof; eof reached; stopped listening; broken pipeline; queue is full; buffer is full; \
    backpressure; system is overloaded; backoff limit; liveness probe; readiness probe; crashloopbackoff; \
    back-off restarting; allocation failure; memory limit; memory exceeded; exceeded memory; cannot fork; \
    fork: retry; reached max retries";

/// The code, the schema, a migration or a test.
pub(super) const BUG: &str = "abi: ; compilation terminated; no match of right hand side; exception error:; unsupported operand; client components; server components; previously applied but; \
    while running migrations; is not a constructor; not callable; not subscriptable; unhashable; \
    positional argument; keyword argument; never awaited; different loop; event loop is closed; \
    no running event loop; already borrowed; moved value; cannot borrow; unresolved import; trait bound; \
    unused; clippy::; declared and not used; imported and not used; cannot use; send on closed channel; \
    closed channel; waitgroup; slice bounds; interface conversion; invalid memory address; concurrent map; \
    data race; can't scan; scan error; unexpected null; decoding column; missing field; unknown field; \
    unknown variant; invalid type; can't compare; can only concatenate; not json serializable; \
    circular import; circular structure; duplicate argument; indentationerror; constraint failed; \
    out of range; numeric field overflow; right truncation; invalid input value; operator does not exist; \
    is ambiguous; must appear in the group by; transaction is aborted; transaction block; second time; \
    prepared statement; bind message; cached plan; strict mode violation; test suite failed; \
    maximum update depth; too many re-renders; rendered more hooks; rendered fewer hooks; \
    valid as a react child; element type is invalid; rendered statically; dynamic server usage; \
    suspense boundary; invalid hook call; request scope; is not exported; does not provide an export; \
    no exported member; not assignable; implicitly has; no overload; gas too low; exceeds allowance; \
    nonce too low; nonce has already; already known; underpriced; noscript; custom program error; \
    program failed; max fee per gas; \
    non-fast-forward; failed to push some refs; all goroutines are asleep; typeerror; referenceerror; rangeerror; nameerror; keyerror; \
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
    rules-of-hooks; headers after they are sent; write after end; unhandledpromiserejection; invariant; \
    invalid column name; invalid object name; undefined table; undeclared; cannot find symbol; \
    unresolved reference; undefined reference; undefined symbol; unresolved external; is not a member; \
    no member named; no matching function; has no member; incompatible types; cannot convert; type mismatch; \
    compilation error; compilation failed; test failed; tests failed; failed asserting; failure/error; \
    assertionfailed; argumenterror; argumentexception; argumentnull; invalidoperation; keynotfound; \
    indexoutofrange; formatexception; invalidcast; stackoverflow; nosuchmethod; nosuchfield; noclassdef; \
    classnotfound; class not found; abstractmethod; unsupportedoperation; arithmeticexception; arrayindex; \
    lazyinitialization; nonuniqueresult; detached entity; transientobject; constraintviolation; \
    constraint violation; dataintegrity; e11000; badmatch; badarg; function_clause; case_clause; \
    no function clause; no case clause; frozenerror; zerodivision; stack level too deep; \
    wrong number of arguments; undefined local variable; unexpectedly raised; null check operator; \
    called after dispose; late initialization; sanitizer; heap-use-after-free; buffer-overflow; core dumped; \
    double free; stack smashing; attempt to index; attempt to call; attempt to compare; \
    attempt to perform arithmetic; can't call method; can't locate object method; uninitialized value; \
    non-exhaustive; empty list; cannot unmarshal; unexpected end of json; malformed; unrecognized token; \
    ora-00942; ora-00904; ora-00001; recursionerror; notimplemented; unhandled match; unmatched case; \
    no viable; missing method; missing return; invalid operands; invalid operation; bad argument; \
    conversionexception; mappingexception; deserializ; jsonparse; jsonexception; failed expectation; \
    expectation failed; to have been called; snapshot does not match; screenshot comparison; missing template; \
    templatenotfound; template error; undefinederror; invalid byte sequence; encoding::; unicodedecode; \
    unicodeencode; multiple heads; pending migration; migration failed; relation already; integrityerror; \
    operationalerror: no such";

/// Too much of something, or something beside the code, where no error of the code was named.
pub(super) const CAPACITY: &str = "too frequently; websocket connection to; timed out; timeout; time-out; unavailable; overload; oom; \
    shutting down; readonly; read-only; insufficient; exhausted; quota; limit exceeded; exceeded your; certificate; \
    deadlock; storage; header not found; internal error; internal server error; stack overflow; overflowed its stack; \
    network; server has closed; unreachable; disconnected; upstream";

pub(super) const NOISE_HINTS: &str = "warning:; warning in; [warn; reserve cache; cache service; deprecat";

pub(super) const AUTH_HINTS: &str = "jwt; decryption; credential; permission denied; password; api key; access token; security token; not allowed to; missing access; denied:; \
    token is invalid; blocked by; authoriz; \
    authenticat; oauth";

pub(super) const CONFIG_HINTS: &str = "settings; must have a valid; is required; installation failed; upgrade failed; values.yaml; unregistered task; not registered; inequivalent arg; unbound variable; \
    configuration; config; unknown option; invalid option; unsupported; \
    not supported; incompatible; not installed; not found in path";

pub(super) const INFRASTRUCTURE_HINTS: &str = "connection; socket; runner; memory; disk; restart; crash; killed; \
    terminated; node are available; probe failed; missed its window; rejected";
