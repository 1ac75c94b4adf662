//! What a plugin of the Nagios convention says: one line of text, performance data after `|`, then more lines, of which
//! the last ones may be performance data again. Pure: output of a program in, parts out; any bytes are read.

/// Metrics that are kept of one plugin.
const MOST_METRICS: usize = 64;
/// Longest name of a metric, in characters.
const LONGEST_LABEL: usize = 100;

/// The parts of what a plugin printed. All of it is text from outside.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    /// The first line without its performance data.
    pub line: String,
    /// Further lines for people.
    pub more: String,
    pub metrics: Vec<Metric>,
}

/// One value of the performance data.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    pub label: String,
    /// None where the plugin could not tell it (`U`).
    pub value: Option<f64>,
    /// `s`, `ms`, `%`, `B`, `KB`, `MB`, `TB`, `c` or what else it says; often empty.
    pub unit: String,
    /// What the value cannot be above, where the plugin tells it; of per cent 100.
    pub max: Option<f64>,
}

impl Metric {
    /// How full something is, and when it is full; none for times, counters and what has no end.
    pub fn level(&self) -> Option<(f64, f64)> {
        let endless = matches!(self.unit.as_str(), "s" | "ms" | "us" | "ns" | "c");
        let full = self.max.filter(|max| *max > 0.0 && !endless)?;
        Some((self.value?, full))
    }
}

/// What a plugin printed on its standard output.
pub fn read(output: &[u8]) -> Said {
    let text = String::from_utf8_lossy(output);
    let mut lines = text.lines();
    let mut said = Said::default();
    let (line, data) = halves(lines.next().unwrap_or_default());
    line.trim().clone_into(&mut said.line);
    metrics(data, &mut said.metrics);
    let mut in_data = false;
    for line in lines {
        if in_data {
            metrics(line, &mut said.metrics);
            continue;
        }
        let (words, data) = halves(line);
        if !words.trim().is_empty() {
            said.more.push_str(words.trim_end());
            said.more.push('\n');
        }
        in_data = line.contains('|');
        metrics(data, &mut said.metrics);
    }
    said.more.truncate(said.more.trim_end().len());
    said
}

fn halves(line: &str) -> (&str, &str) {
    line.split_once('|').unwrap_or((line, ""))
}

/// `'label'=value[unit];[warn];[crit];[min];[max]`, separated by blanks; what does not fit is passed over.
fn metrics(mut text: &str, into: &mut Vec<Metric>) {
    while into.len() < MOST_METRICS {
        text = text.trim_start();
        let Some((label, rest)) = label(text) else { return };
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (item, rest) = rest.split_at(end);
        text = rest;
        let value = item.split(';').next().unwrap_or_default();
        if let Some((value, unit)) = value_and_unit(value)
            && !label.is_empty()
        {
            into.push(Metric {
                label: label.chars().take(LONGEST_LABEL).collect(),
                value,
                unit: unit.chars().take(10).collect(),
                max: max(item, unit),
            });
        }
    }
}

fn max(item: &str, unit: &str) -> Option<f64> {
    let told = item.split(';').nth(4).and_then(|max| value_and_unit(max)?.0);
    told.or((unit == "%").then_some(100.0))
}

/// The label before the first `=` outside quotes, and what follows it. Two quotes within quotes are one.
fn label(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('\'') else {
        let (label, rest) = text.split_once('=')?;
        // A word without a value: the label is what stands right before the sign.
        let label = label.split_whitespace().last().unwrap_or_default();
        return Some((label.to_owned(), rest));
    };
    let mut label = String::new();
    let mut rest = quoted;
    loop {
        let (part, after) = rest.split_once('\'')?;
        label.push_str(part);
        match after.strip_prefix('\'') {
            Some(more) => {
                label.push('\'');
                rest = more;
            }
            None => return Some((label, after.trim_start().strip_prefix('=')?)),
        }
    }
}

/// None for what is no value. Some locales write a comma for the point.
fn value_and_unit(text: &str) -> Option<(Option<f64>, &str)> {
    if text == "U" {
        return Some((None, ""));
    }
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+');
    let mut end = text.find(|c| !digits(c)).unwrap_or(text.len());
    // An exponent belongs to the number where digits follow it.
    if let Some(power) = text[end..].strip_prefix(['e', 'E']) {
        let length = power.find(|c| !digits(c)).unwrap_or(power.len());
        if length > 0 {
            end += 1 + length;
        }
    }
    let value: f64 = text[..end].replace(',', ".").parse().ok()?;
    value.is_finite().then_some((Some(value), &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, line: &str, more: &str, metrics: &[(&str, Option<f64>, &str)]) {
        let said = read(output.as_bytes());
        assert_eq!((said.line.as_str(), said.more.as_str()), (line, more), "{output}");
        let found: Vec<(&str, Option<f64>, &str)> = said
            .metrics
            .iter()
            .map(|m| (m.label.as_str(), m.value, m.unit.as_str()))
            .collect();
        assert_eq!(found, metrics, "{output}");
    }

    #[test]
    fn one_line_with_and_without_data() {
        check("PING ok\n", "PING ok", "", &[]);
        check("", "", "", &[]);
        check(
            "DISK OK - free space: / 3326 MB (56%); | /=2643MB;5948;5958;0;5968",
            "DISK OK - free space: / 3326 MB (56%);",
            "",
            &[("/", Some(2643.0), "MB")],
        );
        check(
            "HTTP OK|time=0.006096s;;;0.000000 size=11B;;;0",
            "HTTP OK",
            "",
            &[("time", Some(0.006_096), "s"), ("size", Some(11.0), "B")],
        );
    }

    #[test]
    fn long_output_and_data_at_its_end() {
        check(
            "DISK OK | /=1MB\n/ 15272 MB\n/boot 68 MB\n\n/home 69357 MB | /boot=68MB;88;93;0;98\n/home=69357MB;253404\n'/var/log'=818MB",
            "DISK OK",
            "/ 15272 MB\n/boot 68 MB\n/home 69357 MB",
            &[
                ("/", Some(1.0), "MB"),
                ("/boot", Some(68.0), "MB"),
                ("/home", Some(69357.0), "MB"),
                ("/var/log", Some(818.0), "MB"),
            ],
        );
    }

    #[test]
    fn labels_and_values_of_every_form() {
        check(
            "x | 'a b'=1% 'it''s'=-2.5c;@1:2;~:3 u=U 'q'=1e3ms bad novalue= 'open=1 k=0,5",
            "x",
            "",
            &[
                ("a b", Some(1.0), "%"),
                ("it's", Some(-2.5), "c"),
                ("u", None, ""),
                ("q", Some(1000.0), "ms"),
            ],
        );
        check(
            "x | k=0,5 later k=nan j=1..2 l=3",
            "x",
            "",
            &[("k", Some(0.5), ""), ("l", Some(3.0), "")],
        );
    }

    #[test]
    fn what_can_be_full_has_a_level() {
        let data =
            "x | /=2643MB;5948;5958;0;5968 load=1.5;;;0 time=2s;;;0;10 mem=40%;80;90 n=7;;;0;50 c=9c;;;0;20 u=U;;;0;5";
        let levels: Vec<_> = read(data.as_bytes()).metrics.iter().map(Metric::level).collect();
        let expected = [
            Some((2643.0, 5968.0)),
            None,
            None,
            Some((40.0, 100.0)),
            Some((7.0, 50.0)),
            None,
            None,
        ];
        assert_eq!(levels, expected);
    }

    #[test]
    fn much_data_is_bounded() {
        let data = (0..10_000).map(|n| format!(" k{n}={n}")).collect::<Vec<_>>().concat();
        assert_eq!(read(format!("x |{data}").as_bytes()).metrics.len(), MOST_METRICS);
        assert_eq!(read(b"\xff\xfe|\xff=1\n\0|").line, "\u{fffd}\u{fffd}");
    }
}
