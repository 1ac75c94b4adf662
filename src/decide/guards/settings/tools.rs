//! Tools with more than one place for their settings, each with the order in which it takes them.

use crate::model::evidence::GuardVerdict;

/// One program and the places of its settings, the winner first. A place is a file and, behind `@`, the table of it
/// that is the program's; `!` says that the file wins even where that table is missing.
pub(super) struct Tool {
    pub(super) places: &'static [&'static str],
    /// A file in a folder holds for what stands below it.
    pub(super) nested: bool,
    /// The strongest that is said of it: some folders have settings of their own for good reasons.
    pub(super) worst: GuardVerdict,
}

const fn tool(nested: bool, places: &'static [&'static str]) -> Tool {
    Tool {
        places,
        nested,
        worst: GuardVerdict::Reject,
    }
}

pub(super) const TOOLS: &[Tool] = &[
    tool(
        true,
        &[
            "pytest.toml@!pytest",
            ".pytest.toml@!pytest",
            "pytest.ini@!pytest",
            ".pytest.ini@!pytest",
            "pyproject.toml@tool.pytest.ini_options",
            "pyproject.toml@tool.pytest",
            "tox.ini@pytest",
            "setup.cfg@tool:pytest",
        ],
    ),
    tool(
        false,
        &[
            ".coveragerc@!",
            ".coveragerc.toml@!",
            "setup.cfg@coverage:*",
            "tox.ini@coverage:*",
            "pyproject.toml@tool.coverage",
        ],
    ),
    tool(
        false,
        &[
            "mypy.ini@!mypy",
            ".mypy.ini@!mypy",
            "pyproject.toml@tool.mypy",
            "setup.cfg@mypy",
        ],
    ),
    tool(true, &[".ruff.toml@!", "ruff.toml@!", "pyproject.toml@tool.ruff"]),
    tool(false, &["setup.cfg@flake8", "tox.ini@flake8", ".flake8@flake8"]),
    tool(
        false,
        &[
            "pylintrc@!",
            "pylintrc.toml@!",
            ".pylintrc@!",
            ".pylintrc.toml@!",
            "pyproject.toml@tool.pylint",
            "setup.cfg@pylint:*",
            "tox.ini@pylint:*",
        ],
    ),
    tool(false, &["pyrightconfig.json@!", "pyproject.toml@tool.pyright"]),
    tool(
        false,
        &[
            ".isort.cfg@settings",
            "pyproject.toml@tool.isort",
            "setup.cfg@isort",
            "tox.ini@isort",
        ],
    ),
    tool(
        false,
        &[
            "tox.ini@tox",
            "setup.cfg@tox:*",
            "pyproject.toml@tool.tox",
            "tox.toml@!",
        ],
    ),
    tool(
        false,
        &[
            "jest.config.ts@!",
            "jest.config.mts@!",
            "jest.config.cts@!",
            "jest.config.js@!",
            "jest.config.mjs@!",
            "jest.config.cjs@!",
            "jest.config.json@!",
            "package.json@jest",
        ],
    ),
    tool(
        false,
        &[
            "vitest.config.ts@!",
            "vitest.config.mts@!",
            "vitest.config.cts@!",
            "vitest.config.js@!",
            "vitest.config.mjs@!",
            "vitest.config.cjs@!",
            "vite.config.ts@test",
            "vite.config.mts@test",
            "vite.config.js@test",
            "vite.config.mjs@test",
        ],
    ),
    tool(
        true,
        &[
            "eslint.config.js@!",
            "eslint.config.mjs@!",
            "eslint.config.cjs@!",
            "eslint.config.ts@!",
            "eslint.config.mts@!",
            "eslint.config.cts@!",
            ".eslintrc.js@!",
            ".eslintrc.cjs@!",
            ".eslintrc.yaml@!",
            ".eslintrc.yml@!",
            ".eslintrc.json@!",
            ".eslintrc@!",
            "package.json@eslintConfig",
        ],
    ),
    tool(true, &["biome.json@!", "biome.jsonc@!", ".biome.json@!"]),
    tool(
        true,
        &[
            "stylelint.config.js@!",
            "stylelint.config.mjs@!",
            ".stylelintrc.js@!",
            ".stylelintrc.json@!",
            ".stylelintrc.yml@!",
            ".stylelintrc@!",
            "package.json@stylelint",
        ],
    ),
    tool(
        false,
        &[
            ".mocharc.js@!",
            ".mocharc.cjs@!",
            ".mocharc.yaml@!",
            ".mocharc.yml@!",
            ".mocharc.jsonc@!",
            ".mocharc.json@!",
            "package.json@mocha",
        ],
    ),
    tool(
        false,
        &[
            ".nycrc@!",
            ".nycrc.json@!",
            ".nycrc.yaml@!",
            ".nycrc.yml@!",
            "package.json@nyc",
        ],
    ),
    tool(false, &[".c8rc.json@!", ".c8rc@!", "package.json@c8"]),
    tool(
        false,
        &[
            "ava.config.js@!",
            "ava.config.cjs@!",
            "ava.config.mjs@!",
            "package.json@ava",
        ],
    ),
    tool(
        false,
        &[
            "playwright.config.ts@!",
            "playwright.config.js@!",
            "playwright.config.mts@!",
            "playwright.config.mjs@!",
        ],
    ),
    tool(
        false,
        &[
            "cypress.config.js@!",
            "cypress.config.ts@!",
            "cypress.config.mjs@!",
            "cypress.config.cjs@!",
        ],
    ),
    tool(
        false,
        &[
            "karma.conf.js@!",
            "karma.conf.ts@!",
            "karma.conf.cjs@!",
            "karma.conf.mjs@!",
        ],
    ),
    Tool {
        places: &["tsconfig.json@!"],
        nested: true,
        worst: GuardVerdict::NeedsHuman,
    },
    tool(true, &[".rubocop.yml@!"]),
    tool(false, &["phpunit.xml@!", "phpunit.dist.xml@!", "phpunit.xml.dist@!"]),
    tool(false, &["phpstan.neon@!", "phpstan.neon.dist@!", "phpstan.dist.neon@!"]),
    tool(false, &["psalm.xml@!", "psalm.xml.dist@!"]),
    tool(
        false,
        &[".phpcs.xml@!", "phpcs.xml@!", ".phpcs.xml.dist@!", "phpcs.xml.dist@!"],
    ),
    tool(
        false,
        &[
            "infection.json5@!",
            "infection.json@!",
            "infection.json5.dist@!",
            "infection.json.dist@!",
        ],
    ),
    tool(
        true,
        &[
            ".golangci.yml@!",
            ".golangci.yaml@!",
            ".golangci.toml@!",
            ".golangci.json@!",
        ],
    ),
    tool(false, &[".clippy.toml@!", "clippy.toml@!"]),
    tool(true, &[".rustfmt.toml@!", "rustfmt.toml@!"]),
    tool(false, &["build.gradle@!", "build.gradle.kts@!"]),
    tool(true, &["directory.build.props@!"]),
    tool(false, &["gnumakefile@!", "makefile@!"]),
    tool(false, &["justfile@!", ".justfile@!"]),
    tool(
        false,
        &[
            "taskfile.yml@!",
            "taskfile.yaml@!",
            "taskfile.dist.yml@!",
            "taskfile.dist.yaml@!",
        ],
    ),
    tool(false, &["rakefile@!", "rakefile.rb@!"]),
    tool(
        false,
        &[
            "compose.yaml@!",
            "compose.yml@!",
            "docker-compose.yaml@!",
            "docker-compose.yml@!",
        ],
    ),
    tool(
        false,
        &["codecov.yml@!", ".codecov.yml@!", "codecov.yaml@!", ".codecov.yaml@!"],
    ),
    tool(
        false,
        &[
            "lefthook.yml@!",
            "lefthook.yaml@!",
            "lefthook.toml@!",
            "lefthook.json@!",
            ".lefthook.yml@!",
        ],
    ),
    tool(false, &[".cargo/config@!", ".cargo/config.toml@!"]),
];
