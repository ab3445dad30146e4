import { html } from "hono/html";
import postgres from "postgres";
import { DatabaseUnavailable } from "../platform-connection.ts";
import { LOOPBACK_NAMES } from "../refusals.ts";
import { type Column, listColumns, listRelations, type Relation } from "./catalog.ts";
import { readInsert, readUpdate, typedIn } from "./form.ts";
import { page, pathOf, type Refusal, rowPage, sqlPage, STYLE, tablePage } from "./pages.ts";
import { deleteRow, insertRow, readPage, readRow, updateRow } from "./rows.ts";
import { runStatements } from "./run-statements.ts";

// Its pages show every row of the database: no script, no frame, no cache, no other site.
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

const STATEMENT_MS = 60_000;
const FIRST_TABLE = { schema: "keyframe", name: "projects" };
/** What a form did, by the parameter `done` of the page after it. */
const DONE: Record<string, string> = {
  inserted: "Inserted.",
  saved: "Saved.",
  unchanged: "Nothing was changed.",
  deleted: "Deleted.",
};

/** Of a tunnel or proxy, which may bring the requests of anybody, under the name of this machine. */
const PASSED_ON = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host"];

/** The Studio at `/studio`: a table editor and SQL as the role postgres, for a browser on this machine. */
export async function callStudio(request: Request, url: URL, databaseUrl: string): Promise<Response> {
  const isPassedOn = PASSED_ON.some((name) => request.headers.has(name));
  if (!LOOPBACK_NAMES.has(url.hostname) || isPassedOn)
    return new Response("Studio is for this machine only.", { status: 403 });
  const isChange = request.method === "POST";
  if (!isChange && request.method !== "GET")
    return new Response(null, { status: 405, headers: { allow: "GET, POST" } });
  if (isChange && request.headers.get("sec-fetch-site") !== "same-origin") {
    await request.body?.cancel();
    return new Response("Only Studio's own pages may change anything.", { status: 403 });
  }
  if (url.pathname === "/studio/page.css") return answer(STYLE, 200, "text/css");
  const form = isChange ? await request.formData() : null;
  // One connection for each request: it ends what a statement may leave open or set.
  const sql = postgres(databaseUrl, {
    max: 1,
    connect_timeout: 5,
    connection: {
      ...{ role: "postgres", application_name: "keyframe-studio", TimeZone: "UTC", statement_timeout: STATEMENT_MS },
      default_transaction_read_only: !isChange,
    },
    onnotice: () => undefined,
  });
  try {
    return await respond(sql, url, form);
  } catch (error) {
    throw isAway(error) ? new DatabaseUnavailable("Postgres does not answer") : error;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function respond(sql: postgres.Sql, url: URL, form: FormData | null): Promise<Response> {
  const relations = await listRelations(sql);
  if (/^\/studio\/?$/.test(url.pathname)) return found(pathOf(FIRST_TABLE));
  if (url.pathname === "/studio/sql") return await callSql(sql, relations, form);

  const [, schema, name, rest = ""] = /^\/studio\/table\/([^/]+)\/([^/]+)(\/new|\/row)?$/.exec(url.pathname) ?? [];
  const table = relations.find(
    (one) => encodeURIComponent(one.schema) === schema && encodeURIComponent(one.name) === name,
  );
  if (!table) return notFound(relations);
  const columns = await listColumns(sql, table);
  if (rest !== "")
    return await callRow(sql, relations, table, columns, {
      isNew: rest === "/new",
      key: url.searchParams.getAll("key"),
      form,
    });

  const pageNumber = Math.max(0, Number.parseInt(url.searchParams.get("page") ?? "0", 10) || 0);
  const rows = await readPage(sql, table, columns, pageNumber);
  return answer(
    tablePage(relations, table, columns, rows, { pageNumber, done: DONE[url.searchParams.get("done") ?? ""] ?? null }),
  );
}

async function callSql(sql: postgres.Sql, relations: Relation[], form: FormData | null): Promise<Response> {
  if (form === null) return answer(sqlPage(relations, "", null));
  const text = String(form.get("sql") ?? "");
  try {
    return answer(sqlPage(relations, text, { results: await runStatements(sql, text) }));
  } catch (error) {
    return answer(sqlPage(relations, text, { refusal: refusalOf(error) }), 422);
  }
}

type RowCall = { isNew: boolean; key: string[]; form: FormData | null };

async function callRow(
  sql: postgres.Sql,
  relations: Relation[],
  table: Relation,
  columns: Column[],
  call: RowCall,
): Promise<Response> {
  const { isNew, key, form } = call;
  let row = null;
  try {
    row = isNew ? null : ((await readRow(sql, table, columns, key)) ?? null);
  } catch (error) {
    refusalOf(error); // a key of another type: there is no such row
  }
  if (!isNew && row === null) return notFound(relations);
  if (form === null) return answer(rowPage(relations, table, columns, row, null));
  try {
    const done = await change(sql, table, columns, call, form);
    return found(`${pathOf(table)}?done=${done}`);
  } catch (error) {
    const refused = { refusal: refusalOf(error), typed: typedIn(columns, form) };
    return answer(rowPage(relations, table, columns, row, refused), 422);
  }
}

/** Returns a key of DONE. */
async function change(
  sql: postgres.Sql,
  table: Relation,
  columns: Column[],
  { isNew, key }: RowCall,
  form: FormData,
): Promise<string> {
  const editable = columns.filter(({ isGenerated }) => !isGenerated);
  if (form.get("do") === "delete") return (await deleteRow(sql, table, columns, key)) ? "deleted" : "unchanged";
  if (isNew) {
    await insertRow(sql, table, columns, readInsert(editable, form));
    return "inserted";
  }
  const values = readUpdate(editable, form);
  if (Object.keys(values).length === 0) return "unchanged";
  return (await updateRow(sql, table, columns, key, values)) ? "saved" : "unchanged";
}

/** What Postgres says of a refused statement. Any other error is thrown on. */
function refusalOf(error: unknown): Refusal {
  if (!(error instanceof postgres.PostgresError) || isAway(error)) throw error;
  const { message, detail = "", hint = "", code, constraint_name: constraint = "" } = error;
  return { message, detail, hint, code, constraint };
}

/** No connection, or one that Postgres ended. */
const isAway = (error: unknown) =>
  error instanceof Error && "code" in error && /^(CONNECT|ECONN|08|57P)/.test(String(error.code));

const found = (location: string) => new Response(null, { status: 303, headers: { ...HEADERS, location } });

const notFound = (relations: Relation[]) =>
  answer(page("Not found", relations, null, html`<h1>There is no such row or table</h1>`), 404);

async function answer(body: unknown, status = 200, type = "text/html"): Promise<Response> {
  return new Response(String(await body), {
    status,
    headers: { ...HEADERS, "content-type": `${type}; charset=utf-8` },
  });
}
