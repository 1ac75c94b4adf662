//! What the workflow runs of a commit kept: the JUnit reports in their artifacts. An archive is read in memory, within
//! bounds; no name in it becomes a path.

use std::{
    io::{Cursor, Read as _},
    path::Path,
};

use super::{GitHub, GitHubError, PAGES, paging::list, wire};
use crate::model::{RepoName, Sha};

/// Archives of one commit that are looked into, and what they may hold.
const MOST_ARCHIVES: usize = 20;
const MOST_ENTRIES: usize = 5000;
const MOST_BYTES: u64 = 64 << 20;

impl GitHub {
    /// The JUnit reports that runs of this commit kept, each as its bytes; none where they kept none.
    pub async fn junit_reports(&self, repo: &RepoName, head: &Sha) -> Result<Vec<Vec<u8>>, GitHubError> {
        let query = [("head_sha", head.as_str()), ("per_page", "100")];
        let url = self.repo_url(repo, &["actions", "runs"], &query);
        let what = "read the workflow runs of a commit";
        let runs: Vec<wire::Run> = list(&self.edge, url, Some("workflow_runs"), PAGES).await?.whole(what)?;
        let mut reports = Vec::new();
        for run in runs.iter().filter(|r| r.head_sha.eq_ignore_ascii_case(head.as_str())) {
            let run = run.id.to_string();
            let url = self.repo_url(repo, &["actions", "runs", &run, "artifacts"], &[("per_page", "100")]);
            let what = "read the artifacts of a run";
            let kept: Vec<wire::Artifact> = list(&self.edge, url, Some("artifacts"), PAGES).await?.whole(what)?;
            for artifact in kept.iter().filter(|kept| !kept.expired).take(MOST_ARCHIVES) {
                let id = artifact.id.to_string();
                let url = self.repo_url(repo, &["actions", "artifacts", &id, "zip"], &[]);
                let reply = self.edge.archive(&url).await?;
                reply.done(&self.edge)?;
                let found = reports_in(&reply.body).map_err(|why| GitHubError::shape(&reply.attempt, why))?;
                reports.extend(found);
            }
        }
        Ok(reports)
    }
}

/// The XML files of an archive that begin as JUnit's do.
fn reports_in(bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let broken = |error: zip::result::ZipError| format!("the archive cannot be read: {error}");
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(broken)?;
    let mut left = MOST_BYTES;
    let mut reports = Vec::new();
    for index in 0..archive.len().min(MOST_ENTRIES) {
        let entry = archive.by_index(index).map_err(broken)?;
        let name = entry.name().map_err(broken)?.into_owned();
        let is_xml = Path::new(&name)
            .extension()
            .is_some_and(|ext| ext.eq_ignore_ascii_case("xml"));
        if !entry.is_file() || !is_xml {
            continue;
        }
        let mut text = Vec::new();
        let read = entry.take(left + 1).read_to_end(&mut text);
        let read = read.map_err(|error| format!("the archive cannot be read: {error}"))? as u64;
        left = left.checked_sub(read).ok_or("the reports are larger than tick reads")?;
        let start = String::from_utf8_lossy(&text[..text.len().min(2000)]).into_owned();
        if start.contains("<testsuite") {
            reports.push(text);
        }
    }
    Ok(reports)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in files {
            writer
                .start_file(*name, zip::write::SimpleFileOptions::default())
                .unwrap();
            writer.write_all(text.as_bytes()).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn only_reports_are_taken_out_of_an_archive() {
        let report = "<?xml version=\"1.0\"?>\n<testsuites><testsuite name=\"a\"/></testsuites>";
        let bytes = archive(&[
            ("../../report.xml", report),
            ("coverage.xml", "<coverage/>"),
            ("log.txt", report),
        ]);
        assert_eq!(reports_in(&bytes).unwrap(), [report.as_bytes()]);
        assert!(reports_in(b"no archive").unwrap_err().contains("cannot be read"));
        assert!(reports_in(&archive(&[])).unwrap().is_empty());
    }
}
