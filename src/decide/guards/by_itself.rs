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
    ".github/*.{yml,yaml,json,json5,toml}",
    "**/action.y{a,}ml",
    "{.forgejo,.gitea,.gitlab}{,/**}",
    "**/.gitlab-ci*.y{a,}ml",
    "{.circleci,.buildkite,.semaphore,.teamcity,.tekton,.harness,.screwdriver,.codefresh,.prow}{,/**}",
    "{.woodpecker,.drone,.builds,.azure-pipelines,.azuredevops,.zuul.d,zuul.d,.ci,.travis}{,/**}",
    "{.bazelci,.vela,.copr,.obs,.jenkins,.concourse,.trunk}{,/**}",
    "{.woodpecker*,.travis,.build,.zuul,zuul,.taskcluster,.prow,.onedev-buildspec}.y{a,}ml",
    "{.vela,.packit,packit,.ci,.lgtm,lgtm,.semaphore,*.gocd,.gocd,.nightswatch,.scrutinizer}.y{a,}ml",
    "{.drone,.cirrus}.{yml,yaml,jsonnet,star}",
    "{appveyor,.appveyor,screwdriver,codefresh,codemagic,bitrise,wercker}.y{a,}ml",
    "**/{azure-pipelines,bitbucket-pipelines,cloudbuild,buildspec}*.{yml,yaml,json}",
    "**/jenkinsfile*",
    "**/.pre-commit-config.y{a,}ml",
    // Robots that review, update, approve or merge.
    "{.mergify,.mergify/config,.coderabbit,.pullapprove,.bulldozer,.policy,.palantir,.reviewpad,reviewpad}.y{a,}ml",
    "{.sourcery,.deepsource,.codeclimate,.hound,.pyup,.ellipsis,ellipsis,sweep,.sweep,.stickler}.{yml,yaml,toml}",
    "{.pr_agent,.kodiak,kodiak,bors,.bors}.toml",
    "{.cm,.gitstream}{,/**}",
    ".gitstream.cm",
    "greptile.json",
    "**/renovate.json{c,5,}",
    "**/.renovaterc{,.json,.json5}",
    "dependabot.y{a,}ml",
    // Platforms that build or plan a branch as soon as it is there.
    "**/{vercel,now}.{json,ts,js,mjs,cjs}",
    "**/netlify.toml",
    "**/{railway,nixpacks}.{json,toml}",
    "**/railpack.json",
    "**/{render,amplify}.y{a,}ml",
    "**/fly{,.*}.toml",
    "**/wrangler.{toml,json,jsonc}",
    "{,.}readthedocs.y{a,}ml",
    "{app.json,heroku.y{a,}ml,procfile,scalingo.json,koyeb.y{a,}ml,zeabur.json}",
    "**/.platform.app.y{a,}ml",
    "{.platform,.upsun,.do,.scalingo,.magento}{,/**}",
    "**/*.{tf,tofu,tfvars}{,.json}",
    "**/terragrunt*.hcl",
    "**/pulumi*.y{a,}ml",
    "**/{atlantis,digger}.y{a,}ml",
    ".spacelift{,/**}",
    // Hooks of git, and where git fetches large files from.
    "**/{.husky,.lefthook,.githooks,githooks,.git-hooks,git-hooks,.cargo-husky,.overcommit}{,/**}",
    "**/.huskyrc*",
    "**/{,.}lefthook*.{yml,yaml,toml,json}",
    "**/.overcommit.y{a,}ml",
    "**/{.lintstagedrc,.nano-staged,.simple-git-hooks,.simple-pre-commit}*",
    "**/{lint-staged,simple-git-hooks}.config.*",
    "**/{simple-git-hooks,captainhook}.*",
    "**/{.rusty-hook.toml,prek.toml,hk.pkl,.hk.pkl,grumphp.yml,grumphp.yaml}",
    ".lfsconfig",
    // Settings, hooks, tool servers and orders of coding agents, which look at branches and pull requests too.
    "**/.{claude,codex,gemini,cursor,opencode,windsurf,roo,kiro,continue}{,/**}",
    "**/.{junie,amazonq,augment,trae,cline,kilocode,qwen,factory,openhands,goose,amp,cody,tabnine}{,/**}",
    "**/.{firebender,serena,warp,agent,agents,jules,devin,crush,grok,zencoder}{,/**}",
    "**/.{cursor,windsurf,cline}rules{,/**}",
    "**/.{windsurf,cline,roo,kilocode,goose,aider,augment}*",
    "**/{opencode,crush,.crush}.json{c,}",
    "**/{.continuerc,firebender}.json",
    "**/{,.}mcp.json",
    "**/{agent,agents,agents.override,claude,claude.local,gemini,copilot-instructions,qwen,codex,warp,crush,goose}.md",
    ".github/{instructions,prompts,agents,chatmodes,copilot}{,/**}",
    // What starts when somebody opens the branch to look at it.
    "**/.devcontainer{,.json,/**}",
    "**/{.vscode,.idea,.run,.zed,.fleet,.vs}{,/**}",
    "**/*.{code-workspace,sublime-project,run.xml}",
    "**/{.exrc,.nvimrc,.nvim.lua,.vimrc,.lvimrc,.dir-locals.el,.dir-locals-2.el}",
    "{.codesandbox,.gitpod,.ona,.idx,.stackblitz}{,/**}",
    "{sandbox.config.json,.stackblitzrc,.replit,replit.nix,.gitlab/.gitlab-webide.yml}",
    "{,.}devfile.y{a,}ml",
    "**/.gitpod{.y{a,}ml,.dockerfile}",
    "**/.envrc*",
    "**/{,.}mise{,.*}.toml",
    "**/{.mise,.config/mise}{,/**}",
    "**/.config/mise*.toml",
    "**/{.tool-versions,.rtx.toml,devbox.json}",
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

    const BY_THEMSELVES: &[&str] = &[
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
        ".github/dependabot.yml",
        ".github/mergify.yml",
        ".woodpecker-deploy.yml",
        ".semaphore/semaphore.yml",
        ".azure-pipelines/main.yml",
        ".teamcity/settings.kts",
        ".appveyor.yml",
        ".mergify.yml",
        ".coderabbit.yaml",
        "renovate.json5",
        ".renovaterc",
        "bors.toml",
        ".readthedocs.yaml",
        "app.json",
        "heroku.yml",
        "Procfile",
        "apps/web/.platform.app.yaml",
        ".upsun/config.yaml",
        "fly.toml",
        "fly.staging.toml",
        ".do/app.yaml",
        "lefthook-local.yml",
        ".overcommit.yml",
        ".lintstagedrc.json",
        ".simple-git-hooks.cjs",
        ".lfsconfig",
        ".junie/guidelines.md",
        ".amazonq/rules/a.md",
        ".augment/rules.md",
        ".augment-guidelines",
        ".trae/rules/project_rules.md",
        ".goosehints",
        "AGENT.md",
        "web/GEMINI.md",
        ".windsurf/rules/a.md",
        ".clinerules/a.md",
        ".clineignore",
        ".roomodes",
        ".roo/mcp.json",
        ".aider.conf.yml",
        ".continue/config.yaml",
        ".kiro/steering/a.md",
        ".kilocodemodes",
        ".openhands/setup.sh",
        ".idea/runConfigurations/all.xml",
        ".run/all.run.xml",
        ".zed/tasks.json",
        ".zed/settings.json",
        "shop.code-workspace",
        ".nvim.lua",
        ".dir-locals.el",
        ".codesandbox/tasks.json",
        ".stackblitzrc",
        ".gitpod.yml",
        ".gitpod.Dockerfile",
        ".idx/dev.nix",
        ".replit",
        "devfile.yaml",
        "mise.toml",
        ".mise.local.toml",
        ".config/mise/config.toml",
        ".tool-versions",
        "devbox.json",
    ];

    #[test]
    fn nothing_that_runs_by_itself_is_pushed() {
        for path in BY_THEMSELVES.iter().copied() {
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
            ".github/pull_request_template.md",
            "src/app.json",
            "docs/AGENT.md.txt",
            "docs/agent-guide.md",
            "src/agent.py",
            "src/heroku.py",
            "src/procfile.rb",
            "docs/readthedocs.md",
            "src/platform/app.yaml",
            "src/upsun.py",
            "src/fly.rs",
            "src/fly/toml.rs",
            "data/butterfly.toml",
            "src/renovate.py",
            "src/mergify.ts",
            "src/bors.rs",
            "src/policy.yml",
            "src/coderabbit/client.py",
            "src/junie.ts",
            "src/trae/api.ts",
            "src/augment.py",
            "src/goose.py",
            "src/windsurf.py",
            "src/continue.py",
            "src/run/main.py",
            "src/idea.py",
            "src/zed/tasks.json",
            "src/mise.rs",
            "src/promise.toml",
            "src/tool_versions.py",
            "src/sandbox.py",
            "src/lfsconfig.rs",
            "src/devbox/mod.rs",
            "src/staged.js",
        ] {
            assert!(!verdict(path, None, Some("x\n")).1, "{path}");
        }
    }

    #[test]
    fn a_person_sees_what_anybody_adds_for_agents_hooks_and_automation() {
        let added = |path: &str| {
            let change = FileChange {
                path: path.as_bytes().to_vec(),
                old: None,
                new: Some(side("{}\n")),
            };
            let policy = GuardPolicy::anybody([]).unwrap();
            judge(&Diff::of(vec![change]), &policy, &Redactor::default()).verdict
        };
        for path in [
            ".vscode/tasks.json",
            ".devcontainer.json",
            ".woodpecker.yml",
            ".semaphore/semaphore.yml",
            ".forgejo/workflows/a.yml",
            ".gitea/workflows/a.yml",
            ".azure-pipelines/a.yml",
            "lefthook-local.yml",
            ".overcommit.yml",
            "buildspec.yml",
            ".roomodes",
            ".goosehints",
            "AGENT.md",
            ".junie/guidelines.md",
        ] {
            assert!(added(path) >= GuardVerdict::NeedsHuman, "{path}");
        }
        for path in [
            ".vscode/extensions.json",
            "docs/agent.md",
            "src/semaphore/a.yml",
            "docs/lefthook.md",
        ] {
            assert_eq!(added(path), GuardVerdict::Accept, "{path}");
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
