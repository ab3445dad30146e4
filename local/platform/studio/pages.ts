import { html } from "hono/html";
import { type Column, keyOf, type Relation } from "./catalog.ts";
import { isText } from "./form.ts";
import { PAGE_ROWS, type Row } from "./rows.ts";
import { describeResults, type StatementResult } from "./run-statements.ts";

type Html = ReturnType<typeof html>;

/** Why Postgres refused, in its own words. */
export type Refusal = { message: string; detail: string; hint: string; code: string; constraint: string };

export const pathOf = ({ schema, name }: { schema: string; name: string }) =>
  `/studio/table/${encodeURIComponent(schema)}/${encodeURIComponent(name)}`;

const rowPath = (table: Relation, columns: Column[], row: Row) =>
  `${pathOf(table)}/row?${new URLSearchParams(keyOf(columns).map(({ name }) => ["key", row[name] ?? ""]))}`;

/** Every page: what it can and cannot do, the tables, and what it is about. */
export const page = (
  title: string,
  relations: Relation[],
  shown: Relation | null,
  content: Html,
) => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Studio</title>
<link rel="stylesheet" href="/studio/page.css">
</head>
<body>
<header>
<p><strong>Studio</strong> of this machine. It acts as the role <code>postgres</code>, as hosted Studio does: row-level security does not apply.
It edits rows and runs SQL. It has no filters (use SQL), manages no users and no files, and changes no tables.</p>
</header>
<nav aria-label="Tables">
<a href="/studio/sql" ${title === "SQL" ? html`aria-current="page"` : ""}>SQL</a>
${[...Map.groupBy(relations, ({ schema }) => schema)].map(
  ([schema, tables]) => html`<h2>${schema}</h2>
${tables.map((one) => html`<a href="${pathOf(one)}" ${one === shown ? html`aria-current="page"` : ""}>${one.name}</a>`)}`,
)}
</nav>
<main>
${content}
</main>
</body>
</html>
`;

/** Rows of a table or view, with a link to each that can be edited. */
export function tablePage(
  relations: Relation[],
  table: Relation,
  columns: Column[],
  rows: Row[],
  { pageNumber, done }: { pageNumber: number; done: string | null },
) {
  const canEdit = table.isTable && keyOf(columns).length > 0;
  const link = (number: number, text: string) => html`<a href="${pathOf(table)}?page=${number}">${text}</a> `;
  const content = html`<h1>${table.schema}.${table.name}</h1>
<p>${table.comment}</p>
${done === null ? "" : html`<p role="status">${done}</p>`}
<p>${
    table.isTable
      ? html`<a class="button" href="${pathOf(table)}/new">Insert row</a> ${canEdit ? "" : "Without a primary key: change its rows with SQL."}`
      : "A view: change the rows of its tables."
  }</p>
<div class="wide" tabindex="0" role="region" aria-label="Rows"><table>
<thead><tr>${canEdit ? html`<th scope="col">Edit</th>` : ""}${columns.map(({ name, type, comment }) => html`<th scope="col" title="${comment}">${name}<br><small>${type}</small></th>`)}</tr></thead>
<tbody>
${rows.slice(0, PAGE_ROWS).map(
  (row) => html`<tr>${canEdit ? html`<td><a href="${rowPath(table, columns, row)}">Edit</a></td>` : ""}${columns.map(
    ({ name }) => cell(shorten(row[name] ?? null)),
  )}</tr>
`,
)}
</tbody>
</table></div>
<p>${rows.length === 0 ? "No rows." : ""}
${pageNumber > 0 ? link(pageNumber - 1, "Previous") : ""}${rows.length > PAGE_ROWS ? link(pageNumber + 1, "Next") : ""}</p>`;
  return page(`${table.schema}.${table.name}`, relations, table, content);
}

/** A row of a page is a look: the form shows a value as a whole. */
const LONGEST = 120;
const WIDE = 40;

function cell(value: string | null) {
  if (value === null) return html`<td><i>NULL</i></td>`;
  return value.length > WIDE ? html`<td class="long">${value}</td>` : html`<td>${value}</td>`;
}

/** In one line, so that a row is as high as a line. */
function shorten(value: string | null): string | null {
  const line = value?.replaceAll(/\s+/g, " ") ?? null;
  return line !== null && line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}

/** The form of a new row (`row` is null), or of one that exists; after a refusal with what was typed. */
export function rowPage(
  relations: Relation[],
  table: Relation,
  columns: Column[],
  row: Row | null,
  refused: { refusal: Refusal; typed: Row } | null,
) {
  const isNew = row === null;
  const title = isNew ? `Insert row into ${table.schema}.${table.name}` : `Edit row of ${table.schema}.${table.name}`;
  const action = isNew ? `${pathOf(table)}/new` : rowPath(table, columns, row);
  const content = html`<h1>${title}</h1>
<p>${table.comment}</p>
${refused === null ? "" : refusalBox(refused.refusal)}
<p>${isNew ? "Empty fields keep their default, or the database fills them in." : "Only what you change is sent."}</p>
<form method="post" action="${action}">
${columns.map((column) => field(column, isNew, row?.[column.name] ?? null, refused?.typed[column.name]))}
<button type="submit" name="do" value="save">${isNew ? "Insert row" : "Save"}</button> <a href="${pathOf(table)}">Cancel</a>
${isNew ? "" : html`<details><summary>Delete this row</summary><button type="submit" name="do" value="delete">Delete row</button></details>`}
</form>`;
  return page(title, relations, table, content);
}

/** One column, with what the form was opened with, so that only a change is sent. */
function field(column: Column, isNew: boolean, before: string | null, typed: string | null | undefined) {
  const { name, type, comment, isNullable, refersTo } = column;
  if (column.isGenerated) {
    return isNew ? "" : html`<p><strong>${name}</strong> <small>${type}, made by Postgres</small><br>${before}</p>`;
  }
  const id = `value:${name}`;
  const value = typed ?? before ?? "";
  const about = html`<small id="about:${name}">${type}${refersTo ? html`, of <a href="${pathOf(refersTo)}">${refersTo.schema}.${refersTo.name}</a>` : ""}${
    isNew && column.default !== null ? html`, default ${column.default}` : ""
  }${comment === "" ? "" : html`. ${comment}`}</small>`;
  const choices = column.labels ?? (type === "boolean" ? ["true", "false"] : null);
  const input =
    choices === null
      ? html`<textarea id="${id}" name="${id}" rows="${isText(column) || type.startsWith("json") ? Math.min(20, value.split("\n").length + 1) : 1}" aria-describedby="about:${name}" spellcheck="false">
${value}</textarea>`
      : html`<select id="${id}" name="${id}" aria-describedby="about:${name}">
${(isNew || isNullable ? ["", ...choices] : choices).map((one) => html`<option value="${one}" ${one === value ? "selected" : ""}>${one}</option>`)}
</select>`;
  const isNull = html`<label><input type="checkbox" name="null:${name}" ${before === null ? "checked" : ""}> NULL</label>`;
  return html`<div class="field"><label for="${id}">${name}</label> ${about}
${input}
${isNew ? "" : html`<input type="hidden" name="before:${name}" value="${before ?? ""}">${before === null ? html`<input type="hidden" name="was-null:${name}">` : ""}${isNullable && choices === null ? isNull : ""}`}
</div>
`;
}

export function sqlPage(
  relations: Relation[],
  text: string,
  outcome: { results: StatementResult[] } | { refusal: Refusal } | null,
) {
  const content = html`<h1>SQL</h1>
<form method="post" action="/studio/sql">
<label for="sql">Statements. All run at once: when one fails, none has happened.</label>
<textarea id="sql" name="sql" rows="12" spellcheck="false">
${text}</textarea>
<button type="submit">Run</button>
</form>
${outcome === null ? "" : "refusal" in outcome ? refusalBox(outcome.refusal) : html`<section role="status" aria-label="Result">${outcome.results.map(resultTable)}</section>`}`;
  return page("SQL", relations, null, content);
}

function resultTable(result: StatementResult) {
  if (result.columns.length === 0) return html`<p>${describeResults([result], 0)}</p>`;
  return html`<div class="wide" tabindex="0" role="region" aria-label="Rows"><table>
<thead><tr>${result.columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${result.rows.slice(0, MOST_RESULT_ROWS).map(
    (row) => html`<tr>${result.columns.map((name) => cell(textOf(row[name])))}</tr>
`,
  )}</tbody>
</table></div>
<p>${result.rows.length} ${result.rows.length === 1 ? "row" : "rows"}${result.rows.length > MOST_RESULT_ROWS ? `, the first ${MOST_RESULT_ROWS} are shown` : ""}</p>`;
}

const MOST_RESULT_ROWS = 1_000;

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value.toISOString();
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const refusalBox = ({ message, detail, hint, code, constraint }: Refusal) => html`<div role="alert">
<p><strong>${message}</strong></p>
${[detail, hint].filter((text) => text !== "").map((text) => html`<p>${text}</p>`)}
<p><small>SQLSTATE ${code}${constraint === "" ? "" : `, rule ${constraint}`}</small></p>
</div>`;

export const STYLE = `:root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.5; }
body { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 0 2rem; margin: 0 auto; padding: 1rem; }
header { grid-column: 1 / -1; border-bottom: 1px solid light-dark(#ccc, #555); }
nav { font-size: 0.9rem; }
nav a { display: block; overflow-wrap: anywhere; }
nav h2 { margin: 1rem 0 0; font-size: 0.9rem; }
[aria-current] { font-weight: bold; }
.wide { overflow-x: auto; max-height: 70vh; }
table { border-collapse: collapse; font-size: 0.85rem; }
th, td { padding: 0.25rem 0.5rem; border: 1px solid light-dark(#ddd, #444); text-align: left; vertical-align: top; white-space: nowrap; }
.long { min-width: 20rem; max-width: 30rem; white-space: pre-wrap; overflow-wrap: anywhere; }
th { position: sticky; top: 0; background: light-dark(#f3f3f3, #222); }
a { color: light-dark(#3e2fad, #bdb5f1); }
.field { margin: 1rem 0; max-width: 60rem; }
.field > label:first-child { font-weight: bold; }
textarea { display: block; box-sizing: border-box; width: 100%; font-family: ui-monospace, monospace; }
button, .button { font: inherit; padding: 0.35rem 0.9rem; }
.button { border: 1px solid; border-radius: 0.25rem; text-decoration: none; }
[role="alert"] { padding: 0.25rem 1rem; border-left: 4px solid light-dark(#b3261e, #f2b8b5); background: light-dark(#fdecea, #3b1f1d); }
[role="status"] { font-weight: bold; }
details { margin-top: 2rem; }
`;
