//! Rule `runs-by-itself`: files that a host, a robot or an editor acts on as soon as it sees a branch, with rights that
//! the file itself asks for. A pushed branch is enough, so a person would look too late: a fixer touches none of them.
//! What they start (tests, build scripts, the product) is for the other rules.

use std::sync::LazyLock;

use super::{FileChange, GuardPolicy, Hit, PathSet};
use crate::model::evidence::GuardVerdict;

const RULE: &str = "runs-by-itself";

/// Matched after `normal`. A directory stands for itself too: a link or a submodule may take its place.
const PATHS: &[&str] = &[
    // Continuous integration, by the host or by another robot.
    ".github",
    ".github/{workflows,actions}{,/**}",
    "**/action.y{a,}ml",
    "{.forgejo,.gitea,.gitlab}{,/**}",
    "**/.gitlab-ci*.y{a,}ml",
    "{.circleci,.buildkite,.semaphore,.teamcity,.tekton,.harness,.screwdriver,.codefresh,.prow}{,/**}",
    "{.woodpecker,.drone,.builds,.azure-pipelines,.azuredevops,.zuul.d,zuul.d,.ci}{,/**}",
    "{.woodpecker,.travis,.build,.zuul,zuul,.taskcluster,.prow,.onedev-buildspec}.y{a,}ml",
    "{.drone,.cirrus}.{yml,yaml,jsonnet,star}",
    "{appveyor,.appveyor,screwdriver,codefresh,codemagic,bitrise,wercker}.y{a,}ml",
    "**/{azure-pipelines,bitbucket-pipelines,cloudbuild,buildspec}*.{yml,yaml,json}",
    "**/jenkinsfile*",
    "**/.pre-commit-config.y{a,}ml",
    // Platforms that build or plan a branch as soon as it is there.
    "**/vercel.{json,ts,js,mjs,cjs}",
    "**/netlify.toml",
    "**/{railway,nixpacks}.{json,toml}",
    "**/railpack.json",
    "**/{render,amplify}.y{a,}ml",
    "**/wrangler.{toml,json,jsonc}",
    "**/*.{tf,tofu,tfvars}{,.json}",
    "**/terragrunt*.hcl",
    "**/pulumi*.y{a,}ml",
    "**/{atlantis,digger}.y{a,}ml",
    ".spacelift{,/**}",
    // Hooks of git.
    "**/{.husky,.lefthook,.githooks,githooks,.git-hooks,git-hooks}{,/**}",
    "**/.huskyrc*",
    "**/{,.}lefthook*.{yml,yaml,toml,json}",
    "**/.overcommit.yml",
    // Settings, hooks, tool servers and orders of coding agents, which look at branches and pull requests too.
    "**/.{claude,codex,gemini,cursor,opencode,windsurf,roo,kiro,continue}{,/**}",
    "**/.{cursor,windsurf,cline}rules{,/**}",
    "**/opencode.json{c,}",
    "**/{,.}mcp.json",
    "**/.aider*",
    "**/{agents,agents.override,claude,claude.local,gemini,copilot-instructions}.md",
    ".github/{instructions,prompts,agents,chatmodes}{,/**}",
    // What starts when somebody opens the branch to look at it.
    "**/.devcontainer{,.json,/**}",
    "**/.vscode{,/**}",
    "**/.envrc",
    "**/.gitpod.yml",
];

/// Compiled when a fixer's diff is first judged: for others it does not count.
static SET: LazyLock<PathSet> = LazyLock::new(|| PathSet::built_in(PATHS));

pub(super) fn check(change: &FileChange, normal: &str, policy: &GuardPolicy, hits: &mut Vec<Hit>) {
    if change.old == change.new || !SET.matches(normal) {
        return;
    }
    let does = match (&change.old, &change.new) {
        (None, _) => "adds",
        (Some(_), None) => "removes",
        (Some(_), Some(_)) => "changes",
    };
    let why = if policy.persons {
        format!(
            "a person's commit {does} a file that runs by itself once it is pushed; merging it is a person's decision"
        )
    } else {
        format!(
            "the patch {does} a file that runs by itself once it is pushed, before anybody has looked; \
             a fixer leaves such files alone"
        )
    };
    hits.push(Hit::new(RULE, GuardVerdict::Reject, why));
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Diff, Side, judge},
        *,
    };
    use crate::text::Redactor;

    const BEFORE: &str = "a: 1\n";

    #[test]
    fn what_a_person_pushed_is_theirs_to_decide() {
        let change = |path: &str, old: Option<&str>, new: Option<&str>| FileChange {
            path: path.as_bytes().to_vec(),
            old: old.map(side),
            new: new.map(side),
        };
        let changes = vec![
            change(".github/workflows/new.yml", None, Some("on: push\n")),
            change(
                "tests/test_a.py",
                Some("def test_a():\n    assert a() == 1\n"),
                Some(""),
            ),
        ];
        let diff = Diff::of(changes);
        let ours = GuardPolicy::new([], 400, 120).unwrap();
        assert_eq!(judge(&diff, &ours, &Redactor::default()).verdict, GuardVerdict::Reject);
        let theirs = ours.of_a_person();
        let report = judge(&diff, &theirs, &Redactor::default());
        assert_eq!(report.verdict, GuardVerdict::NeedsHuman);
        assert_eq!(
            report.findings[0].why,
            "a person's commit adds a file that runs by itself once it is pushed; merging it is a person's decision"
        );
    }

    fn side(text: &str) -> Side {
        Side {
            mode: 0o100_644,
            bytes: text.as_bytes().to_vec(),
        }
    }

    fn verdict(path: &str, old: Option<&str>, new: Option<&str>) -> (GuardVerdict, bool) {
        let change = FileChange {
            path: path.as_bytes().to_vec(),
            old: old.map(side),
            new: new.map(side),
        };
        let policy = GuardPolicy::new([], 400, 120).unwrap();
        let report = judge(&Diff::of(vec![change]), &policy, &Redactor::default());
        (report.verdict, report.findings.iter().any(|f| f.rule == RULE))
    }

    #[test]
    fn nothing_that_runs_by_itself_is_pushed() {
        for path in [
            ".github/workflows/evil.yml",
            ".GitHub/Workflows/deep/../evil.yaml",
            ".github/actions/setup/index.js",
            "ci/lint/action.yaml",
            ".gitlab-ci.yml",
            "ops/.gitlab-ci-deploy.yml",
            ".forgejo/workflows/x.yml",
            ".circleci/config.yml",
            ".buildkite/pipeline.sh",
            ".woodpecker.yaml",
            ".drone.star",
            ".travis.yml",
            ".tekton/push.yaml",
            "azure-pipelines-release.yml",
            "bitbucket-pipelines.yml",
            "deploy/Jenkinsfile.release",
            "buildspec.yml",
            ".pre-commit-config.yaml",
            ".husky/pre-push",
            "web/.husky/_/h",
            ".githooks/post-checkout",
            "lefthook.yml",
            "apps/web/vercel.json",
            "netlify.toml",
            "infra/main.tf",
            ".claude/settings.json",
            ".mcp.json",
            "api/AGENTS.md",
            ".github/copilot-instructions.md",
            ".devcontainer/devcontainer.json",
            ".devcontainer.json",
            ".vscode/tasks.json",
            ".envrc",
        ] {
            let same = (GuardVerdict::Reject, true);
            assert_eq!(verdict(path, None, Some(BEFORE)), same, "new {path}");
            assert_eq!(verdict(path, Some(BEFORE), Some("a: 2\n")), same, "changed {path}");
            assert_eq!(
                verdict(path, Some(BEFORE), Some("# x\na: 1\n")),
                same,
                "a note in {path}"
            );
            assert_eq!(verdict(path, Some(BEFORE), None), same, "gone {path}");
        }
    }

    /// A link or a submodule in the place of the directory brings the same files.
    #[test]
    fn another_thing_in_the_place_of_the_directory_is_refused() {
        for path in [".github", ".github/workflows", ".circleci", ".husky", ".claude"] {
            for mode in [0o120_000, 0o160_000] {
                let change = FileChange {
                    path: path.as_bytes().to_vec(),
                    old: None,
                    new: Some(Side {
                        mode,
                        bytes: b"docs".to_vec(),
                    }),
                };
                let policy = GuardPolicy::new([], 400, 120).unwrap();
                let report = judge(&Diff::of(vec![change]), &policy, &Redactor::default());
                assert!(report.findings.iter().any(|f| f.rule == RULE), "{path} {mode:o}");
            }
        }
    }

    #[test]
    fn look_alikes_are_for_the_other_rules() {
        for path in [
            "src/github/workflows/run.rs",
            "src/workflows/order.ts",
            "docs/github-actions.md",
            "src/actions/cart.ts",
            "src/action.ts",
            "src/jenkins.py",
            "src/render.rs",
            "src/render/mod.rs",
            "lib/vercel.rb",
            "src/agents.ts",
            "src/hooks/use-cart.ts",
            "src/tf.py",
            "src/mcp.rs",
            "app/build.py",
            ".github/ISSUE_TEMPLATE/bug.md",
        ] {
            assert!(!verdict(path, None, Some("x\n")).1, "{path}");
        }
    }

    #[test]
    fn anybodys_diff_is_not_refused_for_it() {
        let change = FileChange {
            path: b".github/workflows/ci.yml".to_vec(),
            old: None,
            new: Some(Side {
                mode: 0o100_644,
                bytes: BEFORE.into(),
            }),
        };
        let policy = GuardPolicy {
            read_only_tests: false,
            ..GuardPolicy::new([], 400, 120).unwrap()
        };
        let report = judge(&Diff::of(vec![change]), &policy, &Redactor::default());
        assert_eq!(report.verdict, GuardVerdict::NeedsHuman, "{report:?}");
    }
}
