# The gate: reads one snapshot, says whether anything in it has to be looked at.
# One object must come out: {"wake": true or false, "reasons": [text, …]}.
#
# A source that could not be read wakes nobody here: that is blindness, and it is told in its own way.
# To sleep through warnings or to wake on them, change the list in the next line.
def wakes: .severity == "error" or .severity == "critical";

[.signals[] | select(wakes) | "\(.repo)/\(.target): \(.title)"]
| {wake: (length > 0), reasons: (unique | .[:20])}
