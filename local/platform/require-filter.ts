/** Parameters of a REST address that choose no rows. */
const NO_FILTER = new Set(["select", "columns", "order", "limit", "offset", "on_conflict"]);

/** Whether a request would change or delete all rows of a table. The hosted Data API refuses these (safeupdate). */
export function changesEveryRow(method: string, url: URL): boolean {
  if (method !== "PATCH" && method !== "DELETE") return false;
  return [...url.searchParams.keys()].every((name) => NO_FILTER.has(name));
}

export function needsFilter(method: string): Response {
  const message = `${method === "DELETE" ? "DELETE" : "UPDATE"} requires a WHERE clause`;
  return Response.json({ code: "21000", message, details: null, hint: null }, { status: 400 });
}
