//! Whose file a path names, and what it is called in the repository.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Parts of the paths of runtimes, dependencies and bundles.
const FOREIGN: [&str; 48] = [
    "node_modules/",
    "node:",
    "next/dist/",
    "site-packages/",
    "dist-packages/",
    "/.venv/",
    "/.pyenv/",
    "/lib/python",
    "/usr/lib/",
    "/usr/local/lib/",
    "/usr/include/",
    "/rustc/",
    "/.cargo/",
    "/.rustup/",
    "/usr/local/go/",
    "/go/src/runtime/",
    "/pkg/mod/",
    "/vendor/",
    "/gems/",
    "/lib/ruby/",
    "/.rbenv/",
    "/.rvm/",
    "/.nvm/",
    "/.m2/",
    "/.gradle/",
    "/deps/",
    "<anonymous>",
    "<frozen",
    "<string>",
    "<internal:",
    "[native code]",
    "webpack/bootstrap",
    "webpack/runtime",
    ".next/server/chunks/",
    "_next/static/",
    "/static/chunks/",
    "[turbopack]",
    "/opt/hostedtoolcache/",
    "java.base/",
    "/runners/",
    ".vite/",
    "bootstrap_node.js",
    "build/server/",
    "/.cache/",
    "ext:",
    "/opt/rust/",
    "/var/runtime/",
    "/var/lang/",
];
static FOREIGN_PARTS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(FOREIGN).ok());
const SOURCES: [&str; 64] = [
    "ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts", "py", "pyx", "rs", "go", "java", "kt", "kts", "groovy",
    "scala", "clj", "rb", "rake", "erb", "php", "cs", "fs", "vb", "ex", "exs", "swift", "vue", "svelte", "astro",
    "prisma", "sql", "css", "c", "cc", "cpp", "cxx", "h", "hpp", "m", "mm", "dart", "lua", "zig", "pl", "pm", "hs",
    "ml", "erl", "jl", "nim", "cr", "sol", "tf", "gradle", "cshtml", "sh", "scss", "sass", "less", "yaml", "yml",
    "tpl",
];
/// Where deployments, containers and runners keep the repository.
const ROOTS: [&str; 26] = [
    "file://",
    "webpack-internal:///",
    "webpack:///",
    "(rsc)/",
    "(ssr)/",
    "(action-browser)/",
    "(middleware)/",
    "/var/task/",
    "/var/www/html/",
    "/vercel/path0/",
    "/vercel/path1/",
    "/usr/src/app/",
    "/github/workspace/",
    "/opt/render/project/",
    "/workspace/",
    "/project/",
    "/build/",
    "/repo/",
    "/code/",
    "/app/",
    "/src/",
    "/~/",
    "./",
    "/usr/src/",
    "/drone/src/",
    "/opt/app/",
];
/// Where runners check out, and how many names stand between there and the repository.
const RUNNERS: [(&str, usize); 12] = [
    ("/home/runner/work/", 2),
    ("/Users/runner/work/", 2),
    ("D:/a/", 2),
    ("/__w/", 2),
    ("/builds/", 2),
    ("/home/travis/build/", 2),
    ("/var/lib/buildkite-agent/builds/", 3),
    ("/var/jenkins_home/workspace/", 1),
    ("/home/jenkins/agent/workspace/", 1),
    ("/home/vsts/work/1/s/", 0),
    ("/home/circleci/project/", 0),
    ("/opt/atlassian/pipelines/agent/build/", 0),
];
/// Directories that stand at the top of repositories; below an unknown root the first of them begins the path.
const TOPS: [&str; 23] = [
    "/src/",
    "/app/",
    "/apps/",
    "/packages/",
    "/services/",
    "/lib/",
    "/internal/",
    "/cmd/",
    "/pkg/",
    "/test/",
    "/tests/",
    "/spec/",
    "/e2e/",
    "/components/",
    "/pages/",
    "/server/",
    "/config/",
    "/db/",
    "/bin/",
    "/scripts/",
    "/infra/",
    "/Sources/",
    "/modules/",
];

/// Whether the application's repository has the file, as far as its path tells.
pub(super) fn is_own(path: &str) -> bool {
    !FOREIGN_PARTS.as_ref().is_some_and(|parts| parts.is_match(path))
        && !path.starts_with("http")
        && !path.starts_with("vendor/")
        && !path.starts_with("deps/")
        && !path.starts_with("Swift/")
        // Where Go's own runner of tests says what it found.
        && path != "testing.go"
}

/// The page that a browser's bundle was made of: `…/_next/static/chunks/app/cart/page-<hash>.js`.
pub(super) fn of_page(path: &str) -> Option<String> {
    let (_, page) = path.split_once("_next/static/chunks/")?;
    if !page.starts_with("app/") && !page.starts_with("pages/") {
        return None;
    }
    let (stem, hash) = page.strip_suffix(".js")?.rsplit_once('-')?;
    let hashed = hash.len() >= 8 && hash.bytes().all(|b| b.is_ascii_hexdigit());
    // A layout stands around every page.
    (hashed && !stem.ends_with("layout")).then(|| [&stem.replace("%5B", "[").replace("%5D", "]"), ".js"].concat())
}

pub(in crate::text::signature) fn is_source(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(stem, extension)| {
        // A bundle has a number for a name.
        let name = stem.rsplit('/').next().unwrap_or(stem);
        !name.is_empty() && SOURCES.contains(&extension) && !name.bytes().all(|b| b.is_ascii_digit())
    })
}

/// Settings are sources where an error points into them.
pub(super) fn is_data(path: &str) -> bool {
    [".yaml", ".yml", ".tpl"].iter().any(|ending| path.ends_with(ending))
}

/// Whether what stands behind a dot is the ending of a source file.
pub(super) fn may_be_source(behind: &[u8]) -> bool {
    let letters = behind.iter().take(9).take_while(|b| b.is_ascii_alphanumeric()).count();
    SOURCES.iter().any(|source| source.as_bytes() == &behind[..letters])
}

/// The path without the root of the deployment or checkout, so that the same file has the same name everywhere.
pub(in crate::text::signature) fn rootless(path: &str) -> &str {
    let mut path = path;
    if let Some((_, rest)) = path.split_once(".next/server/") {
        path = rest;
    }
    for (runner, depth) in RUNNERS {
        if let Some(rest) = path.strip_prefix(runner) {
            return rest.splitn(depth + 1, '/').nth(depth).unwrap_or(rest);
        }
    }
    if let Some(rest) = path.strip_prefix("webpack://") {
        path = rest.split_once("/./").map_or(rest, |(_, rest)| rest);
    }
    while let Some(rest) = ROOTS.iter().find_map(|root| path.strip_prefix(root)) {
        path = rest;
    }
    path
}

/// As [`rootless`], and below an unknown root from the first directory that usually stands at the top.
pub(super) fn normal(path: &str) -> String {
    below_top(&path.replace('\\', "/")).to_owned()
}

/// As [`normal`], for paths with slashes only.
pub(in crate::text::signature) fn below_top(path: &str) -> &str {
    let found = rootless(path);
    let absolute = found.starts_with('/') || found.as_bytes().get(1) == Some(&b':');
    let top = absolute
        .then(|| TOPS.iter().filter_map(|top| found.find(top)).min())
        .flatten();
    match top {
        Some(at) => &found[at + 1..],
        None => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_name_everywhere() {
        for (path, want) in [
            ("/app/src/cart.ts", "src/cart.ts"),
            ("/home/runner/work/shop/shop/src/cart.ts", "src/cart.ts"),
            ("/__w/shop/shop/src/cart.ts", "src/cart.ts"),
            ("webpack-internal:///(rsc)/./src/cart.ts", "src/cart.ts"),
            ("webpack://shop/./src/cart.ts", "src/cart.ts"),
            ("/var/task/.next/server/app/cart/page.js", "app/cart/page.js"),
            ("/var/www/html/src/Cart.php", "src/Cart.php"),
            ("/home/deploy/shop/releases/42/app/models/cart.rb", "app/models/cart.rb"),
            ("D:\\work\\shop\\src\\cart.ts", "src/cart.ts"),
            ("src/cart.ts", "src/cart.ts"),
        ] {
            assert_eq!(normal(path), want);
        }
    }
}
