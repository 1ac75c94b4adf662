# Raw answer of GET /api/v2/alerts -> signals. The labels tell causes apart; values and times do not.
def severity: {"critical": "critical", "page": "critical", "warning": "warning", "info": "info", "none": "info"};

if type != "array" or any(.[]; (.labels | type) != "object" or (.status.state | type) != "string")
then error("this is no list of alerts") else . end
| [ .[]
  | select(.status.state == "active")
  | .labels as $labels
  | (.annotations // {}) as $notes
  | { title: ($labels.alertname // "alert"),
      message: ([$notes.summary, $notes.description, $notes.message] | map(select(. != null)) | join("\n")),
      severity: (severity[$labels.severity // ""] // "error"),
      first_seen: .startsAt,
      url: (.generatorURL // null),
      signature_text: ("alert " + ($labels | del(.severity, .instance, .pod) | to_entries
                       | map("\(.key)=\(.value)") | join(" "))) } ]
