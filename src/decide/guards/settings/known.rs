//! What is known of the keys of runners and checkers, from what their makers say of them. A key that stands in no list
//! here has no known direction, and a person judges it: a list of bad keys would never be complete, one of harmless keys
//! only costs a look where it is too short.

use super::keys::plain;
use crate::decide::guards::{kind::extension, listed::listed};

/// The tool that a setting belongs to; none where the file says other things than how the code is run and checked.
pub(super) fn tool(name: &str, path: &[String]) -> Option<&'static str> {
    let top = path.first().map_or("", String::as_str);
    let second = path.get(1).map_or("", String::as_str);
    match name {
        "pytest.ini" | ".pytest.ini" | "pytest.toml" | ".pytest.toml" => Some("pytest"),
        "pyproject.toml" => (top == "tool").then(|| section(second)).flatten(),
        "setup.cfg" => section(top.trim_start_matches("tool:")),
        "tox.ini" => Some(section(top.trim_start_matches("tool:")).unwrap_or("tox")),
        "package.json" => section(top),
        "cargo.toml" => match (top, second) {
            ("test" | "bench" | "lints", _) | ("profile", "test") | ("workspace", "lints") => Some("cargo"),
            _ => None,
        },
        "pom.xml" => path.iter().any(|p| p == "configuration").then_some("maven"),
        "deno.json" | "deno.jsonc" => matches!(top, "test" | "lint" | "bench").then_some("deno"),
        _ if name.starts_with("vite.config") => (top == "test").then_some("vitest"),
        _ if name.starts_with("next.config") => matches!(top, "eslint" | "typescript").then_some("next"),
        _ if name.starts_with("build.gradle") => in_gradle(path).then_some("gradle"),
        // A program that prepares the tests is read as one.
        _ if super::keys::is_manifest(name) || name.contains(".setup") => None,
        _ => Some(by_name(name)),
    }
}

/// The table of a manifest by its name.
fn section(name: &str) -> Option<&'static str> {
    let known = [
        "pytest",
        "coverage",
        "mypy",
        "ruff",
        "pylint",
        "pyright",
        "basedpyright",
        "flake8",
        "isort",
        "tox",
        "nox",
        "bandit",
        "interrogate",
        "pydocstyle",
        "pycodestyle",
        "vulture",
        "mutmut",
        "deptry",
        "ty",
        "pyre",
        "jest",
        "vitest",
        "mocha",
        "nyc",
        "c8",
        "ava",
        "eslintConfig",
        "stylelint",
        "tap",
        "xo",
        "standard",
        "size-limit",
        "lint-staged",
        "husky",
        "simple-git-hooks",
        "wireit",
        "nx",
        "pre-commit",
        "bundlewatch",
        "remarkConfig",
    ];
    let head = name.split([':', '-', '.']).next().unwrap_or_default();
    known.into_iter().find(|k| *k == name || *k == head)
}

/// A block of the build that is about tests or checks.
fn in_gradle(path: &[String]) -> bool {
    let words = [
        "test",
        "check",
        "jacoco",
        "kover",
        "detekt",
        "ktlint",
        "spotless",
        "pmd",
        "spotbugs",
        "lint",
        "errorprone",
        "pitest",
        "codenarc",
    ];
    path.iter().take(path.len().saturating_sub(1)).any(|p| {
        let p = plain(p);
        words.iter().any(|w| p.contains(w))
    })
}

fn by_name(name: &str) -> &'static str {
    let starts = [
        ("jest.", "jest"),
        ("vitest.", "vitest"),
        ("playwright.", "playwright"),
        (".mocharc", "mocha"),
        ("cypress.", "cypress"),
        ("karma.", "karma"),
        ("ava.", "ava"),
        ("eslint.", "eslint"),
        (".eslintrc", "eslint"),
        ("tsconfig", "tsconfig"),
        ("jsconfig", "tsconfig"),
        (".coveragerc", "coverage"),
        ("mypy.", "mypy"),
        (".mypy.", "mypy"),
        ("ruff.", "ruff"),
        (".ruff.", "ruff"),
        (".golangci", "golangci"),
        (".rubocop", "rubocop"),
        ("phpunit", "phpunit"),
        ("nextest.", "nextest"),
        ("bunfig", "bun"),
        (".nycrc", "nyc"),
        (".c8rc", "c8"),
        ("codecov", "codecov"),
        (".codecov", "codecov"),
        ("sonar-", "sonar"),
        ("nx.", "tasks"),
        ("turbo.", "tasks"),
        ("taskfile", "tasks"),
        ("lefthook", "tasks"),
        (".lintstagedrc", "tasks"),
        (".pre-commit", "tasks"),
        ("noxfile", "nox"),
        ("cmakepresets", "ctest"),
    ];
    let found = starts.iter().find(|(start, _)| name.starts_with(start));
    match found {
        Some((_, tool)) => tool,
        None if matches!(extension(name), "yml" | "yaml") && !super::keys::is_checker(name) => "tasks",
        None => "other",
    }
}

/// How a run is shown, where its output goes, how fast it is, what the product is built for.
const ANYWHERE: &str = "\
    name displayname description schema $schema comment version verbose colors color cachedir cachedirectory cachelocation \
    cachestrategy outputdir outputfile outputfolder reportdir reportsdirectory reporterenabled";

/// By tool: keys that do not change what is run or wanted, or that only make it stricter.
const HARMLESS: [(&str, &str); 23] = [
    (
        "pytest",
        "minversion markers usefixtures faulthandlertimeout timeout consoleoutputstyle logcli logclilevel logcliformat \
         logclidateformat loglevel logformat logdateformat logfile logfilelevel logfileformat logfiledateformat \
         junitfamily junitsuitename junitlogging junitlogpassingtests junitdurationreport asynciomode \
         asynciodefaultfixtureloopscope asynciodefaulttestloopscope verbosityassertions verbositytestcases \
         tmppathretentioncount tmppathretentionpolicy envfiles truncationlimitlines truncationlimitchars strictmarkers",
    ),
    (
        "coverage",
        "parallel datafile relativefiles precision showmissing skipcovered skipempty sort format directory title \
         showcontexts sigterm debug debugfile output prettyprint extracss indent",
    ),
    (
        "mypy",
        "pretty showerrorcodes showcolumnnumbers showerrorcontext showabsolutepath colorOutput enableerrorcode \
         showerrorend incremental sqlitecache cachefinegrained numworkers",
    ),
    (
        "ruff",
        "outputformat showfixes fix unsafefixes linelength indentwidth quotestyle indentstyle lineending \
         docstringcodeformat docstringcodelinelength skipmagictrailingcomma knownfirstparty knownthirdparty",
    ),
    (
        "pylint",
        "outputformat jobs score reports msgtemplate persistent loadplugins",
    ),
    ("flake8", "format showsource statistics count jobs"),
    (
        "isort",
        "profile linelength knownfirstparty knownthirdparty multilineoutput includetrailingcomma",
    ),
    (
        "tox",
        "minversion isolatedbuild basepython deps toxworkdir skipsdist usedevelop parallelshowoutput package \
         wheelbuildenv",
    ),
    (
        "jest",
        "maxworkers maxconcurrency notify notifymode watchplugins watchpathignorepatterns watchman \
         workeridlememorylimit coveragedirectory coveragereporters errorondeprecated detectopenhandles clearmocks \
         extensionstotreatasesm openhandlestimeout randomize showseed detectleaks",
    ),
    (
        "vitest",
        "globals clearmocks mockreset restoremocks unstubenvs unstubglobals provider maxworkers minworkers \
         fileparallelism maxconcurrency open css reportonfailure clean cleanonrerun allowexternal shuffle seed \
         chaiconfig truncatethreshold includestack showdiff logheapusage hidesskippedtests expandsnapshotdiff pool \
         isolate slowtestthreshold requireassertions thresholdautoupdate",
    ),
    (
        "playwright",
        "fullyparallel workers baseurl trace video screenshot headless viewport locale timezoneid \
         colorscheme useragent slowmo preserveoutput reportslowtests quiet open host port",
    ),
    (
        "mocha",
        "color colors ui diff fulltrace inlinediffs jobs parallel sort watch watchfiles watchignore reporteroption \
         reporteroptions allowuncaught asynconly failhookaffectedtests",
    ),
    (
        "cypress",
        "viewportwidth viewportheight video videocompression screenshotsfolder videosfolder downloadsfolder \
         baseurl projectid watchforfilechanges trashassetsbeforeruns",
    ),
    ("karma", "port colors loglevel autowatch concurrency hostname"),
    (
        "eslint",
        "root ecmaversion sourcetype jsx parser project tsconfigrootdir projectservice globals env browser node \
         es6 es2020 es2021 es2022 plugins reportunuseddisabledirectives languageoptions",
    ),
    (
        "tsconfig",
        "target module moduleresolution moduledetection lib jsx jsxfactory jsximportsource outdir rootdir outfile \
         declaration declarationmap declarationdir sourcemap inlinesources removecomments incremental tsbuildinfofile \
         composite esmoduleinterop resolvejsonmodule importhelpers downleveliteration newline emitdecoratormetadata \
         experimentaldecorators usedefineforclassfields preserveconstenums noemit isolatedmodules \
         verbatimmodulesyntax allowsyntheticdefaultimports erasablesyntaxonly",
    ),
    (
        "golangci",
        "go concurrency printissuedline printlintername sortresults showstats pathprefix enable \
         maxissuesperlinter maxsameissues allowparallelrunners allowserialrunners",
    ),
    (
        "rubocop",
        "targetrubyversion targetrailsversion suggestextensions displaycopnames displaystyleguide usecache \
         cacherootdirectory maxfilesincache extradetails stylebaseurl parallel",
    ),
    (
        "phpunit",
        "@colors @cachedirectory @xsi @xsinonamespaceschemalocation @xmlnsxsi @cacheresult @cacheresultfile \
         @testdox @displaydetailsonteststhattriggerdeprecations",
    ),
    (
        "nextest",
        "statuslevel finalstatuslevel failureoutput successoutput storesuccessoutput storefailureoutput \
         testthreads threadsrequired reportname",
    ),
    (
        "nyc",
        "tempdir tempdirectory reportdir cache sourcemap instrument hookrequire eager",
    ),
    (
        "maven",
        "source target release encoding forkcount reuseforks parallel threadcount trimstacktrace printsummary usefile \
         reportformat redirecttestoutputtofile usemodulepath inputencoding outputencoding consoleoutput parameters \
         failifnospecifiedtests failifnotests runorder runorderrandomseed outputdirectory destfile datafile",
    ),
    (
        "gradle",
        "testlogging showstandardstreams exceptionformat showexceptions showcauses showstacktraces \
         maxparallelforks forkevery maxheapsize minheapsize outputlocation toolversion destination html csv xml",
    ),
];

/// The key changes nothing that a test or a checker wants.
pub(super) fn is_harmless(tool: &str, path: &[String]) -> bool {
    let keys = bare(path);
    let Some(last) = keys.last() else { return false };
    let own = HARMLESS.iter().find(|(name, _)| *name == tool);
    let listed_here = |key: &str| listed(ANYWHERE, key) || own.is_some_and(|(_, list)| listed(list, key));
    // What stands below one that is named in full: `globals.window`, `testLogging.events`.
    let below = keys.iter().any(|k| {
        matches!(
            k.as_str(),
            "globals" | "testlogging" | "env" | "use" | "languageoptions"
        )
    });
    listed_here(last) || below && own.is_some_and(|(_, list)| keys.iter().any(|k| listed(list, k)))
}

/// Lists of what is looked for beside what is looked for anyway.
pub(super) fn adds_only(path: &[String]) -> bool {
    let keys = bare(path);
    let more = "\
        extendselect enableerrorcode requiredplugins optinrules loadplugins extendfixable extendsafefixes enable";
    keys.last().is_some_and(|k| listed(more, k))
}

/// Keys without their marks, and without the elements of lists.
fn bare(path: &[String]) -> Vec<String> {
    let named = path.iter().filter(|p| !p.starts_with('['));
    named
        .map(|p| {
            if p.starts_with('@') {
                format!("@{}", plain(p))
            } else {
                plain(p)
            }
        })
        .collect()
}

/// Set to this value, the key only makes less run, or less count.
pub(super) fn is_fewer(tool: &str, path: &[String], value: &str) -> bool {
    let keys = bare(path);
    let Some(last) = keys.last().map(String::as_str) else {
        return false;
    };
    let value = value.trim().trim_matches(['"', '\'']);
    let off = matches!(value, "false" | "null" | "undefined" | "None" | "[]" | "");
    let zero = value == "0";
    let runner = matches!(
        tool,
        "jest" | "vitest" | "playwright" | "mocha" | "ava" | "karma" | "cypress" | "bun" | "tap"
    );
    match (tool, last) {
        // Only tests of these names, or of one part in so many, run.
        _ if runner
            && listed(
                "testnamepattern grep grepinvert fgrep testskippattern match shard",
                last,
            ) =>
        {
            !off
        }
        _ if runner && keys.iter().any(|k| k == "shard") => true,
        ("jest", "testfailureexitcode") | ("golangci", "issuesexitcode") | (_, "failureexitcode") => zero,
        ("jest", "forceexit" | "filter")
        | ("vitest", "update" | "onunhandlederror" | "dir" | "project")
        | ("bun", "root")
        | ("golangci", "new" | "newfromrev" | "newfrommergebase" | "newfrompatch")
        | ("tox", "platform")
        | ("nextest", "runwrapper")
        | ("mypy", "disableerrorcode")
        | ("phpunit", "@prefix") => !off,
        ("playwright", "updatesnapshots") => matches!(value, "all" | "changed"),
        ("mypy", "followimports") => matches!(value, "skip" | "silent"),
        ("rubocop", "severity") => matches!(value, "info" | "refactor" | "convention"),
        ("rubocop", "newcops") => value == "disable",
        ("phpunit", "@suffix") => value != "Test.php",
        ("phpunit", "group") => keys.iter().any(|k| matches!(k.as_str(), "include" | "exclude")),
        ("cargo", "path") => keys.first().is_some_and(|k| k == "test" || k == "bench"),
        ("pytest", "pythonfiles" | "pythonclasses" | "pythonfunctions") => !keeps_default(last, value),
        _ => false,
    }
}

/// The names that pytest looks for when nobody says it are among these.
fn keeps_default(key: &str, value: &str) -> bool {
    let names: Vec<&str> = value
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '"' | '\''))
        .collect();
    let has = |wanted: &[&str]| names.iter().any(|n| wanted.contains(n));
    match key {
        "pythonfiles" => has(&["test_*.py", "test*.py", "*.py"]),
        "pythonclasses" => has(&["Test", "Test*", "*"]),
        _ => has(&["test", "test*", "test_*", "*"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Vec<String> {
        text.split('/').map(str::to_owned).collect()
    }

    #[test]
    fn the_tool_of_a_key() {
        let check = |name: &str, keys: &str, want: Option<&str>| assert_eq!(tool(name, &path(keys)), want, "{keys}");
        check("pyproject.toml", "tool/pytest/ini_options/addopts", Some("pytest"));
        check("pyproject.toml", "project/version", None);
        check("pyproject.toml", "tool/poetry/name", None);
        check("setup.cfg", "tool:pytest/addopts", Some("pytest"));
        check("setup.cfg", "mypy-shop.*/ignore_errors", Some("mypy"));
        check("setup.cfg", "metadata/name", None);
        check("package.json", "jest/preset", Some("jest"));
        check("package.json", "dependencies/jest", None);
        check("cargo.toml", "test/[]/path", Some("cargo"));
        check("cargo.toml", "dependencies/serde", None);
        check("vite.config.ts", "test/dir", Some("vitest"));
        check("vite.config.ts", "server/port", None);
        check("build.gradle", "test/onlyIf", Some("gradle"));
        check("build.gradle", "publishing/name", None);
        check("jest.config.js", "preset", Some("jest"));
        check("detekt.yml", "style/MagicNumber/active", Some("other"));
        check(".gitlab-ci.yml", "test/image", Some("tasks"));
    }

    #[test]
    fn what_makes_less_run_and_what_looks_like_it() {
        let check = |tool: &str, keys: &str, value: &str, want: bool| {
            assert_eq!(is_fewer(tool, &path(keys), value), want, "{tool} {keys} {value}");
        };
        check("pytest", "pytest/python_functions", "check_*", true);
        check("pytest", "pytest/python_functions", "test_* check_*", false);
        check("pytest", "pytest/python_files", "test_*.py *_test.py", false);
        check("jest", "testFailureExitCode", "0", true);
        check("jest", "testFailureExitCode", "2", false);
        check("jest", "forceExit", "false", false);
        check("vitest", "test/shard", "1/9", true);
        check("playwright", "shard/total", "9", true);
        check("playwright", "updateSnapshots", "none", false);
        check("golangci", "run/issues-exit-code", "0", true);
        check("golangci", "run/issues-exit-code", "1", false);
        check("mypy", "mypy/follow_imports", "normal", false);
        check("phpunit", "testsuite/directory/@suffix", "Test.php", false);
        check("cargo", "test/[]/path", "tests/other.rs", true);
    }

    #[test]
    fn harmless_keys() {
        assert!(is_harmless("pytest", &path("pytest/log_cli")));
        assert!(is_harmless("eslint", &path("languageOptions/globals/window")));
        assert!(!is_harmless("pytest", &path("pytest/collect_imported_tests")));
        assert!(!is_harmless("jest", &path("preset")));
    }
}
