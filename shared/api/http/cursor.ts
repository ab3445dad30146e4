import { z } from "zod";
import { invalidFields } from "../errors.ts";

/** The last row of a page: its created_at in microseconds and its id, because rows can share a time. */
const position = z.tuple([z.iso.datetime({ offset: true }), z.guid()]);
type Position = { created_at: string; id: string };

/** An opaque cursor for the page after this row: both values in base64url. */
const writeCursor = ({ created_at, id }: Position): string =>
  btoa(`${created_at} ${id}`).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** Throws invalid_request for a text without a position. */
function readCursor(cursor: string): Position {
  const parsed = position.safeParse(decode(cursor).split(" "));
  if (!parsed.success) {
    throw invalidFields([
      { path: "cursor", message: "Must be a nextCursor of this path. Leave it out to start with the newest." },
    ]);
  }
  const [created_at, id] = parsed.data;
  return { created_at, id };
}

function decode(cursor: string): string {
  try {
    return atob(cursor.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return "";
  }
}

/** The page arguments of every listing SQL function. One row more than requested tells whether there is another page. */
export function pageArguments({ limit, cursor }: { limit: number; cursor?: string | undefined }) {
  const after = cursor === undefined ? undefined : readCursor(cursor);
  return { max_rows: limit + 1, before_created_at: after?.created_at, before_id: after?.id };
}

/** The rows of the page, and the cursor of the next page, which follows `searchedUntil` when a search ended there. */
export function cutPage<Row extends Position>(
  rows: Row[],
  limit: number,
  searchedUntil: Position | null = null,
): { rows: Row[]; nextCursor: string | null } {
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? (shown.at(-1) ?? null) : searchedUntil;
  return { rows: shown, nextCursor: last && writeCursor(last) };
}
