//! Templates in the tables of a store, under the same names as in a folder.

use sqlx::{AnyConnection, Row};

use super::fault::{DatabaseFault, refused};
use super::names::bounded;
use crate::diag::Code;
use crate::store::{MAX_TEMPLATE, StoreListing, StoreRefusal, StoredTemplate};

/// The most templates of a listing.
const MAX_ENTRIES: i64 = 20_000;

/// A template to store.
pub(super) struct NewTemplate<'a> {
    pub(super) id: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) replace: bool,
    pub(super) name: String,
}

impl<'a> NewTemplate<'a> {
    pub(super) fn checked(id: &'a str, bytes: &'a [u8], replace: bool, shown: &str) -> Result<Self, StoreRefusal> {
        bounded("id", id)?;
        if bytes.len() as u64 > MAX_TEMPLATE {
            let message = format!("a template for `{shown}` is larger than {} MiB", MAX_TEMPLATE >> 20);
            return Err(refused(Code::FileTooLarge, message, "split the template, or move long texts into the data"));
        }
        Ok(Self { id, bytes, replace, name: name(id, shown) })
    }
}

/// The name of a stored template for messages.
fn name(id: &str, shown: &str) -> String {
    format!("{shown}#{id}")
}

pub(super) async fn list(conn: &mut AnyConnection, shown: &str) -> Result<StoreListing, DatabaseFault> {
    let rows = sqlx::query("SELECT id FROM tapster_templates LIMIT $1").bind(MAX_ENTRIES + 1).fetch_all(conn).await?;
    let mut ids = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
    if i64::try_from(ids.len()).unwrap_or(i64::MAX) > MAX_ENTRIES {
        let message = format!("`{shown}` has more than {MAX_ENTRIES} templates");
        return Err(refused(Code::FileTooLarge, message, "remove some, or use several stores").into());
    }
    ids.sort_unstable();
    Ok(StoreListing { ids, strangers: Vec::new() })
}

/// The id of a template, and the name of the store.
pub(super) type TemplateKey<'a> = (&'a str, &'a str);

pub(super) async fn get(conn: &mut AnyConnection, (id, shown): &TemplateKey<'_>) -> Result<Option<StoredTemplate>, DatabaseFault> {
    let query = sqlx::query("SELECT content FROM tapster_templates WHERE id = $1").bind((*id).to_owned());
    let Some(row) = query.fetch_optional(conn).await? else { return Ok(None) };
    Ok(Some(StoredTemplate { name: name(id, shown), bytes: row.try_get(0)? }))
}

pub(super) async fn put(conn: &mut AnyConnection, new: &NewTemplate<'_>) -> Result<String, DatabaseFault> {
    let sql = if new.replace {
        "INSERT INTO tapster_templates (id, content) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET content = excluded.content"
    } else {
        "INSERT INTO tapster_templates (id, content) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING"
    };
    let stored = sqlx::query(sql).bind(new.id.to_owned()).bind(new.bytes.to_vec()).execute(conn).await?;
    if stored.rows_affected() == 0 {
        let message = format!("a template is stored already as `{}`", new.name);
        return Err(refused(Code::StoreTaken, message, "give it another `id`, or replace the stored one (`--force`)").into());
    }
    Ok(new.name.clone())
}

pub(super) async fn remove(conn: &mut AnyConnection, id: &str) -> Result<bool, DatabaseFault> {
    let removed = sqlx::query("DELETE FROM tapster_templates WHERE id = $1").bind(id.to_owned()).execute(conn).await?;
    Ok(removed.rows_affected() > 0)
}
