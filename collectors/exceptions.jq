# Raw answer of the tracker -> release, requests and one signal for each exception.
# Type, message and stack are the identity of the cause; the route is where users met it. An exception's own release
# counts before the one that serves now.
{ release_sha: .release,
  requests: .requests,
  signals: [ .exceptions[]
    | { title: "\(.type): \(.message)",
        message: (.stack // "\(.type): \(.message)"),
        count: .count,
        first_seen: .first_seen,
        last_seen: .last_seen,
        signature_text: (.stack // "\(.type): \(.message)"),
        release_sha: .release,
        evidence: {route: .route} } ] }
