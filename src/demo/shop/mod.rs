//! The sample app: a small shop in Python with a real bug that its tests do not see, the two recorded patches for it,
//! and its customers.

use std::time::Duration;

use anyhow::Result;

use super::{ci::CiJob, client, forge::Author, town::Town, world::World};

/// Path and content; `None` deletes.
pub type NewFile = (String, Option<Vec<u8>>);

macro_rules! files {
    ($folder:literal: $($path:literal),+ $(,)?) => {
        vec![$(($path.to_owned(), Some(include_bytes!(concat!($folder, "/", $path)).to_vec()))),+]
    };
}

/// What a person called the change that brought the bug.
pub const BUG_TITLE: &str = "show the average discount";

/// Runs the shop's tests, as CI and the product do it.
pub const TEST: &str = "python3 -m unittest discover -s tests -v";

/// Version 3.1.0, healthy.
pub fn base() -> Vec<NewFile> {
    let mut files = files!("base":
        "README.md", "shop/__init__.py", "shop/__main__.py", "shop/money.py", "shop/orders.py", "shop/discount.py",
        "shop/report.py", "shop/views.py", "tests/__init__.py", "tests/test_money.py", "tests/test_orders.py",
        "tests/test_discount.py", "tests/test_views.py",
    );
    files.push((".gitignore".to_owned(), Some(include_bytes!("base/gitignore").to_vec())));
    files
}

/// A test that needs a service on the loopback, and the service.
pub fn rates() -> Vec<NewFile> {
    files!("rates": "tools/rates.py", "tests/test_rates.py")
}

/// The one job of a CI that keeps a report of the tests.
pub fn reporting_job() -> CiJob {
    CiJob {
        name: "test".to_owned(),
        commands: vec![["python3", "tools/report.py", "report.xml"].map(str::to_owned).to_vec()],
        report: Some("report.xml".to_owned()),
    }
}

/// Brings what that job runs to the default branch.
pub fn report_in_ci(world: &World) -> Result<()> {
    let author = Author {
        name: "ada",
        at: world.now(),
    };
    let files = files!("reporter": "tools/report.py");
    world
        .repo()
        .commit("main", None, author, "keep reports of the tests", &files)?;
    Ok(())
}

/// Version 3.2.0: an order without items divides by zero. All tests still pass.
pub fn bug() -> Vec<NewFile> {
    files!("bug": "shop/__init__.py", "shop/discount.py", "shop/views.py", "tests/test_discount.py")
}

/// A fix that also weakens an existing test.
pub fn weak() -> Vec<NewFile> {
    files!("weak": "shop/discount.py", "tests/test_discount.py")
}

/// A fix with a test that fails without it.
pub fn honest() -> Vec<NewFile> {
    files!("honest": "shop/discount.py", "tests/test_order_without_items.py")
}

/// What a person mends meanwhile, in another place and without a test.
pub fn fix() -> Vec<NewFile> {
    const AVERAGE: &str = "round(discount.average_discount(order), 1)";
    let views = files!("bug": "shop/views.py").into_iter();
    let guarded = |text: Vec<u8>| {
        let text = String::from_utf8_lossy(&text);
        text.replace(AVERAGE, &format!("{AVERAGE} if order[\"items\"] else 0"))
            .into_bytes()
    };
    views.map(|(path, text)| (path, text.map(guarded))).collect()
}

/// What customers ask for, again and again in this order: one request in twelve is for an order without items.
const PATHS: [&str; 12] = [
    "/orders/1",
    "/orders/2",
    "/orders/3",
    "/orders/5",
    "/orders/2",
    "/orders/4",
    "/orders/1",
    "/orders/3",
    "/orders/5",
    "/orders/1",
    "/orders/2",
    "/orders/3",
];

/// Sends real requests to the app, spread evenly over `span` of the world's time.
pub(super) fn traffic(town: &Town, requests: u32, span: Duration) -> Result<()> {
    let (_, before) = town.tracker.totals();
    let step = span.checked_div(requests.max(1)).unwrap_or_default();
    for n in 0..usize::try_from(requests)? {
        town.clock.advance(step);
        let path = PATHS[(before + n) % PATHS.len()];
        client::get(&town.app_url, path)?;
        town.tracker.request(town.clock.now());
    }
    town.log
        .add(town.clock.now(), "traffic", format!("{requests} requests"));
    Ok(())
}
