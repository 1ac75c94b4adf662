# One issue and its latest event (null when none is kept) -> one signal. The text is written as the platform's own logs
# have it, so that a log line and an issue of one exception are one cause. Of the event only exceptions and the release are
# read: user, request, variables and breadcrumbs stay behind.
def severity: {"fatal": "critical", "error": "error", "warning": "warning"}[.] // "info";
def said: [.type, .value] | map(select(. != null and . != "")) | join(": ");

# The application's own frames, the crash last; all where none is known to be its own.
def frames: [(.stacktrace.frames // [])[] | select(type == "object")] | map(select(.inApp == true)) as $own
  | (if ($own | length) > 0 then $own else . end) | .[-10:];
def file: .filename // .absPath // .module // "<unknown>";
def python: (frames | map("  File \"\(file)\", line \(.lineNo // 0), in \(.function // "<module>")\n") | add // "") as $stack
  | (if $stack == "" then "" else "Traceback (most recent call last):\n" + $stack end) + said;
def java: said + (frames | reverse | map("\n\tat \(.module // "app").\(.function // "run")(\(.filename // "Unknown"):\(.lineNo // 0))") | add // "");
def other: said + (frames | reverse | map("\n    at \(.function // "<anonymous>") (\(file):\(.lineNo // 0):\(.colNo // 0))") | add // "");

# Chained exceptions: the last was raised last, and is what the platform prints first or, in Python, at the end.
def text($platform): [.entries[]? | select(.type == "exception") | .data.values[]? | select(type == "object")]
  | if length == 0 then null
    elif $platform == "python" then map(python) | join("\n\nThe above exception was the direct cause of the following exception:\n\n")
    elif $platform == "java" or $platform == "kotlin" then reverse | map(java) | join("\nCaused by: ")
    else last | other end;

def from_list: (.metadata // {}) as $m
  | if ($m.type // "") == "" then .title
    else ($m | said) + (if $m.filename then "\n    at \($m.function // "<anonymous>") (\($m.filename):0:0)" else "" end) end;

.item as $issue | .detail as $event
| if ($issue | type) != "object" or ($issue.title | type) != "string" then error("an issue without a title")
  elif $event != null and (($event | type) != "object" or ($event | has("entries") | not)) then error("an event without entries")
  elif ($issue.issueCategory // "error") != "error" then []
  else
    (($event // {} | text($event.platform // $issue.platform // "other")) // ($issue | from_list)) as $text
    | [ { title: $issue.title,
          message: $text,
          signature_text: $text,
          severity: (($issue.level // "error") | severity),
          count: ($issue.count // "1" | tonumber),
          first_seen: $issue.firstSeen,
          last_seen: $issue.lastSeen,
          release_sha: (($event.release.version // "") | split("+") | (last // "") | split("@") | last),
          url: $issue.permalink,
          evidence: { issue: $issue.shortId, state: $issue.substatus, users: $issue.userCount, first_seen: $issue.firstSeen,
                      release: $event.release.version, place: $issue.culprit } } ]
  end
