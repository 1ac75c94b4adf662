# Raw answer of GET /api/v2/alerts -> signals. What an alert is about (its host, disk, workload) is a cause of its own, and the
# alerts of one name are a family: those that are there at once are one message. Values and times tell nothing apart.
def severity: {"critical": "critical", "page": "critical", "warning": "warning", "info": "info", "none": "info"};
# The workload of a pod, whose name has a new end after each rollout.
def workload: sub("(-[0-9a-z]{8,10})?-[bcdfghjklmnpqrstvwxz0-9]{5}$"; "");
def about: ([.pod // .instance // .node // .host // .hostname // .service // .job // "",
             .mountpoint // .device // .container // ""] | map(select(. != "")) | join(" "));

if type != "array" or any(.[]; (.labels | type) != "object" or (.status.state | type) != "string")
then error("this is no list of alerts") else . end
| [ .[]
  | select(.status.state == "active")
  | (.labels
     | if (.pod | type) == "string" and .pod != "" then .pod |= workload | del(.instance) else . end
     | del(.severity, .uid, .id, .container_id, .image, .image_id)) as $labels
  | (.annotations // {}) as $notes
  | ($labels.alertname // "alert") as $name
  | ($labels | about) as $about
  | { title: (if $about == "" then $name else "\($name) on \($about)" end),
      message: ([$notes.summary, $notes.description, $notes.message] | map(select(. != null)) | join("\n")),
      severity: (severity[.labels.severity // ""] // "error"),
      first_seen: .startsAt,
      url: (.generatorURL // null),
      family: "alert \($name)",
      identity: ($labels | to_entries | map("\(.key)=\(.value)") | join(" ")) } ]
