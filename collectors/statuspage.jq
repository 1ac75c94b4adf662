# { answer: summary of a status page, values } -> signals and changes. What is over is not in a summary, or says so.
def severity: {"none": "info", "maintenance": "info", "minor": "warning", "major": "error", "critical": "critical"};
# Words of Instatus for the same.
def impact: {"OPERATIONAL": "none", "UNDERMAINTENANCE": "maintenance", "DEGRADEDPERFORMANCE": "minor",
             "MINOROUTAGE": "minor", "PARTIALOUTAGE": "major", "MAJOROUTAGE": "critical"};
def time: if type == "string" and test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9]{2}:[0-9]{2})$") then . else null end;
def over: ["resolved", "postmortem", "completed"];

.values as $values
| .answer as $page
| ($values.provider // ($page.page.name // "provider" | ascii_downcase)) as $provider
| [($values.components // "") | split(",") | .[] | gsub("^\\s+|\\s+$"; "") | ascii_downcase | select(. != "")] as $wanted
| (if ($page.incidents | type) == "array" then $page.incidents
   elif ($page.activeIncidents | type) == "array" then $page.activeIncidents
   elif ($page.page | type) == "object" and ($page.page.status | type) == "string" then []
   else error("neither incidents nor activeIncidents: this is no summary of a status page") end)
| [ .[]
    | (.status // "" | ascii_downcase) as $status
    | select(([over[] | select(. == $status)] | length) == 0)
    | [.components[]? | .name // empty] as $components
    | select(($wanted | length) == 0 or ($components | length) == 0
             or ([$components[] | ascii_downcase | . as $name | $wanted[] | select(. == $name)] | length) > 0)
    | (.impact // "") as $word
    | { name: (.name // "incident"), status: $status, components: $components,
        id: (.id // .shortlink // .url // .name // "incident"),
        impact: (impact[$word] // ($word | ascii_downcase)),
        at: ((.started_at // .created_at // .started) | time),
        url: (.shortlink // .url // null),
        said: ([.incident_updates[]? | .body // empty] | first // "") } ]
| { signals: [ .[] | {
      title: "\($provider): \(.name)",
      message: ([.name, .said] | map(select(. != "")) | join("\n")),
      severity: (severity[.impact] // "warning"),
      first_seen: .at,
      url: .url,
      identity: "incident of the provider \($provider): \(.id)",
      evidence: { provider: $provider, impact: .impact, status: .status, components: (.components | join(", ")), incident: .id } } ],
    changes: [ .[] | select(.at != null) | {
      at: .at, kind: "provider", key: "\($provider) \(.id)", url: .url,
      what: "\($provider) has an incident: \(.name) (\(.impact), \(.status))" } ] }
